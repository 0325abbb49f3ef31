/**
 * The lists of a document, and their names in chunks and save hints. A new list of the document must be added here, or
 * the code does not compile. `effects` is a record, so the callers handle it separately.
 */
import type { SessionDocument } from './session-document.js'

/** The fields of a document that are lists of entries. */
type ListField = {
  [Field in keyof SessionDocument]-?: NonNullable<SessionDocument[Field]> extends readonly object[] ? Field : never
}[keyof SessionDocument]

const fields: Readonly<Record<ListField, true>> = { history: true, attachments: true, receipts: true }

/** The lists that are fields of the document itself, named after the fields. */
export const listFields: readonly ListField[] = Object.keys(fields) as ListField[]

const memoryPrefix = 'memory:'

/** The name of the message list of a memory namespace. */
export function memoryList(namespace: string): string {
  return memoryPrefix + namespace
}

/** The namespace in the name of a message list; `undefined` for any other list. */
export function namespaceIn(list: string): string | undefined {
  return list.startsWith(memoryPrefix) ? list.slice(memoryPrefix.length) : undefined
}
