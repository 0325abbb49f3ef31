// The flows of the example server on its page: a card, buttons, a question in between, a form, and a PDF beside a sentence.
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { reportRoutes } from '../../../examples/server/report-file.js'
import { reportAddress } from '../../../examples/server/reports/address.js'
import type { FlowEngine } from '../../../src/index.js'
import { closeBrowser, launchBrowser } from './chromium.js'
import { openDesk } from './desk-page.js'
import { serveDesk } from './parts-desk.js'
import type { RunningServer } from './servers.js'

/** Loaded by a name that the compiler cannot follow: otherwise the example's services would be every test's. */
const application = fileURLToPath(new URL('../../../examples/server/application.ts', import.meta.url))
type CreateApplication = (services: { reportAddress(title: string): string }) => Promise<FlowEngine>

let server: RunningServer

beforeAll(launchBrowser)

afterAll(closeBrowser)

beforeEach(async () => {
  const { createApplication }: { createApplication: CreateApplication } = await import(/* @vite-ignore */ application)
  const engine = await createApplication({ reportAddress: (title) => reportAddress(title, server.origin) })
  server = await serveDesk(engine, reportRoutes())
})

afterEach(() => server.close())

test('an order is a card, and the reason of a return a button, also after a question in between', async (context) => {
  const desk = await openDesk(context, server.origin)
  await desk.say('What is in FK-1063?')
  await desk.reads('Order FK-1063 is being packed: green glaze cup and boston fern.')
  await desk.page.getByRole('heading', { name: 'Order FK-1063' }).waitFor()
  await desk.say('I return something of FK-1042')
  await desk.reads('Gladly. Which item goes back, and why?')
  await desk.say('The teapot')
  const question = 'Why does the cast iron teapot go back: damaged, wrong item, or changed your mind?'
  await desk.reads(question)
  await desk.say('What are your opening hours?')
  await desk.reads(`We are here from Monday to Friday, 9 to 17.\n\n${question}`)
  await desk.page.getByRole('button', { name: 'It came damaged', disabled: false }).click()
  await desk.reads('Return R-1 is open: cast iron teapot, damaged. The label is in your mail. Anything else?')
})

test('a booking is filled in at once; what is wrong is said at its field, and a button confirms it', async (context) => {
  const desk = await openDesk(context, `${server.origin}/?flow=Appointment`)
  const { page } = desk
  const field = (label: string) => page.getByLabel(`${label} (required)`).last()
  await desk.say('form')
  await desk.reads('Please fill in the form.')
  await desk.idle()
  await field('repair').selectOption('brakes')
  await field('day').selectOption({ index: 2 })
  await field('time').fill('11:11')
  await field('name').fill('Ife Okafor')
  await field('phone').fill('12')
  await page.getByRole('button', { name: 'Send the form' }).click()
  await desk.reads('That time is not free. That is not a phone number.')
  await desk.idle()
  expect(await page.locator('[aria-invalid]').count()).toBe(2)
  expect(await field('name').inputValue()).toBe('Ife Okafor')
  const day = await field('day').locator('option:checked').textContent()
  await field('time').selectOption('10:30')
  await field('phone').fill('+44 20 7946 0000')
  await page.getByRole('button', { name: 'Send the form', disabled: false }).click()
  const summary = `brakes on ${day} at 10:30, for Ife Okafor, +442079460000.`
  await desk.reads(`${summary} Is that right? Say yes, cancel, or "change" with repair, day, time, name or phone.`)
  await desk.idle()
  await page.getByRole('button', { name: 'Yes', disabled: false }).click()
  await page.getByRole('list').getByText(`Booked, Ife Okafor: ${summary}`).waitFor()
  await desk.idle()
  await page.getByText('This conversation has ended.').waitFor()
  expect(await page.locator('#conversation button:enabled').count()).toBe(0)
})

test('a report is text with a PDF beside it, which the reader saves', async (context) => {
  const desk = await openDesk(context, `${server.origin}/?flow=VisitReport`)
  expect(await desk.page.getByRole('heading').textContent()).toBe('VisitReport')
  await desk.say('Hello')
  await desk.page.getByRole('button', { name: 'Summary', disabled: false }).click()
  await desk.reads('Visits to the lighthouse: 5118 in all. The PDF shows each month.')
  const saved = desk.page.waitForEvent('download')
  await desk.page.getByRole('link', { name: 'visits.pdf' }).click()
  const chunks: Buffer[] = []
  for await (const chunk of await (await saved).createReadStream()) chunks.push(chunk)
  expect(Buffer.concat(chunks).toString('latin1')).toMatch(/^%PDF-1\.4\n.*\(Visits to the lighthouse\) Tj/s)
  expect((await saved).suggestedFilename()).toBe('visits.pdf')
})
