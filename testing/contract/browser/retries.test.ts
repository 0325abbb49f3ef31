// What docs/retries.md promises users who press twice, write on, lose the network, close their laptop or reload: in a
// browser, over the page of the example server. Each test also says how many turns the session has, and what the model
// was asked: that is the bill.
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { afterAll, afterEach, beforeAll, beforeEach, expect, type TestContext, test } from 'vitest'
import { flowRoutes } from '../../../adapters/hono/index.js'
import {
  Flow,
  FlowEngine,
  MemorySessionStore,
  type SessionDocument,
  Step,
  type StepConstructor,
} from '../../../src/index.js'
import { type GatedCall, GatedModel } from '../http/gated-model.js'
import { closeBrowser, launchBrowser } from './chromium.js'
import { type CuttableProxy, startCuttableProxy } from './cuttable-proxy.js'
import { type DeskPage, eventually, openDesk } from './desk-page.js'
import { deskRoutes } from './desk-routes.js'
import { listen, type RunningServer } from './servers.js'

class Desk extends Step {
  static override readonly id = 'Desk'
}

/** The flow that the page requests. A newer message interrupts the turn under way, so that the page has to say so. */
class SupportDesk extends Flow {
  static override readonly id = 'SupportDesk'
  static override readonly busy = 'interrupt'
  override model(): { provider: string; name: string } {
    return { provider: 'gated', name: 'g1' }
  }
  override steps(): readonly StepConstructor[] {
    return [Desk]
  }
}

let model: GatedModel
/** What the model was asked, call by call: the last message of each request. */
let bill: string[]
let backing: Map<string, SessionDocument>
let engine: FlowEngine
let server: RunningServer
let network: CuttableProxy
/** The requests that arrived: their paths, and of a turn its message. */
let requests: string[]
/** Passes on a request to the server. */
let passOn: (request: Request, serve: (request: Request) => Promise<Response>) => Promise<Response>

beforeAll(launchBrowser)

afterAll(closeBrowser)

beforeEach(async () => {
  model = new GatedModel()
  bill = []
  backing = new Map()
  requests = []
  const sessionStore = new MemorySessionStore({ backing })
  engine = new FlowEngine({ flows: [SupportDesk], providers: [model.provider], sessionStore, onTurnError: 'rollback' })
  passOn = (request, serve) => serve(request)
  const app = new Hono()
  const routes = new Hono().route('/ai', flowRoutes(engine, { session: true }))
  app.get('/ai/session', ({ req }) => routes.fetch(req.raw))
  app.post('/ai/*', async (context) => {
    const { raw } = context.req
    const body = await raw.clone().text()
    requests.push(body === '' ? new URL(raw.url).pathname : JSON.parse(body).message)
    return passOn(raw, async (request) => routes.fetch(request))
  })
  app.route('/', deskRoutes())
  server = await listen(createAdaptorServer({ fetch: app.fetch }) as Server)
  network = await startCuttableProxy(server.origin)
})

afterEach(async () => {
  await network.close()
  await server.close()
  await engine.close()
})

const open = (context: TestContext): Promise<DeskPage> => openDesk(context, network.origin)

/** The next call of the model. */
async function called(): Promise<GatedCall> {
  const call = await model.called()
  const [part] = call.request.messages.at(-1)?.parts ?? []
  bill.push(part?.type === 'text' ? part.text : '')
  return call
}

/** Lets the model answer its next call. */
async function answer(text: string): Promise<void> {
  const call = await called()
  call.say(text)
  call.finish()
}

/** The conversation as it is stored: there is one. */
function stored(): readonly (readonly [message: string, reply: string])[] {
  expect(backing.size).toBe(1)
  const [document] = backing.values()
  return (document?.history ?? []).map(({ message, reply }) => [message, reply] as const)
}

/** The texts on the page, in order. */
const entries = ({ page }: DeskPage): Promise<string[]> => page.locator('#conversation .text').allTextContents()

/** A conversation that has begun, with one turn. */
async function begin(context: TestContext): Promise<DeskPage> {
  const desk = await open(context)
  await desk.say('Hello')
  await answer('Welcome.')
  await desk.reads('Welcome.')
  await desk.idle()
  return desk
}

