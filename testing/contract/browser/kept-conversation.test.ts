// The page of the example server, in a browser, on bad days: after each failure the same conversation goes on in the
// same session. The page asks for streams, so some failures come as a reply with a status, and some in the last event.
// A message whose failure may pass is sent again by the page, and is answered.
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createFetchHandler } from '../../../adapters/fetch/index.js'
import {
  Flow,
  FlowEngine,
  type FlowEngineOptions,
  finish,
  LogicStep,
  MemorySessionStore,
  reply,
  type SessionDocument,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../../src/index.js'
import { FakeSessionStore } from '../../index.js'
import { closeBrowser, launchBrowser } from './chromium.js'
import { type DeskPage, openDesk } from './desk-page.js'
import { deskRoutes } from './desk-routes.js'
import { listen, type RunningServer } from './servers.js'

class Desk extends LogicStep<{ words: string[] }> {
  static override readonly id = 'Desk'
  override initialState(): { words: string[] } {
    return { words: [] }
  }
  override run({ message }: Turn): Transition {
    if (message === 'done') return finish('Goodbye.')
    this.state.words.push(message)
    if (message === 'fail') throw new Error('The shelf fell down.')
    return reply(this.state.words.join(' '))
  }
}

/** The flow that the page requests: it answers with all that was said so far. */
class SupportDesk extends Flow {
  static override readonly id = 'SupportDesk'
  override steps(): readonly StepConstructor[] {
    return [Desk]
  }
}

type OnTurnError = NonNullable<FlowEngineOptions['onTurnError']>

let backing: Map<string, SessionDocument>
let store: FakeSessionStore
let engine: FlowEngine
let handle: (request: Request) => Promise<Response>
let server: RunningServer
/** The session IDs that the page sent, one for each turn. */
let sent: (string | null)[]

beforeAll(launchBrowser)

afterAll(closeBrowser)

/** A process of the service: all of them are over the same stored sessions. */
function startEngine(onTurnError: OnTurnError): void {
  store = new FakeSessionStore({ inner: new MemorySessionStore({ backing }) })
  const limits = { maxMessageBytes: 100, maxQueuedTurnsPerSession: 1 }
  engine = new FlowEngine({ flows: [SupportDesk], sessionStore: store, onTurnError, limits })
  handle = createFetchHandler(engine, { maxBodyBytes: 1000 })
}

beforeEach(async () => {
  backing = new Map()
  sent = []
  const app = new Hono()
  app.post('/ai/run', (context) => {
    sent.push(context.req.header('Chat-Session-Id') ?? null)
    return handle(context.req.raw)
  })
  app.route('/', deskRoutes())
  server = await listen(createAdaptorServer({ fetch: app.fetch }) as Server)
})

afterEach(async () => {
  await server.close()
  await engine.close()
})

/** The session that the page's conversation has: the only one that is stored. */
function onlySession(): string {
  expect(backing.size).toBe(1)
  return [...backing.keys()][0] ?? ''
}

interface BadDay {
  readonly name: string
  /** What the page shows. */
  readonly shown: (words: string) => string
  /** Whether the page has sent the message again, and it was answered. */
  readonly isAnswered?: boolean
  /** Has the page say what fails. */
  readonly befall: (desk: DeskPage, onTurnError: OnTurnError) => Promise<void>
}

const badDays: readonly BadDay[] = [
  {
    name: 'a conflict',
    shown: (words) => `${words} lost`,
    isAnswered: true,
    async befall({ say }) {
      store.rivalWrites()
      await say('lost')
    },
  },
  {
    name: 'a full queue',
    shown: () => 'The number of turns that wait for this session exceeds the limit maxQueuedTurnsPerSession (1).',
    async befall({ page, say }) {
      let release = (): void => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      const session = onlySession()
      const holding = engine.getFlowSession().withSessionLock(session, () => held)
      const stopping = new AbortController()
      const input = { flowName: 'SupportDesk', userMessage: 'x', sessionId: session, signal: stopping.signal }
      const queued = engine.run(input)
      await say('lost')
      await page.locator('#conversation li:last-child.failed').waitFor()
      stopping.abort()
      await queued
      release()
      await holding
    },
  },
  {
    name: 'a message that is too long',
    shown: () => 'The user message exceeds the limit maxMessageBytes (100).',
    befall: ({ say }) => say('x'.repeat(101)),
  },
  {
    name: 'a message that does not reach the engine',
    shown: () => 'The request body is larger than 1000 bytes (maxBodyBytes).',
    befall: ({ say }) => say('x'.repeat(1001)),
  },
  {
    name: 'a store that is down for one turn',
    shown: (words) => `${words} lost`,
    isAnswered: true,
    async befall({ say, triesAgain }) {
      store.outage()
      await say('lost')
      await triesAgain()
      store.heal()
    },
  },
  {
    name: 'a rolling restart',
    shown: (words) => `${words} lost`,
    isAnswered: true,
    async befall({ say, triesAgain }, onTurnError) {
      await engine.close()
      await say('lost')
      await triesAgain()
      startEngine(onTurnError)
    },
  },
]

describe.each(['abort', 'rollback'] as const)('with onTurnError %s', (onTurnError) => {
  beforeEach(() => startEngine(onTurnError))

  test.for(badDays)('the conversation goes on after $name', async ({ shown, befall, isAnswered = false }, context) => {
    const desk = await openDesk(context, server.origin)
    await desk.say('one')
    await desk.reads('one')
    const session = onlySession()
    await befall(desk, onTurnError)
    await desk.reads(shown('one'))
    expect(await desk.page.getByRole('status').textContent()).toBe('')
    await desk.say('two')
    await desk.reads(isAnswered ? 'one lost two' : 'one two')
    expect(onlySession()).toBe(session)
    const [first, ...later] = sent
    expect([first, new Set(later)]).toEqual([null, new Set([session])])
    // A message that is refused is not sent again by itself.
    if (!isAnswered) expect(later).toHaveLength(2)
  })

  test('the conversation goes on after all of them in a row, to its end; then a new one begins', async (context) => {
    const desk = await openDesk(context, server.origin)
    await desk.say('one')
    await desk.reads('one')
    const session = onlySession()
    let said = 'one'
    for (const [index, { shown, befall, isAnswered = false }] of badDays.entries()) {
      await befall(desk, onTurnError)
      await desk.reads(shown(said))
      said += `${isAnswered ? ' lost' : ''} ${index}`
      await desk.say(String(index))
      await desk.reads(said)
    }
    await desk.say('done')
    await desk.reads('Goodbye.')
    const [first, ...later] = sent
    expect([first, new Set(later)]).toEqual([null, new Set([session])])
    await desk.say('again')
    await desk.reads('again')
    expect([sent.at(-1), backing.size]).toEqual([null, 2])
  })
})

test('a turn that throws loses nothing under rollback, the first one included', async (context) => {
  startEngine('rollback')
  const desk = await openDesk(context, server.origin)
  await desk.say('fail')
  await desk.reads('The shelf fell down.')
  const session = onlySession()
  await desk.say('one')
  await desk.reads('one')
  await desk.say('fail')
  await desk.reads('The shelf fell down.')
  await desk.say('two')
  await desk.reads('one two')
  expect(sent).toEqual([null, session, session, session])
})

test('a turn that throws ends the conversation under abort, and the page says so', async (context) => {
  startEngine('abort')
  const desk = await openDesk(context, server.origin)
  await desk.say('one')
  await desk.reads('one')
  await desk.say('fail')
  await desk.reads('The shelf fell down.')
  expect(await desk.page.getByRole('status').textContent()).toContain('This conversation has ended.')
  await desk.say('two')
  await desk.reads('two')
  expect(sent.at(-1)).toBeNull()
})

test('after the same failure twice in a row the page offers a new conversation, and begins one if the user accepts', async (context) => {
  startEngine('rollback')
  const desk = await openDesk(context, server.origin)
  const offer = desk.page.getByRole('button', { name: 'New conversation' })
  await desk.say('one')
  await desk.reads('one')
  await desk.say('fail')
  await desk.reads('The shelf fell down.')
  await desk.say('x'.repeat(101))
  await desk.reads('The user message exceeds the limit maxMessageBytes (100).')
  expect(await offer.isVisible()).toBe(false)
  await desk.say('x'.repeat(101))
  await offer.waitFor()
  await desk.say('two')
  await desk.reads('one two')
  expect(await offer.isVisible()).toBe(false)
  for (let time = 0; time < 2; time++) {
    await desk.say('fail')
    await desk.reads('The shelf fell down.')
  }
  await offer.click()
  await desk.say('three')
  await desk.reads('three')
  expect([sent.at(-1), backing.size]).toEqual([null, 2])
})

test('in an outage of the store the page keeps the conversation and offers no new one, however often a turn fails', async (context) => {
  startEngine('rollback')
  const desk = await openDesk(context, server.origin)
  await desk.page.clock.install()
  await desk.say('one')
  await desk.reads('one')
  const session = onlySession()
  store.outage()
  for (let time = 1; time <= 3; time++) {
    await desk.say('lost')
    // The store may have the turn.
    const unanswered = desk.page.locator('#conversation li:last-child.unanswered')
    for (let pause = 0; pause < 100 && (await unanswered.count()) === 0; pause++) await desk.page.clock.runFor(1000)
    await desk.reads(' (No reply came.)')
    // The attempts of the page are bounded.
    expect(sent).toHaveLength(1 + time * 8)
  }
  expect(await desk.page.getByRole('button', { name: 'New conversation' }).isVisible()).toBe(false)
  store.heal()
  await desk.page.getByRole('button', { name: 'Try again' }).click()
  await desk.reads('one lost')
  await desk.say('two')
  await desk.reads('one lost two')
  const [first, ...later] = sent
  expect([first, new Set(later)]).toEqual([null, new Set([session])])
})

test('if a new session answers in place of the named one, the page says so', async (context) => {
  startEngine('rollback')
  const desk = await openDesk(context, server.origin)
  await desk.say('one')
  await desk.reads('one')
  await engine.deleteSession(onlySession())
  const inner = handle
  handle = async (request) => {
    const { body, headers } = await inner(request)
    return new Response(body, { headers: [...headers, ['Chat-Session-Restarted', 'unknown']] })
  }
  await desk.say('two')
  await desk.reads('two')
  const told = 'The earlier conversation could not be continued. This is a new one.'
  await desk.page.getByRole('status').filter({ hasText: told }).waitFor()
})
