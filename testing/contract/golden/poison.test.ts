// Golden sessions, damaged in every conceivable way: each is continued or refused, and none is mistaken for a missing
// one.
import { expect, test } from 'vitest'
import {
  backendOf,
  type GoldenKeyvSession,
  goldenId,
  goldenKey,
  keyvStoreOver,
  readDocument,
  readDocumentOfParts,
  readKeyvSession,
  textStoreOf,
} from './golden-files.js'
import { changedFields, type Poison, truncated, withValues } from './poison.js'
import { judge, type Place, type Verdict } from './verdict.js'

const document = readDocument(2)
const keyvSession = readKeyvSession(2)
const chunkNames = Object.keys(keyvSession.chunks)

function asDocument(text: string): Place {
  // A store that keeps the revision in a separate place keeps that of the document.
  const { revision } = isJson(text) ? (JSON.parse(text) as { revision?: unknown }) : {}
  const store = textStoreOf(text, typeof revision === 'string' && revision !== '' ? revision : 'unread')
  return {
    store: () => store,
    bytes: () => JSON.stringify([...store.data]),
    isEmpty: () => store.data.size === 0,
  }
}

function asKeyvSession(change: Partial<GoldenKeyvSession>): Place {
  const records = backendOf({ ...keyvSession, ...change })
  return {
    store: () => keyvStoreOver(records),
    bytes: () => JSON.stringify([...records].map(([key, { chunks, ...record }]) => [key, record, [...chunks]])),
    isEmpty: () => records.size === 0,
  }
}

function isJson(text: string): boolean {
  try {
    return JSON.parse(text) !== null
  } catch {
    return false
  }
}

/** Judges each, and counts how many ended how; fails with the names of those that ended otherwise. */
async function judgeAll(poisons: Iterable<Poison>, place: (text: string) => Place): Promise<Record<Verdict, number>> {
  const counts = { valid: 0, refused: 0 }
  const problems: string[] = []
  for (const { name, text } of poisons) {
    try {
      counts[await judge(place(text))]++
    } catch (error) {
      problems.push(`${name}: ${String(error)}`)
    }
  }
  expect(problems).toEqual([])
  return counts
}

/** Every text of the Keyv session: the head, and each chunk. */
const keyvTexts: readonly (readonly [string, string, (text: string) => Place])[] = [
  ['head', keyvSession.head, (head) => asKeyvSession({ head })],
  ...chunkNames.map(
    (name) =>
      [
        `chunk ${name}`,
        keyvSession.chunks[name] as string,
        (text: string) => asKeyvSession({ chunks: { ...keyvSession.chunks, [name]: text } }),
      ] as const,
  ),
]

const texts = [
  ['document', document, asDocument] as const,
  ['document with every type of part', readDocumentOfParts(2), asDocument] as const,
  ...keyvTexts,
]

test('unspoilt, they are valid', async () => {
  for (const [, text, place] of texts) expect(await judge(place(text))).toBe('valid')
})

test.each(texts)('a %s that is cut off after any byte is refused', async (_name, text, place) => {
  const { valid, refused } = await judgeAll(truncated(text), place)
  expect([valid, refused]).toEqual([0, new TextEncoder().encode(text).length])
})

test.each(texts)(
  'a %s with another type, or nothing, in any place is gone on with or refused',
  async (_name, text, place) => {
    const { valid, refused } = await judgeAll(changedFields(text), place)
    expect(refused).toBeGreaterThan(valid)
  },
)

test.each<[string, Readonly<Record<string, unknown>>]>([
  ['of a former version', { version: 1 }],
  ['of a future version', { version: 4 }],
  ['of a version that is not a number', { version: '2' }],
  ['of another ID', { id: 'another-session' }],
  ['of another ID in letters only', { id: goldenId.toUpperCase() }],
])('a document %s is refused', async (_name, values) => {
  expect(await judge(asDocument(withValues(document, values)))).toBe('refused')
  const nested = Object.fromEntries(Object.entries(values).map(([path, value]) => [`document.${path}`, value]))
  expect(await judge(asKeyvSession({ head: withValues(keyvSession.head, nested) }))).toBe('refused')
})

test.each(['null', '[]', '0', '""', 'true', '{}', ' ', 'undefined', '<html></html>', `[${document}]`])(
  'the text %s in place of a document, a head or a chunk is refused',
  async (text) => {
    // A store that answers null says that nothing is stored: only a store can distinguish that text from a document.
    for (const [, , place] of text === 'null' ? keyvTexts : texts) expect(await judge(place(text))).toBe('refused')
  },
)

