/** All errors as one union, which `code` narrows. */
import type {
  BudgetExceededError,
  EngineBusyError,
  EngineClosedError,
  FlowCodeError,
  FlowNotFoundError,
  FlowRegistrationError,
  IdempotencyMismatchError,
  InvalidInputError,
  LimitExceededError,
  ModelBlockedError,
  ModelError,
  SessionBusyError,
  ToolExecutionError,
  TurnAbortedError,
  TurnSupersededError,
  TurnTimeoutError,
} from './engine-errors.js'
import type { FlowError } from './flow-error.js'
import type {
  SessionConflictError,
  SessionFlowInvariantError,
  SessionFlowMismatchError,
  SessionNotFoundError,
  SessionStoreError,
} from './session-errors.js'

/**
 * The code of a class, and its fields if they are known.
 *
 * @inline
 */
type OfClass<Class extends FlowError> = Class extends unknown
  ? FlowError<Class['code']> & Partial<Omit<Class, keyof FlowError>>
  : never

/**
 * Any error of the engine: `code` narrows it to the fields of its class. They are missing if the error has only a code
 * and a text: flow code threw it as a plain {@link FlowError}, a receipt repeats it, or the option `mask` covered it.
 *
 * @example
 * ```ts
 * const { error } = await engine.execute(input)
 * if (error?.code === 'LIMIT_EXCEEDED') console.log(error.limit)
 * ```
 */
export type AnyFlowError = OfClass<
  | BudgetExceededError
  | EngineBusyError
  | EngineClosedError
  | FlowCodeError
  | FlowNotFoundError
  | FlowRegistrationError
  | IdempotencyMismatchError
  | InvalidInputError
  | LimitExceededError
  | ModelBlockedError
  | ModelError
  | SessionBusyError
  | SessionConflictError
  | SessionFlowInvariantError
  | SessionFlowMismatchError
  | SessionNotFoundError
  | SessionStoreError
  | ToolExecutionError
  | TurnAbortedError
  | TurnSupersededError
  | TurnTimeoutError
>
