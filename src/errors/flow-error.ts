/**
 * The base of every error that this package throws. Errors are recognised by a registered symbol and by their code,
 * never by `instanceof`, so that two copies of the package recognise each other's errors.
 */
import { type FlowErrorCode, factsOf } from './error-facts.js'

/**
 * Any error of the engine. `code` narrows it to the fields of that code. The fields are missing if the error has only a
 * code and a text: flow code threw it as a plain {@link FlowError}, it was replayed from a receipt, or the option
 * `mask` applied.
 *
 * @example
 * ```ts
 * const { error } = await engine.execute(input)
 * if (error?.code === 'LIMIT_EXCEEDED') console.log(error.limit)
 * ```
 */
export type AnyFlowError =
  | FlowError<
      | 'FLOW_ERROR'
      | 'FLOW_REGISTRATION'
      | 'INVALID_INPUT'
      | 'SESSION_BUSY'
      | 'TURN_ABORTED'
      | 'TURN_SUPERSEDED'
      | 'IDEMPOTENCY_MISMATCH'
      | 'ENGINE_CLOSED'
      | 'SCHEDULE_ERROR'
    >
  | (FlowError<'FLOW_NOT_FOUND'> & { readonly flowName?: string })
  | (FlowError<'LIMIT_EXCEEDED'> & { readonly limit?: string; readonly value?: number })
  | (FlowError<'BUDGET_EXCEEDED'> & {
      readonly scope?: 'turn' | 'session' | 'owner'
      readonly amount?: 'modelCalls' | 'tokens' | 'cost' | 'wallTimeMs'
      readonly value?: number
      readonly spent?: number
    })
  | (FlowError<'MODEL_ERROR' | 'MODEL_BLOCKED'> & { readonly provider?: string; readonly model?: string })
  | (FlowError<'TOOL_ERROR'> & { readonly tool?: string })
  | (FlowError<'TURN_TIMEOUT'> & { readonly timeoutMs?: number })
  | (FlowError<'ENGINE_BUSY'> & { readonly value?: number })
  | (FlowError<'SESSION_NOT_FOUND' | 'SESSION_CONFLICT' | 'SESSION_ENDED'> & { readonly sessionId?: string })
  | (FlowError<'EVENT_NOT_TAKEN'> & { readonly sessionId?: string; readonly event?: string })
  | (FlowError<'SESSION_FLOW_MISMATCH'> & {
      readonly sessionId?: string
      readonly boundFlow?: string
      readonly requestedFlow?: string
    })
  | (FlowError<'SESSION_FLOW_INVARIANT'> & {
      readonly sessionId?: string
      readonly newerLayout?: boolean
      readonly owner?: string | undefined
    })
  | (FlowError<'SESSION_STORE_ERROR'> & {
      readonly operation?: 'load' | 'create' | 'save' | 'delete' | 'claim' | 'list' | 'close'
      readonly sessionId?: string | undefined
    })

/**
 * The options of the constructor of {@link FlowError}.
 *
 * @inline
 */
export type FlowErrorOptions<Code extends FlowErrorCode = FlowErrorCode> = {
  readonly code: Code
  /** The text for people. It may reach a client; the `cause` never does. */
  readonly message: string
  /** Advice for the operator. It never reaches a client. Default: none. */
  readonly details?: string
  /** The causing error or value. */
  readonly cause?: unknown
  /** The fields of the code: see {@link AnyFlowError}. Default: none. */
  readonly facts?: Readonly<Record<string, unknown>>
}

const marker: unique symbol = Symbol.for('turnkeeper.FlowError')

/**
 * An error of the engine. Catch it by `FlowError.isInstance(error)` and switch on `error.code`.
 *
 * @example
 * ```ts
 * const { response, error } = await engine.execute(input)
 * const status = error?.code === 'SESSION_CONFLICT' ? 409 : response.success ? 200 : 400
 * ```
 */
export class FlowError<Code extends FlowErrorCode = FlowErrorCode> extends Error {
  /** The stable, literal code. */
  readonly code: Code
  /** The intended HTTP status (contract 7.2); the adapters answer 400 unless their option `statuses` is `'precise'`. */
  readonly statusCode: number
  /** Advice for the operator, if there is any, such as the option to change. It never reaches a client. */
  declare readonly details?: string

  constructor(options: FlowErrorOptions<Code>) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = options.code
    this.statusCode = factsOf(options.code).status
    if (options.details !== undefined) Object.assign(this, { details: options.details })
    Object.assign(this, options.facts)
  }

  static {
    // On the prototype, so that stacks and minified bundles show it, and instances print without it.
    this.prototype.name = 'FlowError'
    Object.defineProperty(this.prototype, marker, { value: true })
  }

  /** Whether `value` is an error of this copy of the package or another. Never throws. */
  static isInstance(value: unknown): value is AnyFlowError {
    try {
      return (Object(value) as { [marker]?: unknown })[marker] === true
    } catch {
      return false
    }
  }
}
