/** Converts a stored session to messages of the AI SDK, which a page shows after a reload. */

import type { SessionDocument } from '../../src/index.js'
import { replyIdOf } from '../chat/client-id.js'
import { type StoredFile, type StoredTurn, storedTurns } from '../chat/stored-turns.js'
import {
  type FlowMessage,
  type FlowMessageMetadata,
  type FlowMessagePart,
  partsBeside,
  replyPart,
} from './ui-message.js'

/**
 * The messages of a session, oldest first.
 *
 * @param after - The number of a turn: only newer ones. Default: all.
 */
export function messagesOf(document: SessionDocument, after?: number): FlowMessage[] {
  return storedTurns(document, after).flatMap(({ id, entry, files }) => {
    const { turn, message, reply, contentType, encoding, event } = entry
    const metadata: FlowMessageMetadata = { session: document.id, sessionState: document.runStatus, turn }
    const text: FlowMessagePart[] = message === '' ? [] : [{ type: 'text', text: message }]
    const parts = [...files.map(filePart), ...text]
    const own: FlowMessage[] = parts.length === 0 ? [] : [{ id, role: 'user', parts, metadata }]
    if (reply === '') return own
    const ofReply: FlowMessageMetadata = {
      ...metadata,
      ...(contentType === 'text/plain' ? {} : { contentType }),
      ...(event && { event: event.name }),
      ...(event?.by === undefined ? {} : { by: event.by }),
    }
    const answer = [replyPart(reply, contentType, encoding), ...partsBeside(entry)]
    return [...own, { id: replyIdOf(id), role: 'assistant', parts: answer, metadata: ofReply }]
  })
}

/**
 * The turn of a transcript message; `undefined` if it is no longer stored, or if the text or files of the message have
 * changed.
 */
export function turnOf(
  document: SessionDocument,
  { id, text, parts }: { id: string; text: string; parts: readonly FlowMessagePart[] },
): StoredTurn['entry'] | undefined {
  const found = storedTurns(document).find((turn) => turn.id === id && turn.entry.message === text)
  const kept = found?.files.map(filePart) ?? []
  return addressesOf(kept) === addressesOf(parts) ? found?.entry : undefined
}

function addressesOf(parts: readonly FlowMessagePart[]): string {
  return JSON.stringify(parts.flatMap((part) => (part.type === 'file' ? [part.url] : [])))
}

function filePart({ mediaType, name, data, url = '' }: StoredFile): FlowMessagePart {
  const address = data === undefined ? url : `data:${mediaType};base64,${data}`
  return { type: 'file', mediaType, url: address, ...(name === undefined ? {} : { filename: name }) }
}
