import { expect, test } from 'vitest'
import type { RedisAdapter, RedisClientLike } from './redis-client.js'
import { isSameLine, RedisConnection } from './redis-connection.js'
import { slotOf } from './redis-slot.js'

/** A client that is connected, and tells what the test wants told. */
class FakeClient implements RedisClientLike {
  readonly isOpen: boolean = true
  readonly isReady: boolean = true
  readonly sent: unknown[][] = []
  readonly #listeners: [event: string, listener: () => void][] = []

  connect(): Promise<unknown> {
    return Promise.resolve()
  }

  destroy(): void {}

  on(event: string, listener: () => void): void {
    this.#listeners.push([event, listener])
  }

  off(): void {}

  tell(event: string): void {
    for (const [name, listener] of this.#listeners) if (name === event) listener()
  }

  sendCommand(...words: unknown[]): Promise<unknown> {
    this.sent.push(words)
    return Promise.resolve('OK')
  }
}

class FakeCluster extends FakeClient {
  readonly slots: { readonly master: unknown }[] = []

  nodeClient(node: FakeClient): Promise<FakeClient> {
    return Promise.resolve(node)
  }
}

function connectionOver(client: FakeClient): RedisConnection {
  const adapter: RedisAdapter = { client, createKeyPrefix: (key) => key, disconnect: () => Promise.resolve() }
  return new RedisConnection(adapter, undefined)
}

test.each([
  ['a reconnected client', 'ready'],
  ['Sentinel naming another server', 'topology-change'],
])('a line is the same until another connection takes its place: %s', async (_, event) => {
  const client = new FakeClient()
  const connection = connectionOver(client)
  const line = await connection.lineFor('key')
  expect(isSameLine(await connection.lineFor('other'), line)).toBe(true)
  client.tell(event)
  const next = await connection.lineFor('key')
  expect(isSameLine(next, line)).toBe(false)
  expect(isSameLine(await connection.lineFor('key'), next)).toBe(true)
})

test('in a Cluster a line leads to the node that owns the slot', async () => {
  const cluster = new FakeCluster()
  const [first, second] = [new FakeClient(), new FakeClient()]
  const connection = connectionOver(cluster)
  await expect(connection.lineFor('key')).rejects.toThrow('is known to own the slot of the session.')
  cluster.slots[slotOf('key')] = { master: first }
  const line = await connection.lineFor('key')
  await connection.sendOn(line, ['WAIT', '1', '50'])
  expect(first.sent).toEqual([[['WAIT', '1', '50'], { typeMapping: {} }]])
  expect(cluster.sent).toEqual([])

  first.tell('ready')
  const again = await connection.lineFor('key')
  expect(isSameLine(again, line)).toBe(false)
  cluster.slots[slotOf('key')] = { master: second }
  expect(isSameLine(await connection.lineFor('key'), again)).toBe(false)
})