const begun = ['Hello', 'Welcome.'] as const

test('a double click is one message: one turn, one call of the model', async (context) => {
  const desk = await begin(context)
  await desk.page.getByLabel('Your message').fill('Where is it?')
  // Both on the button, although the first one moves it down the page.
  await desk.page.getByRole('button', { name: 'Send' }).evaluate((button) => {
    for (let time = 0; time < 2; time++) (button as HTMLElement).click()
  })
  await answer('On its way.')
  await desk.reads('On its way.')
  await desk.idle()
  expect(await entries(desk)).toEqual([...begun, 'Where is it?', 'On its way.'])
  expect([stored(), bill]).toEqual([
    [begun, ['Where is it?', 'On its way.']],
    ['Hello', 'Where is it?'],
  ])
  expect(requests).toEqual(['Hello', 'Where is it?'])
})

test('a message that something in between sends twice is one message, the first one of a conversation too', async (context) => {
  passOn = async (request, serve) => {
    const [first] = await Promise.all([serve(request.clone() as Request), serve(request)])
    return first
  }
  const desk = await open(context)
  await desk.say('Hello')
  await answer('Welcome.')
  await desk.reads('Welcome.')
  await desk.idle()
  await desk.say('Where is it?')
  await answer('On its way.')
  await desk.reads('On its way.')
  await desk.idle()
  expect(requests).toEqual(['Hello', 'Where is it?'])
  expect([stored(), bill]).toEqual([
    [begun, ['Where is it?', 'On its way.']],
    ['Hello', 'Where is it?'],
  ])
})

test('of two messages within 50 ms the first is not taken: the page says so, and sends it again', async (context) => {
  const desk = await begin(context)
  const apart = await desk.page.evaluate(() => {
    const input = document.querySelector('input') as HTMLInputElement
    const started = performance.now()
    for (const text of ['Where is FK-1057?', 'And the fern?']) {
      input.value = text
      input.form?.requestSubmit()
    }
    return performance.now() - started
  })
  expect(apart).toBeLessThan(50)
  const superseded = desk.page.locator('#conversation li.superseded')
  await superseded.filter({ hasText: 'Not taken: your next message came first.' }).waitFor()
  expect(await desk.page.locator('#conversation').getAttribute('aria-busy')).toBe('true')
  let call = await called()
  // The turn of the first message may have asked the model before the second one came.
  if (bill.at(-1) === 'Where is FK-1057?') call = await called()
  call.say('It needs water.')
  call.finish()
  await desk.reads('It needs water.')
  await desk.idle()
  await desk.page.getByRole('button', { name: 'Try again' }).click()
  await answer('On its way.')
  // It keeps its place.
  await desk.page.locator('#conversation .text').filter({ hasText: 'On its way.' }).waitFor()
  await desk.idle()
  expect(await entries(desk)).toEqual([
    ...begun,
    'Where is FK-1057?',
    'On its way.',
    'And the fern?',
    'It needs water.',
  ])
  const inOrder = [
    ['And the fern?', 'It needs water.'],
    ['Where is FK-1057?', 'On its way.'],
  ]
  expect(stored()).toEqual([begun, ...inOrder])
})

test('a message that is sent while the reply to the one before it is read interrupts that', async (context) => {
  const desk = await begin(context)
  await desk.say('Where is FK-1057?')
  const first = await called()
  first.say('It is')
  await desk.reads('It is')
  await desk.say('And the fern?')
  await first.left
  await answer('It needs water.')
  await desk.reads('It needs water.')
  await desk.idle()
  expect(stored()).toEqual([begun, ['And the fern?', 'It needs water.']])
  expect(bill).toEqual(['Hello', 'Where is FK-1057?', 'And the fern?'])
})

test('what is written during the first turn of a conversation waits for it, and makes no second conversation', async (context) => {
  const desk = await open(context)
  await desk.say('Hello')
  const first = await called()
  first.say('Wel')
  await desk.reads('Wel')
  await desk.say('Where is it?')
  first.say('come.')
  first.finish()
  await answer('On its way.')
  await desk.reads('On its way.')
  await desk.idle()
  expect(await entries(desk)).toEqual([...begun, 'Where is it?', 'On its way.'])
  expect([stored(), bill]).toEqual([
    [begun, ['Where is it?', 'On its way.']],
    ['Hello', 'Where is it?'],
  ])
})

