/**
 * The errors around a session: registration, input, limits, models, tools, flow code and time. Each class keeps its
 * facts in fields and its text in the message.
 */

import { FlowError } from './flow-error.js'

/** No flow is registered under this name. */
export class FlowNotFoundError extends FlowError<'FLOW_NOT_FOUND'> {
  constructor(options: { readonly flowName: string; readonly details?: string; readonly cause?: unknown }) {
    const { flowName } = options
    super({
      ...options,
      code: 'FLOW_NOT_FOUND',
      message: `Flow class '${flowName}' not registered.`,
      facts: { flowName },
    })
  }

  static {
    this.prototype.name = 'FlowNotFoundError'
  }
}

/** A batch of flows, a provider, a model or the steps of a flow cannot be registered. */
export class FlowRegistrationError extends FlowError<'FLOW_REGISTRATION'> {
  constructor(options: { readonly message: string; readonly details?: string; readonly cause?: unknown }) {
    super({ code: 'FLOW_REGISTRATION', ...options })
  }

  static {
    this.prototype.name = 'FlowRegistrationError'
  }
}

/** An argument, an option or a field of a request is invalid. The message names it. */
export class InvalidInputError extends FlowError<'INVALID_INPUT'> {
  constructor(options: { readonly message: string; readonly cause?: unknown }) {
    super({ code: 'INVALID_INPUT', message: options.message, cause: options.cause })
  }

  static {
    this.prototype.name = 'InvalidInputError'
  }
}

/** A limit of `FlowEngineOptions.limits` was exceeded. */
export class LimitExceededError extends FlowError<'LIMIT_EXCEEDED'> {
  constructor(options: {
    readonly limit: string
    readonly value: number
    /** What exceeded the limit: the beginning of a sentence. */
    readonly problem: string
    /** The owner of the limit, such as `step 'Ask'`. Default: the engine. */
    readonly owner?: string
    readonly cause?: unknown
  }) {
    const { limit, value, problem, owner } = options
    super({
      code: 'LIMIT_EXCEEDED',
      message:
        owner === undefined
          ? `${problem} exceeds the limit ${limit} (${value}).`
          : `${problem} exceeds the limit ${limit} of ${owner} (${value}).`,
      details: owner === undefined ? raiseLimit(limit) : `Raise ${limit} of ${owner}.`,
      cause: options.cause,
      facts: { limit, value },
    })
  }

  static {
    this.prototype.name = 'LimitExceededError'
  }
}

/** A budget is used up, so the engine calls no more models. */
export class BudgetExceededError extends FlowError<'BUDGET_EXCEEDED'> {
  /** The kind of budget: a turn's, a session's or an owner's. */
  declare readonly scope: 'turn' | 'session' | 'owner'
  /** The amount in `ModelBudget` that is used up. */
  declare readonly amount: 'modelCalls' | 'tokens' | 'cost' | 'wallTimeMs'
  /** The budget. */
  declare readonly value: number
  /** For an owner, with the estimated cost of calls under way. */
  declare readonly spent: number

  constructor(options: {
    readonly scope: BudgetExceededError['scope']
    readonly amount: BudgetExceededError['amount']
    readonly value: number
    readonly spent: number
    readonly cause?: unknown
  }) {
    const { scope, amount, value, spent } = options
    super({
      code: 'BUDGET_EXCEEDED',
      message: `The ${scope}'s budget ${amount} (${value}) is used up: ${spent} spent.`,
      details: `Raise it in budgets: { ${scope}: { ${amount}: ... } }.`,
      cause: options.cause,
      facts: { scope, amount, value, spent },
    })
  }

  static {
    this.prototype.name = 'BudgetExceededError'
  }
}

/** A model failed, or its answer is unusable. The provider's error is the `cause`. */
export class ModelError extends FlowError<'MODEL_ERROR'> {
  declare readonly provider: string
  declare readonly model: string

