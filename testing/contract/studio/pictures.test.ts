// The pictures of docs/studio.md. `UPDATE_PICTURES=1` writes them; otherwise they are made again, and compared in size
// with those in the repository: the rest depends on the fonts of the machine.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { call, EndStep, event, Flow, finish, go, LogicStep, reply, Step, type Turn, tool } from '../../../src/index.js'
import { card, choices } from '../../../src/parts/index.js'
import type { ModelScript } from '../../../testing/index.js'
import { createStudioHandler } from '../../../testing/studio/handler.js'
import { listen } from '../../../testing/studio/listen.js'
import { closeBrowser, launchBrowser } from '../browser/chromium.js'
import { openStudio, pageText, type StudioServer } from './studio-server.js'

const day = 24 * 3_600_000
const folder = new URL('../../../docs/pictures/', import.meta.url)

class AskWish extends Step {
  static override readonly id = 'AskWish'
  static override readonly next = ['PickTime', 'Farewell']
  override model() {
    return { provider: 'any', name: 'small' }
  }
  override prompt() {
    return 'You take bookings for the restaurant Orchid. Ask for the day and the number of guests.'
  }
  override tools() {
    const find = tool({
      name: 'find_times',
      description: 'The times at which a table is free.',
      input: z.object({ day: z.string(), guests: z.number().int() }),
      execute: (wish) => go(PickTime).withState(wish),
    })
    return [find]
  }
}

class PickTime extends LogicStep<{ day?: string; guests?: number; time?: string }> {
  static override readonly id = 'PickTime'
  static override readonly next = ['Visit', 'Farewell']
  override run(turn: Turn) {
    const { guests, day: wanted, time } = this.state
    if (turn.returned !== undefined) {
      const rows: [string, string][] = [
        ['When', `${wanted}, ${time}`],
        ['Guests', String(guests)],
      ]
      return go(Visit)
        .withReply('We look forward to your visit.')
        .withParts([card({ title: 'Your table', rows })])
    }
    if (turn.choice === undefined) {
      const times = ['18:00', '19:30', '21:00'].map((value) => ({ value, label: value }))
      return reply('These times are free.').withParts([choices('time', times)])
    }
    this.state.time = turn.message
    return call(Deposit)
  }
}

class Pay extends LogicStep {
  static override readonly id = 'Pay'
  override async run(turn: Turn) {
    if (turn.entered) return reply('A deposit of 20 euros keeps the table. Shall I take it from your card?')
    await turn.once('payments.create', () => ({ amount: 20, receipt: 'R-4711' }))
    return finish()
  }
}

class Deposit extends Flow {
  static override readonly id = 'Deposit'
  override steps() {
    return [Pay]
  }
}

class Visit extends LogicStep {
  static override readonly id = 'Visit'
  static override readonly next = ['Farewell']
  override events() {
    return [event({ name: 'remind', after: day, execute: () => reply('See you tomorrow!') })]
  }
  override run() {
    return finish('Goodbye.')
  }
}

class Farewell extends EndStep {
  static override readonly id = 'Farewell'
}

class Booking extends Flow {
  static override readonly id = 'Booking'
  override steps() {
    return [AskWish, PickTime, Visit, Farewell, Deposit]
  }
}

const script: ModelScript = [
  {
    toolCalls: [{ name: 'find_times', input: { day: 'Friday', guests: 2 } }],
    usage: { inputTokens: 214, outputTokens: 19 },
  },
]

beforeAll(launchBrowser)
afterAll(closeBrowser)
afterEach(() => void vi.useRealTimers())

/** The width and the height in the header of a PNG. */
function sizeOf(png: Buffer): readonly [number, number] {
  return [png.readUInt32BE(16), png.readUInt32BE(20)]
}

test.for([
  ['studio.png', 1440, 900, 'light'],
  ['studio-phone.png', 375, 812, 'dark'],
] as const)('%s is the studio after a conversation', async ([name, width, height, scheme], context) => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2027-03-04T09:00:00') })
  const written = mkdtempSync(join(tmpdir(), 'studio-picture-'))
  const handler = createStudioHandler({ flows: [Booking], setup: { script }, folder: written, page: pageText })
  const server = await listen(handler.fetch, 0)
  const origin = `http://127.0.0.1:${server.port}`
  const studio: StudioServer = {
    origin,
    url: `${origin}/#${handler.token}`,
    folder: written,
    restart: async () => undefined,
    async close() {
      await Promise.all([handler.close(), server.close()])
      rmSync(written, { recursive: true })
    },
  }
  context.onTestFinished(() => studio.close())
  const { page, say, reads, wrong } = await openStudio(context, studio, { width, scheme })
  await page.setViewportSize({ width, height })
  await page.getByText('Say something to begin.').waitFor()
  await say('A table for two on Friday, please.')
  await reads('These times are free')
  await page.getByRole('button', { name: '19:30' }).click()
  await reads('A deposit of 20 euros')
  await say('Yes, please.')
  await reads('We look forward to your visit')
  expect(await page.locator('.log > .turn').count()).toBe(3)

  // What the model got. On a phone the inspector is in another tab.
  if (width > 1000) {
    await page.getByRole('button', { name: 'Turn 1' }).click()
    await page.locator('summary', { hasText: 'What changed' }).click()
    await page.locator('summary', { hasText: 'any/small' }).click()
  }
  await page.mouse.move(0, 0)
  const png = await page.screenshot({ animations: 'disabled', caret: 'hide' })
  if (process.env.UPDATE_PICTURES === '1') {
    mkdirSync(folder, { recursive: true })
    writeFileSync(new URL(name, folder), png)
  }
  const kept = readFileSync(new URL(name, folder))
  expect([sizeOf(kept), kept.length < 150 * 1024]).toEqual([sizeOf(png), true])
  expect(sizeOf(png)).toEqual([width, height])
  expect(wrong).toEqual([])
  await page.close()
})
