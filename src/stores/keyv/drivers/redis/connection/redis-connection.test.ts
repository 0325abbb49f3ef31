import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RedisAdapter, RedisClientLike } from './redis-client.js'
import { isSameConnection, RedisConnection } from './redis-connection.js'
import { slotOf } from './redis-slot.js'

/** A connected client. Tests can make it emit events. */
class FakeClient implements RedisClientLike {
  readonly isOpen: boolean = true
  readonly isReady: boolean = true
  readonly sent: unknown[][] = []
  readonly #listeners: [event: string, listener: () => void][] = []

  connect(): Promise<unknown> {
    return Promise.resolve()
  }

  destroyed = 0

  destroy(): void {
    this.destroyed++
  }

  on(event: string, listener: () => void): void {
    this.#listeners.push([event, listener])
  }

  off(): void {}

  emit(event: string): void {
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

function connectionOver(client: FakeClient, replyWithinMs?: number): RedisConnection {
  const adapter: RedisAdapter = { client, createKeyPrefix: (key) => key, disconnect: () => Promise.resolve() }
  return new RedisConnection(adapter, replyWithinMs)
}

test.each([
  ['a reconnected client', 'ready'],
  ['Sentinel naming another server', 'topology-change'],
])('a connection is the same until another one takes its place: %s', async (_, event) => {
  const client = new FakeClient()
  const connection = connectionOver(client)
  const found = await connection.connectionFor('key')
  expect(isSameConnection(await connection.connectionFor('other'), found)).toBe(true)
  client.emit(event)
  const next = await connection.connectionFor('key')
  expect(isSameConnection(next, found)).toBe(false)
  expect(isSameConnection(await connection.connectionFor('key'), next)).toBe(true)
})

test('in a Cluster the connection leads to the node that owns the slot', async () => {
  const cluster = new FakeCluster()
  const [first, second] = [new FakeClient(), new FakeClient()]
  const connection = connectionOver(cluster)
  await expect(connection.connectionFor('key')).rejects.toThrow('is known to own the slot of the session.')
  cluster.slots[slotOf('key')] = { master: first }
  const found = await connection.connectionFor('key')
  await connection.sendOn(found, ['WAIT', '1', '50'])
  expect(first.sent).toEqual([[['WAIT', '1', '50'], { typeMapping: {} }]])
  expect(cluster.sent).toEqual([])

  first.emit('ready')
  const again = await connection.connectionFor('key')
  expect(isSameConnection(again, found)).toBe(false)
  cluster.slots[slotOf('key')] = { master: second }
  expect(isSameConnection(await connection.connectionFor('key'), again)).toBe(false)
})

test('a command that waited to be sent rejects if the connection was closed meanwhile', async () => {
  let onConnected = (): void => undefined
  const connected = new Promise<void>((resolve) => {
    onConnected = resolve
  })
  class NewClient extends FakeClient {
    override readonly isOpen: boolean = false
    override readonly isReady: boolean = false
    override connect(): Promise<unknown> {
      return connected
    }
  }
  const client = new NewClient()
  const connection = connectionOver(client)
  const sending = connection.send('key', ['GET'])
  await connection.close()
  onConnected()
  await expect(sending).rejects.toThrow('The connection to Redis is closed.')
  expect(client.sent).toEqual([])
})

describe('a server that does not answer', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  class SlowClient extends FakeClient {
    readonly #replies: (() => void)[] = []

    override sendCommand(...words: unknown[]): Promise<unknown> {
      this.sent.push(words)
      return new Promise((resolve) => this.#replies.push(() => resolve('OK')))
    }

    reply(): void {
      this.#replies.shift()?.()
    }
  }

  test('loses its connection after too long without a reply, and not before', async () => {
    const client = new SlowClient()
    const connection = connectionOver(client, 300)
    const calls = [connection.send('key', ['GET']), connection.send('key', ['GET'])]
    await vi.advanceTimersByTimeAsync(299)
    client.reply()
    await Promise.race(calls)
    await vi.advanceTimersByTimeAsync(299)
    expect(client.destroyed).toBe(0)
    await vi.advanceTimersByTimeAsync(1)
    expect(client.destroyed).toBe(1)
  })

  test('is not replaced while no command waits, and leaves no timer behind', async () => {
    const client = new SlowClient()
    const connection = connectionOver(client, 300)
    const first = connection.send('key', ['GET'])
    await vi.advanceTimersByTimeAsync(10)
    client.reply()
    await first
    await vi.advanceTimersByTimeAsync(1_000)
    expect([client.destroyed, vi.getTimerCount()]).toEqual([0, 0])
    // The time counts from the command that gets no reply, not from the last reply.
    const second = connection.send('key', ['GET'])
    client.reply()
    await second
    await vi.advanceTimersByTimeAsync(200)
    const third = connection.send('key', ['GET'])
    await vi.advanceTimersByTimeAsync(299)
    expect(client.destroyed).toBe(0)
    await vi.advanceTimersByTimeAsync(1)
    expect(client.destroyed).toBe(1)
    client.reply()
    await third
    await connection.close()
    expect(vi.getTimerCount()).toBe(0)
  })
})
