import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { documentOf, historyEntry, revisions } from '../../../testing/contract/session-bench.js'
import { VirtualClock } from '../../../testing/virtual-clock/virtual-clock.js'
import { SessionConflictError } from '../../errors/session-errors.js'
import { shareList } from '../../session/lists/shared-lists.js'
import type { SessionDocument } from '../../session/session-document.js'
import { MemorySessionStore } from './memory-store.js'

type Writable = { [key: string]: unknown }

const backings: [string, () => MemorySessionStore][] = [
  ['a cache of its own', () => new MemorySessionStore()],
  ['a Map', () => new MemorySessionStore({ backing: new Map() })],
  ['the data of another store', () => new MemorySessionStore({ backing: new MemorySessionStore().backing })],
  ['a time to live', () => new MemorySessionStore({ ttlMs: 1_000, clock: new VirtualClock() })],
]

describe.each(backings)('a memory store with %s', (_name, createStore) => {
  test('returns what was stored', async () => {
    const store = createStore()
    await store.create(documentOf('s', '1-a'))
    expect(await store.load('s')).toEqual(documentOf('s', '1-a'))
    await store.save(documentOf('s', '2-b', { runStatus: 'completed' }), '1-a')
    expect(await store.load('s')).toEqual(documentOf('s', '2-b', { runStatus: 'completed' }))
  })

  test('has nothing under an ID that was never stored', async () => {
    const store = createStore()
    await store.create(documentOf('s', '1-a'))
    for (const id of ['', 'S', 's ', '__proto__', 'constructor']) expect(await store.load(id)).toBeUndefined()
  })

  test('creates an ID once: another document is a conflict, the same one a success', async () => {
    const store = createStore()
    await store.create(documentOf('s', '1-a'))
    await store.create(documentOf('s', '1-a', { runStatus: 'aborted' }))
    await expect(store.create(documentOf('s', '1-b'))).rejects.toEqual(new SessionConflictError({ sessionId: 's' }))
    expect(await store.load('s')).toEqual(documentOf('s', '1-a'))
  })

  test('[4.8-5] saves over the expected revision only', async () => {
    const store = createStore()
    await store.create(documentOf('s', '1-a'))
    await store.save(documentOf('s', '2-b'), '1-a')
    await expect(store.save(documentOf('s', '2-c'), '1-a')).rejects.toEqual(
      new SessionConflictError({ sessionId: 's' }),
    )
    await expect(store.save(documentOf('none', '2-c'), '1-a')).rejects.toEqual(
      new SessionConflictError({ sessionId: 'none' }),
    )
    expect(await revisions(store, 's', 'none')).toEqual(['2-b', undefined])
  })

  test('reports success for a repeated save, and changes nothing', async () => {
    const store = createStore()
    await store.create(documentOf('s', '1-a'))
    await store.save(documentOf('s', '2-b'), '1-a')
    await store.save(documentOf('s', '2-b', { runStatus: 'aborted' }), '1-a')
    expect(await store.load('s')).toEqual(documentOf('s', '2-b'))
  })

  test('deletes a given revision, or any; a missing document is not an error', async () => {
    const store = createStore()
    await store.create(documentOf('s', '1-a'))
    await expect(store.delete('s', '1-b')).rejects.toEqual(new SessionConflictError({ sessionId: 's' }))
    expect(await revisions(store, 's')).toEqual(['1-a'])
    await store.delete('s', '1-a')
    expect(await revisions(store, 's')).toEqual([undefined])
    await store.delete('s', '1-a')
    await store.delete('s')
    await store.create(documentOf('t', '1-c'))
    await store.delete('t')
    expect(await revisions(store, 's', 't')).toEqual([undefined, undefined])
  })

  test('keeps sessions with hostile IDs separate', async () => {
    const store = createStore()
    const ids = ['__proto__', 'constructor', 'toString', '', ' ', 'a\r\nb', 'a,b', '\0', '\ud83d', 'x'.repeat(16_384)]
    for (const [index, id] of ids.entries()) await store.create(documentOf(id, `1-${index}`))
    expect(await revisions(store, ...ids)).toEqual(ids.map((_id, index) => `1-${index}`))
    for (const id of ids) await store.delete(id)
    expect(await revisions(store, ...ids)).toEqual(ids.map(() => undefined))
  })

  test('keeps keys named __proto__ at any depth', async () => {
    const store = createStore()
    const text = JSON.stringify(documentOf('s', '1-a'))
      .replaceAll('"Ask":', '"__proto__":')
      .replace('"config":', '"__proto__":')
      .replace('"type":"text"', '"type":"text","__proto__":{"a":1}')
    await store.create(JSON.parse(text))
    expect(JSON.stringify(sorted(await store.load('s')))).toBe(JSON.stringify(sorted(JSON.parse(text))))
    expect(Object.getPrototypeOf((await store.load('s'))?.flow.memory)).toBe(Object.prototype)
  })

  test("a caller's changes to a stored or loaded document are not stored", async () => {
    const store = createStore()
    const original = documentOf('s', '1-a', { history: [historyEntry(1, 'How many?')] })
    await store.create(original)
    spoil(original)
    const first = await store.load('s')
    spoil(first)
    expect(await store.load('s')).toEqual(documentOf('s', '1-a'))
  })

  test('a loaded document is deeply frozen, and is the same object until the next save', async () => {
    const store = createStore()
    await store.create(documentOf('s', '1-a'))
    const first = await store.load('s')
    expectFrozen(first)
    expect(await store.load('s')).toBe(first)
    await store.save(documentOf('s', '2-b'), '1-a')
    const second = await store.load('s')
    expectFrozen(second)
    expect(second).not.toBe(first)
    expect(first).toEqual(documentOf('s', '1-a'))
  })

  test('a save shares objects that the replaced document also has, and copies all others', async () => {
    const store = createStore()
    await store.create(documentOf('s', '1-a'))
    const first = (await store.load('s')) as SessionDocument
    const steps = { ...first.flow.steps, Pay: { state: { amount: 3 } } }
    await store.save({ ...first, revision: '2-b', flow: { ...first.flow, steps } }, '1-a')
    steps.Pay.state.amount = 4
    const second = (await store.load('s')) as SessionDocument
    expect(second.flow.steps.Pay).toEqual({ state: { amount: 3 } })
    expect(second.flow.context).toBe(first.flow.context)
    expect(second.flow.steps.Ask).toBe(first.flow.steps.Ask)
    expect(second.history).toBe(first.history)
    expectFrozen(second)
  })

  test('lists that are already shared are kept', async () => {
    const store = createStore()
    const history = shareList([Object.freeze(historyEntry(1, 'How many?'))])
    await store.create(documentOf('s', '1-a', { history }))
    expect((await store.load('s'))?.history).toEqual(history)
  })

  test('keeps any JSON unchanged', async () => {
    const texts = fc.string({ unit: 'binary', maxLength: 5 })
    const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 1 }).map((value) => JSON.parse(JSON.stringify(value)))
    const part = fc.record({ type: fc.constant('tool-call'), toolCallId: texts, toolName: texts, input: json })
    const parts = fc.array(part, { maxLength: 2 })
    const messages = fc.array(fc.record({ role: fc.constant('assistant'), parts, turn: fc.nat() }), { maxLength: 3 })
    const ordinary = { noNullPrototype: true, maxKeys: 2 }
    const body = fc.record({
      context: fc.dictionary(texts, json, ordinary),
      steps: fc.dictionary(texts, fc.record({ state: fc.dictionary(texts, json, ordinary) }), ordinary),
      memory: fc.dictionary(texts, fc.record({ messages }), ordinary),
      history: fc.array(fc.record({ turn: fc.nat(), reply: texts }), { maxLength: 3 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(body, { minLength: 8, maxLength: 8, size: 'small' }), async (bodies) => {
        const store = createStore()
        const sent = bodies.map(({ history, ...flow }, index) => {
          const base = documentOf(`s-${index}`, '1-a', {
            history: history.map(({ turn, reply }) => historyEntry(turn, reply)),
          })
          return { ...base, flow: { ...base.flow, ...flow } } as unknown as SessionDocument
        })
        for (const document of sent) await store.create(document)
        for (const document of [...sent, ...sent]) {
          expect(JSON.parse(JSON.stringify(await store.load(document.id)))).toEqual(
            JSON.parse(JSON.stringify(document)),
          )
        }
      }),
      { numRuns: 10 },
    )
  })

  test('behaves like a plain record for random calls in random order', async () => {
    const command = fc.record({
      action: fc.constantFrom('create', 'save', 'save', 'delete', 'delete any', 'load'),
      id: fc.constantFrom('a', '__proto__'),
      own: fc.constantFrom('1', '2', '3'),
      expected: fc.constantFrom('1', '2', '3'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 30 }), async (commands) => {
        const store = createStore()
        const model = new Map<string, string>()
        const deleted = new Set<string>()
        for (const { action, id, own, expected } of commands) {
          const stored = model.get(id)
          let conflict = false
          let work: Promise<unknown>
          if (action === 'create') {
            conflict = deleted.has(id) || (stored !== undefined && stored !== own)
            if (!conflict) model.set(id, own)
            work = store.create(documentOf(id, own))
          } else if (action === 'save') {
            conflict = stored !== own && stored !== expected
            if (!conflict) model.set(id, own)
            work = store.save(documentOf(id, own), expected)
          } else if (action === 'load') {
            work = store.load(id)
          } else {
            const revision = action === 'delete' ? expected : undefined
            conflict = revision !== undefined && stored !== undefined && stored !== revision
            if (!conflict) model.delete(id)
            if (!conflict) deleted.add(id)
            work = store.delete(id, revision)
          }
          const outcome = await work.then(
            () => false,
            (error: unknown) => error instanceof SessionConflictError,
          )
          expect(outcome).toBe(conflict)
          expect(await revisions(store, 'a', '__proto__')).toEqual([model.get('a'), model.get('__proto__')])
        }
      }),
    )
  })
})

