// examples/docker without Docker: its Dockerfile is linted and carried out in an empty folder, on the production
// dependencies of the packed package. Two processes of it are then replaced, one after the other, behind nginx and over
// Redis, while people talk.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import { isNginxMissing, type Nginx, nginxExample, startNginx } from '../servers/nginx.js'
import { freePort, isRedisMissing, startRedis } from '../servers/redis-server.js'
import { until } from '../servers/until.js'
import { type Carrier, startCarrier } from './carrier.js'
import { type BuiltImage, instructionsOf, run } from './dockerfile.js'
import { buildExample, exampleFolder, type ImageProcess, killProcess, removeFolder, startProcess } from './image.js'
import { type Sending, startTalkers, type Talkers } from './talkers.js'

const root = new URL('../../../', import.meta.url)
const dockerfile = readFileSync(join(exampleFolder, 'Dockerfile'), 'utf8')
const configuration = nginxExample()
const kubernetesExample = readFileSync(new URL('examples/kubernetes/turnkeeper.yaml', root), 'utf8')

const folder: string = mkdtempSync(join(tmpdir(), 'turnkeeper-image-'))
let image: BuiltImage
const running: { close(): Promise<void> }[] = []

beforeAll(async () => {
  image = await buildExample(inject('consumer'), folder)
  // It asks a registry.
}, 180_000)

afterEach(async () => {
  for (const item of running.splice(0).reverse()) await item.close()
})

afterAll(() => removeFolder(folder))

async function start(port: number, settings: Readonly<Record<string, string>> = {}): Promise<ImageProcess> {
  const started = await startProcess(image, port, settings)
  running.push({ close: () => killProcess(started) })
  return started
}

/** The linter, if the folder of the deployments is installed. */
const deployments = createRequire(new URL('testing/contract/deployments/', root))
const isLinterMissing =
  process.env.CI === undefined &&
  !existsSync(new URL('testing/contract/deployments/node_modules/dockerfile-utils', root))

const leftOut = isLinterMissing ? ' (left out: dockerfile-utils is not installed)' : ''

