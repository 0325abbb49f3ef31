// What the page of the example server does with photos, files and the sessions of several users: in a browser, over a
// model that the test controls.
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, type TestContext, test } from 'vitest'
import type { ImagePart } from '../../../src/index.js'
import { closeBrowser, launchBrowser } from './chromium.js'
import { type DeskPage, eventually, openDesk } from './desk-page.js'
import { answer, type GatedDesk, startGatedDesk } from './gated-desk.js'

let server: GatedDesk

beforeAll(launchBrowser)

afterAll(closeBrowser)

afterEach(() => server.close())

const texts = ({ page }: DeskPage): Promise<string[]> => page.locator('#conversation .text').allTextContents()

/** A photo as a camera makes it, for the field of the page. */
async function photo(page: Page, width: number, height: number) {
  const data = await page.evaluate(
    async ([width, height]) => {
      const canvas = new OffscreenCanvas(width, height)
      const context = canvas.getContext('2d') as OffscreenCanvasRenderingContext2D
      context.fillStyle = 'rgb(0, 128, 0)'
      context.fillRect(0, 0, width, height)
      const blob = await canvas.convertToBlob({ type: 'image/png' })
      return Array.from(new Uint8Array(await blob.arrayBuffer()))
    },
    [width, height] as const,
  )
  return { name: 'fern.png', mimeType: 'image/png', buffer: Buffer.from(data) }
}

/** The size of a picture, and the colour of its first point. */
function look(page: Page, { mediaType, data = '' }: { mediaType: string; data?: string | undefined }) {
  return page.evaluate(
    async ({ mediaType, data }) => {
      const bytes = Uint8Array.from(atob(data), (byte) => byte.charCodeAt(0))
      const picture = await createImageBitmap(new Blob([bytes], { type: mediaType }))
      const context = new OffscreenCanvas(1, 1).getContext('2d') as OffscreenCanvasRenderingContext2D
      context.drawImage(picture, 0, 0)
      return { size: [picture.width, picture.height], colour: [...context.getImageData(0, 0, 1, 1).data] }
    },
    { mediaType, data },
  )
}

describe('photos and files', () => {
  beforeEach(async () => {
    server = await startGatedDesk()
  })

  const open = (context: TestContext): Promise<DeskPage> => openDesk(context, server.origin)
  const sent = ({ page }: DeskPage) => page.getByRole('img', { name: 'The photo that you sent' })

  test('a photo that the user chose reaches the model, small enough, and is on the page', async (context) => {
    const desk = await open(context)
    const { page } = desk
    await page.getByLabel('Photo').setInputFiles(await photo(page, 2560, 1280))
    await desk.say('What is wrong with it?')
    const call = await server.model.called()
    const [text, image] = call.request.messages.at(-1)?.parts ?? []
    expect(text).toEqual({ type: 'text', text: 'What is wrong with it?' })
    expect(image).toMatchObject({ type: 'image', mediaType: 'image/jpeg' })
    const { size, colour } = await look(page, image as ImagePart)
    expect(size).toEqual([1280, 640])
    expect(colour[1]).toBeGreaterThan(120)
    call.say('It needs water.')
    call.finish()
    await desk.reads('It needs water.')
    await sent(desk).waitFor()
    expect(await sent(desk).evaluate((shown: HTMLImageElement) => shown.naturalWidth)).toBe(1280)
    // It went with one message.
    await desk.say('Thanks')
    const next = await server.model.called()
    expect(next.request.messages.at(-1)?.parts).toEqual([{ type: 'text', text: 'Thanks' }])
    next.say('Good luck.')
    next.finish()
    await desk.reads('Good luck.')
  })

  test('a photo survives a reload before its reply, and is sent with the same message', async (context) => {
    const desk = await open(context)
    await desk.say('Hello')
    await answer(server, 'Welcome.')
    await desk.reads('Welcome.')
    await desk.page.getByLabel('Photo').setInputFiles(await photo(desk.page, 40, 20))
    await desk.say('And this?')
    const call = await server.model.called()
    call.say('It is')
    await desk.reads('It is')
    await desk.page.reload()
    await desk.reads('It is')
    await sent(desk).waitFor()
    await eventually(async () => expect(await texts(desk)).toEqual(['Hello', 'Welcome.', 'And this?', 'It is']))
    call.say(' a fern.')
    call.finish()
    await desk.reads('It is a fern.')
    await desk.idle()
    await eventually(async () => expect(await texts(desk)).toEqual(['Hello', 'Welcome.', 'And this?', 'It is a fern.']))
    const [session = ''] = await sessionsOf(desk)
    expect((await server.engine.getSession(session))?.history).toHaveLength(2)
  })

  test('the page follows the newest text, pictures included, unless the reader has scrolled up', async (context) => {
    const desk = await open(context)
    const { page } = desk
    await page.setViewportSize({ width: 390, height: 600 })
    const left = () => page.evaluate(() => document.documentElement.scrollHeight - innerHeight - scrollY)
    await page.getByLabel('Photo').setInputFiles(await photo(page, 400, 800))
    await desk.say('What is this?')
    const call = await server.model.called()
    call.say('A fern.\n'.repeat(40))
    await page.getByText('A fern.').waitFor()
    await eventually(async () => expect(await left()).toBeLessThan(8))
    await page.evaluate(() => scrollTo(0, 0))
    await eventually(async () => expect(await left()).toBeGreaterThan(500))
    call.say('The end.')
    await page.getByText('The end.').waitFor()
    expect(await left()).toBeGreaterThan(500)
    call.finish()
    await desk.idle()
  })

  test('the page follows text that comes between its scrolling and the event of it', async (context) => {
    const desk = await open(context)
    const { page } = desk
    await page.setViewportSize({ width: 390, height: 600 })
    await desk.say('What is this?')
    const call = await server.model.called()
    await page.evaluate(() => {
      const grow = () => document.querySelector('#conversation')?.append('More.\n'.repeat(400))
      // This listener is called before that of the page.
      addEventListener('scroll', grow, { capture: true, once: true })
    })
    call.say('A fern.\n'.repeat(40))
    await page.getByText('More.').waitFor()
    await eventually(async () => {
      const left = await page.evaluate(() => document.documentElement.scrollHeight - innerHeight - scrollY)
      expect(left).toBeLessThan(8)
    })
    call.finish()
    await desk.idle()
  })

  test('a file that is not a picture is refused in the page, and the message goes without it', async (context) => {
    const desk = await open(context)
    const field = desk.page.getByLabel('Photo')
    await field.setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('text') })
    await desk.page.getByRole('status').filter({ hasText: 'not a photo' }).waitFor()
    expect(await field.inputValue()).toBe('')
    await desk.say('Hello')
    const call = await server.model.called()
    expect(call.request.messages.at(-1)?.parts).toHaveLength(1)
    call.say('Welcome.')
    call.finish()
    await desk.reads('Welcome.')
  })

  test('a reply that is not text is a picture or a file to save, after a reload too', async (context) => {
    const desk = await open(context)
    const { page } = desk
    const shown = page.getByRole('img', { name: 'A picture from the desk' })
    const link = page.getByRole('link', { name: 'Save the reply (text/csv' })
    await desk.say('Draw it')
    await answer(server, 'picture')
    await shown.waitFor()
    await desk.say('List them')
    await answer(server, 'table')
    await link.waitFor()
    for (const time of ['at once', 'after a reload']) {
      await eventually(async () =>
        expect(await shown.evaluate((image: HTMLImageElement) => image.naturalWidth), time).toBe(20),
      )
      const downloading = page.waitForEvent('download')
      await link.click()
      const stream = await (await downloading).createReadStream()
      expect(Buffer.concat(await stream.toArray()).toString(), time).toBe('plant,pots\nfern,2\n')
      await page.reload()
    }
  })
})

