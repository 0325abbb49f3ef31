import { Keyv } from 'keyv'
import { describe, expect, test } from 'vitest'
import { FakeDriver } from '../../../../testing/contract/stores/fake-driver.js'
import { encryptionHooks, zlibCompression } from '../../../../testing/contract/stores/keyv-hooks.js'
import { newSession, turnOn } from '../../../../testing/contract/stores/turns.js'
import { shareList } from '../../../session/lists/shared-lists.js'
import { createTextCodec } from '../keyv-codec.js'
import { KeyvSessionStore } from '../keyv-session-store.js'
import type { SessionTextPlace } from './codec.js'

const value = JSON.parse(
  '{ "text": ":base64:aGk=", "colon": ":x", "__proto__": { "kept": true }, "list": [null, 1.5] }',
)

const storeWith = (driver: FakeDriver, hooks: object = {}): KeyvSessionStore =>
  new KeyvSessionStore({ keyv: new Keyv(hooks), driver })

const place = { sessionId: 's', key: 'head', revision: '1-a' }

describe('texts', () => {
  test.each<[string, Keyv]>([
    ['as Keyv is made', new Keyv()],
    ['with compression', new Keyv({ compression: zlibCompression })],
    ['with encryption', new Keyv(encryptionHooks())],
    ['with both', new Keyv({ ...encryptionHooks(), compression: zlibCompression })],
    ['with no serialization', Object.assign(new Keyv(), { serialize: undefined })],
    [
      'with hooks that answer later',
      new Keyv({ serialize: async (data) => JSON.stringify(data), deserialize: async (text) => JSON.parse(text) }),
    ],
  ])('come back as they were: %s', async (_name, keyv) => {
    const codec = createTextCodec(keyv)
    const text = await codec.encode(value, place)
    expect(JSON.stringify(await codec.decode(text, place))).toBe(JSON.stringify(value))
  })

  test('are plain JSON if there is no hook', async () => {
    expect(await createTextCodec(new Keyv()).encode(value, place)).toBe(JSON.stringify(value))
  })

  test('use the current hooks, not earlier ones', async () => {
    const keyv = new Keyv()
    const codec = createTextCodec(keyv)
    const plain = await codec.encode(value, place)
    Object.assign(keyv, encryptionHooks())
    expect(await codec.encode(value, place)).not.toContain('colon')
    await expect(codec.decode(plain, place)).rejects.toThrow()
  })

  test('a hook that does not return a string is refused', async () => {
    const keyv = new Keyv({ serialize: (data) => data as unknown as string })
    await expect(createTextCodec(keyv).encode(value, place)).rejects.toThrow(
      "Keyv's serialize returned a value of type object; it must return a string.",
    )
  })
})

