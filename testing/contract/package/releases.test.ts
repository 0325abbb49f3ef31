/**
 * Checks that two releases with different stored layouts can run side by side, as docs/releases.md says: the packed
 * package, and a copy of it that writes the next layout and reads both. Turns alternate between them, over one Redis.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type * as turnkeeper from '../../../src/index.js'
import type * as keyv from '../../../src/stores/keyv/index.js'
import { isRedisMissing, type RedisServer, startRedis } from '../servers/redis-server.js'
import { project } from './run.js'

const peers = fileURLToPath(new URL('../../../node_modules', import.meta.url))

/** What a release writes. */
const layoutConstant = /\bstoredLayoutVersion = (\d+);/

/** What it reads. */
const readLayouts = /\breadableStoredLayouts = \[storedLayoutVersion\];/

/** Run in Redis, which changes the order of a hash's fields as it likes. */
const digestOfFields = `
  local texts = redis.call('HKEYS', KEYS[1])
  table.sort(texts)
  for index, field in ipairs(texts) do texts[index] = field .. redis.call('HGET', KEYS[1], field) end
  return redis.sha1hex(table.concat(texts))
`

/** The file that has the number of the stored layout: one that several entry points share. */
function layoutFile(folder: string): string {
  const chunks = join(folder, 'dist/chunks')
  const found = readdirSync(chunks).filter(
    (name) => name.endsWith('.js') && layoutConstant.test(readFileSync(join(chunks, name), 'utf8')),
  )
  if (found.length !== 1) throw new Error(`The number of the layout stands in ${found.length} files.`)
  return join(chunks, found[0] ?? '')
}

/**
 * Installs the package with its peers into a folder of its own. @param edit - Changes the file with
 * the number of the layout.
 */
function install(name: string, edit: (source: string) => string = (source) => source): string {
  const installed = join(project(name, { 'package.json': '{ "type": "module" }' }), 'node_modules')
  mkdirSync(join(installed, '@keyv'), { recursive: true })
  const folder = join(installed, 'turnkeeper')
  cpSync(join(inject('consumer'), 'node_modules', 'turnkeeper'), folder, { recursive: true })
  for (const peer of ['keyv', '@keyv/redis']) {
    symlinkSync(join(peers, peer), join(installed, peer), 'dir')
  }
  const file = layoutFile(folder)
  writeFileSync(file, edit(readFileSync(file, 'utf8')))
  return folder
}

/** An engine of the package in a folder, with sessions in Redis. Its flow answers a message with the message. */
async function openEngine(folder: string, url: string): Promise<turnkeeper.FlowEngine> {
  const load = (file: string): Promise<unknown> => import(/* @vite-ignore */ pathToFileURL(join(folder, file)).href)
  const { Flow, FlowEngine, LogicStep, reply } = (await load('dist/src/index.js')) as typeof turnkeeper
  const { createRedisKeyv, KeyvSessionStore } = (await load('dist/src/stores/keyv/index.js')) as typeof keyv
  class Repeat extends LogicStep {
    static override readonly id = 'Repeat'
    override run({ message }: turnkeeper.Turn) {
      return reply(message)
    }
  }
  class Echo extends Flow {
    static override readonly id = 'Echo'
    override steps() {
      return [Repeat]
    }
  }
  const sessionStore = new KeyvSessionStore({ keyv: await createRedisKeyv(url) })
  return new FlowEngine({ flows: [Echo], sessionStore })
}

describe.skipIf(isRedisMissing)('two releases over one Redis', () => {
  let server: RedisServer
  let today: turnkeeper.FlowEngine
  let next: turnkeeper.FlowEngine
  let layout: number
  beforeAll(async () => {
    server = await startRedis()
    const folder = install('release-today')
    layout = Number(layoutConstant.exec(readFileSync(layoutFile(folder), 'utf8'))?.[1])
    expect(layout).toBeGreaterThan(1)
    const raised = install('release-next', (source) =>
      source
        .replace(layoutConstant, `storedLayoutVersion = ${layout + 1};`)
        .replace(readLayouts, `readableStoredLayouts = [${layout}, ${layout + 1}];`),
    )
    today = await openEngine(folder, server.url)
    next = await openEngine(raised, server.url)
  })
  afterAll(async () => {
    await today?.close()
    await next?.close()
    await server?.close()
  })

  /** A digest of all that is stored of a session. */
  const stored = (sessionId: string): Promise<string> =>
    server.command('EVAL', digestOfFields, '1', `turnkeeper::${sessionId}`)

  test('200 turns in turn: the older refuses what the newer wrote, and no update is lost', async () => {
    const sessions: { id: string; said: string[]; newest: number }[] = []
    for (let count = 0; count < 40; count++) {
      const { response } = await today.execute({ flowName: 'Echo', userMessage: 'start' })
      sessions.push({ id: response.session, said: ['start'], newest: layout })
    }
    let refusals = 0
    for (let turn = 0; turn < 200; turn++) {
      // Each release meets each session, those that it stored last and those that the other one did.
      const index = (turn * 7 + Math.floor(turn / sessions.length)) % sessions.length
      const session = sessions[index] as (typeof sessions)[number]
      const isNext = turn % 2 === 1
      const before = await stored(session.id)
      const engine = isNext ? next : today
      const { error } = await engine.execute({ flowName: 'Echo', userMessage: `turn ${turn}`, sessionId: session.id })
      if (error === undefined) {
        session.said.push(`turn ${turn}`)
        session.newest = Math.max(session.newest, isNext ? layout + 1 : layout)
        continue
      }
      refusals++
      expect([isNext, session.newest, error.code]).toEqual([false, layout + 1, 'SESSION_FLOW_INVARIANT'])
      expect(error.message).toContain('was stored by a newer release of Turnkeeper and cannot be read')
      expect(error.message).toContain(`its stored layout is ${layout + 1}, and this release reads ${layout}`)
      expect(await stored(session.id)).toBe(before)
    }
    expect(refusals).toBe(80)
    for (const { id, said } of sessions) {
      expect((await next.getSession(id))?.history.map(({ message }) => message)).toEqual(said)
    }
    expect(await server.command('DBSIZE')).toBe(`:${sessions.length}\r\n`)
  })
})
