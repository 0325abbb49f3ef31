// A property of stores: several processes cut, append to and rewrite the lists of a session in turn, with hints that
// are right, missing or wrong, and each of them always loads what was saved last.
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect } from 'vitest'
import type { SessionDocument, SessionSaveHint, SessionStore } from '../../../src/index.js'
import { shareList } from '../../../src/session/lists/shared-lists.js'
import { decodeSession } from '../../../src/session/session-codec.js'
import { newSession, turnOn } from './turns.js'

/** One save: which store takes it, what the history and the messages lose and gain, and what its hint says. */
interface Change {
  readonly by: number
  readonly removed: readonly [number, number]
  readonly appended: readonly [number, number]
  readonly kind: 'cut' | 'rewrite' | 'no hint' | 'wrong hint' | 'lost answer'
}

const change: fc.Arbitrary<Change> = fc.record({
  by: fc.nat(),
  removed: fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 6 })),
  appended: fc.tuple(fc.nat({ max: 2 }), fc.nat({ max: 3 })),
  kind: fc.constantFrom<Change['kind'][]>('cut', 'cut', 'cut', 'rewrite', 'no hint', 'wrong hint', 'lost answer'),
})

/** What {@link checkRandomCuts} takes. */
export interface RandomCutsOptions {
  readonly runs: number
  /** Makes the next call fail after it took effect. Default: none does. */
  readonly loseAnswer?: () => void
}

/** Checks the property. The stores share one backend. */
export async function checkRandomCuts(stores: readonly SessionStore[], options: RandomCutsOptions): Promise<void> {
  const changes = fc.array(change, { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(changes, (drawn) => play(stores, drawn, options)),
    { numRuns: options.runs },
  )
}

async function play(
  stores: readonly SessionStore[],
  changes: readonly Change[],
  { loseAnswer }: RandomCutsOptions,
): Promise<void> {
  const id = randomUUID()
  let expected = newSession(id)
  await stores[0]?.create(expected)
  for (const [index, drawn] of changes.entries()) {
    const store = stores[drawn.by % stores.length] as SessionStore
    const stored = decodeSession(await store.load(id), id)
    expect(stored).toEqual(expected)
    const next = apply(stored, drawn, index)
    expected = next.document
    if (drawn.kind === 'lost answer') loseAnswer?.()
    const save = (): Promise<void> => store.save(expected, stored.revision, next.hint)
    await save().catch(save)
  }
  for (const store of stores) expect(await store.load(id)).toEqual(expected)
  await stores[0]?.delete(id)
}

/** The document after the change, and the hint for it. */
function apply(
  stored: SessionDocument,
  { by, removed, appended, kind }: Change,
  index: number,
): { readonly document: SessionDocument; readonly hint: SessionSaveHint | undefined } {
  const messages = stored.flow.memory.Ask?.messages ?? []
  const fromHistory = Math.min(removed[0], stored.history.length)
  const fromMessages = Math.min(removed[1], messages.length)
  const { document: added } = turnOn(newSession('any'), 'any', `entry ${index}`)
  const nextMessages = [
    ...messages.slice(fromMessages),
    ...copies(added.flow.memory.Ask?.messages[0], appended[1]),
  ] as (typeof messages)[number][]
  if (kind === 'rewrite') nextMessages.reverse()
  const document: SessionDocument = {
    ...stored,
    revision: `${index + 2}-${by}`,
    history: shareList([...stored.history.slice(fromHistory), ...copies(added.history[0], appended[0])]),
    flow: { ...stored.flow, memory: { Ask: { messages: shareList(nextMessages) } } },
  }
  const hint: SessionSaveHint = {
    appended: { history: appended[0], 'memory:Ask': appended[1] },
    removed: { history: fromHistory, 'memory:Ask': fromMessages },
    ...(kind === 'rewrite' ? { rewritten: ['memory:Ask'] } : {}),
  }
  if (kind === 'no hint') return { document, hint: undefined }
  return { document, hint: kind === 'wrong hint' ? { appended: { history: 1 }, removed: { 'memory:Ask': 3 } } : hint }
}

function copies<T>(entry: T | undefined, count: number): T[] {
  return Array.from({ length: count }, () => entry as T)
}
