/**
 * Moves the commit of a turn over a summary that another process stored while the turn ran. The turn and the summary
 * changed different parts of the session, so both can stay: the model of the turn need not be called again.
 */
import type { MovedCommit } from '../engine/turn/compactor.js'
import type { TurnControl } from '../engine/turn/control/turn-control.js'
import type { TurnDraft } from '../engine/turn/draft/turn-draft.js'
import type { StoredMessage } from '../model/message.js'
import { bytesOfLists } from '../session/document-bytes.js'
import { shareList } from '../session/lists/shared-lists.js'
import { nextRevision } from '../session/revision.js'
import type { SessionDocument, SessionMemory } from '../session/session-document.js'
import { addSpent, isSameJson, messagesOf } from './swap-summary.js'

/**
 * Loads the session again after a conflict.
 *
 * @param document - The document that the turn could not store.
 * @returns the document to store, and the revision that it replaces; `undefined` if the conflict stands
 */
export async function commitOverSummary(
  { engine }: TurnControl,
  { loaded }: TurnDraft,
  document: SessionDocument,
): Promise<MovedCommit | undefined> {
  if (loaded === undefined) return undefined
  // If the session cannot be loaded, the turn fails with the conflict.
  const stored = await engine.session.access.load(loaded.id).catch(() => undefined)
  if (stored === undefined || !isSameJson(withoutSummaries(stored), withoutSummaries(loaded))) return undefined
  const memory: Record<string, SessionMemory> = { ...document.flow.memory }
  for (const namespace of Object.keys({ ...memory, ...stored.flow.memory })) {
    const messages = movedMessages(namespace, loaded, stored, document)
    if (messages === undefined) return undefined
    memory[namespace] = { messages }
  }
  const moved: SessionDocument = {
    ...document,
    revision: nextRevision(stored.revision, engine.generateId('revision')),
    usage: addSpent(stored.usage, { before: loaded.usage, after: document.usage }),
    flow: { ...document.flow, memory },
  }
  return { document: { ...moved, bytes: bytesOfLists(moved) }, storedRevision: stored.revision }
}

/** What a summary leaves as it is. */
function withoutSummaries({ revision: _, savedAt: _s, usage: _u, bytes: _b, flow, ...rest }: SessionDocument): object {
  const { memory: _m, ...otherFlow } = flow
  return { ...rest, flow: otherFlow }
}

/** The messages of a memory with what the turn added behind a summary; `undefined` if they do not fit together. */
function movedMessages(
  namespace: string,
  loaded: SessionDocument,
  stored: SessionDocument,
  document: SessionDocument,
): readonly StoredMessage[] | undefined {
  const [before, now, own] = [loaded, stored, document].map((one) => messagesOf(one, namespace)) as Triple
  if (isSameJson(before, now)) return own
  const [summary, ...kept] = now
  const isSwapped = summary?.summary === true && isSameJson(kept, before.slice(before.length - kept.length))
  // A turn that removed messages removed what the summary tells.
  if (!isSwapped || before.some((message, index) => message !== own[index])) return undefined
  return shareList([...now, ...own.slice(before.length)])
}

type Triple = [readonly StoredMessage[], readonly StoredMessage[], readonly StoredMessage[]]