/** The session that the page keeps. */
async function sessionsOf({ page }: DeskPage): Promise<string[]> {
  const kept = await page.evaluate(() => Object.values({ ...sessionStorage }) as string[])
  return kept.map((text) => (JSON.parse(text) as { session: string }).session)
}

describe('with users who sign in', () => {
  beforeEach(async () => {
    server = await startGatedDesk({
      requirePrincipal: true,
      authorize(request) {
        const user = /(?:^|; )user=(\w+)/.exec(request.headers.get('Cookie') ?? '')?.[1]
        return user === undefined ? new Response('Sign in first.', { status: 401 }) : { principal: user }
      },
    })
  })

  async function signIn({ page }: DeskPage, user: string): Promise<void> {
    await page.context().addCookies([{ name: 'user', value: user, url: server.origin }])
  }

  /** Ada has said something, and Ben has the browser now. */
  async function beginAsAda(context: TestContext): Promise<{ desk: DeskPage; session: string; before: string }> {
    const desk = await openDesk(context, server.origin)
    await signIn(desk, 'ada')
    await desk.say('My door code is 4711')
    await answer(server, 'I shall remember 4711.')
    await desk.reads('I shall remember 4711.')
    await desk.idle()
    const [session = ''] = await sessionsOf(desk)
    const before = JSON.stringify(await server.engine.getSession(session, { owner: 'ada' }))
    await signIn(desk, 'ben')
    return { desk, session, before }
  }

  test('a page of another user is refused the session, and shows nothing of it', async (context) => {
    const { desk, session, before } = await beginAsAda(context)
    await desk.page.reload()
    const ended = 'This conversation has ended. Your next message begins a new one.'
    await desk.page.getByRole('status').filter({ hasText: ended }).waitFor()
    expect(await texts(desk)).toEqual([])
    await desk.say('What is the code?')
    const call = await server.model.called()
    expect(JSON.stringify(call.request.messages)).not.toContain('4711')
    call.say('I do not know.')
    call.finish()
    await desk.reads('I do not know.')
    const [other = ''] = await sessionsOf(desk)
    expect(other).not.toBe(session)
    expect(JSON.stringify(await server.engine.getSession(session, { owner: 'ada' }))).toBe(before)
  })

  test('neither does a message reach it from a page that still names it, nor a stop', async (context) => {
    const { desk, session, before } = await beginAsAda(context)
    await desk.say('What is the code?')
    const call = await server.model.called()
    expect(JSON.stringify(call.request.messages)).not.toContain('4711')
    call.say('I do not know.')
    call.finish()
    await desk.reads('I do not know.')
    const restarted = 'The earlier conversation could not be continued. This is a new one.'
    await desk.page.getByRole('status').filter({ hasText: restarted }).waitFor()
    const cancelled = await desk.page.evaluate(
      async (id) => (await fetch('ai/cancel', { method: 'POST', headers: { 'Chat-Session-Id': id } })).json(),
      session,
    )
    expect(cancelled).toMatchObject({ cancelled: false })
    expect(JSON.stringify(await server.engine.getSession(session, { owner: 'ada' }))).toBe(before)
  })

  test('a user who is signed out keeps the message, and sends it again after signing in', async (context) => {
    const desk = await openDesk(context, server.origin)
    await desk.say('Hello')
    await desk.reads('The request was refused with the status 401 by ai.')
    await signIn(desk, 'ada')
    await desk.page.getByRole('button', { name: 'Try again' }).click()
    await answer(server, 'Welcome.')
    await desk.reads('Welcome.')
    expect(await texts(desk)).toEqual(['Hello', 'Welcome.'])
  })
})