test('a reader that is back after 5 s goes on with the text', async (context) => {
  const desk = await open(context)
  await desk.page.clock.install()
  await desk.say('Hello')
  const call = await called()
  call.say('Wel')
  await desk.reads('Wel')
  network.down()
  await desk.triesAgain()
  call.say('co')
  // In this time the page tries three times, and reaches nobody.
  await pass(desk, 5000)
  expect(requests).toEqual(['Hello'])
  network.up()
  await pass(desk, 4000)
  await desk.reads('Welco')
  call.say('me.')
  await desk.reads('Welcome.')
  call.finish()
  await desk.idle()
  expect(requests).toEqual(['Hello', 'Hello'])
  expect(await entries(desk)).toEqual(begun)
  expect([stored(), bill]).toEqual([[begun], ['Hello']])
})

/** Lets time pass for the page, a little at a time: between two timers it asks the network. */
async function pass({ page }: DeskPage, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) {
    await page.clock.runFor(250)
    await page.evaluate(() => fetch('page.css').catch(() => undefined))
  }
}

test('a reply that the network loses is not generated again', async (context) => {
  const desk = await begin(context)
  network.loseReplies()
  await desk.say('Where is it?')
  await answer('On its way.')
  await desk.triesAgain()
  network.up()
  await desk.reads('On its way.')
  await desk.idle()
  expect(requests.length).toBeGreaterThan(2)
  expect(await entries(desk)).toEqual([...begun, 'Where is it?', 'On its way.'])
  expect([stored(), bill]).toEqual([
    [begun, ['Where is it?', 'On its way.']],
    ['Hello', 'Where is it?'],
  ])
})

test('neither is that of the first message, which makes no second conversation', async (context) => {
  const desk = await open(context)
  network.loseReplies()
  await desk.say('Hello')
  await answer('Welcome.')
  await desk.triesAgain()
  network.up()
  await desk.reads('Welcome.')
  await desk.idle()
  expect([stored(), bill]).toEqual([[begun], ['Hello']])
})

test('a tab that was offline for longer than the turn shows its reply when it is back', async (context) => {
  const desk = await begin(context)
  await desk.say('Where is it?')
  const call = await called()
  call.say('On its')
  await desk.reads('On its')
  network.down()
  await desk.page.context().setOffline(true)
  await desk.triesAgain()
  const ended = new Promise((resolve) => engine.once('turn:end', resolve))
  call.say(' way.')
  call.finish()
  await ended
  network.up()
  const before = requests.length
  await desk.page.context().setOffline(false)
  await desk.reads('On its way.')
  await desk.idle()
  expect(requests.slice(before)).toEqual(['Where is it?'])
  expect([stored(), bill]).toEqual([
    [begun, ['Where is it?', 'On its way.']],
    ['Hello', 'Where is it?'],
  ])
})

test('a tab that was asleep shows the reply when it wakes', async (context) => {
  const desk = await begin(context)
  await desk.say('Where is it?')
  const call = await called()
  call.say('On its')
  await desk.reads('On its')
  // A headless browser does not freeze its pages. To a script, a debugger that halts it is the same:
  // nothing of the page runs.
  const devTools = await desk.page.context().newCDPSession(desk.page)
  const asleep = new Promise((resolve) => devTools.once('Debugger.paused', resolve))
  await devTools.send('Debugger.enable')
  const halted = devTools.send('Runtime.evaluate', { expression: 'debugger' })
  await asleep
  const ended = new Promise((resolve) => engine.once('turn:end', resolve))
  network.down()
  call.say(' way.')
  call.finish()
  await ended
  network.up()
  await devTools.send('Debugger.resume')
  await halted
  await desk.reads('On its way.')
  await desk.idle()
  expect(requests).toEqual(['Hello', 'Where is it?', 'Where is it?'])
  expect([stored(), bill]).toEqual([
    [begun, ['Where is it?', 'On its way.']],
    ['Hello', 'Where is it?'],
  ])
})