test.each([1, 3, 0, -1, 1.5, '2', null])('a head of the stored layout %j is refused', async (layout) => {
  expect(await judge(asKeyvSession({ head: withValues(keyvSession.head, { layout }) }))).toBe('refused')
})

test('a head under another revision than its own is refused', async () => {
  expect(await judge(asKeyvSession({ revision: '9-other' }))).toBe('refused')
})

test.each(chunkNames)('a session without its chunk %s is refused', async (name) => {
  const { [name]: _gone, ...chunks } = keyvSession.chunks
  expect(await judge(asKeyvSession({ chunks }))).toBe('refused')
})

test('a chunk in the place of any other is refused', async () => {
  for (const name of chunkNames) {
    for (const other of chunkNames.filter((each) => each !== name)) {
      const chunks = { ...keyvSession.chunks, [name]: keyvSession.chunks[other] as string }
      expect([name, other, await judge(asKeyvSession({ chunks }))]).toEqual([name, other, 'refused'])
    }
  }
})

test.each(chunkNames)('a chunk %s of another session, or of another save, is refused', async (name) => {
  const text = keyvSession.chunks[name] as string
  for (const change of [{ revision: '1-other' }, { previous: '1-other' }]) {
    const chunks = { ...keyvSession.chunks, [name]: withValues(text, change) }
    expect(await judge(asKeyvSession({ chunks }))).toBe('refused')
  }
})

test('chunks that no list has are not touched', async () => {
  const [first = ''] = chunkNames
  const chunks = { ...keyvSession.chunks, 'history#99': keyvSession.chunks[first] as string, 'memory:Nobody#0': '{' }
  expect(await judge(asKeyvSession({ chunks }))).toBe('valid')
})

test('counts that lie are refused', async () => {
  const { lists } = JSON.parse(keyvSession.head) as { lists: { chunks: number; entries: number }[] }
  for (const [index, { chunks, entries }] of lists.entries()) {
    for (const lie of [0, -1, chunks - 1, chunks + 1, 1_000_000, 2 ** 32, 2 ** 53, -(2 ** 53), 1e300]) {
      const head = withValues(keyvSession.head, { [`lists.${index}.chunks`]: lie })
      expect([index, 'chunks', lie, await judge(asKeyvSession({ head }))]).toEqual([index, 'chunks', lie, 'refused'])
    }
    // Both at once, and alike: they do not help each other.
    for (const lie of [1_000_000, 2 ** 33, 2 ** 53 - 1]) {
      const head = withValues(keyvSession.head, {
        [`lists.${index}.chunks`]: lie,
        [`lists.${index}.entries`]: lie,
      })
      expect([index, 'both', lie, await judge(asKeyvSession({ head }))]).toEqual([index, 'both', lie, 'refused'])
    }
    for (const lie of [0, -1, entries - 1, entries + 1, 2 ** 32, 2 ** 53, 1e300]) {
      const head = withValues(keyvSession.head, { [`lists.${index}.entries`]: lie })
      expect([index, 'entries', lie, await judge(asKeyvSession({ head }))]).toEqual([index, 'entries', lie, 'refused'])
    }
  }
})

test('a process that knows an earlier revision of the session refuses the same lies', async () => {
  for (const lie of [1_000_000, 2 ** 33, 2 ** 53 - 1]) {
    const records = backendOf(keyvSession)
    const store = keyvStoreOver(records)
    await store.load(goldenId)
    const [record] = records.values()
    if (record === undefined) throw new Error('The golden session is not stored.')
    const values = { 'lists.0.chunks': lie, 'lists.0.entries': lie, 'document.revision': '99-later' }
    record.head = withValues(record.head, values)
    record.revision = '99-later'
    await expect(store.load(goldenId)).rejects.toMatchObject({ code: 'SESSION_FLOW_INVARIANT' })
  }
})

test('a process that knows the stored revision does not read its head again', async () => {
  const records = backendOf(keyvSession)
  const store = keyvStoreOver(records)
  const known = await store.load(goldenId)
  const [record] = records.values()
  if (record !== undefined) record.head = 'not a head'
  await expect(store.load(goldenId)).resolves.toEqual(known)
  await expect(keyvStoreOver(records).load(goldenId)).rejects.toMatchObject({ code: 'SESSION_FLOW_INVARIANT' })
})

test('it is one session under one key', () => {
  expect([...backendOf(keyvSession).keys()]).toEqual([goldenKey])
})
