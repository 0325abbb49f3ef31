import KeyvRedis from '@keyv/redis'
import { Keyv } from 'keyv'
import { describe, expect, test } from 'vitest'
import { FakeDriver } from '../../../testing/contract/stores/fake-driver.js'
import { PlainAdapter } from '../../../testing/contract/stores/plain-adapter.js'
import { InvalidInputError } from '../../errors/engine-errors.js'
import { chooseDriver } from './driver-for.js'

const redis = (): KeyvRedis<string> => new KeyvRedis('redis://127.0.0.1:1')

describe('the driver', () => {
  test.each([
    ['a Map', new Keyv(), { compareAndSwap: 'process', durable: false }],
    ['Redis', new Keyv(redis()), { compareAndSwap: 'backend', durable: true }],
  ])('goes by the adapter: %s', (_name, keyv, guarantees) => {
    expect(chooseDriver({ keyv }).driver.guarantees).toEqual(guarantees)
  })

  test('is the one that was passed, for any adapter', () => {
    const driver = new FakeDriver()
    expect(chooseDriver({ keyv: new Keyv(new PlainAdapter()), driver }).driver).toBe(driver)
  })

  test("an adapter without a compare-and-swap has no driver, unless consistency is 'process'", () => {
    const keyv = new Keyv(new PlainAdapter())
    expect(() => chooseDriver({ keyv })).toThrow(
      new InvalidInputError({
        message:
          'KeyvSessionStore: the Keyv adapter PlainAdapter has no known compare-and-swap, so two processes ' +
          'would overwrite each other. Use @keyv/redis, @keyv/sqlite, @keyv/postgres or a Map, pass a driver, or pass ' +
          "consistency: 'process' if only one process uses the backend.",
      }),
    )
    expect(chooseDriver({ keyv, consistency: 'process' }).driver.guarantees).toEqual({
      compareAndSwap: 'process',
      durable: false,
    })
  })

  test('the adapter for Valkey is refused, and the message names the one to use', () => {
    class KeyvValkey extends PlainAdapter {}
    expect(() => chooseDriver({ keyv: new Keyv(new KeyvValkey()) })).toThrow(
      'KeyvSessionStore: the Keyv adapter KeyvValkey (@keyv/valkey) has no known compare-and-swap. ' +
        'Use @keyv/redis, which also works with Valkey servers: call createRedisKeyv with the same address.',
    )
  })

  test('an adapter that looks like Redis but has another kind of client is refused', () => {
    const adapter = Object.assign(new PlainAdapter(), {
      opts: { dialect: 'redis' },
      createKeyPrefix: (key: string) => key,
      client: { sendCommand: () => undefined, connect: () => undefined },
    })
    expect(() => chooseDriver({ keyv: new Keyv(adapter) })).toThrow('has no known compare-and-swap')
  })

  test.each([undefined, null, {}, new Map()])('a value that is not a Keyv is refused: %j', (keyv) => {
    expect(() => chooseDriver({ keyv: keyv as unknown as Keyv })).toThrow(
      'KeyvSessionStore: keyv must be a Keyv of version 5.6 or later.',
    )
  })

  test('an unknown consistency is refused', () => {
    expect(() => chooseDriver({ keyv: new Keyv(), consistency: 'eventual' as 'process' })).toThrow(
      "KeyvSessionStore: consistency can only be 'process'.",
    )
  })
})

describe('the key', () => {
  test.each<[string, Keyv, string]>([
    ['a Map', new Keyv(), 'keyv:id'],
    ['a Map with a namespace', new Keyv({ namespace: 'talks' }), 'talks:id'],
    ['a Map without prefixes', new Keyv({ namespace: 'talks', useKeyPrefix: false }), 'id'],
    [
      'Redis: the namespace once, though Keyv itself writes it twice',
      new Keyv(redis(), { namespace: 'talks' }),
      'talks::id',
    ],
    ['Redis without prefixes of Keyv', new Keyv(redis(), { namespace: 'talks', useKeyPrefix: false }), 'talks::id'],
    ['Redis with a separator', new Keyv(new KeyvRedis('redis://127.0.0.1:1', { keyPrefixSeparator: '/' })), 'keyv/id'],
    ['Redis without a namespace', Object.assign(new Keyv(redis()), { namespace: undefined }), 'id'],
  ])('%s', (_name, keyv, expected) => {
    expect(chooseDriver({ keyv }).keyOf('id')).toBe(expected)
  })
})
