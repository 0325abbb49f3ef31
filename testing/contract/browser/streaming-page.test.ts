// The page of the example server, in a browser, over a model that the test controls: text is there before the turn
// ends, Stop does not change the session, and the conversation continues.
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { afterAll, afterEach, beforeAll, beforeEach, expect, type TestContext, test } from 'vitest'
import { flowRoutes } from '../../../adapters/hono/index.js'
import { Flow, FlowEngine, retry, Step, type StepConstructor, type Transition } from '../../../src/index.js'
import { GatedModel } from '../http/gated-model.js'
import { closeBrowser, launchBrowser } from './chromium.js'
import { type DeskPage, openDesk } from './desk-page.js'
import { deskRoutes } from './desk-routes.js'
import { listen, type RunningServer } from './servers.js'

class Desk extends Step {
  static override readonly id = 'Desk'
  override readonly stream = true
  override onReply(text: string): string | Transition {
    return text.startsWith('Wrong') ? retry('Not that.') : text
  }
}

/** The flow that the page requests. */
class SupportDesk extends Flow {
  static override readonly id = 'SupportDesk'
  override model(): { provider: string; name: string } {
    return { provider: 'gated', name: 'g1' }
  }
  override steps(): readonly StepConstructor[] {
    return [Desk]
  }
}

let model: GatedModel
let engine: FlowEngine
let server: RunningServer
let sessions: string[]

beforeAll(launchBrowser)

afterAll(closeBrowser)

beforeEach(async () => {
  model = new GatedModel()
  engine = new FlowEngine({ flows: [SupportDesk], providers: [model.provider] })
  sessions = []
  engine.on('session:created', ({ sessionId }) => sessions.push(sessionId))
  const app = new Hono()
  app.route('/ai', flowRoutes(engine))
  app.route('/', deskRoutes())
  server = await listen(createAdaptorServer({ fetch: app.fetch }) as Server)
})

afterEach(async () => {
  await server.close()
  await engine.close()
})

const open = (context: TestContext): Promise<DeskPage> => openDesk(context, server.origin)

test('text is on the page before the turn ends, Stop leaves the session as it was, and the next turn goes on', async (context) => {
  const { page, say, reads, idle } = await open(context)
  await say('Hello')
  const first = await model.called()
  first.say('Wel')
  await reads('Wel')
  expect(sessions).toEqual([])
  expect(await page.locator('#conversation').getAttribute('aria-busy')).toBe('true')
  first.say('come.')
  first.finish()
  await idle()
  await reads('Welcome.')
  expect(await page.locator('#conversation').getAttribute('aria-busy')).toBe('false')
  const [session = ''] = sessions
  const before = JSON.stringify(await engine.getSession(session))

  const aborted = new Promise<string>((resolve) => engine.on('turn:error', ({ code }) => resolve(code)))
  await say('Tell me everything')
  const second = await model.called()
  second.say('It all began')
  await reads('It all began')
  await page.getByRole('button', { name: 'Stop' }).click()
  await reads('It all began (Stopped.)')
  expect(await aborted).toBe('TURN_ABORTED')
  await second.left
  await engine.getFlowSession().withSessionLock(session, async () => {})
  expect(JSON.stringify(await engine.getSession(session))).toBe(before)

  await say('Something shorter')
  const third = await model.called()
  expect(third.request.origin.sessionId).toBe(session)
  third.say('Certainly.')
  third.finish()
  await reads('Certainly.')
  await idle()
  expect((await engine.getSession(session))?.history.map(({ message }) => message)).toEqual([
    'Hello',
    'Something shorter',
  ])
  expect(sessions).toEqual([session])
})

test('what was taken back is gone from the page', async (context) => {
  const { say, reads } = await open(context)
  await say('Hello')
  const wrong = await model.called()
  wrong.say('Wrong answer')
  await reads('Wrong answer')
  wrong.finish()
  const right = await model.called()
  await reads('')
  right.say('Right answer')
  await reads('Right answer')
  right.finish()
  await reads('Right answer')
})

test('a turn that fails says so, and the next one begins a new session', async (context) => {
  const { page, say, reads } = await open(context)
  await say('Hello')
  const call = await model.called()
  call.say('Half of')
  await reads('Half of')
  call.fail(new Error('secret'))
  await reads("Model 'g1' of provider 'gated' failed.")
  expect(await page.locator('#conversation li').last().getAttribute('class')).toBe('failed')
  await say('Again')
  const again = await model.called()
  expect(again.request.origin.turnNumber).toBe(1)
  again.say('Fine.')
  again.finish()
  await reads('Fine.')
})

test('nothing that anybody writes is HTML, and the page keeps its own policy', async (context) => {
  const { page, say, reads, idle } = await open(context)
  const complaints: string[] = []
  page.on('console', (line) => complaints.push(line.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.reload()
  await say('<img src=x onerror=alert(1)>')
  const call = await model.called()
  call.say('<b>bold</b><script>alert(2)</script>')
  await reads('<b>bold</b><script>alert(2)</script>')
  call.finish()
  await idle()
  await reads('<b>bold</b><script>alert(2)</script>')
  expect(await page.locator('#conversation .text *').count()).toBe(0)
  expect(complaints).toEqual([])
})
