/** Converts a thread to the events with which a client replaces its messages and its state. */
import type { SessionDocument } from '../../src/index.js'
import { replyIdOf } from '../chat/client-id.js'
import { type StoredFile, type StoredTurn, storedTurns } from '../chat/stored-turns.js'
import { type FlowAgentState, partsEvents, type RunEvent } from './run-events.js'

/**
 * @param document - The session of the thread, if it has one.
 * @param open - The messages that it does not have yet.
 */
export function snapshotOf({
  document,
  open,
}: {
  readonly document: SessionDocument | undefined
  readonly open: readonly unknown[]
}): RunEvent[] {
  if (document === undefined) return [{ type: 'MESSAGES_SNAPSHOT', messages: open }]
  const turns = storedTurns(document)
  const snapshot: FlowAgentState = { session: document.id, sessionState: document.runStatus }
  return [
    { type: 'MESSAGES_SNAPSHOT', messages: [...messagesOf(turns), ...open] },
    ...turns.flatMap(({ id, entry }) => partsEvents(replyIdOf(id), entry)),
    { type: 'STATE_SNAPSHOT', snapshot },
  ]
}

function messagesOf(turns: readonly StoredTurn[]): object[] {
  return turns.flatMap(({ id, entry, files }) => {
    const { message, reply, contentType, encoding, event } = entry
    const text = { type: 'text', text: message }
    const content = files.length === 0 ? message : [...(message === '' ? [] : [text]), ...files.map(filePart)]
    const said = encoding === undefined ? reply : `data:${contentType};base64,${reply}`
    const answer = {
      ...{ id: replyIdOf(id), role: 'assistant', content: said },
      ...(event && { metadata: { event: event.name, by: event.by } }),
    }
    return [...(content === '' ? [] : [{ id, role: 'user', content }]), ...(reply === '' ? [] : [answer])]
  })
}

function filePart({ type, mediaType: mimeType, data, url }: StoredFile): object {
  const source = data === undefined ? { type: 'url', value: url } : { type: 'data', value: data }
  return { type: type === 'image' ? 'image' : 'document', source: { ...source, mimeType } }
}