describe('the place of a text', () => {
  /** Hooks that write the place into the text, and refuse a text with another place. */
  function placedHooks() {
    const read: string[] = []
    return {
      read,
      serialize: async (data: unknown, { sessionId, key, revision }: Partial<SessionTextPlace> = {}) =>
        JSON.stringify([`${sessionId} ${key} ${revision}`, data]),
      deserialize: async (text: string, { sessionId, key, revision }: Partial<SessionTextPlace> = {}) => {
        const [written, data] = JSON.parse(text)
        if (written !== `${sessionId} ${key} ${revision}`) throw new Error(`A text of ${written}.`)
        read.push(written)
        return data
      },
    }
  }

  /** A session of three turns, each with its own save. */
  async function threeTurns(hooks: object) {
    const driver = new FakeDriver()
    const store = storeWith(driver, hooks)
    let turn = turnOn(newSession('s'), '1-a')
    await store.create(turn.document)
    for (const revision of ['2-b', '3-c']) {
      turn = turnOn(turn.document, revision)
      await store.save(turn.document, turn.expectedRevision, turn.hint)
    }
    return { driver, document: turn.document }
  }

  test('is the same when writing and reading: the head has its revision, each chunk the revision of its turn', async () => {
    const hooks = placedHooks()
    const { driver, document } = await threeTurns(hooks)
    const [record] = driver.records.values()
    expect(JSON.parse(record?.head ?? '')[0]).toBe('s head 3-c')
    expect(Array.from(record?.chunks ?? [], ([, text]) => JSON.parse(text)[0]).sort()).toEqual([
      's history#0 1-a',
      's history#1 2-b',
      's history#2 3-c',
      's memory:Ask#0 1-a',
      's memory:Ask#1 2-b',
      's memory:Ask#2 3-c',
    ])
    const other = storeWith(driver, hooks)
    expect(await other.load('s')).toEqual(document)
    expect(hooks.read.length).toBe(7)
  })

  test('is passed for chunks of another process, and for a list that lost its first chunks', async () => {
    const hooks = placedHooks()
    const { driver } = await threeTurns(hooks)
    const [one, two] = [storeWith(driver, hooks), storeWith(driver, hooks)]
    await one.load('s')
    const loaded = await two.load('s')
    if (loaded === undefined) throw new Error('Nothing is stored.')
    const next = turnOn({ ...loaded, history: shareList(loaded.history.slice(2)) }, '4-d')
    const hint = { ...next.hint, removed: { history: 2 } }
    await two.save(next.document, '3-c', hint)
    hooks.read.length = 0
    expect(await one.load('s')).toEqual(next.document)
    expect(hooks.read).toEqual(['s head 4-d', 's history#3 4-d', 's memory:Ask#3 4-d'])
    const fresh = storeWith(driver, hooks)
    expect(await fresh.load('s')).toEqual(next.document)
    expect(hooks.read).not.toContain('s history#0 1-a')
  })

  test('is passed for a list with several chunks of one save', async () => {
    const hooks = placedHooks()
    const driver = new FakeDriver()
    const session = newSession('s')
    const { document } = turnOn(session, '1-a')
    const history = Array.from({ length: 2_500 }, () => document.history[0])
    const long = { ...document, history } as typeof document
    await storeWith(driver, hooks).create(long)
    expect(await storeWith(driver, hooks).load('s')).toEqual(long)
    expect(hooks.read).toContain('s history#2 1-a')
  })

  test.each<[string, (driver: FakeDriver) => void, string]>([
    [
      "two chunks of a list in each other's place",
      (driver) => {
        const { chunks } = recordOf(driver)
        const [first, second] = [chunks.get('history#0') ?? '', chunks.get('history#1') ?? '']
        chunks.set('history#0', second).set('history#1', first)
      },
      'chunk 1 of its list history cannot be read',
    ],
    [
      'an older head under the newer revision',
      (driver) => change(driver, (head) => head.replace('s head 3-c', 's head 2-b')),
      'its head cannot be read',
    ],
  ])('refuses %s', async (_name, spoil, problem) => {
    const hooks = placedHooks()
    const { driver } = await threeTurns(hooks)
    spoil(driver)
    const before = structuredClone(recordOf(driver))
    await expect(storeWith(driver, hooks).load('s')).rejects.toMatchObject({
      code: 'SESSION_FLOW_INVARIANT',
      message: `Session 's' is malformed: ${problem}.`,
    })
    expect(recordOf(driver)).toEqual(before)
  })

  test('is passed with compression too, and a hook that ignores it reads what was stored before', async () => {
    const hooks = placedHooks()
    const { driver, document } = await threeTurns({ ...hooks, compression: zlibCompression })
    const keyv = new Keyv({ ...hooks, compression: zlibCompression })
    expect(await new KeyvSessionStore({ keyv, driver }).load('s')).toEqual(document)
    const ignoring = { serialize: hooks.serialize, deserialize: async (text: string) => JSON.parse(text)[1] }
    const later = new Keyv({ ...ignoring, compression: zlibCompression })
    expect(await new KeyvSessionStore({ keyv: later, driver }).load('s')).toEqual(document)
  })
})

