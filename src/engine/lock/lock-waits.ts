/** How turns, deletes and summaries wait for the lock of their session. */
import { TurnAbortedError, TurnTimeoutError } from '../../errors/engine-errors.js'
import type { LockWait, SharedDelete } from '../../session/lock/lock-request.js'
import type { EngineContext } from '../core/engine-context.js'
import type { DeleteOptions } from '../core/engine-options.js'
import type { TurnControl } from '../turn/control/turn-control.js'
import { checkMayWait, takePlace } from './busy.js'

/** A turn counts in the queue, and stops waiting if its caller cancels it. */
export function turnWait(control: TurnControl): LockWait {
  const { input } = control
  const { signal } = input
  const { timeoutMs, onTimeout } = waitTime(control.engine)
  // No spread: this runs for each turn, and a spread before so many properties takes longer than all of them.
  return {
    timeoutMs,
    onTimeout,
    holder: 'turn',
    turnId: control.turnId,
    counted: !control.isOfServer,
    caller: input,
    signal,
    onAbort: () => new TurnAbortedError({ cause: signal?.reason }),
    turn: control,
    onBlocked: (queued, lock) => checkMayWait(control, queued, lock),
    onQueued: (lock) => takePlace(control, lock),
    onTaken: () => control.loseLock(),
  }
}

/** @param shared - Its place in the queue, which equal later deletes share. */
export function deleteWait(engine: EngineContext, options: DeleteOptions | undefined, shared: SharedDelete): LockWait {
  return { ...waitTime(engine), holder: 'delete', counted: false, caller: options, delete: shared }
}

/** A delete with its own place, because it may leave the session alone. */
export function listedWait(engine: EngineContext, options: DeleteOptions): LockWait {
  return { ...waitTime(engine), holder: 'delete', counted: false, caller: options }
}

/** @param owner - The session's owner: other callers do not wait for the summary. */
export function summaryWait(engine: EngineContext, owner: string | undefined): LockWait {
  return { ...waitTime(engine), holder: 'summary', counted: false, caller: { owner } }
}

/** All wait for as long as a turn may take. */
function waitTime({ limits }: EngineContext): Required<Pick<LockWait, 'timeoutMs' | 'onTimeout'>> {
  const { turnTimeoutMs: timeoutMs } = limits
  return { timeoutMs, onTimeout: () => new TurnTimeoutError({ timeoutMs, phase: 'lock' }) }
}
