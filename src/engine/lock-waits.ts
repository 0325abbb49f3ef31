/** How turns, deletes and summaries wait for the lock of their session. */
import { TurnAbortedError, TurnTimeoutError } from '../errors/engine-errors.js'
import type { LockWait, SharedDelete } from '../session/lock-request.js'
import type { EngineContext } from './engine-context.js'
import { limitExceeded } from './engine-limits.js'
import type { DeleteOptions } from './engine-options.js'
import type { TurnInput } from './input/check-input.js'
import type { TurnControl } from './turn/turn-control.js'

/** A turn is counted, and ends its wait when its caller cancels it. */
export function turnWait(control: TurnControl, input: TurnInput): LockWait {
  const { limits } = control.engine
  const { signal } = input
  return {
    ...waitTime(control.engine),
    holder: 'turn',
    turnId: control.turnId,
    counted: true,
    caller: input,
    signal,
    onAbort: () => new TurnAbortedError({ cause: signal?.reason }),
    onBlocked: (queued) => {
      if (queued < limits.maxQueuedTurnsPerSession) return control.report('turn:queued', { queued })
      throw limitExceeded(limits, 'maxQueuedTurnsPerSession', 'The number of turns that wait for this session')
    },
    onTaken: () => control.loseLock(),
  }
}

/** @param shared - Its place in the queue, for the same deletes that come after it. */
export function deleteWait(engine: EngineContext, options: DeleteOptions | undefined, shared: SharedDelete): LockWait {
  return { ...waitTime(engine), holder: 'delete', counted: false, caller: options, delete: shared }
}

export function summaryWait(engine: EngineContext): LockWait {
  return { ...waitTime(engine), holder: 'summary', counted: false }
}

/** All of them wait for as long as a turn may take. */
function waitTime({ limits }: EngineContext): Pick<LockWait, 'timeoutMs' | 'onTimeout'> {
  const { turnTimeoutMs: timeoutMs } = limits
  return { timeoutMs, onTimeout: () => new TurnTimeoutError({ timeoutMs, phase: 'lock' }) }
}
