/** Removes a session that was listed, under its lock and with its owner: it may have changed since. */
import type { FlowErrorCode } from '../../errors/error-facts.js'
import { FlowError } from '../../errors/flow-error.js'
import type { SessionSummary } from '../../session/session-store.js'
import type { EngineContext } from '../core/engine-context.js'
import { listedWait } from '../lock/lock-waits.js'
import { removeAndReport } from './remove-session.js'

/** After these the next session would fare no better. */
const fatalCodes: readonly FlowErrorCode[] = ['SESSION_STORE_ERROR', 'ENGINE_CLOSED']

/**
 * Removes the session, also where the rest of what is stored cannot be read.
 *
 * @param isDue - Whether what is stored now is to be removed. Default: it is.
 * @returns Whether it was removed; `failed` where it is another process's at this moment, or a newer release's.
 * @throws `SessionStoreError` where the store failed, `EngineClosedError`.
 */
export async function removeListed(
  engine: EngineContext,
  { id, owner }: SessionSummary,
  isDue?: (stored: unknown) => boolean,
): Promise<boolean | 'failed'> {
  const options = { unreadable: true, ...(owner === undefined ? {} : { owner }) }
  try {
    return await engine.session.hold(
      id,
      (holder) => removeAndReport(engine, holder, id, options, {}, isDue),
      () => listedWait(engine, options),
    )
  } catch (error) {
    if (!FlowError.isInstance(error) || fatalCodes.includes(error.code)) throw error
    return 'failed'
  }
}