describe('the Dockerfile', () => {
  test.skipIf(isLinterMissing)(`has nothing that dockerfile-utils finds${leftOut}`, () => {
    const { validate } = deployments('dockerfile-utils') as { validate(text: string): { message: string }[] }
    expect(validate(dockerfile)).toEqual([])
    const broken = dockerfile.replace('CMD ["node", "server.js"]', "CMD ['node']\nENTRYPOIN x")
    expect(validate(broken).map(({ message }) => message)).toContain('Unknown instruction: ENTRYPOIN')
  })

  test('runs Node 22, by its digest, as a user who is not root, and names every process as a list', () => {
    const of = (keyword: string): string[] =>
      instructionsOf(dockerfile).flatMap((instruction) => (instruction.keyword === keyword ? [instruction.rest] : []))
    const base = ['node:22-slim@sha256:<digest>']
    expect([of('FROM'), of('USER'), of('CMD')]).toEqual([base, ['node'], ['["node", "server.js"]']])
    expect(dockerfile.indexOf('USER node')).toBeGreaterThan(dockerfile.lastIndexOf('RUN '))
  })

  test('is shown in docs/deploy.md, without its comments and its HEALTHCHECK', () => {
    const page = readFileSync(new URL('docs/deploy.md', root), 'utf8')
    const shown = /^```dockerfile\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? ''
    const others = instructionsOf(dockerfile).filter(({ keyword }) => keyword !== 'HEALTHCHECK')
    expect(instructionsOf(shown)).toEqual(others)
  })

  test('installs the production dependencies and nothing else', () => {
    const installed = readdirSync(join(image.folder, 'node_modules')).filter((name) => !name.startsWith('.'))
    expect(installed).toEqual(expect.arrayContaining(['hono', 'keyv', 'turnkeeper']))
    expect(installed.length).toBeLessThan(20)
    expect(existsSync(join(image.folder, 'node_modules/turnkeeper/testing/contract'))).toBe(false)
    expect(readdirSync(image.folder).sort()).toEqual([
      'node_modules',
      'package-lock.json',
      'package.json',
      'parcels.js',
      'server.js',
      `turnkeeper-${manifest.version}.tgz`,
    ])
  })

  test('has sources that compile against the types of the package', () => {
    const options = ['--noEmit', '--allowJs', '--checkJs', '--strict', '--module', 'nodenext', '--target', 'es2022']
    const types = ['--types', 'node', '--typeRoots', new URL('node_modules/@types', root).pathname, '--skipLibCheck']
    const tsc = new URL('node_modules/typescript/bin/tsc', root).pathname
    const { stdout, status } = spawnSync(process.execPath, [tsc, ...options, ...types, 'server.js'], {
      cwd: image.folder,
      encoding: 'utf8',
    })
    expect([stdout, status]).toEqual(['', 0])
  })

  test('starts a process that answers, is healthy, and ends with SIGTERM', async () => {
    const port = await freePort()
    const server = await start(port)
    const reply = await fetch(`http://127.0.0.1:${port}/ai/run`, { method: 'POST', body: '{"flowName":"Parcels"}' })
    expect(await reply.json()).toMatchObject({ success: true, message: 'Which parcel are you waiting for?' })
    const checkHealth = (): Promise<void> => run(image.healthCheck, image.folder, { PORT: String(port) })
    await checkHealth()
    for (const [, path] of kubernetesExample.matchAll(/httpGet: \{ path: (\S+),/g)) {
      expect([path, (await fetch(`http://127.0.0.1:${port}${path}`)).status]).toEqual([path, 200])
    }
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
    await expect(checkHealth()).rejects.toThrow('ended with 1')
  })
})

/** nginx without one of the two processes: what a load balancer does while `preStop` waits. */
function without(port: 3001 | 3002): string {
  return configuration.replace(`127.0.0.1:${port} max_fails=0`, `127.0.0.1:${port} down`)
}

describe.skipIf(isNginxMissing || isRedisMissing)('two processes behind nginx and over Redis', () => {
  interface Service {
    readonly nginx: Nginx
    readonly carrier: Carrier
    readonly processes: Map<3001 | 3002, ImageProcess>
    startOne(name: 3001 | 3002): Promise<void>
  }

  async function serve(): Promise<Service> {
    const redis = await startRedis()
    running.push(redis)
    const carrier = await startCarrier()
    running.push(carrier)
    const ports = { 3001: await freePort(), 3002: await freePort() }
    const processes: Service['processes'] = new Map()
    async function startOne(name: 3001 | 3002): Promise<void> {
      const settings = { SESSION_STORE: 'redis', REDIS_URL: redis.url, CARRIER_URL: carrier.urlFor(String(name)) }
      processes.set(name, await start(ports[name], settings))
    }
    await Promise.all([startOne(3001), startOne(3002)])
    const nginx = await startNginx(configuration, ports)
    running.push(nginx)
    return { nginx, carrier, processes, startOne }
  }

  /** Replaces one process, in the middle of turns of its own. */
  async function replace(service: Service, name: 3001 | 3002, drains: boolean, talkers: Talkers): Promise<void> {
    const { nginx, carrier, processes, startOne } = service
    const old = processes.get(name) as ImageProcess
    await carrier.hold(String(name), 2)
    if (drains) {
      // `preStop` waits until nginx sends nothing there any more, and what it had sent has arrived.
      // Here that moment is known.
      await nginx.reload(without(name))
      await talkers.answered(carrier.waiting)
    }
    old.child.kill('SIGTERM')
    await until(async () => !(await accepts(old.port)))
    carrier.release()
    expect(await old.ended).toBe(0)
    await startOne(name)
    if (drains) await nginx.reload(configuration)
  }

  const ways: readonly (readonly [string, boolean, Sending])[] = [
    ['when nginx knows before the process does, clients need no key', true, { repeats: false }],
    ['when nginx does not know, clients with a key lose nothing', false, { repeats: true }],
  ]

  test.each(ways)('are replaced under load: %s', async (_name, drains, sending) => {
    const service = await serve()
    const talkers = startTalkers(service.nginx.port, 12, sending)
    const { talked } = talkers
    for (const name of [3001, 3002] as const) {
      await replace(service, name, drains, talkers)
      const seen = talked.turns
      await until(() => talked.turns > seen + 100 || talked.problems.length > 0)
    }
    await talkers.stop()
    expect(talked.problems).toEqual([])
    console.log(`${talked.turns} turns, ${talked.repeated} requests repeated, ${talked.replayed} replies replayed.`)
  })
})

async function accepts(port: number): Promise<boolean> {
  try {
    await fetch(`http://127.0.0.1:${port}/ai/health?check=live`, { headers: { Connection: 'close' } })
    return true
  } catch {
    return false
  }
}
