// The application of this folder: built once by `next build`, and served by two processes of `next start` over one
// Redis, which the edge runtime reaches over HTTP.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isRedisMissing, type RedisServer, startRedis } from '../../testing/contract/servers/redis-server.js'
import { startUpstash } from '../../testing/contract/servers/upstash-stand-in.js'
import { deploymentCases } from '../serverless/cases.ts'
import { isMissing, pathOf, type ServerProcess, startServer } from '../serverless/processes.ts'

const deployments = 'testing/contract/deployments'
const program = `${deployments}/node_modules/next/dist/bin/next`
const leftOut = isMissing(program) ? ` (left out: npm ci --prefix ${deployments})` : ''
const env = { NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' } as const
const token = 'a-token'

/** A folder with this application, the built package and Next.js. */
function copyApplication(): string {
  mkdirSync(pathOf(`${deployments}/.reports`), { recursive: true })
  const folder = mkdtempSync(pathOf(`${deployments}/.reports/nextjs-`))
  cpSync(pathOf('examples/nextjs'), join(folder, 'nextjs'), {
    recursive: true,
    filter: (path) => !path.endsWith('.test.ts'),
  })
  cpSync(pathOf('examples/serverless/flows.ts'), join(folder, 'serverless/flows.ts'))
  for (const part of ['package.json', 'dist']) {
    cpSync(pathOf(part), join(folder, 'node_modules/turnkeeper', part), { recursive: true })
  }
  return folder
}

describe.skipIf(leftOut !== '' || isRedisMissing)(`on Next.js${leftOut}`, () => {
  let folder = ''
  let redis: RedisServer
  let upstash: Awaited<ReturnType<typeof startUpstash>>
  let servers: ServerProcess[] = []

  async function start(): Promise<ServerProcess> {
    const words = [pathOf(program), 'start', '--port', '0', '--hostname', '127.0.0.1']
    return startServer(process.execPath, words, {
      folder: join(folder, 'nextjs'),
      env: { ...env, REDIS_URL: redis.url, UPSTASH_REDIS_REST_URL: upstash.url, UPSTASH_REDIS_REST_TOKEN: token },
    })
  }

  beforeAll(async () => {
    folder = copyApplication()
    execFileSync(process.execPath, [pathOf(program), 'build'], {
      cwd: join(folder, 'nextjs'),
      env: { ...process.env, ...env },
      stdio: 'pipe',
    })
    redis = await startRedis()
    upstash = await startUpstash(redis.url, token, () => false)
    servers = await Promise.all([start(), start()])
  }, 240_000)

  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()))
    await upstash?.close()
    await redis?.close()
    if (folder !== '') rmSync(folder, { recursive: true, force: true })
  })

  const routesAt = (path: string) => (): [string, string] => [`${servers[0]?.url}${path}`, `${servers[1]?.url}${path}`]

  describe('a route handler on Node', () => {
    deploymentCases(routesAt('/museum/ai'))
  })

  describe("a route handler with runtime = 'edge'", () => {
    deploymentCases(routesAt('/museum/edge/ai'))
  })

  test('the paths have the basePath of next.config.ts', async () => {
    expect((await fetch(`${servers[0]?.url}/ai/flows`)).status).toBe(404)
    const flows = await fetch(`${routesAt('/museum/ai')()[0]}/flows`)
    expect(await flows.json()).toEqual(['Notes', 'Guide'])
  })
})
