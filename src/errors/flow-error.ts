/**
 * The base of every error that this package throws. Errors are recognised by a registered symbol and by their code,
 * never by `instanceof`, so that two copies of the package recognise each other's.
 */
import { type FlowErrorCode, factsOf } from './error-facts.js'

/**
 * What the constructor of {@link FlowError} takes.
 *
 * @inline
 */
export type FlowErrorOptions<Code extends FlowErrorCode = FlowErrorCode> = {
  readonly code: Code
  /** The sentence for people. It may reach a client; the `cause` never does. */
  readonly message: string
  /** What an operator can do about it. It never reaches a client. Default: nothing is said. */
  readonly details?: string
  /** The error or value that caused it. */
  readonly cause?: unknown
  /** The facts in the message, as fields of the error. Default: none. */
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
  /**
   * What an operator can do about it, where there is something to say: which option to change.
   * It never reaches a client.
   */
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

  /** Whether `value` is a {@link FlowError}, of this copy of the package or another. Never throws. */
  static isInstance(value: unknown): value is FlowError {
    try {
      return (Object(value) as { [marker]?: unknown })[marker] === true
    } catch {
      return false
    }
  }
}
