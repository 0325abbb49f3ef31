/** What has changed from one document to another, as a tree; and in what a turn differs that was played again. */
import type { JsonValue } from '../../../src/index.js'
import { statesOf } from '../../recording/recorded-turn.js'
import type { DocumentChange, StoredTurn } from '../api/types.js'

/** The changes of an object or a list; a list is compared entry by entry. */
export function changesOf(before: unknown, after: unknown): DocumentChange[] {
  const [from, to] = [entriesOf(before), entriesOf(after)]
  return [...new Set([...from.keys(), ...to.keys()])].flatMap((key): DocumentChange[] => {
    const [old, now] = [from.get(key) as JsonValue, to.get(key) as JsonValue]
    if (!to.has(key)) return [{ key, kind: 'removed', before: old }]
    if (!from.has(key)) return [{ key, kind: 'added', after: now }]
    if (isSame(old, now)) return []
    if (Object(old) === old && Object(now) === now) return [{ key, kind: 'changed', children: changesOf(old, now) }]
    return [{ key, kind: 'changed', before: old, after: now }]
  })
}

/** The fields in which a turn differs from another. */
export function differencesOf(one: StoredTurn, other: StoredTurn): string[] {
  const others = comparedOf(other)
  return Object.entries(comparedOf(one)).flatMap(([name, value]) => (isSame(value, others[name]) ? [] : [name]))
}

function comparedOf(turn: StoredTurn): Record<string, unknown> {
  const { input, reply, contentType, error, parts, step, models } = turn
  const { context, steps = {} } = turn.document?.flow ?? {}
  const answers = models.flatMap(({ answer = [] }) => answer) as readonly { readonly toolName?: string }[]
  return {
    message: [input.text, input.event],
    reply: [reply, contentType, error?.code],
    parts,
    step,
    tools: answers.flatMap(({ toolName = [] }) => toolName),
    state: [context, statesOf(steps)],
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function entriesOf(value: unknown): ReadonlyMap<string, unknown> {
  // As in JSON, a field that is undefined is not there.
  return new Map(Object.entries(value ?? {}).filter(([, entry]) => entry !== undefined))
}
