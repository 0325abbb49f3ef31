/**
 * One call of a model: attempts at the first model and then at those that stand in for it, within the budgets. Each
 * attempt is told to the engine's listeners and counted. What is asked, and what becomes of the answer, is decided
 * elsewhere.
 */
import { setDeadline } from '../config/clock.js'
import { FlowError } from '../errors/flow-error.js'
import type { MessagePart, TokenUsage } from '../model/message.js'
import { costOf } from '../model/model-budget.js'
import { readFailure } from '../model/model-failure.js'
import type { RuntimeModel } from '../model/model-provider.js'
import type { ResolvedModel } from '../model/model-registry.js'
import { limitExceeded } from './engine-limits.js'
import { modelError, partsOf, spend, usageOf } from './model-answer.js'
import { AttemptFailure, ModelAttempt, type ModelQuestion } from './model-attempt.js'
import type { StepRun } from './run-steps.js'

/** What a step asks, and of whom. */
export interface ModelCall {
  readonly stepId: string
  /** The model, and those that stand in for it, in order. */
  readonly models: readonly ResolvedModel[]
  readonly question: ModelQuestion
  /** Whether its text goes to the reader of the turn's stream while it is made. */
  readonly streams: boolean
}

/** What was answered, and by which of the models. */
export interface ModelAnswer {
  readonly parts: readonly MessagePart[]
  readonly resolved: ResolvedModel
}

/**
 * Calls a model until one answers.
 *
 * @throws {@link ModelError} of the last attempt, `ModelBlockedError` of the first model that refuses,
 * `LimitExceededError`, `BudgetExceededError`
 */
export async function callModel(run: StepRun, call: ModelCall): Promise<ModelAnswer> {
  const { scope } = run
  const { limits } = scope.parts
  if (run.modelCalls >= limits.maxModelCallsPerTurn) {
    throw limitExceeded(limits, 'maxModelCallsPerTurn', `The number of model calls in step '${call.stepId}'`)
  }
  run.modelCalls++
  let failure: unknown
  for (const [index, resolved] of call.models.entries()) {
    if (index > 0) {
      scope.stream?.reset('fallback')
      const { provider, name } = (call.models[index - 1] as ResolvedModel).selection
      const { provider: toProvider, name: toModel } = resolved.selection
      scope.emit('model:fallback', { step: call.stepId, provider, model: name, toProvider, toModel })
    }
    try {
      return { parts: await tryModel(run, call, resolved), resolved }
    } catch (error) {
      if (!FlowError.isInstance(error) || error.code !== 'MODEL_ERROR') throw error
      failure = error
    }
  }
  throw failure
}

/** Attempts at one model. */
async function tryModel(run: StepRun, call: ModelCall, resolved: ResolvedModel): Promise<readonly MessagePart[]> {
  const { scope, draft } = run
  const { clock, modelRetry, random, circuitBreakers, events } = scope.parts
  const { provider, name: model } = resolved.selection
  const breaker = circuitBreakers.of(provider)
  for (let attempt = 1; ; attempt++) {
    run.budget?.check(draft.usage, clock.now())
    const shutMs = breaker.waitFor(clock.now())
    if (shutMs > 0) {
      throw modelError(resolved, `Provider '${provider}' failed too often; it is left alone for another ${shutMs} ms.`)
    }
    try {
      const parts = await runAttempt(run, call, resolved, attempt)
      if (breaker.succeeded()) events.emit('circuit:closed', { provider, at: clock.now() })
      return parts
    } catch (cause) {
      scope.check()
      const now = clock.now()
      const { isRetryable, retryAfterMs = 0 } = readFailure(FlowError.isInstance(cause) ? cause.cause : cause, now)
      if (!isRetryable) {
        // A provider that says no is there.
        if (breaker.succeeded()) events.emit('circuit:closed', { provider, at: now })
      } else if (breaker.failed(now)) events.emit('circuit:opened', { provider, at: now })
      if (FlowError.isInstance(cause) && cause.code !== 'MODEL_ERROR') throw cause
      const longest = Math.min(modelRetry.maxDelayMs, modelRetry.baseDelayMs * 2 ** (attempt - 1))
      const delayMs = Math.max(retryAfterMs, Math.floor(random() * longest))
      if (!isRetryable || attempt >= modelRetry.maxAttempts || now + delayMs >= scope.deadlineAt) {
        throw FlowError.isInstance(cause) ? cause : modelError(resolved, detailOf(cause), cause)
      }
      scope.stream?.reset('retry')
      const { modelCalls: callNumber } = run
      scope.emit('model:retry', { step: call.stepId, provider, model, callNumber, reason: 'failure', delayMs })
      await pause(run, delayMs)
    }
  }
}

/** One attempt: told, counted, and its answer checked. */
async function runAttempt(
  run: StepRun,
  call: ModelCall,
  resolved: ResolvedModel,
  attempt: number,
): Promise<readonly MessagePart[]> {
  const { scope, draft, turn } = run
  const { clock, limits } = scope.parts
  const { flowName, sessionId, stream } = scope
  const { stepId, question } = call
  const { selection, model, prices } = resolved
  const { modelCalls: callNumber } = run
  const origin = { flowName, stepId, sessionId, turnNumber: turn.number, callNumber, attempt }
  const request = new ModelAttempt(scope, question, selection.params, origin)
  const names = { step: stepId, provider: selection.provider, model: selection.name, callNumber, attempt }
  const startedAt = clock.now()
  let usage: TokenUsage = { inputTokens: 0, outputTokens: 0 }
  let success = false
  draft.usage.modelCalls++
  scope.emit('model:start', names)
  try {
    const isStreamed = call.streams && stream !== undefined && model.stream !== undefined
    const response = await (isStreamed
      ? request.stream(model as Required<RuntimeModel>, stream)
      : request.generate(model))
    scope.check()
    usage = usageOf(response)
    spend(draft.usage, usage)
    if (prices !== undefined) draft.usage.cost = (draft.usage.cost ?? 0) + costOf(usage, prices)
    const parts = partsOf(response, resolved, limits.maxJsonDepth)
    success = true
    if (call.streams && stream !== undefined && !isStreamed) await stream.sendText(textOf(parts))
    return parts
  } finally {
    if (scope.isHeard('model:end')) {
      scope.emit('model:end', { ...names, durationMs: clock.now() - startedAt, success, ...usage })
    }
  }
}

/** The words of an answer. */
export function textOf(parts: readonly MessagePart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/** The engine's own sentence may go out; what a provider throws stays in the cause. */
function detailOf(cause: unknown): string | undefined {
  return cause instanceof AttemptFailure ? cause.message : undefined
}

function pause({ scope }: StepRun, ms: number): Promise<void> {
  return new Promise((resolve) => {
    scope.pending = setDeadline(scope.parts.clock, ms, () => {
      scope.pending = undefined
      resolve()
    })
  })
}
