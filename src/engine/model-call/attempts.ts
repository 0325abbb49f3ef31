/**
 * The attempts at one model, until it answers or fails for good: the delays between them, the circuit breaker of its
 * provider, the cost of each attempt, and its events. `choose-model.ts` chooses the model.
 */
import { elapsedMs, monotonicTime, setDeadline } from '../../config/clock.js'
import { FlowError } from '../../errors/flow-error.js'
import type { CircuitBreaker } from '../../model/circuit-breaker.js'
import type { MessagePart, TokenUsage } from '../../model/message.js'
import { costOf } from '../../model/model-budget.js'
import { retryAdvice } from '../../model/model-failure.js'
import type { ModelFailure, ModelResponse, RuntimeModel } from '../../model/model-provider.js'
import type { ResolvedModel } from '../../model/model-registry.js'
import { jsonSize } from '../../util/json.js'
import type { Estimate } from '../budgets/owner-budgets.js'
import { isOfAnotherTurn } from '../turn/control/flow-code-failure.js'
import type { TurnControl } from '../turn/control/turn-control.js'
import type { TurnDraft } from '../turn/draft/turn-draft.js'
import { type AnswerContext, partsOf } from './answer-parts.js'
import { askedAgain, checkNotEmpty, EmptyAnswer } from './empty-answer.js'
import { type ModelAnswer, modelError, spend, textOf, usageOf } from './model-answer.js'
import { AttemptFailure, ModelAttempt, type ModelQuestion } from './model-attempt.js'

/** The part of a draft that a model call uses: a turn's draft, or a summary's. */
export type CallingDraft = Pick<TurnDraft, 'usage' | 'budget' | 'turnNumber' | 'modelCalls'>

/** A call of one model: all its attempts. */
interface Call {
  readonly control: TurnControl
  readonly draft: CallingDraft
  readonly resolved: ResolvedModel
}

/** One attempt at a call. */
interface Attempt {
  readonly number: number
  readonly startedAt: number
  /** The request. */
  readonly question: ModelQuestion
}

/**
 * Calls one model, and again if it fails with a transient error or its answer is empty.
 *
 * @throws {@link FlowError} of the last attempt
 */
export async function attemptModel(
  control: TurnControl,
  draft: CallingDraft,
  question: ModelQuestion,
  resolved: ResolvedModel,
): Promise<ModelAnswer> {
  const { clock, limits, circuitBreakers } = control.engine
  const { provider } = resolved.selection
  const breaker = circuitBreakers.of(provider)
  const call = { control, draft, resolved }
  let asked = question
  for (let number = 1; ; number++) {
    const attempt = { number, startedAt: monotonicTime(clock), question: asked }
    checkMayCall(draft, breaker, resolved, attempt.startedAt)
    let usage: TokenUsage | undefined
    try {
      const response = await ask(call, attempt)
      usage = countForOwner(draft, resolved, response)
      control.work.check()
      addUsage(draft, resolved, usage)
      const parts = partsOf(response, answerContext(draft, question, resolved, limits.maxJsonDepth))
      checkNotEmpty(parts, response.finishReason)
      reportEnd(call, attempt, usage, parts)
      reportWorking(control, breaker, provider)
      const answer = { parts, resolved, finishReason: response.finishReason }
      if (control.stream !== undefined) await streamWhole(control, question, answer)
      return answer
    } catch (thrown) {
      const isAdded = usage !== undefined
      usage ??= countForOwner(draft, resolved, thrown as ModelFailure)
      control.work.check()
      if (!isAdded) addUsage(draft, resolved, usage)
      reportEnd(call, attempt, usage, asModelError(control, resolved, thrown))
      const delayMs = delayAfter(call, breaker, number, thrown)
      if (delayMs === undefined) throw asModelError(control, resolved, thrown)
      asked = await prepareNext(call, question, asked, thrown, delayMs)
    }
  }
}

function answerContext(
  { turnNumber, modelCalls }: CallingDraft,
  { messages }: ModelQuestion,
  resolved: ResolvedModel,
  maxJsonDepth: number,
): AnswerContext {
  return { resolved, maxJsonDepth, messages, newIdPrefix: `call_${turnNumber}_${modelCalls}` }
}

