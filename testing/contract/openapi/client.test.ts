/// <reference types="node" />
// The OpenAPI document passes a validator, and a client that a generator makes of it compiles and holds
// a conversation over HTTP.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createFetchHandler, type FetchHandlerOptions } from '../../../adapters/fetch/index.js'
import { openApiDocument } from '../../../adapters/openapi/index.js'
import { type RunningServer, startServer } from '../http/node-server.js'
import { createEngine } from '../http/serve.js'
import { arePackagesMissing, leftOut, loadPackages, modules } from './packages.js'

const everything: FetchHandlerOptions = {
  ...{ basePath: '/v1/chat', session: true, health: true },
  ...{ streamDetails: true, rawHeaders: { 'X-Frame-Options': 'DENY', 'cache-control': 'private', Vary: null } },
  cors: { origin: 'https://shop.example', credentials: true },
}

/** What an application would write with the generated client. The types of the first lines are checked, and not run. */
const program = `
import { cancelTurn, checkHealth, endSession, listFlows, readSession, runTurn } from './client'
import type { Envelope, Failure, RunTurnErrors, RunTurnResponse, StreamEvent } from './client'
import { client } from './client/client.gen'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const plainReplyIsNoUnion: Same<RunTurnResponse, Envelope> = true
const failureIsOne: Same<RunTurnErrors[400], Failure> = true

/** The text of a streamed turn, so far. */
export function textOf(event: StreamEvent): string {
  if (event.event === 'text-delta') return event.data.text
  return event.event === 'result' ? event.data.message : ''
}

/** The buttons of a reply. */
export function labelsOf({ parts = [] }: Envelope): string[] {
  return parts.flatMap((part) => (part.type === 'choices' ? part.options.map(({ label }) => label) : []))
}

async function say(message: string, session?: string): Promise<Envelope> {
  const headers = session === undefined ? {} : { CHAT_SESSION_ID: session }
  const { data, error } = await runTurn({ body: { flowName: 'Greeting', message }, headers, query: { envelope: '1' } })
  if (data === undefined) throw new Error(error.message)
  return data
}

export async function converse(baseUrl: string): Promise<unknown> {
  client.setConfig({ baseUrl })
  const flows = (await listFlows()).data ?? []
  const first = await say('')
  const headers = { CHAT_SESSION_ID: first.session }
  const second = await say('Ada', first.session)
  const stored = (await readSession({ headers })).data
  const last = await say('Bonn', first.session)
  const cancelled = (await cancelTurn({ headers })).data?.cancelled
  const ended = (await endSession({ headers })).data?.success
  const live = (await checkHealth({ query: { check: 'live' } })).data?.live
  const unknown = await runTurn({ body: { flowName: 'Nobody' } })
  const code = unknown.response?.headers.get('Chat-Error')
  const replies = [first, second, last].map(({ message, completed }) => [message, completed])
  const turns = stored?.turns.map(({ turn, message, reply }) => [turn, message, reply])
  return { flows, replies, turns, cancelled, ended, live, code, failure: unknown.error?.message }
}
`

const compilerOptions = {
  ...{ strict: true, exactOptionalPropertyTypes: false, noEmit: true, skipLibCheck: false, types: [] },
  ...{ target: 'ES2022', module: 'ESNext', moduleResolution: 'bundler', lib: ['ES2023', 'DOM', 'DOM.Iterable'] },
}

describe.skipIf(arePackagesMissing)(`the document${leftOut}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-openapi-'))
  let server: RunningServer

  beforeAll(async () => {
    const openApi = openApiDocument({ ...everything, title: 'Shop', version: '2.3.0' })
    server = await startServer(createFetchHandler(createEngine(), { ...everything, openApi }))
  })

  afterAll(async () => {
    rmSync(folder, { recursive: true })
    await server.close()
  })

  test.each<[string, FetchHandlerOptions]>([
    ['of the defaults', {}],
    ['of all options', everything],
    ['with precise statuses', { ...everything, statuses: 'precise', basePath: '/' }],
    ['without streams', { stream: false, cors: { origin: '*' } }],
  ])('is valid: %s', async (_what, options) => {
    const { problemsOf } = await loadPackages()
    const servers = ['https://api.shop.example', '/proxied']
    expect(await problemsOf(openApiDocument(options))).toEqual([])
    expect(await problemsOf(openApiDocument({ ...options, servers, title: 'Shop', version: '7' }))).toEqual([])
  })

  test('makes a client that compiles, and holds a conversation', async () => {
    const document = await (await fetch(`http://127.0.0.1:${server.port}/v1/chat/openapi.json`)).text()
    writeFileSync(join(folder, 'openapi.json'), document)
    const run = (path: string, ...args: string[]) =>
      execFileSync(process.execPath, [join(modules, path), ...args], { cwd: folder, encoding: 'utf8' })
    run('@hey-api/openapi-ts/bin/run.js', '-i', 'openapi.json', '-o', 'client', '--no-log-file', '--silent')
    writeFileSync(join(folder, 'program.ts'), program)
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.'] }))
    run('typescript/bin/tsc', '-p', '.')
    const outfile = join(folder, 'program.mjs')
    await build({ absWorkingDir: folder, entryPoints: ['program.ts'], bundle: true, format: 'esm', outfile })
    const { converse } = (await import(pathToFileURL(outfile).href)) as {
      converse: (baseUrl: string) => Promise<unknown>
    }
    expect(await converse(`http://127.0.0.1:${server.port}`)).toEqual({
      flows: ['Greeting', 'Typed', 'Bytes', 'Context', 'Waiting'],
      replies: [
        ['What is your name?', false],
        ['Where do you live?', false],
        ['Ada of Bonn.', true],
      ],
      turns: [
        [1, '', 'What is your name?'],
        [2, 'Ada', 'Where do you live?'],
      ],
      ...{ cancelled: false, ended: true, live: true, code: 'FLOW_NOT_FOUND' },
      failure: expect.stringContaining('Nobody'),
    })
  }, 180_000)
})
