// The servers of examples/bun and examples/deno, each as two processes over one Redis.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isRedisMissing, type RedisServer, startRedis } from '../../testing/contract/servers/redis-server.js'
import { deploymentCases, say } from './cases.ts'
import { isMissing, pathOf, type ServerProcess, startServer } from './processes.ts'

const runtimes = 'testing/contract/runtimes'

serverTests('Bun', `${runtimes}/node_modules/@oven/bun-linux-x64/bin/bun`, ['examples/bun/server.ts'])
serverTests('Deno', `${runtimes}/node_modules/@deno/linux-x64-glibc/deno`, [
  'run',
  '--allow-net',
  '--allow-env',
  '--allow-read',
  'examples/deno/server.ts',
])

function serverTests(runtime: string, program: string, words: readonly string[]): void {
  const leftOut = isMissing(program) ? ` (left out: npm ci --prefix ${runtimes})` : ''

  describe.skipIf(leftOut !== '' || isRedisMissing)(`on ${runtime}${leftOut}`, () => {
    let redis: RedisServer
    let servers: ServerProcess[] = []

    async function start(): Promise<ServerProcess> {
      const env = { PORT: '0', SESSION_STORE: 'redis', REDIS_URL: redis.url }
      return startServer(pathOf(program), words, { env })
    }

    beforeAll(async () => {
      redis = await startRedis()
      servers = await Promise.all([start(), start()])
    })

    afterAll(async () => {
      await Promise.all(servers.map((server) => server.stop()))
      await redis?.close()
    })

    deploymentCases(() => [`${servers[0]?.url}/ai`, `${servers[1]?.url}/ai`])

    test('SIGTERM ends it when its turns are answered', async () => {
      const server = await start()
      expect(await say(`${server.url}/ai`, 'Notes', 'one')).toMatchObject({ success: true })
      expect(await server.stop()).toBe(0)
    })
  })
}
