/**
 * Distinguishes errors thrown by flow code from the engine's own. A flow may run another session, or use another
 * engine, and rethrow its error. Such an error does not concern this turn and its session.
 */
import { flowCodeError } from '../../../errors/engine-errors.js'
import { passingLimits } from '../../../errors/error-facts.js'
import { FlowError } from '../../../errors/flow-error.js'
import type { Awaitable } from '../../../flow/base-step.js'
import { thrownText } from '../../core/error-text.js'
import type { TurnControl } from './turn-control.js'

/**
 * The codes for errors about a session, a turn, an engine or its flows. `INVALID_INPUT` is not one of them, because
 * providers use it to refuse the user's input.
 */
const ownCode = /^(SESSION_|TURN_|ENGINE_|IDEMPOTENCY_|EVENT_|SCHEDULE_|FLOW_NOT_FOUND$|FLOW_REGISTRATION$)/

/** The limits that settle or answer a turn in a special way. */
const ownLimits: readonly (string | undefined)[] = ['maxSessionBytes', ...passingLimits]

/**
 * Whether an error thrown by flow code or a provider looks like a failure of this turn although the engine did not
 * throw it.
 */
export function isOfAnotherTurn(control: TurnControl, thrown: unknown): boolean {
  if (!FlowError.isInstance(thrown) || control.work.isOwn(thrown)) return false
  if (thrown.code === 'LIMIT_EXCEEDED') return ownLimits.includes(thrown.limit)
  return ownCode.test(thrown.code)
}

/** Calls flow code. Its errors go through {@link ofFlowCode}. */
export async function callFlowCode<T>(control: TurnControl, call: () => Awaitable<T>): Promise<T> {
  try {
    return await call()
  } catch (thrown) {
    throw ofFlowCode(control, thrown)
  }
}

/**
 * Converts an error thrown while flow code ran: an error of another turn becomes an error of flow code, with the same
 * text.
 */
export function ofFlowCode(control: TurnControl, thrown: unknown): unknown {
  return isOfAnotherTurn(control, thrown) ? flowCodeError(thrownText(thrown), thrown) : thrown
}
