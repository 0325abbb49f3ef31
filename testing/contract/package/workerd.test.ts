// The packed package on Cloudflare Workers' own runtime. A runtime that stops work with its request, and drops what runs after the
// reply, must not leave a session locked.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { RunResponseType, SessionDocument } from '../../../src/index.js'

const folder = fileURLToPath(new URL('../runtimes/', import.meta.url))
const isInstalled = existsSync(join(folder, 'node_modules'))

/** The worker as one file, with the installed package. */
async function bundleWorker(): Promise<string> {
  const result = await build({
    entryPoints: [fileURLToPath(new URL('worker.js', import.meta.url))],
    nodePaths: [join(inject('consumer'), 'node_modules')],
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    conditions: ['workerd', 'worker', 'browser', 'import'],
    write: false,
    logLevel: 'silent',
  })
  return result.outputFiles[0]?.text ?? ''
}

/** What this test uses of Miniflare, which is not installed at the root. */
interface Runtime {
  readonly ready: Promise<URL>
  dispose(): Promise<void>
}

interface Said {
  readonly session?: string
  readonly flow?: string
  readonly query?: string
  /** The client leaves after so many milliseconds. */
  readonly leavesAfter?: number
  readonly streams?: boolean
}

describe.skipIf(!isInstalled && process.env.CI !== 'true').each([
  ['without flags', []],
  ['with enable_request_signal', ['enable_request_signal']],
])('on workerd, %s', (_name, compatibilityFlags) => {
  let runtime: Runtime
  let url: URL

  beforeAll(async () => {
    const load = createRequire(join(folder, 'package.json'))
    const { Miniflare } = load('miniflare') as { Miniflare: new (options: object) => Runtime }
    runtime = new Miniflare({
      modules: [{ type: 'ESModule', path: 'worker.js', contents: await bundleWorker() }],
      compatibilityDate: '2026-04-01',
      compatibilityFlags: [...compatibilityFlags],
      // What workerd prints when a client leaves.
      handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
        stdout.resume()
        stderr.resume()
      },
    })
    url = await runtime.ready
  })

  afterAll(() => runtime?.dispose())

  function request(message: string, said: Said): Promise<Response> {
    const { session, flow = 'Chat', query = '', leavesAfter, streams = false } = said
    return fetch(new URL(`/ai/run${query}`, url), {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(session === undefined ? {} : { CHAT_SESSION_ID: session }),
        ...(streams ? { Accept: 'text/event-stream' } : {}),
      },
      body: JSON.stringify({ flowName: flow, message }),
      ...(leavesAfter === undefined ? {} : { signal: AbortSignal.timeout(leavesAfter) }),
    })
  }

  async function say(message: string, said: Said = {}): Promise<RunResponseType> {
    return (await (await request(message, said)).json()) as RunResponseType
  }

  /** Says something, and leaves before the answer. */
  async function leave(message: string, said: Said): Promise<void> {
    const left = request(message, { ...said, leavesAfter: 100 }).then((response) => response.text())
    await expect(left).rejects.toThrow()
  }

  async function sessionOf(id: string): Promise<SessionDocument> {
    return (await (await fetch(new URL(`/session?id=${id}`, url))).json()) as SessionDocument
  }

  test('a conversation goes on from request to request', async () => {
    const { session } = await say('one')
    expect(await say('two', { session })).toMatchObject({ success: true, message: 'You said: two', session })
  })

  test.each([
    ['a stream of a slow turn', 'slow', true],
    ['a stream of a turn that hangs', 'hang', true],
    ['a slow turn', 'slow', false],
    ['a turn that hangs', 'hang', false],
  ])('a client that leaves %s leaves the session unlocked', async (_what, message, streams) => {
    const { session } = await say('one')
    await leave(message, { session, streams })
    expect(await say('two', { session })).toMatchObject({ success: true, message: 'You said: two' })
  })

  test('the deadline of a turn does not depend on the request of another one', async () => {
    const [other, own] = [await say('one'), await say('one')]
    // The first one's timers end with its request.
    await leave('hang', { session: other.session, streams: true })
    expect(await say('hang', { session: own.session })).toMatchObject({ success: false })
    expect(await say('two', { session: own.session })).toMatchObject({ success: true, message: 'You said: two' })
  })

  test('a summary after the reply is stored, and the next message does not wait for it', async () => {
    const { session } = await say('one', { flow: 'Remember' })
    await say('two', { session, flow: 'Remember' })
    expect(await say('three', { session, flow: 'Remember' })).toMatchObject({ success: true, session })
    await expect
      .poll(async () => (await sessionOf(session)).flow.memory.Ask?.messages[0])
      .toMatchObject({ summary: true })
  })

  test('a summary that the runtime drops leaves the session unlocked', async () => {
    const { session } = await say('one', { flow: 'Remember', query: '?no-wait' })
    for (const message of ['two', 'three', 'four']) {
      expect(await say(message, { session, flow: 'Remember', query: '?no-wait' })).toMatchObject({
        success: true,
        session,
      })
    }
    expect((await sessionOf(session)).turns).toBe(4)
  })
})
