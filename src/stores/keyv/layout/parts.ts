/**
 * Splits a document into its lists and the rest, which goes into the head, and puts both together again. A document may
 * be malformed: if a field is not a list, or `effects` is not a record, it stays in the head. head.ts defines the
 * stored form of both.
 */
import { listFields, memoryList, namespaceIn } from '../../../session/document-lists.js'
import type { SessionDocument } from '../../../session/session-document.js'
import { isPlainObject, setOwn } from '../../../util/json.js'
import { effectPairs, effectsOf } from './effects.js'

/** A name and a list. */
type NamedList = readonly [name: string, list: readonly unknown[]]

/**
 * The lists of a document, by name.
 *
 * @param storedEffects - The stored list `effects`. Pairs that did not change are taken from it. Default: none.
 */
export function listsOf(
  document: SessionDocument,
  storedEffects?: readonly unknown[],
): Map<string, readonly unknown[]> {
  const lists = new Map<string, readonly unknown[]>()
  const fields = document as unknown as Record<string, unknown>
  for (const name of listFields) {
    const list = fields[name]
    if (Array.isArray(list)) lists.set(name, list)
  }
  if (isPlainObject(fields.effects)) lists.set('effects', effectPairs(fields.effects, storedEffects))
  const memory = memoryOf(fields.flow)
  for (const namespace in memory) {
    const entry = memory[namespace]
    if (isPlainObject(entry) && Array.isArray(entry.messages)) lists.set(memoryList(namespace), entry.messages)
  }
  return lists
}

/** A document with `null` in place of each list. */
export function withoutLists(document: SessionDocument): unknown {
  const rest: Record<string, unknown> = { ...document }
  for (const name of listFields) if (Array.isArray(rest[name])) rest[name] = null
  if (isPlainObject(rest.effects)) rest.effects = null
  const memory = memoryOf(rest.flow)
  if (memory === undefined) return rest
  const memoryWithoutLists = {}
  for (const namespace in memory) setOwn(memoryWithoutLists, namespace, withoutMessages(memory[namespace]))
  rest.flow = { ...(rest.flow as object), memory: memoryWithoutLists }
  return rest
}

/**
 * Puts lists back into the document that they were split from. Changes the document.
 *
 * @returns Whether every list with entries had a place. An empty list without a place is one that the document lost.
 */
export function putLists(document: unknown, lists: Iterable<NamedList>): boolean {
  if (!isPlainObject(document)) return false
  for (const [name, list] of lists) {
    const [object, field] = placeOf(document, name)
    if (!isPlainObject(object) || !Object.hasOwn(object, field)) {
      if (list.length > 0) return false
      continue
    }
    const value = name === 'effects' ? effectsOf(list) : list
    if (value === undefined) return false
    object[field] = value
  }
  return true
}

/** The object that holds a list, and the name of its field. */
function placeOf(document: Record<string, unknown>, name: string): readonly [object: unknown, field: string] {
  const namespace = namespaceIn(name)
  if (namespace === undefined) return [document, name]
  const memory = memoryOf(document.flow) ?? {}
  return [Object.hasOwn(memory, namespace) ? memory[namespace] : undefined, 'messages']
}

function memoryOf(flow: unknown): Record<string, unknown> | undefined {
  return isPlainObject(flow) && isPlainObject(flow.memory) ? flow.memory : undefined
}

function withoutMessages(memory: unknown): unknown {
  return isPlainObject(memory) && Array.isArray(memory.messages) ? { ...memory, messages: null } : memory
}
