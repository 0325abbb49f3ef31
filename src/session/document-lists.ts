/**
 * Which lists a document has, and under which names stores keep their chunks and saves hint at them. A list that the
 * document gets is declared here, or it does not compile; `effects`, which is a record, is beside them everywhere.
 */
import type { SessionDocument } from './session-document.js'

/** The fields of a document that are lists of entries. */
type ListField = {
  [Field in keyof SessionDocument]-?: NonNullable<SessionDocument[Field]> extends readonly object[] ? Field : never
}[keyof SessionDocument]

const fields: Readonly<Record<ListField, true>> = { history: true, attachments: true, receipts: true }

/** The lists that are fields of the document itself. Their names are those of the fields. */
export const listFields: readonly ListField[] = Object.keys(fields) as ListField[]

const memoryPrefix = 'memory:'

/** The name of the list of messages of a memory namespace. */
export function memoryList(namespace: string): string {
  return memoryPrefix + namespace
}

/** The namespace in such a name; `undefined` for any other list. */
export function namespaceIn(list: string): string | undefined {
  return list.startsWith(memoryPrefix) ? list.slice(memoryPrefix.length) : undefined
}