  constructor(options: {
    readonly provider: string
    readonly model: string
    /** An additional sentence about the problem with the answer. */
    readonly detail?: string | undefined
    readonly cause?: unknown
  }) {
    const detail = options.detail === undefined ? '' : ` ${options.detail}`
    super({
      code: 'MODEL_ERROR',
      message: `Model '${options.model}' of provider '${options.provider}' failed.${detail}`,
      cause: options.cause,
      facts: { provider: options.provider, model: options.model },
    })
  }

  static {
    this.prototype.name = 'ModelError'
  }
}

/** A model refused to answer, or its provider's content filter stopped it. */
export class ModelBlockedError extends FlowError<'MODEL_BLOCKED'> {
  declare readonly provider: string
  declare readonly model: string

  constructor(options: { readonly provider: string; readonly model: string; readonly cause?: unknown }) {
    super({
      code: 'MODEL_BLOCKED',
      message: `Model '${options.model}' of provider '${options.provider}' blocked its answer.`,
      cause: options.cause,
      facts: { provider: options.provider, model: options.model },
    })
  }

  static {
    this.prototype.name = 'ModelBlockedError'
  }
}

/** A tool threw. The message is the tool's own text; its error is the `cause`. */
export class ToolExecutionError extends FlowError<'TOOL_ERROR'> {
  constructor(options: { readonly tool: string; readonly message: string; readonly cause?: unknown }) {
    super({ code: 'TOOL_ERROR', message: options.message, cause: options.cause, facts: { tool: options.tool } })
  }

  static {
    this.prototype.name = 'ToolExecutionError'
  }
}

/** A hook of a flow or a step threw, or broke a rule. The message is the hook's own text, or names the broken rule. */
export class FlowCodeError extends FlowError<'FLOW_ERROR'> {
  constructor(options: { readonly message: string; readonly cause?: unknown }) {
    super({ code: 'FLOW_ERROR', message: options.message, cause: options.cause })
  }

  static {
    this.prototype.name = 'FlowCodeError'
  }
}

const mayWaitForItself =
  ' Other requests of the session waited for this turn. If flow code awaits one of them, the turn waited for itself.' +
  ' Pass signal: turn.signal to a turn that flow code starts, so that it is cancelled with this one.'

/** The turn, or its wait for the session's lock, took longer than `turnTimeoutMs`. */
export class TurnTimeoutError extends FlowError<'TURN_TIMEOUT'> {
  constructor(options: {
    readonly timeoutMs: number
    /** The phase that took too long. */
    readonly phase: 'turn' | 'lock'
    /** Whether other requests waited for the session's lock when the turn ended. Default `false`. */
    readonly isAwaited?: boolean
    readonly cause?: unknown
  }) {
    const isTurn = options.phase === 'turn'
    const subject = isTurn ? 'The turn' : "The wait for the session's earlier turns"
    const likelyCause = isTurn
      ? ''
      : ' A turn that is started within a turn of the same session, and awaited there, waits for itself and ends like this.'
    super({
      code: 'TURN_TIMEOUT',
      message: `${subject} took longer than the limit turnTimeoutMs (${options.timeoutMs} ms).${likelyCause}`,
      details: raiseLimit('turnTimeoutMs') + (options.isAwaited === true ? mayWaitForItself : ''),
      cause: options.cause,
      facts: { timeoutMs: options.timeoutMs },
    })
  }

  static {
    this.prototype.name = 'TurnTimeoutError'
  }
}

/** The caller cancelled the turn: its `signal` fired, or the client disconnected. The session is unchanged. */
export class TurnAbortedError extends FlowError<'TURN_ABORTED'> {
  constructor(options: { readonly cause?: unknown } = {}) {
    super({ code: 'TURN_ABORTED', message: 'The turn was cancelled by its caller.', cause: options.cause })
  }

  static {
    this.prototype.name = 'TurnAbortedError'
  }
}

