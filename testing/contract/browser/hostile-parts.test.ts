// Parts that attack the page: script and HTML in each of their texts, and addresses that would run code. The page shows
// them as text: no dialog, no request, no element and no attribute comes from them.
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, type TestContext, test } from 'vitest'
import { Flow, FlowEngine, LogicStep, reply, type StepConstructor } from '../../../src/index.js'
import { card, choices, custom, file, form } from '../../../src/parts/index.js'
import { closeBrowser, launchBrowser } from './chromium.js'
import { openDesk } from './desk-page.js'
import { serveDesk } from './parts-desk.js'
import type { RunningServer } from './servers.js'

/** Each ends as one would end the text around it. */
const attacks = [
  '<script>alert(1)</script>',
  '<img src=/stolen onerror=alert(1)>',
  '"><svg onload=alert(1)>',
  '\'><iframe srcdoc="<script>parent.alert(1)</script>"></iframe>',
  '</textarea></select></title><a href="javascript:alert(1)" style="background:url(/stolen)">here</a>',
  'javascript:alert(1)',
  '{{constructor.constructor("alert(1)")()}}',
  '__proto__',
]

/** One reply for each attack, and each attack in every text of its parts. */
function partsWith(attack: string) {
  const field = { title: attack, description: attack }
  const schema = {
    type: 'object',
    title: attack,
    description: attack,
    properties: {
      [`a ${attack}`]: { type: 'string', ...field, default: attack },
      b: { type: 'string', ...field, enum: [attack], enumNames: [attack] },
      c: { type: 'number', ...field },
      d: { type: 'boolean', ...field },
      constructor: { type: 'string' },
    },
    required: ['b'],
  }
  return [
    choices(attack, [{ value: attack, label: attack }]),
    card({ title: attack, rows: [[attack, attack]] }),
    form({ name: attack, schema, values: { b: attack, c: attack, d: attack }, errors: { b: attack, c: attack } }),
    file({ name: attack, mediaType: 'text/html', url: `https://files.example.com/${attack}?${attack}#${attack}` }),
    custom('html', { html: attack, [`a ${attack}`]: [attack] }),
  ]
}

class Desk extends LogicStep {
  static override readonly id = 'Desk'
  override run({ message }: { readonly message: string }) {
    const attack = attacks[Number(message)] ?? ''
    return reply(attack).withParts(partsWith(attack))
  }
}

/** The flow that the page requests. */
class SupportDesk extends Flow {
  static override readonly id = 'SupportDesk'
  override steps(): readonly StepConstructor[] {
    return [Desk]
  }
}

let server: RunningServer

beforeAll(launchBrowser)

afterAll(closeBrowser)

beforeEach(async () => {
  server = await serveDesk(new FlowEngine({ flows: [SupportDesk] }))
})

afterEach(() => server.close())

/** The page, and what it does that it should not. */
async function openWatched(context: TestContext) {
  const desk = await openDesk(context, server.origin)
  const done: string[] = []
  desk.page.on('dialog', (dialog) => {
    done.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  desk.page.on('request', (request) => {
    const { origin, pathname } = new URL(request.url())
    if (origin !== server.origin || !/^\/(?:ai\/(?:run|session))?$|^\/[\w-]+\.(?:js|css)$/.test(pathname))
      done.push(`request: ${request.url()}`)
  })
  desk.page.on('popup', () => done.push('popup'))
  desk.page.on('console', (message) => {
    // The policy of the page would stop what the page had let in.
    if (/Content Security Policy/.test(message.text())) done.push(message.text())
  })
  return { ...desk, done }
}

const allowed = 'A BUTTON DD DIV DL DT FIELDSET FORM H2 INPUT LABEL LI OPTION P SECTION SELECT'.split(' ')

/** The elements and attributes of the conversation that no part may have made. */
function made(page: Page): Promise<string[]> {
  return page.locator('#conversation').evaluate((conversation, allowed) => {
    const all = [...conversation.querySelectorAll('*')]
    const attributes = all.flatMap((element) => [...element.attributes].map(({ name, value }) => `${name}=${value}`))
    return [
      ...all.map(({ tagName }) => tagName).filter((tag) => !allowed.includes(tag)),
      ...attributes.filter((attribute) => /^(?:on|style|src|action|formaction)|^href=(?!https:)/i.test(attribute)),
    ]
  }, allowed)
}

test.for(attacks.map((attack, index) => [attack, index] as const))('%s', async ([attack, index], context) => {
  const { page, say, reads, idle, done } = await openWatched(context)
  await say(String(index))
  await reads(attack)
  await idle()
  const look = async () => ({
    ...{ done, made: await made(page) },
    // As a text: the reply, the heading, the row, the button, the field and its problem, and the link.
    shown: await page.locator('#conversation').evaluate((conversation, text) => {
      const leaves = [...conversation.querySelectorAll('*')].filter(({ children }) => children.length === 0)
      return leaves.filter(({ textContent }) => textContent?.startsWith(text)).map(({ tagName }) => tagName)
    }, attack),
    held: await page.locator('.form input:not([type=number])').first().inputValue(),
    ofPrototype: await page.locator('.form input').last().inputValue(),
  })
  const expected = {
    ...{ done: [], made: [] },
    shown: [
      ...['P', 'BUTTON', 'H2', 'DT', 'DD'],
      ...['LABEL', 'P', 'LABEL', 'OPTION', 'P', 'P', 'LABEL', 'P', 'P', 'LABEL', 'P', 'A'],
    ],
    held: attack,
    ofPrototype: '',
  }
  expect(await look()).toEqual(expected)
  await page.reload()
  await reads(attack)
  expect(await look()).toEqual(expected)
  await page.getByRole('button', { name: attack, exact: true }).click()
  await page.locator('#conversation .user .text').last().filter({ hasText: attack }).waitFor()
  await idle()
  expect(await made(page)).toEqual([])
  expect(done).toEqual([])
})

/** What `file` of `turnkeeper/parts` refuses, and a server without it could send. */
const addresses = [
  'javascript:alert(1)',
  ' javascript:alert(1)',
  'java\nscript:alert(1)',
  'JAVASCRIPT:alert(1)//https://example.com',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:alert(1)',
  'blob:https://example.com/1',
  'file:///etc/passwd',
  'ftp://example.com/a',
  '//example.com/a',
  '/stolen',
  'https://',
  '',
]

test('of a server that sends any address, the page makes a link of none but those of the web', async (context) => {
  for (const url of addresses) expect(() => file({ name: 'a', mediaType: 'text/html', url })).toThrow(/absolute url/)
  const { page, say, reads, idle, done } = await openWatched(context)
  const parts = [...addresses, 'https://example.com/a'].map((url, index) => ({
    ...{ type: 'file', name: `file ${index}`, mediaType: 'text/html', url },
  }))
  const session = 'a'.repeat(32)
  await page.route('**/ai/run*', (route) =>
    route.fulfill({
      headers: { 'Chat-Reply': 'envelope', 'Chat-Session-State': 'running', 'Chat-Session-Id': session },
      json: { success: true, completed: false, message: 'Files.', session, contentType: 'text/plain', parts },
    }),
  )
  await say('Hello')
  await reads('Files.')
  await idle()
  for (const index of addresses.keys()) await page.getByText(`file ${index}`, { exact: true }).click()
  expect(await page.getByRole('link').allTextContents()).toEqual([`file ${addresses.length}`])
  expect(await made(page)).toEqual([])
  expect(done).toEqual([])
})
