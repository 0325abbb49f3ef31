/**
 * What flow code threw, told apart from the engine's own failures. A flow may run another session, or use another
 * engine, and throw what that failed with. Such an error says nothing about this turn and its session.
 */
import { flowCodeError } from '../../../errors/engine-errors.js'
import { FlowError } from '../../../errors/flow-error.js'
import type { Awaitable } from '../../../flow/base-step.js'
import { thrownText } from '../../core/error-text.js'
import type { TurnControl } from './turn-control.js'

/**
 * The codes with which the engine speaks of a session, a turn, an engine or its flows. `INVALID_INPUT` is not among
 * them: providers refuse with it what the user sent.
 */
const ownCode = /^(SESSION_|TURN_|ENGINE_|IDEMPOTENCY_|FLOW_NOT_FOUND$|FLOW_REGISTRATION$)/

/** The limits after which a turn is settled, or answered, in a way of its own. */
const ownLimits: readonly (string | undefined)[] = ['maxSessionBytes', 'maxQueuedTurnsPerSession']

/**
 * Whether an error that flow code or a provider threw looks like a failure of this turn, but the
 * engine did not throw it.
 */
export function isOfAnotherTurn(control: TurnControl, thrown: unknown): boolean {
  if (!FlowError.isInstance(thrown) || control.work.isOwn(thrown)) return false
  if (thrown.code === 'LIMIT_EXCEEDED') return ownLimits.includes(thrown.limit)
  return ownCode.test(thrown.code)
}

/** Calls flow code. What it throws goes through {@link ofFlowCode}. */
export async function callFlowCode<T>(control: TurnControl, call: () => Awaitable<T>): Promise<T> {
  try {
    return await call()
  } catch (thrown) {
    throw ofFlowCode(control, thrown)
  }
}

/**
 * What flow code threw, or the engine while it ran it: an error of another turn becomes one of
 * flow code, with its text.
 */
export function ofFlowCode(control: TurnControl, thrown: unknown): unknown {
  return isOfAnotherTurn(control, thrown) ? flowCodeError(thrownText(thrown), thrown) : thrown
}
