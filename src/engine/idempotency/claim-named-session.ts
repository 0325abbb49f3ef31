/** The session of a message whose client may name another session than the one that has answered the message. */

import { registeredName } from '../core/registered-name.js'
import type { EngineContext } from '../create-context.js'
import { hasReceipt } from './receipts.js'
import { requestKeyOf } from './request-key.js'
import { readStored } from './stored-session.js'

/** A message with a key, and the session that it is about to be sent to. */
export interface NamedSession {
  readonly flowName: string
  readonly owner: string
  readonly idempotencyKey: string
  readonly sessionId: string
}

/**
 * Claims the named session for the key.
 *
 * @returns The session that has answered an earlier request with the key; else the named one, which later requests find
 * by the key from now on.
 * @throws `InvalidInputError` for a key that cannot be used, `SessionStoreError` where the store failed.
 */
export async function claimNamedSession(engine: EngineContext, named: NamedSession): Promise<string> {
  const { flowName, owner, idempotencyKey, sessionId } = named
  const message = { userMessage: '', attachments: [], context: undefined, owner }
  const idempotency = requestKeyOf(idempotencyKey, message, flowName)
  const looking = { engine, flowName: registeredName(engine, { flowName, hideFlow: undefined }) }
  for (let round = 0; ; round++) {
    const claimed = await engine.claims.claim(engine.session.access, idempotency, round, sessionId)
    if (claimed === sessionId) return sessionId
    if (hasReceipt(await readStored(looking, claimed, owner), { idempotency })) return claimed
  }
}
