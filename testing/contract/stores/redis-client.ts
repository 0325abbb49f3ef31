/// <reference types="node" />
// A connection to a test's Redis, past the store: replies come whole and as values.
import { createClient } from '@keyv/redis'

/** Sends commands on one connection. */
export interface RedisSender {
  send(words: readonly string[]): Promise<unknown>
}

/** Connects, does the work, and disconnects. */
export async function redisClient<T>(url: string, work: (client: RedisSender) => Promise<T>): Promise<T> {
  const client = createClient({ url })
  await client.connect()
  try {
    return await work({ send: (words) => client.sendCommand([...words]) })
  } finally {
    client.destroy()
  }
}
