import { Keyv } from 'keyv'
import { describe, expect, test } from 'vitest'
import { FakeDriver } from '../../../../testing/contract/stores/fake-driver.js'
import { encryptionHooks, zlibCompression } from '../../../../testing/contract/stores/keyv-hooks.js'
import { newSession, turnOn } from '../../../../testing/contract/stores/turns.js'
import { KeyvSessionStore } from '../keyv-session-store.js'
import { createTextCodec } from './codec.js'

const value = JSON.parse(
  '{ "text": ":base64:aGk=", "colon": ":x", "__proto__": { "kept": true }, "list": [null, 1.5] }',
)

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
    const text = await codec.encode(value)
    expect(JSON.stringify(await codec.decode(text))).toBe(JSON.stringify(value))
  })

  test('are plain JSON unless there is a hook', async () => {
    expect(await createTextCodec(new Keyv()).encode(value)).toBe(JSON.stringify(value))
  })

  test('go by the hooks as they are, not as they were', async () => {
    const keyv = new Keyv()
    const codec = createTextCodec(keyv)
    const plain = await codec.encode(value)
    Object.assign(keyv, encryptionHooks())
    expect(await codec.encode(value)).not.toContain('colon')
    await expect(codec.decode(plain)).rejects.toThrow()
  })

  test('a hook that does not return a string is refused', async () => {
    const keyv = new Keyv({ serialize: (data) => data as unknown as string })
    await expect(createTextCodec(keyv).encode(value)).rejects.toThrow(
      "Keyv's serialize returned a value of type object; it must return a string.",
    )
  })
})

describe('a session whose texts cannot be read', () => {
  const { document } = turnOn(newSession('s'), '1-a', 'a secret')
  const storeWith = (driver: FakeDriver, hooks: object = {}): KeyvSessionStore =>
    new KeyvSessionStore({ keyv: new Keyv(hooks), driver })

  test('nothing of it is in the clear where it is encrypted', async () => {
    const driver = new FakeDriver()
    await storeWith(driver, encryptionHooks()).create(document)
    expect(
      JSON.stringify([...driver.records.values()].map(({ head, chunks }) => [head, ...chunks.values()])),
    ).not.toMatch(/secret|Booking|user-7/)
  })

  test('by another key: malformed, never missing; and a delete without a revision removes it', async () => {
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
      'its stored layout is "2", and this release reads layouts 1 to 2',
    ],
    [
      'a head of a layout that never was',
      (driver) => change(driver, (head) => head.replace('"layout":2', '"layout":0')),
      'its stored layout is 0, and this release reads layouts 1 to 2',
    ],
    ['a head without lists', (driver) => change(driver, () => '{"layout":2}'), 'its head does not list its lists'],
    ['an old head without lists', (driver) => change(driver, () => '{"layout":1}'), 'its head does not list its lists'],
    [
      'a head whose lists are not described',
      (driver) => change(driver, (head) => head.replace('"first":0', '"first":-1')),
      'its head does not list its lists',
    ],
    [
      'an old head whose lists are not described',
      (driver) => change(driver, () => '{"layout":1,"lists":[7]}'),
      'its head does not list its lists',
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
