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
  const files = filesByTurn(document)
  return document.history.flatMap((entry) => {
    const { turn, message, reply, contentType, encoding } = entry
    const id = idOf(entry)
    const text: FlowMessagePart[] = message === '' ? [] : [{ type: 'text', text: message }]
    const parts = [...(files.get(turn) ?? []), ...text]
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
  const kept = found && filesByTurn(document).get(found.turn)
  return addressesOf(kept ?? []) === addressesOf(parts) ? found : undefined
}

function addressesOf(parts: readonly FlowMessagePart[]): string {
  return JSON.stringify(parts.flatMap((part) => (part.type === 'file' ? [part.url] : [])))
}

function idOf({ id, turn }: Entry): string {
  return `${prefix}${id ?? turn}`
}

/** The user's stored images and files, by turn number. */
function filesByTurn(document: SessionDocument): Map<number, FlowMessagePart[]> {
  const kept = new Map(document.attachments?.map(({ id, data }) => [id, data]))
  const messages = Object.values(document.flow.memory).flatMap((memory) => memory.messages)
  const found = messages.flatMap(({ turn, role, parts }) =>
    role === 'user' ? parts.map((part) => ({ turn, file: fileOf(part, kept) })) : [],
  )
  // If two steps with separate memories ran in one turn, both have its file.
  const distinct = new Map(found.map((one) => [`${one.turn} ${one.file?.url}`, one]))
  const files = new Map<number, FlowMessagePart[]>()
  for (const { turn, file } of distinct.values()) {
    if (file !== undefined) files.set(turn, [...(files.get(turn) ?? []), file])
  }
  return files
}

type StoredPart = SessionDocument['flow']['memory'][string]['messages'][number]['parts'][number]

function fileOf(part: StoredPart, kept: Map<string, string>): (FlowMessagePart & { type: 'file' }) | undefined {
  if (part.type !== 'image' && part.type !== 'file') return undefined
  const data = 'attachment' in part ? kept.get(part.attachment) : part.data
  const address = 'attachment' in part ? undefined : part.url
  const url = data === undefined ? address : `data:${part.mediaType};base64,${data}`
  if (url === undefined) return undefined
  const filename = 'name' in part && part.name !== undefined ? { filename: part.name } : {}
  return { type: 'file', mediaType: part.mediaType, url, ...filename }
}
