/// <reference types="node" />
// Pages on the real `@ai-sdk/react` in Chromium, each version of it: what users do, over a network that fails, and how
// often the model was called for it.
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, type TestContext, test } from 'vitest'
import { closeBrowser, launchBrowser, openPage } from '../browser/chromium.js'
import { sentBy } from '../http/rich-replies.js'
import { calling } from '../stream-harness.js'
import { arePackagesMissing, type ChatServer, leftOut, startChatServer, tracked } from './chat-server.js'
import { bundlePage } from './page/build.js'

beforeAll(launchBrowser)

afterAll(closeBrowser)

describe.skipIf(arePackagesMissing).each([5, 6, 7] as const)(`ai %d${leftOut}`, (version) => {
  let bundle: string
  let server: ChatServer
  let page: Page

  beforeAll(async () => {
    bundle = await bundlePage(version)
  })

  beforeEach(async () => {
    server = await startChatServer(bundle)
    tracked.length = 0
  })

  afterEach(async () => {
    await page?.context().clearCookies()
    await page?.close()
    await server.close()
    expect(server.errors).toEqual([])
  })

  const address = (chat: string, user: string): string => `${server.proxy.origin}/?chat=${chat}&user=${user}`
  const open = async (context: TestContext, chat = 'first', user = 'ada'): Promise<void> => {
    page = await openPage(context, address(chat, user))
    await is('ready')
  }
  const is = (status: string): Promise<void> => page.locator('output').filter({ hasText: status }).waitFor()
  const press = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click()
  const say = async (text: string): Promise<void> => {
    await page.getByLabel('Message').fill(text)
    await press('Send')
  }
  const texts = (): Promise<string[]> => page.locator('li').allTextContents()
  /** Waits until the page shows these messages. */
  const shows = (...expected: string[]): Promise<void> => expect.poll(texts, { timeout: 60_000 }).toEqual(expected)
  const history = (): string[][] =>
    [...server.documents.values()].map((document) =>
      document.history.map(({ message, reply }) => `${message} > ${reply}`),
    )

  test('streams, goes on in the same session, and shows the transcript after a reload', async (context) => {
    await open(context)
    await say('Hello')
    const first = await server.model.called()
    first.say('Wel')
    await shows('Hello', 'Wel')
    await is('streaming')
    first.say('come.')
    first.finish()
    await is('ready')
    await say('And now?')
    const second = await server.model.called()
    second.say('Goodbye.')
    second.finish()
    await is('ready')
    await shows('Hello', 'Welcome.', 'And now?', 'Goodbye.')
    expect(history()).toEqual([['Hello > Welcome.', 'And now? > Goodbye.']])
    await page.reload()
    await is('ready')
    await shows('Hello', 'Welcome.', 'And now?', 'Goodbye.')
    await say('Still there?')
    const third = await server.model.called()
    third.say('Yes.')
    third.finish()
    await shows('Hello', 'Welcome.', 'And now?', 'Goodbye.', 'Still there?', 'Yes.')
    expect(history()).toEqual([['Hello > Welcome.', 'And now? > Goodbye.', 'Still there? > Yes.']])
  })

  test('shows the states of tools, and not what the model said before it called them', async (context) => {
    await open(context)
    await say('Where is it?')
    const first = await server.model.called()
    first.say('Let me see.')
    await shows('Where is it?', 'Let me see.')
    first.finish(calling('track', 'Let me see.'))
    const second = await server.model.called()
    await shows('Where is it?', '[tool-track output-available]')
    second.say('At the door.')
    second.finish()
    await is('ready')
    await shows('Where is it?', '[tool-track output-available]At the door.')
    expect(tracked.length).toBe(1)
  })

  test('a reload in the middle of a reply goes on with it', async (context) => {
    await open(context)
    await say('Hello')
    const call = await server.model.called()
    call.say('Wel')
    await shows('Hello', 'Wel')
    await page.reload()
    await shows('Hello', 'Wel')
    call.say('come.')
    call.finish()
    await is('ready')
    await shows('Hello', 'Welcome.')
    expect(history()).toEqual([['Hello > Welcome.']])
  })

  test('after the network was lost in the middle, resumeStream() goes on, without a second turn and without text twice', async (context) => {
    await open(context)
    await say('Hello')
    const call = await server.model.called()
    call.say('Wel')
    await shows('Hello', 'Wel')
    server.proxy.down()
    await is('error')
    server.proxy.up()
    await press('Resume')
    await is('streaming')
    await shows('Hello', 'Wel')
    call.say('come.')
    call.finish()
    await is('ready')
    await shows('Hello', 'Welcome.')
    expect(history()).toEqual([['Hello > Welcome.']])
    expect(server.modelCalls()).toBe(1)
  })

  test('a page that comes back after the end of the turn gets the recorded reply', async (context) => {
    await open(context)
    await say('Hello')
    const call = await server.model.called()
    call.say('Wel')
    await shows('Hello', 'Wel')
    server.proxy.down()
    await is('error')
    call.say('come.')
    call.finish()
    await expect.poll(history).toEqual([['Hello > Welcome.']])
    server.proxy.up()
    await press('Come back')
    await shows('Hello', 'Welcome.')
    await is('ready')
    expect([history(), server.modelCalls()]).toEqual([[['Hello > Welcome.']], 1])
  })

  test('a reply that was lost after its turn: regenerate() shows it, and nothing runs again', async (context) => {
    await open(context)
    server.proxy.loseReplies()
    await say('Hello')
    const call = await server.model.called()
    call.say('Welcome.')
    call.finish()
    await is('error')
    await expect.poll(history).toEqual([['Hello > Welcome.']])
    server.proxy.up()
    await press('Again')
    await is('ready')
    await shows('Hello', 'Welcome.')
    await press('Again')
    await is('ready')
    await page.reload()
    await is('ready')
    await press('Again')
    await is('ready')
    await shows('Hello', 'Welcome.')
    expect([history(), server.modelCalls()]).toEqual([[['Hello > Welcome.']], 1])
  })

  test('Stop stops the turn, a page that only leaves does not', async (context) => {
    await open(context)
    await say('Hello')
    const first = await server.model.called()
    first.say('Wel')
    await shows('Hello', 'Wel')
    await press('Stop')
    await is('ready')
    await first.left
    await shows('Hello', 'Wel')
    expect(history()).toEqual([])

    await say('Again')
    const second = await server.model.called()
    second.say('It ')
    await shows('Hello', 'Wel', 'Again', 'It ')
    await press('Leave only')
    await is('ready')
    second.say('goes on.')
    second.finish()
    await expect.poll(history).toEqual([['Again > It goes on.']])
    await page.reload()
    await shows('Again', 'It goes on.')
  })

  test('a photo reaches the model, and is in the transcript', async (context) => {
    await open(context)
    const bytes = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    )
    await page.getByLabel('Photo').setInputFiles({ name: 'fern.png', mimeType: 'image/png', buffer: bytes })
    await say('What is it?')
    const call = await server.model.called()
    const image = { type: 'image', mediaType: 'image/png', data: bytes.toString('base64') }
    expect(call.request.messages.at(-1)?.parts).toContainEqual(image)
    call.say('A fern.')
    call.finish()
    await is('ready')
    expect(await page.locator('li[data-role=user] img').count()).toBe(1)
    await page.reload()
    await shows('What is it?', 'A fern.')
    const shown = page.locator('li[data-role=user] img')
    expect(await shown.getAttribute('src')).toBe(`data:image/png;base64,${image.data}`)
  })

  test('the chat of another user is an empty one, and stays as it is', async (context) => {
    await open(context)
    await say('My secret')
    const call = await server.model.called()
    call.say('Noted.')
    call.finish()
    await is('ready')
    const [ada] = server.documents.values()
    await page.goto(address('first', 'eve'))
    await is('ready')
    await shows()
    // The page of the other user even names the session.
    await page.evaluate((session) => {
      const { setMessages } = globalThis as unknown as { setMessages(messages: unknown[]): void }
      setMessages([{ id: 'x', role: 'assistant', parts: [], metadata: { session } }])
    }, ada?.id)
    await say('What did she say?')
    const eve = await server.model.called()
    expect(JSON.stringify(eve.request.messages)).not.toContain('secret')
    eve.say('Who?')
    eve.finish()
    await is('ready')
    expect(server.documents.get(ada?.id ?? '')).toBe(ada)
    expect(history()).toEqual([['My secret > Noted.'], ['What did she say? > Who?']])
  })

  test('shows what a server says and who said it, and keeps a conversation that has ended', async (context) => {
    page = await openPage(context, `${address('first', 'ada')}&every=50`)
    await is('ready')
    await say('Hello')
    const first = await server.model.called()
    first.say('I have asked.')
    first.finish()
    await shows('Hello', 'I have asked.')
    const [sessionId = ''] = server.documents.keys()
    const tell = async (event: string): Promise<void> => {
      const { error } = await server.engine.sendEvent({ sessionId, event, by: 'Ada Meier', byId: 'emp-17' })
      expect(error).toBeUndefined()
    }
    await tell('decision')
    await shows('Hello', 'I have asked.', 'Decided by Ada Meier.')
    expect(await page.locator('li').last().getAttribute('title')).toBe('Ada Meier')
    await press('Again')
    await is('error')
    const alert = (): Promise<string | null> => page.getByRole('alert').textContent()
    expect(await alert()).toBe('You asked for no answer here, so there is none to give again.')
    await tell('close')
    await page.reload()
    const all = ['Hello', 'I have asked.', 'Decided by Ada Meier.', 'Closed.']
    await shows(...all)
    await say('Thanks!')
    await is('error')
    expect(await alert()).toBe('This conversation has ended. Begin a new one to go on.')
    await page.reload()
    await shows(...all)
    await say('Thanks!')
    await is('error')
    await press('Begin anew')
    const second = await server.model.called()
    second.say('Welcome.')
    second.finish()
    await is('ready')
    expect(history()[1]).toEqual(['Thanks! > Welcome.'])
    await shows('Thanks!', 'Welcome.')
  })

  test('shows the parts of a reply, equal after a reload, and sends a button once', async (context) => {
    const beside = (): Promise<unknown[]> =>
      page.evaluate(() => {
        const { messages } = globalThis as unknown as { messages: { parts: { type: string }[] }[] }
        return messages[3]?.parts.filter(({ type }) => type !== 'text') ?? []
      })
    await open(context)
    await say('Hello')
    const call = await server.model.called()
    call.say('Welcome.')
    call.finish()
    await is('ready')
    await say('menu')
    const asked = ['Hello', 'Welcome.', 'menu', 'Which size?SmallLarge']
    await shows(...asked)
    await is('ready')
    const parts = await beside()
    expect(parts).toHaveLength(sentBy(2).length)
    expect(parts[0]).toMatchObject({ type: 'data-choices', data: { turn: 2, name: 'size' } })
    expect(parts[1]).toMatchObject({ type: 'data-card', data: { title: 'Order 4711' } })
    await page.reload()
    await shows(...asked)
    expect(await beside()).toEqual(parts)
    server.proxy.loseReplies()
    const sent = page.waitForRequest((request) => request.method() === 'POST')
    await press('Large')
    expect((await sent).postDataJSON().choice).toEqual({ turn: 2, name: 'size', value: 'l' })
    await is('error')
    const stored = [['Hello > Welcome.', 'menu > Which size?', 'Large > You get l.']]
    await expect.poll(history).toEqual(stored)
    server.proxy.up()
    await press('Again')
    await shows(...asked, 'Large', 'You get l.')
    await is('ready')
    expect([history(), server.modelCalls()]).toEqual([stored, 1])
  })

  test('a turn that fails says so, and its text is gone', async (context) => {
    await open(context)
    await say('Hello')
    const call = await server.model.called()
    call.say('Half of')
    await shows('Hello', 'Half of')
    call.fail(new Error('secret'))
    await is('error')
    await shows('Hello', '')
    expect(await page.getByRole('alert').textContent()).toBe("Model 'g1' of provider 'gated' failed.")
  })
})