/** The session has a running turn, and its flow refuses others meanwhile (`busy: 'reject'`). Intended status 409. */
export class SessionBusyError extends FlowError<'SESSION_BUSY'> {
  constructor(options: { readonly cause?: unknown } = {}) {
    super({
      code: 'SESSION_BUSY',
      message: 'The session is busy with another message. Send this one again when that is answered.',
      cause: options.cause,
    })
  }

  static {
    this.prototype.name = 'SessionBusyError'
  }
}

/** A newer message superseded this turn (`busy: 'interrupt'`). Intended status 409. */
export class TurnSupersededError extends FlowError<'TURN_SUPERSEDED'> {
  constructor(options: { readonly cause?: unknown } = {}) {
    super({
      code: 'TURN_SUPERSEDED',
      message: 'A newer message took the place of this one.',
      cause: options.cause,
    })
  }

  static {
    this.prototype.name = 'TurnSupersededError'
  }
}

/** An idempotency key was used before, for another request, or for one whose reply is no longer stored. */
export class IdempotencyMismatchError extends FlowError<'IDEMPOTENCY_MISMATCH'> {
  constructor(options: { readonly cause?: unknown } = {}) {
    super({
      code: 'IDEMPOTENCY_MISMATCH',
      message: 'The idempotency key was used for another request. Use a new key for each new message.',
      cause: options.cause,
    })
  }

  static {
    this.prototype.name = 'IdempotencyMismatchError'
  }
}

/** The engine already has `maxConcurrentTurns` turns. The turn did not begin; the session is unchanged. */
export class EngineBusyError extends FlowError<'ENGINE_BUSY'> {
  constructor(options: { readonly value: number; readonly cause?: unknown }) {
    const { value } = options
    super({
      code: 'ENGINE_BUSY',
      message: `The engine has as many turns under way as the limit maxConcurrentTurns allows (${value}). Send the message again in a moment.`,
      details: raiseLimit('maxConcurrentTurns'),
      cause: options.cause,
      facts: { value },
    })
  }

  static {
    this.prototype.name = 'EngineBusyError'
  }
}

/** The engine is closing or closed and takes no more work. */
export class EngineClosedError extends FlowError<'ENGINE_CLOSED'> {
  constructor(options: { readonly cause?: unknown } = {}) {
    super({ code: 'ENGINE_CLOSED', message: 'The engine is closed.', cause: options.cause })
  }

  static {
    this.prototype.name = 'EngineClosedError'
  }
}

function raiseLimit(limit: string): string {
  return `Raise it with the engine option limits: { ${limit}: ... }.`
}

/** Makes the error of bad options and bad input: every module makes it here. */
export function invalidInput(message: string, cause?: unknown): InvalidInputError {
  return markAsMade(new InvalidInputError({ message, cause }))
}

/** Makes the error of a clock that cannot set a timer. @internal */
export function clockFailed(cause: unknown): FlowCodeError {
  return flowCodeError("The engine's clock failed: its setTimer threw an error, so no deadline can be set.", cause)
}

/** Makes the error of a registration. @internal */
export function registrationError(message: string, details?: string): FlowRegistrationError {
  return new FlowRegistrationError({ message, ...(details === undefined ? {} : { details }) })
}

const madeByEngine = new WeakSet<FlowError>()

function markAsMade<Made extends FlowError>(error: Made): Made {
  madeByEngine.add(error)
  return error
}

/** Makes the error for a mistake in flow code. @internal */
export function flowCodeError(message: string, cause?: unknown): FlowCodeError {
  return markAsMade(new FlowCodeError({ message, cause }))
}

/** Makes the error of a tool that failed. @internal */
export function toolError(tool: string, message: string, cause?: unknown): ToolExecutionError {
  return markAsMade(new ToolExecutionError({ tool, message, cause }))
}

/**
 * Whether the engine made the error with a function above. If flow code throws one itself, its text is for the user.
 * @internal
 */
export function isMadeByEngine(error: FlowError): boolean {
  return madeByEngine.has(error)
}