describe('a session whose texts cannot be read', () => {
  const { document } = turnOn(newSession('s'), '1-a', 'a secret')

  test('is nowhere in plain text if it is encrypted', async () => {
    const driver = new FakeDriver()
    await storeWith(driver, encryptionHooks()).create(document)
    expect(
      JSON.stringify([...driver.records.values()].map(({ head, chunks }) => [head, ...chunks.values()])),
    ).not.toMatch(/secret|Booking|user-7/)
  })

  test('because of another key: it is malformed, never missing, and a delete without a revision removes it', async () => {
    const driver = new FakeDriver()
    await storeWith(driver, encryptionHooks()).create(document)
    const store = storeWith(driver, encryptionHooks())
    const expected = { code: 'SESSION_FLOW_INVARIANT', message: "Session 's' is malformed: its head cannot be read." }
    await expect(store.load('s')).rejects.toMatchObject(expected)
    await expect(store.load('s')).rejects.toMatchObject(expected)
    await store.delete('s')
    expect(await store.load('s')).toBeUndefined()
  })

  test.each<[string, (driver: FakeDriver) => void, string]>([
    ['a head that was cut', (driver) => change(driver, (head) => head.slice(0, -5)), 'its head cannot be read'],
    ['a head that is not an object', (driver) => change(driver, () => '[]'), 'its head is not an object'],
    [
      'a head without a layout',
      (driver) => change(driver, (head) => head.replace('"layout":2', '"layout":"2"')),
      'its stored layout is "2", and this release reads 2',
    ],
    [
      'a head of a layout that never was',
      (driver) => change(driver, (head) => head.replace('"layout":2', '"layout":0')),
      'its stored layout is 0, and this release reads 2',
    ],
    ['a head without lists', (driver) => change(driver, () => '{"layout":2}'), 'its head has no valid list table'],
    [
      'a head whose lists are not described',
      (driver) => change(driver, (head) => head.replace('"first":0', '"first":-1')),
      'its head has no valid list table',
    ],
    [
      'a head of layout 1',
      (driver) => change(driver, (head) => head.replace('"layout":2', '"layout":1')),
      'its stored layout is 1, and this release reads 2',
    ],
    [
      'a list that begins after its end',
      (driver) => change(driver, (head) => head.replace('"first":0', '"first":9')),
      'the chunks of its list history do not belong together',
    ],
    [
      'a list that lost more than it had',
      (driver) => change(driver, (head) => head.replace('"skip":0', '"skip":9')),
      'the chunks of its list history do not belong together',
    ],
    [
      'a list without a place',
      (driver) => change(driver, (head) => head.replace('"Ask":{"messages"', '"Other":{"messages"')),
      'its lists have no place in its head',
    ],
    [
      'a head of another revision',
      (driver) => change(driver, (head) => head.replace('"revision":"1-a"', '"revision":"0-a"')),
      'its head belongs to another revision',
    ],
    ['a chunk that is missing', (driver) => recordOf(driver).chunks.clear(), 'its list history lacks chunk 0'],
    [
      'a chunk that was cut',
      (driver) => recordOf(driver).chunks.set('history#0', '{"previous":"'),
      'chunk 0 of its list history cannot be read',
    ],
    [
      'a chunk of another chain',
      (driver) => recordOf(driver).chunks.set('history#0', '{"previous":"0-x","revision":"1-a","entries":[]}'),
      'the chunks of its list history do not belong together',
    ],
    [
      'a chunk with too few entries',
      (driver) => recordOf(driver).chunks.set('history#0', '{"previous":"","revision":"1-a","entries":[]}'),
      'the chunks of its list history do not belong together',
    ],
  ])('%s', async (_name, spoil, problem) => {
    const driver = new FakeDriver()
    await storeWith(driver).create(document)
    spoil(driver)
    await expect(storeWith(driver).load('s')).rejects.toMatchObject({
      code: 'SESSION_FLOW_INVARIANT',
      message: `Session 's' is malformed: ${problem}.`,
    })
  })
})

function recordOf(driver: FakeDriver): { head: string; readonly chunks: Map<string, string> } {
  const [record] = driver.records.values()
  if (record === undefined) throw new Error('Nothing is stored.')
  return record
}

function change(driver: FakeDriver, edit: (head: string) => string): void {
  const record = recordOf(driver)
  record.head = edit(record.head)
}
