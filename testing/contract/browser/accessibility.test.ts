// The page of the example server as people use it without a mouse, without eyes, on a telephone, by day and by night:
// axe-core looks at each of its states, the keyboard alone gets everywhere, and a screen reader gets each reply once.
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, type TestContext, test } from 'vitest'
import { findings } from './axe-findings.js'
import { closeBrowser, launchBrowser } from './chromium.js'
import { type DeskPage, eventually, openDesk } from './desk-page.js'
import { answer, type GatedDesk, startGatedDesk } from './gated-desk.js'

let server: GatedDesk

beforeAll(launchBrowser)

afterAll(closeBrowser)

beforeEach(async () => {
  server = await startGatedDesk()
})

afterEach(() => server.close())

const open = (context: TestContext): Promise<DeskPage> => openDesk(context, server.origin)

/** A photo: a picture of one point. */
const photo = {
  name: 'fern.gif',
  mimeType: 'image/gif',
  buffer: Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
}

/** The states of the page, each after the one before. */
const states: readonly (readonly [name: string, reach: (desk: DeskPage) => Promise<void>])[] = [
  ['before the first message', async () => {}],
  [
    'while a reply to a photo streams',
    async (desk) => {
      await desk.page.getByLabel('Photo').setInputFiles(photo)
      await desk.say(`What is wrong with ${'my'.repeat(100)} fern?`)
      const call = await server.model.called()
      call.say('It is')
      await desk.reads('It is')
      streaming = call
    },
  ],
  [
    'after the reply',
    async (desk) => {
      streaming?.say(' thirsty.')
      streaming?.finish()
      await desk.reads('It is thirsty.')
      await desk.idle()
    },
  ],
  [
    'with a picture and a file from the desk',
    async (desk) => {
      await desk.say('Draw it')
      await answer(server, 'picture')
      await desk.page.getByRole('img', { name: 'A picture from the desk' }).waitFor()
      await desk.say('List them')
      await answer(server, 'table')
      await desk.page.getByRole('link').waitFor()
    },
  ],
  [
    'after Stop',
    async (desk) => {
      await desk.say('Tell me everything')
      const call = await server.model.called()
      call.say('It all began')
      await desk.reads('It all began')
      await desk.page.getByRole('button', { name: 'Stop' }).click()
      await desk.reads('It all began (Stopped.)')
    },
  ],
  [
    'after an error',
    async (desk) => {
      await desk.say('Hello?')
      await fail(desk)
      await desk.page.getByRole('button', { name: 'Try again' }).waitFor()
    },
  ],
  [
    'after the same error again',
    async (desk) => {
      await desk.page.getByRole('button', { name: 'Try again' }).click()
      await fail(desk)
      await desk.page.getByRole('button', { name: 'New conversation' }).waitFor()
    },
  ],
  [
    'after a reload',
    async (desk) => {
      await desk.page.reload()
      await desk.page.getByRole('link').waitFor()
    },
  ],
]
let streaming: Awaited<ReturnType<GatedDesk['model']['called']>> | undefined

async function fail(desk: DeskPage): Promise<void> {
  const call = await server.model.called()
  call.fail(new Error('secret'))
  await desk.reads("Model 'g1' of provider 'gated' failed.")
}

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  test.for([
    ['a desktop', 1280, 800],
    ['a telephone', 390, 844],
  ] as const)('axe finds nothing wrong in any state, on %s', async ([_name, width, height], context) => {
    const desk = await open(context)
    await desk.page.setViewportSize({ width, height })
    await desk.page.emulateMedia({ colorScheme })
    const found: Record<string, string[]> = {}
    for (const [name, reach] of states) {
      await reach(desk)
      found[name] = await findings(desk.page)
    }
    expect(found).toEqual(Object.fromEntries(states.map(([name]) => [name, []])))
    const background = await desk.page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    expect(background).toBe(colorScheme === 'light' ? 'rgb(246, 247, 244)' : 'rgb(19, 26, 22)')
  })
})

test('axe itself runs in this page: a picture without a text is found', async (context) => {
  const { page } = await open(context)
  await page.evaluate(() => document.querySelector('main')?.append(document.createElement('img')))
  expect(await findings(page)).toEqual(['image-alt: <img>'])
})

