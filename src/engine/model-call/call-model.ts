/**
 * One call of a model: attempts at the first model and then at those that stand in for it, within the budgets. Each
 * attempt is told to the engine's listeners and counted. What is asked, and what becomes of the answer, is decided
 * elsewhere.
 */
import { setDeadline } from '../../config/clock.js'
import { FlowError } from '../../errors/flow-error.js'
import type { CircuitBreaker } from '../../model/circuit-breaker.js'
import type { FinishReason, MessagePart, TokenUsage } from '../../model/message.js'
import { costOf } from '../../model/model-budget.js'
import { readFailure } from '../../model/model-failure.js'
import type { ModelFailure, ModelResponse, RuntimeModel } from '../../model/model-provider.js'
import type { ResolvedModel } from '../../model/model-registry.js'
import { limitExceeded } from '../engine-limits.js'
import type { StepRun } from '../turn/run-steps.js'
import type { TurnDraft } from '../turn/turn-draft.js'
import { modelError, partsOf, spend, usageOf } from './model-answer.js'
import { AttemptFailure, ModelAttempt, type ModelQuestion } from './model-attempt.js'

/** What a call needs of the run that makes it, which is a turn's or that of a summary of its memory. */
export interface CallingRun extends Pick<StepRun, 'control' | 'budget'> {
  readonly draft: Pick<TurnDraft, 'usage'>
  readonly turn: { readonly number: number }
  /** Calls so far. */
  modelCalls: number
}

/** What a step asks, and of whom. */
export interface ModelCall extends ModelQuestion {
  readonly stepId: string
  /** The model, and those that stand in for it, in order. */
  readonly models: readonly ResolvedModel[]
  /** Whether its text goes to the reader of the turn's stream while it is made. */
  readonly streams: boolean
}

/** What was answered, and by which of the models. */
export interface ModelAnswer {
  readonly parts: readonly MessagePart[]
  readonly resolved: ResolvedModel
  readonly finishReason: FinishReason | undefined
}

const noUsage: TokenUsage = { inputTokens: 0, outputTokens: 0 }

/**
 * Calls a model until one answers.
 *
 * @throws {@link ModelError} of the last attempt, `ModelBlockedError` of the first model that refuses,
 * `LimitExceededError`, `BudgetExceededError`
 */
export async function callModel(run: CallingRun, call: ModelCall): Promise<ModelAnswer> {
  const { control, draft } = run
  const { clock, limits, events, circuitBreakers } = control.engine
  if (run.modelCalls >= limits.maxModelCallsPerTurn) {
    throw limitExceeded(limits, 'maxModelCallsPerTurn', `The number of model calls in step '${call.stepId}'`)
  }
  run.modelCalls++
  let index = 0
  /** Why the model before this one did not answer. */
  let failure: FlowError | undefined
  for (let attempt = 1; ; attempt++) {
    const resolved = call.models[index] as ResolvedModel
    const { provider } = resolved.selection
    const breaker = circuitBreakers.of(provider)
    const startedAt = clock.now()
    run.budget?.check(draft.usage, startedAt)
    if (failure !== undefined && attempt === 1) tellFallback(run, call, index)
    const shutMs = breaker.waitFor(startedAt)
    if (shutMs > 0) {
      failure = modelError(resolved, `Its provider failed too often and is left alone for another ${shutMs} ms.`)
    } else {
      let usage = noUsage
      try {
        const response = await ask(run, call, resolved, attempt)
        control.check()
        usage = count(draft, resolved, response)
        const parts = partsOf(response, resolved, limits.maxJsonDepth)
        tellEnd(run, call, resolved, attempt, startedAt, usage, true)
        if (breaker.succeeded()) events.emit('circuit:closed', { provider, at: clock.now() })
        if (call.streams && control.stream !== undefined && resolved.model.stream === undefined) {
          await control.stream.sendText(textOf(parts))
          control.check()
        }
        return { parts, resolved, finishReason: response.finishReason }
      } catch (thrown) {
        control.check()
        if (usage === noUsage) usage = count(draft, resolved, thrown as ModelFailure)
        tellEnd(run, call, resolved, attempt, startedAt, usage, false)
        const delayMs = delayAfter(run, breaker, provider, attempt, thrown)
        if (delayMs !== undefined) {
          await pause(run, call, resolved, delayMs)
          continue
        }
        failure = FlowError.isInstance(thrown) ? thrown : modelError(resolved, detailOf(thrown), thrown)
      }
    }
    if (failure.code !== 'MODEL_ERROR' || ++index === call.models.length) throw failure
    attempt = 0
  }
}

