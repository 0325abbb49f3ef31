/** Converts a stored session to messages of the AI SDK, which a page shows after a reload. */

import type { SessionDocument } from '../../src/index.js'
import { replyIdOf } from '../chat/client-id.js'
import { type FlowMessage, type FlowMessagePart, replyPart } from './ui-message.js'

/** The prefix of IDs of transcript messages. If a page sends one of them again, the history answers it. */
const prefix = 'turn:'

type Entry = SessionDocument['history'][number]

/** The messages of a session, oldest first. */
export function messagesOf(document: SessionDocument): FlowMessage[] {
  const { id: session, runStatus: sessionState } = document
  return document.history.flatMap((entry) => {
    const { message, reply, contentType, encoding } = entry
    const id = idOf(entry)
    const text: FlowMessagePart[] = message === '' ? [] : [{ type: 'text', text: message }]
    const parts = [...filesOf(entry, document), ...text]
    const own: FlowMessage[] = parts.length === 0 ? [] : [{ id, role: 'user', parts }]
    const metadata = { session, sessionState, ...(contentType === 'text/plain' ? {} : { contentType }) }
    const answer = { id: replyIdOf(id), role: 'assistant', parts: [replyPart(reply, contentType, encoding)], metadata }
    return [...own, answer as FlowMessage]
  })
}

/** Whether a message comes from the transcript. */
export function isStoredId(id: string): boolean {
  return id.startsWith(prefix)
}

/**
 * The turn of a transcript message; `undefined` if it is no longer stored, or if the text or files of the message have
 * changed.
 */
export function turnOf(
  document: SessionDocument,
  { id, text, parts }: { id: string; text: string; parts: readonly FlowMessagePart[] },
): Entry | undefined {
  const found = document.history.find((entry) => idOf(entry) === id && entry.message === text)
  const kept = found === undefined ? [] : filesOf(found, document)
  return addressesOf(kept) === addressesOf(parts) ? found : undefined
}

function addressesOf(parts: readonly FlowMessagePart[]): string {
  return JSON.stringify(parts.flatMap((part) => (part.type === 'file' ? [part.url] : [])))
}

function idOf({ id, turn }: Entry): string {
  return `${prefix}${id ?? turn}`
}

/** The images and files of a turn that are still stored. */
function filesOf({ attachments = [] }: Entry, document: SessionDocument): FlowMessagePart[] {
  return attachments.flatMap(({ mediaType, name, url, attachment }) => {
    const data = document.attachments?.find(({ id }) => id === attachment)?.data
    const address = data === undefined ? url : `data:${mediaType};base64,${data}`
    if (address === undefined) return []
    return [{ type: 'file', mediaType, url: address, ...(name === undefined ? {} : { filename: name }) }]
  })
}