/** @throws if the budget does not allow another attempt, or the provider has failed too often */
function checkMayCall(draft: CallingDraft, breaker: CircuitBreaker, resolved: ResolvedModel, now: number): void {
  draft.budget?.check(draft.usage)
  const openMs = breaker.waitFor(now)
  if (openMs === 0) return
  throw modelError(resolved, `Its provider failed too often and is not called for another ${Math.ceil(openMs)} ms.`)
}

/**
 * Counts the cost of an attempt for the session's owner at once, so that an aborted turn counts too.
 *
 * @param from - An answer, or a failure, which may have a usage.
 */
function countForOwner({ budget }: CallingDraft, { prices }: ResolvedModel, from: ModelFailure): TokenUsage {
  const usage = usageOf(from)
  budget?.countUsage(usage, prices && costOf(usage, prices))
  return usage
}

/** What a call will probably cost: a token for four bytes of the request, and as many as the answer may have. */
function estimateOf({ system, messages, tools }: ModelQuestion, { selection, prices }: ResolvedModel): Estimate {
  const { maxOutputTokens } = selection.params
  // The tokens of an image do not depend on its bytes.
  const parts = messages.flatMap((one) => one.parts.filter(({ type }) => type !== 'image'))
  const inputTokens = jsonSize([system, parts, tools]) / 4
  const outputTokens = typeof maxOutputTokens === 'number' ? maxOutputTokens : 1_000
  return { tokens: inputTokens + outputTokens, cost: prices ? costOf({ inputTokens, outputTokens }, prices) : 0 }
}

/** Adds the cost of an attempt to the session's spending. */
function addUsage({ usage: spent }: CallingDraft, { prices }: ResolvedModel, usage: TokenUsage): void {
  spend(spent, usage)
  if (prices !== undefined) spent.cost = (spent.cost ?? 0) + costOf(usage, prices)
}

/** Begins an attempt. */
function ask({ control, draft, resolved }: Call, { number: attempt, question }: Attempt): Promise<ModelResponse> {
  const { flowName, sessionId, stream } = control
  const { selection, model } = resolved
  if (control.hasListeners('model:start')) {
    control.emit('model:start', Object.assign(namesOf(draft, question, resolved), { attempt }))
  }
  // A listener may have cancelled the turn.
  control.work.check()
  draft.usage.modelCalls++
  draft.budget?.countCall(() => estimateOf(question, resolved))
  const { turnNumber, modelCalls: callNumber } = draft
  const origin = { flowName, stepId: question.stepId, sessionId, turnNumber, callNumber, attempt }
  const request = new ModelAttempt(control, question, selection.params, origin)
  if (!question.streams || stream === undefined || model.stream === undefined) return request.generate(model)
  return request.stream(model as Required<RuntimeModel>, stream)
}

/** Sends the text of a model that cannot stream as one piece. */
async function streamWhole(
  control: TurnControl,
  { streams }: ModelQuestion,
  { parts, resolved }: ModelAnswer,
): Promise<void> {
  if (!streams || resolved.model.stream !== undefined) return
  await control.stream?.sendText(textOf(parts), control.draft?.calls?.lead)
  control.work.check()
}

function reportWorking({ engine }: TurnControl, breaker: CircuitBreaker, provider: string): void {
  if (breaker.succeeded()) engine.events.emit('circuit:closed', { provider, at: engine.clock.now() })
}

/**
 * Reports a failed attempt to the circuit breaker, and decides whether there is another attempt.
 *
 * @returns milliseconds until the next attempt; `undefined` if there is none
 * @throws `BudgetExceededError` if there would be another attempt, but the budget does not allow it
 */
