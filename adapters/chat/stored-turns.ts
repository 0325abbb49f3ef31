/** The stored turns of a session as a page shows them, in the form that both protocols share. */
import type { SessionDocument } from '../../src/index.js'

/** The prefix of IDs of stored messages. If a page sends one of them again, the history answers it. */
const prefix = 'turn:'

type Entry = SessionDocument['history'][number]

/** An image or a file of the user. */
export interface StoredFile {
  readonly type: 'image' | 'file'
  readonly mediaType: string
  readonly name: string | undefined
  /** In base64; `undefined` if it came as an address. */
  readonly data: string | undefined
  /** `undefined` if it came as bytes. */
  readonly url: string | undefined
}

/** A stored turn. Nothing is shown of an empty message, and of an empty reply. */
export interface StoredTurn {
  /** The ID of the user's message. */
  readonly id: string
  readonly entry: Entry
  /** The images and files that are still stored. */
  readonly files: readonly StoredFile[]
}

/** The turns after the one with this number, oldest first. */
export function storedTurns(document: SessionDocument, after = 0): StoredTurn[] {
  const kept = new Map(document.attachments?.map(({ id, data }) => [id, data]))
  return document.history
    .filter(({ turn }) => turn > after)
    .map((entry) => ({ id: `${prefix}${entry.id ?? entry.turn}`, entry, files: filesOf(entry, kept) }))
}

/** Whether a message comes from a stored turn. */
export function isStoredId(id: string): boolean {
  return id.startsWith(prefix)
}

function filesOf({ attachments = [] }: Entry, kept: ReadonlyMap<string, string>): StoredFile[] {
  return attachments.flatMap(({ type, mediaType, name, url, attachment = '' }) => {
    const data = kept.get(attachment)
    return data === undefined && url === undefined ? [] : [{ type, mediaType, name, data, url }]
  })
}