describe('MemorySessionStore', () => {
  test('guarantees a swap within the process, and nothing more', () => {
    expect(new MemorySessionStore().guarantees).toEqual({ compareAndSwap: 'process', durable: false })
    const short = new MemorySessionStore({ ttlMs: 2_000, absoluteTtlMs: 1_000 })
    expect(short.guarantees).toEqual({ compareAndSwap: 'process', durable: false, ttlMs: 1_000 })
  })

  test('two stores share nothing', async () => {
    const store = new MemorySessionStore()
    await store.create(documentOf('s', '1-a'))
    expect(await new MemorySessionStore().load('s')).toBeUndefined()
  })

  test('two stores over one backing see the same sessions, and swap against each other', async () => {
    const one = new MemorySessionStore()
    const other = new MemorySessionStore({ backing: one.backing })
    await one.create(documentOf('s', '1-a'))
    await other.save(
      documentOf('s', '2-b', { history: [historyEntry(1, 'How many?'), historyEntry(2, 'Booked.')] }),
      '1-a',
    )
    await expect(one.save(documentOf('s', '2-c'), '1-a')).rejects.toBeInstanceOf(SessionConflictError)
    expect((await one.load('s'))?.history.map(({ reply }) => reply)).toEqual(['How many?', 'Booked.'])
    await one.delete('s', '2-b')
    expect(await other.load('s')).toBeUndefined()
  })

  test('what was stored in a Map outlives the store', async () => {
    const backing = new Map()
    const store = new MemorySessionStore({ backing })
    await store.create(documentOf('s', '1-a'))
    await store.close()
    expect(await new MemorySessionStore({ backing }).load('s')).toEqual(documentOf('s', '1-a'))
  })
})

/** Expects a value to be deeply frozen. */
function expectFrozen(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  expect(Object.isFrozen(value)).toBe(true)
  for (const inner of Object.values(value)) expectFrozen(inner)
}

/** Changes everything in a document that can be changed, at any depth. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const inner of Object.values(value)) spoil(inner)
  if (Object.isFrozen(value)) return
  for (const key of Object.keys(value)) (value as Writable)[key] = 'spoilt'
  if (Array.isArray(value)) value.length = 0
  else (value as Writable).more = 'spoilt'
}

/** A copy with sorted keys, so that texts can be compared: they show differences that equality may miss. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const keys = Object.keys(value).sort()
  return keys.map((key) => [key, sorted((value as Writable)[key])])
}
