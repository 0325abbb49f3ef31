// The parts of replies on the page of the example server: for the eyes, a keyboard and a screen reader, on a telephone
// and on a wide screen, by day and by night; the same after a reload.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, type TestContext, test } from 'vitest'
import { findings } from './axe-findings.js'
import { closeBrowser, launchBrowser } from './chromium.js'
import { type DeskPage, eventually, openDesk } from './desk-page.js'
import { type PartsDesk, startPartsDesk } from './parts-desk.js'

let server: PartsDesk

beforeAll(launchBrowser)

afterAll(closeBrowser)

beforeEach(async () => {
  server = await startPartsDesk()
})

afterEach(() => server.close())

const open = (context: TestContext): Promise<DeskPage> => openDesk(context, server.origin)

/** What the page shows of the conversation, for the eyes and for a screen reader. */
const shown = ({ page }: DeskPage): Promise<string> => page.locator('#conversation').ariaSnapshot()

/** The states of the page, each after the one before. */
const states: readonly (readonly [name: string, reach: (desk: DeskPage) => Promise<void>])[] = [
  [
    'with all five parts',
    async (desk) => {
      await desk.say('everything')
      await desk.page.getByRole('button', { name: 'Large' }).waitFor()
    },
  ],
  [
    'with a form that is wrong',
    async ({ page }) => {
      await page.getByLabel('Your name').fill('Nobody')
      await page.getByRole('button', { name: 'Send the form' }).click()
      await page.getByText('The name is not known.').waitFor()
    },
  ],
  [
    'after a reload',
    async ({ page }) => {
      await page.reload()
      await page.getByText('The name is not known.').waitFor()
    },
  ],
]

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  test.for([375, 1440])('axe finds nothing wrong with the parts at a width of %i', async (width, context) => {
    const desk = await open(context)
    await desk.page.setViewportSize({ width, height: 800 })
    await desk.page.emulateMedia({ colorScheme })
    const found: Record<string, string[]> = {}
    for (const [name, reach] of states) {
      await reach(desk)
      await desk.idle()
      found[name] = await findings(desk.page)
    }
    expect(found).toEqual(Object.fromEntries(states.map(([name]) => [name, []])))
  })
})

test('the page shows a card, a file, a form and buttons, and nothing of a part that it does not know', async (context) => {
  const desk = await open(context)
  await desk.say('everything')
  await desk.reads('Here it is.')
  await desk.idle()
  expect(await shown(desk)).toBe(`- list "Conversation":
  - listitem:
    - paragraph: You
    - paragraph: everything
  - listitem:
    - paragraph: Desk
    - paragraph: Here it is.
    - heading "Order FK-1042" [level=2]
    - term: State
    - definition: delivered
    - term: Item
    - definition: cast iron teapot
    - paragraph:
      - link "invoice.pdf":
        - /url: https://files.example.com/invoice.pdf
      - text: (application/pdf)
    - group "Delivery":
      - text: Your name (required)
      - textbox "Your name (required)"
      - text: Mail
      - textbox "Mail"
      - paragraph: For the invoice.
      - text: How many pots (required)
      - spinbutton "How many pots (required)": "1"
      - text: Glaze
      - combobox "Glaze":
        - option [selected]
        - option "green"
        - option "blue"
      - text: It is a gift
      - checkbox "It is a gift"
      - button "Send the form"
    - alert
    - group "Answers":
      - button "Small"
      - button "Large"`)
  const link = desk.page.getByRole('link', { name: 'invoice.pdf' })
  expect(await link.evaluate(({ rel, target }: HTMLAnchorElement) => [rel, target])).toEqual(['noopener', '_blank'])
})

test('after a reload the parts are the same, and only the newest buttons can be pressed', async (context) => {
  const desk = await open(context)
  for (const message of ['Hello', 'everything']) {
    await desk.say(message)
    await desk.idle()
  }
  await desk.page.getByRole('button', { name: 'Large', disabled: false }).waitFor()
  const before = await shown(desk)
  expect(before.match(/button "Large" \[disabled\]/g)).toHaveLength(1)
  await desk.page.reload()
  await eventually(async () => expect(await shown(desk)).toBe(before))
  await desk.page.getByRole('button', { name: 'Small', disabled: false }).click()
  await desk.reads('pot s: Small')
})

test.for(['Enter', 'Space'])('a button that is pressed with %s answers, once', async (key, context) => {
  const desk = await open(context)
  await desk.say('Hello')
  await desk.reads('Which pot?')
  await desk.idle()
  const { keyboard } = desk.page
  for (const _ of ['Large', 'Small']) await keyboard.press('Shift+Tab')
  expect(await desk.page.locator(':focus').textContent()).toBe('Small')
  const sent = desk.page.waitForRequest(/ai\/run/)
  await keyboard.press(key)
  const choice = { turn: 1, name: 'pot', value: 's' }
  expect((await sent).postDataJSON()).toMatchObject({ message: 'Small', choice })
  // The focus is on the message now: a second press sends nothing.
  await keyboard.press('Enter')
  await desk.reads('pot s: Small')
  await desk.idle()
  expect(await desk.page.locator('#conversation .user .text').allTextContents()).toEqual(['Hello', 'Small'])
  await keyboard.type('done')
  await keyboard.press('Enter')
  await desk.reads('Goodbye.')
})

