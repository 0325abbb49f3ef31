import { Keyv } from 'keyv'
import { expect, test } from 'vitest'
import { swapOf } from '../../../../../testing/contract/stores/driver-cases.js'
import type { RedisAdapter, RedisClientLike } from './connection/redis-client.js'
import { createRedisDriver } from './redis-driver.js'
import { attachRedisSettings } from './redis-settings.js'

const change = swapOf('k', { expectedRevision: 'a', revision: 'b', head: 'head' })

/** A driver that waits for one replica, over a connected client. `answers` has each command's result or error. */
function driverOver(answers: Readonly<Record<string, () => unknown>>, sent: string[] = []) {
  const client: RedisClientLike = {
    isOpen: true,
    isReady: true,
    connect: async () => undefined,
    destroy: () => undefined,
    on: () => undefined,
    off: () => undefined,
    sendCommand: async ([name = '']: readonly string[]) => {
      sent.push(name)
      return answers[name]?.()
    },
  }
  const adapter: RedisAdapter = { client, createKeyPrefix: (key) => key, disconnect: async () => undefined }
  const keyv = new Keyv({ store: Object.assign(new Map(), adapter) })
  attachRedisSettings(keyv, { wait: { replicas: 1, timeoutMs: 50 }, replyWithinMs: undefined })
  return createRedisDriver(keyv)
}

test('a read of a known revision waits for the replicas if its write was in doubt', async () => {
  const sent: string[] = []
  let isLost = true
  const answers = {
    EVALSHA: () => 1,
    HGET: () => 'b',
    WAIT: () => {
      if (isLost) throw new Error('The connection was lost.')
      return 1
    },
  }
  const driver = driverOver(answers, sent)
  await expect(driver.swap(change)).rejects.toThrow('The connection was lost.')
  await expect(driver.read('k', [], 'b')).rejects.toThrow('The connection was lost.')
  isLost = false
  sent.length = 0
  expect(await driver.read('k', [], 'b')).toEqual({ revision: 'b', head: '', chunks: [] })
  expect(sent).toEqual(['HGET', 'EVALSHA', 'WAIT'])
  sent.length = 0
  expect(await driver.read('k', [], 'b')).toEqual({ revision: 'b', head: '', chunks: [] })
  expect(sent).toEqual(['HGET'])
})

test('rejects if a script returns an unexpected reply', async () => {
  const driver = driverOver({ EVALSHA: () => 'OK' })
  await expect(driver.remove('k', 'a')).rejects.toThrow('Redis answered a script with something other than 0 or 1.')
})