test.for(['while the turn runs', 'after the turn'])(
  'a page that is loaded again goes on, %s',
  async (when, context) => {
    const desk = await begin(context)
    await desk.say('Where is it?')
    const call = await called()
    call.say('On its')
    await desk.reads('On its')
    if (when === 'after the turn') {
      // Its end does not reach the page, which is loaded again.
      network.down()
      const ended = new Promise((resolve) => engine.once('turn:end', resolve))
      call.say(' way.')
      call.finish()
      await ended
      network.up()
      await desk.page.reload()
    } else {
      await desk.page.reload()
      await desk.reads('On its')
      // What was said before is there while the reply still comes.
      await eventually(async () => expect(await entries(desk)).toEqual([...begun, 'Where is it?', 'On its']))
      call.say(' way.')
      call.finish()
    }
    await desk.reads('On its way.')
    await desk.idle()
    await eventually(async () => expect(await entries(desk)).toEqual([...begun, 'Where is it?', 'On its way.']))
    expect(bill).toEqual(['Hello', 'Where is it?'])
    await desk.say('Thanks')
    await answer('Bye.')
    await desk.reads('Bye.')
    expect(stored()).toEqual([begun, ['Where is it?', 'On its way.'], ['Thanks', 'Bye.']])
  },
)

test('Stop cancels the turn on the server, and the message after it goes on', async (context) => {
  const desk = await begin(context)
  await desk.say('Tell me everything')
  const call = await called()
  call.say('It all began')
  await desk.reads('It all began')
  await desk.page.getByRole('button', { name: 'Stop' }).click()
  await call.left
  await desk.reads('It all began (Stopped.)')
  await desk.idle()
  expect(requests).toEqual(['Hello', 'Tell me everything', '/ai/cancel'])
  expect(stored()).toEqual([begun])
  // Neither time nor a reload sends it again.
  await desk.page.reload()
  await desk.say('Where is it?')
  await answer('On its way.')
  await desk.reads('On its way.')
  expect(stored()).toEqual([begun, ['Where is it?', 'On its way.']])
  expect(bill).toEqual(['Hello', 'Tell me everything', 'Where is it?'])
})

test.for(['before', 'after'])(
  'Stop cancels the first turn of a conversation, %s the page knows its session',
  async (when, context) => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    passOn = async (request, serve) => {
      const response = await serve(request)
      await held
      return response
    }
    const desk = await open(context)
    await desk.say('Hello')
    const call = await called()
    call.say('Wel')
    if (when === 'after') {
      release()
      await desk.reads('Wel')
    }
    await desk.page.getByRole('button', { name: 'Stop' }).click()
    release()
    await call.left
    await desk.page.locator('#conversation li.stopped').waitFor()
    await desk.idle()
    expect(requests).toEqual(['Hello', '/ai/cancel'])
    expect(backing.size).toBe(0)
    expect(await desk.page.getByRole('status').textContent()).toBe('')
  },
)

test('if the network is lost, Stop ends the attempts', async (context) => {
  const desk = await begin(context)
  network.down()
  await desk.say('Where is it?')
  await desk.triesAgain()
  await desk.page.getByRole('button', { name: 'Stop' }).click()
  await desk.idle()
  // The network may have lost the reply alone, so the page does not say that the message was stopped.
  await desk.reads(' (No reply came.)')
  network.up()
  await desk.page.reload()
  await desk.reads('Welcome.')
  expect(await entries(desk)).toEqual(begun)
  expect([requests, bill, stored()]).toEqual([['Hello'], ['Hello'], [begun]])
})

test('a page that reached nobody says so after its last attempt, and sends the same message again when the user wants to', async (context) => {
  const desk = await begin(context)
  await desk.page.clock.install()
  network.loseReplies()
  await desk.say('Where is it?')
  await answer('On its way.')
  const again = desk.page.getByRole('button', { name: 'Try again' })
  for (let pause = 0; pause < 100 && !(await again.isVisible()); pause++) await pass(desk, 1000)
  await desk.reads(' (No reply came.)')
  network.up()
  await again.click()
  await desk.reads('On its way.')
  await desk.idle()
  expect(await entries(desk)).toEqual([...begun, 'Where is it?', 'On its way.'])
  expect([stored(), bill]).toEqual([
    [begun, ['Where is it?', 'On its way.']],
    ['Hello', 'Where is it?'],
  ])
})
