// The flows of the example server on its page: a card, buttons, a question in between, and a PDF beside a sentence.
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