/** What has the focus, and whether one sees it. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const { activeElement } = document
    if (activeElement === null || activeElement === document.body) return 'nothing'
    const { outlineStyle, outlineWidth } = getComputedStyle(activeElement)
    const isSeen = outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2
    return isSeen ? activeElement.id || activeElement.className : `${activeElement.id}, unseen`
  })
}

test('a whole conversation is held with the keyboard alone', async (context) => {
  const desk = await open(context)
  const { keyboard } = desk.page
  const tab = async (): Promise<string> => {
    await keyboard.press('Tab')
    return focused(desk.page)
  }
  expect([await tab(), await tab(), await tab()]).toEqual(['message', 'send', 'photo'])
  await desk.page.getByLabel('Your message').focus()
  await keyboard.type('Draw it')
  await keyboard.press('Enter')
  await answer(server, 'table')
  await desk.page.getByRole('link').waitFor()
  expect(await focused(desk.page)).toBe('message')

  await keyboard.type('Tell me everything')
  await keyboard.press('Enter')
  const call = await server.model.called()
  call.say('It all began')
  await desk.reads('It all began')
  expect([await tab(), await tab(), await tab()]).toEqual(['send', 'photo', 'stop'])
  await keyboard.press('Enter')
  await desk.reads('It all began (Stopped.)')
  expect(await focused(desk.page)).toBe('message')

  await keyboard.type('Hello?')
  await keyboard.press('Enter')
  await fail(desk)
  await desk.idle()
  expect([await tab(), await tab(), await tab()]).toEqual(['send', 'photo', 'try-again'])
  await keyboard.press('Space')
  expect(await focused(desk.page)).toBe('message')
  await answer(server, 'Hello.')
  await desk.reads('Hello.')
  await keyboard.press('Shift+Tab')
  expect(await focused(desk.page)).toBe('file')
})

test('a button that goes away while it has the focus gives it to the message', async (context) => {
  const desk = await open(context)
  await desk.say('Hello')
  const call = await server.model.called()
  call.say('Wel')
  await desk.reads('Wel')
  await desk.page.getByRole('button', { name: 'Stop' }).focus()
  call.say('come.')
  call.finish()
  await desk.idle()
  expect(await focused(desk.page)).toBe('message')
})

test('a screen reader gets each reply once, when it is whole, and no transcript at a reload', async (context) => {
  const desk = await open(context)
  const received: string[] = []
  await desk.page.exposeFunction('report', (text: string) => received.push(text))
  await desk.page.addInitScript(() => {
    const observer = new MutationObserver((changes) => {
      for (const { target } of changes) {
        const region = (target instanceof Element ? target : target.parentElement)?.closest(
          '[aria-live], [role=status]',
        )
        const text = region?.textContent?.trim() ?? ''
        if (text !== '') void (globalThis as unknown as { report(text: string): void }).report(text)
      }
    })
    observer.observe(document, { childList: true, characterData: true, subtree: true })
  })
  await desk.page.reload()
  await desk.say('Hello')
  const call = await server.model.called()
  for (const piece of ['Wel', 'come', ' to the desk.']) {
    call.say(piece)
    await desk.page.getByText(piece.trim()).waitFor()
  }
  const thinking = 'The desk is thinking.'
  expect(new Set(received)).toEqual(new Set([thinking]))
  call.finish()
  await eventually(() => expect(received.at(-1)).toBe('Desk: Welcome to the desk.'))
  await desk.say('Hello?')
  await fail(desk)
  await eventually(() =>
    expect(received.filter((text) => text !== thinking)).toEqual([
      'Desk: Welcome to the desk.',
      "The desk could not answer: Model 'g1' of provider 'gated' failed.",
    ]),
  )
  const { length } = received
  await desk.page.reload()
  await desk.reads('Welcome to the desk.')
  await desk.say('Again')
  await answer(server, 'Yes?')
  await eventually(() => expect(received.at(-1)).toBe('Desk: Yes?'))
  expect(received.slice(length).filter((text) => text !== thinking)).toEqual(['Desk: Yes?'])
})
