/**
 * Outside events: what a server, a colleague, a page or the clock may send to a session, as tools are what a model may
 * call. `src/engine/turn/events` runs them.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { flowCodeError } from '../errors/engine-errors.js'
import type { Transition } from './transition.js'
import type { Turn } from './turn.js'

/** The options of {@link event}. */
export interface EventOptions<Schema extends StandardSchemaV1 = StandardSchemaV1> {
  /** The name under which it is sent: 1 to 200 characters. */
  readonly name: string
  /** The payload: a Standard Schema. Default: any payload is accepted, and `execute` gets none. */
  readonly input?: Schema
  /** Whether the session's own user may send it, too. Default `false`: only the application. */
  readonly byUser?: boolean
  /**
   * Has the clock send it: milliseconds after the step was entered. Not with `input` or `silence`, and not for an event
   * of a flow.
   */
  readonly after?: number
  /** Has the clock send it: milliseconds after the user's last message. Not with `input` or `after`. */
  readonly silence?: number
  /**
   * Takes the event. Returns a transition; or nothing: then the turn commits what it changed, and the user sees nothing.
   */
  execute(payload: StandardSchemaV1.InferOutput<Schema>, turn: Turn): Transition | void | Promise<Transition | void>
}

/** An event for the `events()` of a step or a flow. Create it with {@link event}. */
export interface FlowEvent {
  readonly name: string
  readonly input: StandardSchemaV1 | undefined
  readonly byUser: boolean
  /** Milliseconds. */
  readonly after: number | undefined
  /** Milliseconds. */
  readonly silence: number | undefined
  /** Takes the event. The engine passes a validated payload. */
  // biome-ignore lint/suspicious/noExplicitAny: the payload was validated against `input`, whose type is erased here
  execute(payload: any, turn: Turn): Transition | void | Promise<Transition | void>
}

const marker: unique symbol = Symbol.for('turnkeeper.FlowEvent')

const optionNames = ['name', 'input', 'byUser', 'after', 'silence', 'execute']

/**
 * Creates an event. The type of the payload of `execute` is inferred from `input`.
 *
 * @throws `FlowCodeError` if an option is unknown or not valid.
 * @example
 * ```ts
 * override events() {
 *   return [
 *     event({ name: 'decision', input: Decision, execute: ({ approved }) => (approved ? go(Pay) : finish('No.')) }),
 *     event({ name: 'expired', after: 7 * day, execute: () => finish('No decision came within a week.') }),
 *   ]
 * }
 * ```
 */
export function event<Schema extends StandardSchemaV1 = StandardSchemaV1<unknown, undefined>>(
  options: EventOptions<Schema>,
): FlowEvent {
  const { name, input, byUser = false, after, silence, execute } = options
  const check = (isRight: boolean, rule: string): void => {
    if (!isRight) throw flowCodeError(`Event '${String(name)}' must have ${rule}.`)
  }
  check(isEventName(name), `a name: ${eventNameRule}`)
  const unknown = Object.keys(options).find((option) => !optionNames.includes(option))
  check(unknown === undefined, `no option but ${optionNames.join(', ')}; got '${unknown}'`)
  check(typeof execute === 'function', 'a function execute')
  check(typeof byUser === 'boolean', 'true or false as byUser')
  check(input === undefined || typeof input?.['~standard']?.validate === 'function', 'a Standard Schema as input')
  const [first, ...more] = [after, silence, input].filter((one) => one !== undefined)
  check(more.length === 0, 'only one of input, after and silence')
  check(first === input || isDelay(first), `after or silence in ${delayRule}`)
  return Object.freeze({ [marker]: true, name, input, byUser, after, silence, execute })
}

/** Whether a value was made by {@link event}, of this or another copy of the package. */
export function isFlowEvent(value: unknown): value is FlowEvent {
  return (Object(value) as { [marker]?: unknown })[marker] === true
}

/** The shape of an event's name. */
export const eventNameRule = 'a text of 1 to 200 characters'

/** Whether a value can be the name of an event. */
export function isEventName(name: unknown): name is string {
  return typeof name === 'string' && name.trim() !== '' && name.length <= 200
}

/** The shape of a delay. */
export const delayRule = 'milliseconds above 0, at most ten years'

/** Whether a value is a delay. */
export function isDelay(ms: unknown): ms is number {
  return typeof ms === 'number' && ms > 0 && ms <= 10 * 366 * 86_400_000
}
