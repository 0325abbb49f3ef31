/** Removes a listed session, under its lock and only for its owner, because it may have changed since the listing. */
import type { FlowErrorCode } from '../../errors/error-facts.js'
import { FlowError } from '../../errors/flow-error.js'
import type { SessionSummary } from '../../session/session-store.js'
import type { EngineContext } from '../core/engine-context.js'
import { listedWait } from '../lock/lock-waits.js'
import { removeAndReport } from './remove-session.js'

/** After these errors the next session would fail too. */
const fatalCodes: readonly FlowErrorCode[] = ['SESSION_STORE_ERROR', 'ENGINE_CLOSED']

/**
 * Removes the session, even if the rest of the document cannot be read.
 *
 * @param isDue - Whether the currently stored session is to be removed. Default: always.
 * @returns whether it was removed; `failed` if another process is using it, or a newer release stored it
 * @throws `SessionStoreError` if the store failed; `EngineClosedError`
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
