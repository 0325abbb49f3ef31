/** Looks at a session without its lock, only to see whether it has the answer to a request. */
import { decodeSession } from '../../session/session-codec.js'
import type { SessionDocument } from '../../session/session-document.js'
import { loadFor } from '../core/foreign-session.js'
import type { TurnControl } from '../turn/control/turn-control.js'
import { checkFlowName } from '../turn/session/find-session.js'

/** Who looks. `flowName` is the registered name; `turnId` is that of the turn that looks, if one does. */
type Reader = Pick<TurnControl, 'engine' | 'flowName'> & Partial<Pick<TurnControl, 'turnId'>>

/** A session as it is stored now; `undefined` where it is not the owner's and flow's, or cannot be read. */
export async function readStored(
  { engine, flowName, turnId }: Reader,
  sessionId: string,
  owner: string | undefined,
): Promise<SessionDocument | undefined> {
  const flowClass = engine.flows.get(flowName)
  if (flowClass === undefined) return undefined
  const turn = turnId === undefined ? {} : { turnId }
  try {
    const { stored } = await loadFor(engine, sessionId, { owner, ...turn })
    if (stored === undefined) return undefined
    const document = decodeSession(stored, sessionId)
    checkFlowName(document, flowClass)
    return document
  } catch {
    // A turn would fail with it, or find it mended.
    return undefined
  }
}
