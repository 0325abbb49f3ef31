// What every runtime must do: each case is a row of the table in docs/deploy.md. The runtime is
// reached by requests alone.
import { expect } from 'vitest'
import type { SessionDocument } from '../../../../src/index.js'
import { EventReader } from '../../http/event-reader.js'
import type { Running } from './running.js'

/** A row of the table. */
export interface RuntimeCase {
  readonly name: string
  /** Only for runtimes that have no modules of Node. */
  readonly withoutNode?: true
  /** Resolves to the entry in the table, if runtimes differ. */
  readonly run: (runtime: Running) => Promise<string | void>
}

interface Envelope {
  readonly success: boolean
  readonly completed: boolean
  readonly message: string
  readonly session: string
  readonly contentType: string
}

/** What the application has counted: messages to `Echo`, and turns that were cancelled. */
interface Counts {
  readonly runs: number
  readonly cancelled: number
}

interface Said {
  readonly flow?: string
  readonly session?: string
  /** The base paths of the routes: turns have 30 seconds, 3 seconds or half a second. */
  readonly base?: '/ai' | '/patient' | '/hasty'
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

function post({ send }: Running, message: string, said: Said = {}): Promise<Response> {
  const { flow = 'Echo', session, base = '/ai', query = '', headers = {}, signal } = said
  return send(`${base}/run${query}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(session === undefined ? {} : { CHAT_SESSION_ID: session }),
      ...headers,
    },
    body: JSON.stringify({ flowName: flow, message }),
    ...(signal === undefined ? {} : { signal }),
  })
}

async function say(runtime: Running, message: string, said: Said = {}): Promise<Envelope> {
  return (await (await post(runtime, message, said)).json()) as Envelope
}

async function stream(runtime: Running, message: string, said: Said = {}): Promise<EventReader> {
  return new EventReader(
    await post(runtime, message, { flow: 'Chat', ...said, headers: { Accept: 'text/event-stream' } }),
  )
}

async function sessionOf({ send }: Running, id: string): Promise<SessionDocument> {
  return (await (await send(`/app/session?id=${id}`)).json()) as SessionDocument
}

async function countsOf({ send }: Running): Promise<Counts> {
  return (await (await send('/app/counts')).json()) as Counts
}

const refused = (message: string): unknown => ({
  ...{ success: false, completed: true, message, session: '', contentType: 'text/plain' },
})

/** Leaves a stream when the model has spoken. */
async function leaveStream(runtime: Running, message: string, said: Said): Promise<void> {
  const client = new AbortController()
  const events = await stream(runtime, message, { ...said, signal: client.signal })
  await events.until('text-delta')
  client.abort()
  await events.cancel()
}

/** Leaves a request when its turn runs. */
async function leaveTurn(runtime: Running, message: string, said: Said): Promise<void> {
  const client = new AbortController()
  const { runs } = await countsOf(runtime)
  const left = post(runtime, message, { ...said, signal: client.signal }).then((reply) => reply.text())
  const rejected = expect(left).rejects.toThrow()
  await expect.poll(async () => (await countsOf(runtime)).runs).toBe(runs + 1)
  client.abort()
  await rejected
}

/** How a client leaves, what it has requested, and what the next message gets. */
const departures = [
  ['a stream while the model speaks', leaveStream, 'Chat', 'speak', 'The answer to two.'],
  ['a stream while the model is silent', leaveStream, 'Chat', 'wait for ever', 'The answer to two.'],
  ['before the reply', leaveTurn, 'Echo', 'hang', 'You said: two'],
] as const

/** The deadline of the turns under `/patient`, and as long again for a machine that is busy. */
const usableWithinMs = 6_000

const oversized = `{"flowName":"Echo","message":"${'x'.repeat(100_000)}"}`
const tooLarge = refused('The request body is larger than 65536 bytes (maxBodyBytes).')

async function expectTooLarge({ send }: Running, text: string, streamed: boolean): Promise<void> {
  const headers = { 'Content-Type': 'application/json' }
  const body = streamed ? { body: new Blob([text]).stream(), duplex: 'half' as const } : { body: text }
  const reply = await send('/ai/run', { method: 'POST', headers, ...body })
  expect([reply.status, await reply.json()]).toEqual([400, tooLarge])
}

let gates = 0

/** In the order of the table. */
export const cases: readonly RuntimeCase[] = [
  {
    name: 'The flows are listed',
    async run({ send }) {
      const reply = await send('/ai/flows')
      expect([reply.status, await reply.json()]).toEqual([200, ['Greeting', 'Echo', 'Chat', 'Remember']])
    },
  },
  {
    name: 'A turn is answered, with the session in field and header',
    async run(runtime) {
      const reply = await post(runtime, 'ä\u2028😀')
      expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'application/json'])
      const session = reply.headers.get('CHAT_SESSION_ID')
      expect(session).toMatch(/^[\w-]{32}$/)
      const message = 'You said: ä\u2028😀'
      expect(await reply.json()).toEqual({
        success: true,
        completed: false,
        message,
        session,
        contentType: 'text/plain',
      })
    },
  },
  {
    name: 'A conversation goes on from request to request, to its end',
    async run(runtime) {
      const first = await say(runtime, '', { flow: 'Greeting' })
      const { session } = first
      const second = await say(runtime, 'Ada', { flow: 'Greeting', session })
      const headers = { 'Chat-Session-Id': session }
      const third = await say(runtime, 'Ealing', { flow: 'Greeting', headers })
      expect([first, second, third].map(({ message, completed }) => [message, completed])).toEqual([
        ['What is your name?', false],
        ['Where do you live?', false],
        ['Ada of Ealing.', true],
      ])
    },
  },
  {
    name: 'Raw replies: text of another type, and bytes',
    async run(runtime) {
      const text = await post(runtime, 'csv')
      expect([text.headers.get('content-type'), await text.text()]).toEqual(['text/csv; charset=utf-8', 'a,b'])
      const bytes = await post(runtime, 'png')
      expect(bytes.headers.get('content-type')).toBe('image/png')
      expect([...new Uint8Array(await bytes.arrayBuffer())]).toEqual([137, 80, 78, 71, 13, 10, 26, 10])
    },
  },
  {
    name: 'A session is ended',
    async run(runtime) {
      const { session } = await say(runtime, 'one')
      const reply = await runtime.send('/ai/end', { method: 'POST', headers: { CHAT_SESSION_ID: session } })
      expect([reply.status, await reply.json()]).toEqual([200, { success: true, session }])
      expect(await sessionOf(runtime, session)).toBeNull()
    },
  },
  {
    name: 'Wrong path, wrong method, JSON that is not valid, unknown flow',
    async run(runtime) {
      const { send } = runtime
      const nothing = await send('/ai/nothing')
      expect(nothing.status).toBe(404)
      const method = await send('/ai/run')
      expect([method.status, method.headers.get('allow'), await method.json()]).toEqual([
        405,
        'POST',
        refused('Method not allowed. Use POST.'),
      ])
      const headers = { 'Content-Type': 'application/json' }
      const text = await send('/ai/run', { method: 'POST', headers, body: '{' })
      expect([text.status, await text.json()]).toEqual([400, refused('The request body is not valid JSON.')])
      const flow = await post(runtime, 'one', { flow: 'Nothing' })
      expect([flow.status, await flow.json()]).toEqual([400, refused("Flow class 'Nothing' not registered.")])
    },
  },
  {
    name: 'A request that is repeated with its key runs once',
    async run(runtime) {
      const { runs } = await countsOf(runtime)
      const headers = { 'Idempotency-Key': `the-key-of-a-request-${++gates}` }
      const { session } = await say(runtime, 'one')
      const replies = [await say(runtime, 'two', { session, headers }), await say(runtime, 'two', { session, headers })]
      expect(replies[1]).toEqual(replies[0])
      expect((await countsOf(runtime)).runs).toBe(runs + 2)
    },
  },
  {
    name: 'A model answers',
    async run(runtime) {
      const { session } = await say(runtime, 'one', { flow: 'Chat' })
      const message = 'The answer to two.'
      expect(await say(runtime, 'two', { flow: 'Chat', session })).toMatchObject({ success: true, message })
    },
  },
  {
    name: 'A stream arrives piece by piece, while the model still speaks',
    async run(runtime) {
      const gate = `wait ${++gates}`
      const events = await stream(runtime, gate)
      expect(await events.dataOf('text-delta')).toMatchObject({ text: 'The answer ' })
      // The second piece is not there before this.
      await runtime.send(`/app/open?gate=${encodeURIComponent(gate)}`)
      expect(await events.dataOf('text-delta')).toMatchObject({ text: `to ${gate}.` })
      expect(await events.dataOf('result')).toMatchObject({ message: `The answer to ${gate}.` })
      expect(await events.next()).toBeUndefined()
    },
  },
  ...departures.map(([how, leave, flow, message, answer]) => ({
    name: `A client leaves ${how}: the session is usable`,
    async run(runtime: Running) {
      const said = { flow, base: '/patient' } as const
      const { session } = await say(runtime, 'one', said)
      const { cancelled } = await countsOf(runtime)
      await leave(runtime, message, { ...said, session })
      const left = performance.now()
      expect(await say(runtime, 'two', { ...said, session })).toMatchObject({ success: true, message: answer })
      expect(performance.now() - left).toBeLessThan(usableWithinMs)
      // A turn whose client is not reported is not cancelled: its deadline ends it.
      return (await countsOf(runtime)).cancelled > cancelled ? 'at once' : 'by the deadline'
    },
  })),
  {
    name: 'The deadline of a turn does not depend on the request of another one',
    async run(runtime) {
      const base = '/hasty'
      const [other, own] = [await say(runtime, 'one', { base }), await say(runtime, 'one', { base })]
      // The timers of the first one end with its request.
      await leaveTurn(runtime, 'hang', { base, session: other.session })
      expect(await say(runtime, 'hang', { base, session: own.session })).toMatchObject({ success: false })
      const message = 'You said: two'
      expect(await say(runtime, 'two', { base, session: own.session })).toMatchObject({ success: true, message })
    },
  },
  {
    name: 'A summary after the reply is stored, and the next message does not wait for it',
    async run(runtime) {
      const flow = 'Remember'
      const { session } = await say(runtime, 'one', { flow })
      await say(runtime, 'two', { flow, session })
      expect(await say(runtime, 'three', { flow, session })).toMatchObject({ success: true, session })
      await expect
        .poll(async () => (await sessionOf(runtime, session)).flow.memory.Ask?.messages[0], { timeout: 60_000 })
        .toMatchObject({ summary: true })
    },
  },
  {
    name: 'A summary that the runtime drops leaves the session unlocked',
    async run(runtime) {
      const said = { flow: 'Remember', query: '?no-wait' }
      const { session } = await say(runtime, 'one', said)
      for (const message of ['two', 'three', 'four']) {
        expect(await say(runtime, message, { ...said, session })).toMatchObject({ success: true, session })
      }
      expect((await sessionOf(runtime, session)).turns).toBe(4)
    },
  },
  {
    name: '50 sessions at once, two turns each',
    async run(runtime) {
      const numbers = Array.from({ length: 50 }, (_, index) => index)
      const first = await Promise.all(numbers.map((index) => say(runtime, `a${index}`, { flow: 'Chat' })))
      const second = await Promise.all(
        first.map(({ session }, index) => say(runtime, `b${index}`, { flow: 'Chat', session })),
      )
      expect(first.map(({ message }) => message)).toEqual(numbers.map((index) => `The answer to a${index}.`))
      expect(second.map(({ message }) => message)).toEqual(numbers.map((index) => `The answer to b${index}.`))
      expect(new Set(second.map(({ session }) => session)).size).toBe(50)
    },
  },
  {
    name: 'A body over the limit is refused, with `Content-Length`',
    run: (runtime) => expectTooLarge(runtime, oversized, false),
  },
  {
    name: 'A body over the limit is refused, as a stream without it',
    run: (runtime) => expectTooLarge(runtime, oversized, true),
  },
  {
    name: 'Runs without a module of Node',
    withoutNode: true,
    async run({ send }) {
      expect(await (await send('/app/node')).json()).toEqual({ process: false })
    },
  },
  // The last one: the connection that it leaves is not to be used again.
  {
    name: 'A body far over the limit: refused, or the connection is closed on what is unread',
    async run(runtime) {
      const error = await expectTooLarge(runtime, oversized.repeat(20), true).catch((reason: unknown) => reason)
      if (error !== undefined) expect(error).toMatchObject({ message: 'fetch failed' })
    },
  },
]