test('a form is filled in with the keyboard; what is wrong is said at its field', async (context) => {
  const desk = await open(context)
  const { page } = desk
  await desk.say('everything')
  await desk.reads('Here it is.')
  await desk.idle()
  await page.getByLabel('Your name').focus()
  const { keyboard } = page
  await keyboard.type('Nobody')
  await keyboard.press('Enter')
  await desk.reads('Who is it for?')
  const name = page.getByLabel('Your name').last()
  await eventually(async () => expect(await name.evaluate((field) => field === document.activeElement)).toBe(true))
  expect(await name.evaluate((field: HTMLInputElement) => [field.value, field.ariaInvalid])).toEqual(['Nobody', 'true'])
  const described = await name.evaluate((field) =>
    document.getElementById(field.getAttribute('aria-describedby') ?? ''),
  )
  expect(described).toBeDefined()
  expect(await page.locator('[aria-invalid]').getAttribute('aria-describedby')).toBe(
    await page.getByText('The name is not known.').getAttribute('id'),
  )
  await keyboard.press('Control+A')
  await keyboard.type('Ada')
  await keyboard.press('Tab')
  await keyboard.type('ada@example.com')
  for (const _ of ['pots', 'glaze']) await keyboard.press('Tab')
  await keyboard.press('b')
  await keyboard.press('Tab')
  await keyboard.press('Space')
  await keyboard.press('Tab')
  await keyboard.press('Enter')
  await desk.reads('Sent: {"name":"Ada","mail":"ada@example.com","pots":1,"glaze":"b","gift":true}')
})

test('what is required must be filled in, and what is empty is not sent', async (context) => {
  const desk = await open(context)
  const { page } = desk
  await desk.say('everything')
  await desk.reads('Here it is.')
  await desk.idle()
  await page.getByRole('button', { name: 'Send the form' }).click()
  expect(await page.locator('.form :invalid').count()).toBe(1)
  await page.getByLabel('Your name').fill('Ada')
  await page.getByLabel('How many pots').fill('3')
  let requests = 0
  page.on('request', (request) => {
    if (request.method() === 'POST') requests++
  })
  await page.getByRole('button', { name: 'Send the form' }).dblclick()
  await desk.reads('Sent: {"name":"Ada","pots":3,"gift":false}')
  expect(requests).toBe(1)
})

test('a field that the user has emptied is sent empty', async (context) => {
  const desk = await open(context)
  const { page } = desk
  await desk.say('everything')
  await desk.reads('Here it is.')
  await desk.idle()
  await page.getByLabel('Your name').fill('Nobody')
  await page.getByLabel('Mail').fill('ada@example.com')
  await page.getByLabel('Glaze').selectOption('blue')
  await page.getByRole('button', { name: 'Send the form' }).click()
  await desk.reads('Who is it for?')
  await desk.idle()
  await page.getByLabel('Your name').last().fill('Ada')
  await page.getByLabel('Mail').last().fill('')
  await page.getByLabel('Glaze').last().selectOption('')
  await page.getByRole('button', { name: 'Send the form', disabled: false }).click()
  await desk.reads('Sent: {"name":"Ada","mail":"","pots":1,"glaze":"","gift":false}')
})

test('a form that was not taken says why, and can be sent again', async (context) => {
  const desk = await open(context)
  const { page } = desk
  await desk.say('everything')
  await desk.reads('Here it is.')
  await desk.idle()
  await page.getByLabel('Your name').fill('Ada')
  await page.route('**/ai/run*', (route) => route.abort())
  await page.getByRole('button', { name: 'Send the form' }).click()
  await page.getByRole('alert').getByText('The form was not sent. Please try again.').waitFor()
  expect(await page.getByRole('button', { name: 'Send the form' }).isEnabled()).toBe(true)
  await page.unroute('**/ai/run*')
  await page.getByRole('button', { name: 'Send the form' }).click()
  await desk.reads('Sent: {"name":"Ada","pots":1,"gift":false}')
})

test('a form that is half filled in stays so, with the focus, if the server says something', async (context) => {
  const desk = await open(context)
  const { page } = desk
  const sessions: string[] = []
  server.engine.on('session:created', ({ sessionId }) => sessions.push(sessionId))
  await page.clock.install()
  await page.reload()
  await desk.say('everything')
  await desk.reads('Here it is.')
  await desk.idle()
  const name = page.getByLabel('Your name')
  await name.fill('Ad')
  const [sessionId = ''] = sessions
  await server.engine.sendEvent({ sessionId, event: 'delay' })
  await page.clock.fastForward(5_000)
  await desk.reads('It takes a day longer.')
  await page.keyboard.type('a')
  expect(await name.inputValue()).toBe('Ada')
})

test('a screen reader gets the reply, and what can be done with it', async (context) => {
  const desk = await open(context)
  await desk.say('everything')
  await desk.page
    .locator('#spoken-reply')
    .getByText(
      'Desk: Here it is. Order FK-1042. There is a file: invoice.pdf. There is a form to fill in. Answers: Small, Large.',
    )
    .waitFor({ state: 'attached' })
})