/** Adds what an attempt cost to what is spent: that of an answer, or of a failure which tells. */
function count({ usage: spent }: CallingRun['draft'], { prices }: ResolvedModel, told: ModelFailure): TokenUsage {
  const usage = usageOf(told)
  spend(spent, usage)
  if (prices !== undefined) spent.cost = (spent.cost ?? 0) + costOf(usage, prices)
  return usage
}

/** Begins an attempt. */
function ask(run: CallingRun, call: ModelCall, resolved: ResolvedModel, attempt: number): Promise<ModelResponse> {
  const { control, turn, modelCalls: callNumber } = run
  const { flowName, sessionId, stream } = control
  const { selection, model } = resolved
  if (control.hasListeners('model:start')) control.emit('model:start', { ...namesOf(run, call, resolved), attempt })
  // A listener may have cancelled the turn.
  control.check()
  run.draft.usage.modelCalls++
  const { stepId } = call
  const origin = { flowName, stepId, sessionId, turnNumber: turn.number, callNumber, attempt }
  const request = new ModelAttempt(control, call, selection.params, origin)
  if (!call.streams || stream === undefined || model.stream === undefined) return request.generate(model)
  return request.stream(model as Required<RuntimeModel>, stream)
}

/**
 * What a failed attempt says to the breaker, and whether there is another one.
 *
 * @returns Milliseconds until the next attempt; `undefined` where there is none.
 * @throws `BudgetExceededError` where there would be one, and it may not be.
 */
function delayAfter(
  { control, draft, budget }: CallingRun,
  breaker: CircuitBreaker,
  provider: string,
  attempt: number,
  thrown: unknown,
): number | undefined {
  const { clock, modelRetry, random, events } = control.engine
  const now = clock.now()
  const { isRetryable, retryAfterMs } = readFailure(thrown, now)
  if (!isRetryable || (FlowError.isInstance(thrown) && thrown.code !== 'MODEL_ERROR')) {
    // A provider that says no is there.
    if (breaker.succeeded()) events.emit('circuit:closed', { provider, at: now })
    return undefined
  }
  if (breaker.failed(now)) events.emit('circuit:opened', { provider, at: now })
  if (attempt >= modelRetry.maxAttempts) return undefined
  const longest = Math.min(modelRetry.maxDelayMs, modelRetry.baseDelayMs * 2 ** (attempt - 1))
  const delayMs = Math.max(retryAfterMs, Math.floor(random() * longest) || 0)
  // What would come too late, or be turned away, is not waited for.
  if (now + delayMs >= control.deadlineAt || breaker.isShutAt(now + delayMs)) return undefined
  budget?.check(draft.usage, now + delayMs)
  return delayMs
}

function pause(run: CallingRun, call: ModelCall, resolved: ResolvedModel, delayMs: number): Promise<void> {
  const { control } = run
  control.stream?.reset('retry')
  control.emit('model:retry', { ...namesOf(run, call, resolved), reason: 'failure', delayMs })
  control.check()
  return new Promise((resolve) => {
    control.pending = setDeadline(control.engine.clock, delayMs, () => {
      control.pending = undefined
      resolve()
    })
  })
}

function tellFallback({ control }: CallingRun, { models, stepId: step }: ModelCall, index: number): void {
  const [from, to] = models.slice(index - 1) as [ResolvedModel, ResolvedModel]
  control.stream?.reset('fallback')
  const { provider, name: model } = from.selection
  const { provider: toProvider, name: toModel } = to.selection
  control.emit('model:fallback', { step, provider, model, toProvider, toModel })
}

function tellEnd(
  run: CallingRun,
  call: ModelCall,
  resolved: ResolvedModel,
  attempt: number,
  startedAt: number,
  usage: TokenUsage,
  success: boolean,
): void {
  const { control } = run
  if (!control.hasListeners('model:end')) return
  const durationMs = control.engine.clock.now() - startedAt
  control.emit('model:end', { ...namesOf(run, call, resolved), attempt, durationMs, success, ...usage })
}

/** What every event of a call names. */
function namesOf({ modelCalls: callNumber }: CallingRun, { stepId: step }: ModelCall, { selection }: ResolvedModel) {
  return { step, provider: selection.provider, model: selection.name, callNumber }
}

/** The words of an answer. */
export function textOf(parts: readonly MessagePart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/** The engine's own sentence may go out; what a provider throws stays in the cause. */
function detailOf(cause: unknown): string | undefined {
  return cause instanceof AttemptFailure ? cause.message : undefined
}