function delayAfter(
  { control, draft, resolved }: Call,
  breaker: CircuitBreaker,
  attempt: number,
  thrown: unknown,
): number | undefined {
  const { clock, modelRetry, random, events } = control.engine
  const { provider } = resolved.selection
  const { isRetryable, retryAfterMs } = retryAdvice(thrown, clock.now())
  if (!isRetryable || (FlowError.isInstance(thrown) && thrown.code !== 'MODEL_ERROR')) {
    // A provider that refuses a request, or whose answer is empty, still works.
    reportWorking(control, breaker, provider)
    return thrown instanceof EmptyAnswer && attempt < modelRetry.maxAttempts ? 0 : undefined
  }
  const now = monotonicTime(clock)
  if (breaker.failed(now)) events.emit('circuit:opened', { provider, at: clock.now() })
  if (attempt >= modelRetry.maxAttempts) return undefined
  const longest = Math.min(modelRetry.maxDelayMs, modelRetry.baseDelayMs * 2 ** (attempt - 1))
  const delayMs = Math.max(retryAfterMs, Math.floor(random() * longest) || 0)
  // Does not wait for an attempt that would begin after the deadline, or find the circuit open.
  if (now + delayMs >= control.work.deadlineAt || breaker.isOpenAt(now + delayMs)) return undefined
  draft.budget?.check(draft.usage, delayMs)
  return delayMs
}

/**
 * Waits until the next attempt is due.
 *
 * @param asked - The request of the last attempt.
 * @returns the request of the next one; after an empty answer it includes the reason
 */
async function prepareNext(
  call: Call,
  question: ModelQuestion,
  asked: ModelQuestion,
  thrown: unknown,
  delayMs: number,
): Promise<ModelQuestion> {
  const isEmpty = thrown instanceof EmptyAnswer
  reportRetry(call, question, isEmpty ? 'empty' : 'failure', delayMs)
  if (isEmpty) return askedAgain(question, call.draft.turnNumber, thrown)
  await pause(call.control, delayMs)
  return asked
}

function pause(control: TurnControl, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    const stopTimer = setDeadline(control.engine.clock, delayMs, () => {
      control.work.removePending(stopTimer)
      resolve()
    })
    control.work.addPending(stopTimer)
  })
}

function reportRetry(
  { control, draft, resolved }: Call,
  question: ModelQuestion,
  reason: 'failure' | 'empty',
  delayMs: number,
): void {
  control.stream?.reset('retry')
  control.emit('model:retry', { ...namesOf(draft, question, resolved), reason, delayMs })
  // A listener may have cancelled the turn.
  control.work.check()
}

/** @param outcome - The answer, or the failure. */
function reportEnd(
  { control, draft, resolved }: Call,
  { number: attempt, startedAt, question }: Attempt,
  usage: TokenUsage,
  outcome: readonly MessagePart[] | FlowError,
): void {
  const names = Object.assign(namesOf(draft, question, resolved), { attempt })
  const failed = FlowError.isInstance(outcome) ? { code: outcome.code } : undefined
  // A mask is applied at the commit. Until then there is no masked text.
  if (control.engine.mask === undefined && control.hasListeners('model:content')) {
    const { system, messages } = question
    const answer = failed === undefined ? (outcome as readonly MessagePart[]) : []
    control.emit('model:content', { ...names, system, messages, answer })
  }
  if (!control.hasListeners('model:end')) return
  const { prices } = resolved
  const durationMs = elapsedMs(control.engine.clock, startedAt)
  const cost = prices && { cost: costOf(usage, prices) }
  control.emit('model:end', Object.assign(names, { durationMs, success: failed === undefined }, usage, cost, failed))
}

/** The names in every event of a call. */
function namesOf({ modelCalls: callNumber }: CallingDraft, { stepId: step }: ModelQuestion, resolved: ResolvedModel) {
  const { provider, name: model } = resolved.selection
  return { step, provider, model, callNumber }
}

/** The error of a call that failed for good. An error of a provider is never shown: it stays in the cause. */
function asModelError(control: TurnControl, resolved: ResolvedModel, thrown: unknown): FlowError {
  if (FlowError.isInstance(thrown) && !isOfAnotherTurn(control, thrown)) return thrown
  return modelError(resolved, thrown instanceof AttemptFailure ? thrown.message : undefined, thrown)
}
