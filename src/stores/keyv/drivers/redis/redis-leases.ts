/** The commands of leases in Redis: a key with an expiry for each, whose value is the token of the holder. */
import type { LeaseCommands } from '../polled-leases.js'
import type { RedisCommands } from './redis-commands.js'
import { releaseLeaseScript, renewLeaseScript } from './redis-scripts.js'

/** The commands over one Keyv's connection. */
export function redisLeaseCommands(commands: Pick<RedisCommands, 'send' | 'run'>): LeaseCommands {
  return {
    prepare: () => releaseLeaseScript.digest(),
    async take(key, token, ttlMs) {
      const reply = await commands.send(key, ['SET', key, token, 'NX', 'PX', String(ttlMs)])
      return reply !== null && reply !== undefined
    },
    renew: async (key, token, ttlMs) => (await commands.run(renewLeaseScript, key, [token, String(ttlMs)])) === 'done',
    release: (key, token) => commands.run(releaseLeaseScript, key, [token]),
  }
}
