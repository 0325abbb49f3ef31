// The page of the studio as a developer uses it: with a wide screen and a narrow one, by day and by night, with and
// without a mouse; and what flows and users say in it stays text.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import type { LineView, MapMove, MapStep, TurnDetail, TurnView } from '../../studio/api/types.js'
import { findings } from '../browser/axe-findings.js'
import { closeBrowser, launchBrowser } from '../browser/chromium.js'
import { type Answers, openStudio, pageText, type StudioPage, type StudioServer, serveStudio } from './studio-server.js'

type View = Parameters<typeof openStudio>[2]

const servers: StudioServer[] = []
const pages: Page[] = []

beforeAll(launchBrowser)
afterAll(closeBrowser)
afterEach(async () => {
  await Promise.all(pages.splice(0).map((page) => page.close()))
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

async function serve(answers?: Answers): Promise<StudioServer> {
  const server = await serveStudio(answers)
  servers.push(server)
  return server
}

async function open(context: TestContext, server: StudioServer, view?: View): Promise<StudioPage> {
  const studio = await openStudio(context, server, view)
  pages.push(studio.page)
  return studio
}

/** A page with a new conversation, which begins by itself. */
async function begin(context: TestContext, view?: View): Promise<StudioPage & { readonly server: StudioServer }> {
  const server = await serve()
  const studio = await open(context, server, view)
  await studio.page.getByText('Say something to begin.').waitFor()
  return { ...studio, server }
}

async function talk({ say, reads }: StudioPage, ...texts: readonly (readonly [said: string, read: string])[]) {
  for (const [said, read] of texts) {
    await say(said)
    await reads(read)
  }
}

function press(page: Page, name: string | RegExp): Promise<void> {
  return page
    .getByRole('button', typeof name === 'string' ? { name, exact: true } : { name })
    .last()
    .click()
}

const summary = (page: Page, text: string) => page.locator('summary', { hasText: text })
const turn = (page: Page, number: number) => page.locator('.turn').nth(number - 1)

describe('has nothing that axe finds, and says nothing to the console', () => {
  test.for([
    { width: 1440, scheme: 'light' },
    { width: 1440, scheme: 'dark' },
    { width: 375, scheme: 'light' },
    { width: 375, scheme: 'dark' },
  ] as const)('at $width pixels, $scheme', async (view, context) => {
    const server = await serve()
    const studio = await open(context, server, view)
    const { page, wrong } = studio
    const found: Record<string, string[]> = {}
    const look = async (state: string): Promise<void> => {
      found[state] = await findings(page)
    }
    await page.getByText('Say something to begin.').waitFor()
    await look('nothing')
    await talk(studio, ['Hello', 'You said'], ['look', 'You said'])
    await look('a model step')
    await talk(studio, ['take', 'Refund.'], ['parts', 'How shall'])
    for (const event of ['decision', 'feedback']) await summary(page, event).click()
    await look('all parts and events')
    await talk(studio, ['move', 'Which street?'], ['Mill Lane', 'To Mill Lane.'], ['fail', 'FLOW_ERROR'])
    await look('an error')
    await turn(page, 2).getByRole('button', { name: 'Go on from here' }).click()
    await page.getByRole('button', { name: /^Turn 2/, pressed: true }).waitFor()
    await studio.say('take')
    await page.getByRole('alertdialog', { name: 'Run the tool take for real?' }).waitFor()
    await look('a question')
    await press(page, 'Run it')
    await studio.reads('Turn 3')
    await talk(studio, ['html', 'Turn 4'], ['svg', 'Turn 5'])
    await look('replies in frames')
    if (view.width === 375) {
      await summary(page, 'Time, save, open').click()
      await look('the time')
      for (const name of ['Map', 'Inspector']) {
        await press(page, name)
        await look(name)
      }
    }
    await summary(page, 'Save…').click()
    const { x = 0, width = 0 } = (await page.getByRole('button', { name: 'Save', exact: true }).boundingBox()) ?? {}
    expect([x > 0, x + width < view.width]).toEqual([true, true])
    for (const call of await page.locator('.call > summary:visible').all()) await call.click()
    await look('everything open')
    expect(found).toEqual(Object.fromEntries(Object.keys(found).map((state) => [state, []])))
    expect(wrong).toEqual([])
  })

  test('without its token: it says what to do', async (context) => {
    const server = await serve()
    const { page } = await open(context, { ...server, url: `${server.origin}/#other` })
    await page.getByText('Open the whole address that the studio printed').waitFor()
    expect(await findings(page)).toEqual([])
  })
})

describe('a conversation', () => {
  test('has events with forms of their payloads, and says who sent them', async (context) => {
    const studio = await begin(context)
    const { page, reads } = studio
    await talk(studio, ['Hello', 'You said'], ['take', 'Refund.'])
    await summary(page, 'decision').click()
    const decision = page.locator('.event').filter({ hasText: 'decision' })
    await decision.getByLabel('Approved').check()
    await decision.getByLabel('amount').fill('7')
    await decision.getByLabel('reason').selectOption('late')
    await press(page, 'Send the event')
    await reads('7 are on their way.')
    await decision.getByLabel('Approved').check()
    await decision.getByLabel('amount').fill('9')
    await decision.getByLabel('reason').selectOption('late')
    await decision.getByRole('button').click()
    await reads('9 are on their way.')
    await reads('The application sent the event decision')
    await summary(page, 'feedback').click()
    const feedback = page.locator('.event').filter({ hasText: 'feedback' })
    await feedback.getByLabel('Payload as JSON').fill('{')
    await feedback.getByRole('button').click()
    await feedback.getByText('The payload is not valid JSON.').waitFor()
    await feedback.getByLabel('Payload as JSON').fill('{"stars":[5]}')
    await feedback.getByRole('button').click()
    await reads('{"stars":[5]}')
    await reads('You sent the event feedback')
    await press(page, 'next timer')
    await reads('Are you still there?')
    await reads('The clock sent the event remind')
  })

  test('has buttons and forms, of which only the newest can be used', async (context) => {
    const studio = await begin(context)
    const { page, reads } = studio
    await talk(studio, ['Hello', 'You said'], ['take', 'Refund.'], ['parts', 'How shall'], ['parts', 'How shall'])
    await page.getByRole('button', { name: /^Turn 4/ }).waitFor()
    const ways = page.getByRole('button', { name: 'To your card' })
    expect([await ways.nth(0).isDisabled(), await ways.nth(1).isDisabled()]).toEqual([true, false])
    await page.getByText('shelf {"row":3').first().waitFor()
    await turn(page, 4).getByLabel('E-mail').fill('ada@shop.example')
    await turn(page, 4).getByRole('button', { name: 'Send the form' }).click()
    await reads('Thank you for the details.')
    await ways.nth(1).click()
    await reads('You pressed')
  })

  test('sends with Enter, and takes files: an image as one, another as a link that saves it', async (context) => {
    const studio = await begin(context)
    const { page, say, reads } = studio
    const message = page.getByLabel('Message')
    await message.fill('One')
    await message.press('Shift+Enter')
    await message.pressSequentially('two')
    await message.press('Enter')
    await reads('One\ntwo')
    const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
    await page.getByLabel('Files').setInputFiles([
      { name: 'fern.gif', mimeType: 'image/gif', buffer: gif },
      { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('water it') },
    ])
    await say('Look')
    await reads('note.txt')
    const shown = turn(page, 2)
    expect(await shown.locator('img').evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1)
    const [saved] = await Promise.all([page.waitForEvent('download'), shown.getByRole('link').click()])
    expect(saved.suggestedFilename()).toBe('note.txt')
    expect(await page.getByLabel('Files').evaluate((input: HTMLInputElement) => input.files?.length)).toBe(0)
  })

  test('streams its reply and its tools, and takes back what a step said before', async (context) => {
    const updates = [
      { type: 'lines', flows: ['Shop'], lines: [summaryOf(viewOf({}))], run: 'one' },
      { type: 'tool', line: 'a', text: 'look_up' },
      { type: 'text', line: 'a', text: 'Wro' },
      { type: 'reset', line: 'a', text: '' },
      { type: 'text', line: 'a', text: 'Rig' },
      { type: 'text', line: 'other', text: 'Not here' },
      { type: 'text', line: 'a', text: 'ht' },
    ]
    const line = viewOf({ isBusy: true })
    const { page } = await open(context, await serve({ updates: () => streamOf(updates), line: () => line }))
    await page
      .locator('[aria-busy=true]')
      .filter({ hasText: 'Tool: look_up' })
      .getByText('Right', { exact: true })
      .waitFor()
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    expect(await page.getByRole('button', { name: '1 hour' }).isDisabled()).toBe(true)
  })

  test('goes back: a fork asks before it runs anything again, and a replay too', async (context) => {
    const studio = await begin(context)
    const { page, say, reads } = studio
    await talk(studio, ['Hello', 'You said'], ['take', 'Refund.'], ['pay', 'Paid: 24.5'])
    await turn(page, 1).getByRole('button', { name: 'Go on from here' }).click()
    await page.getByRole('button', { name: /^Turn 1/, pressed: true }).waitFor()
    expect(await page.getByLabel('Message').evaluate((text) => text === document.activeElement)).toBe(true)
    await page
      .getByRole('option', { name: 'shop-2, 1 turn, fork of shop-1 after turn 1' })
      .waitFor({ state: 'attached' })
    await say('take')
    const question = page.getByRole('alertdialog', { name: 'Run the tool take for real?' })
    await question.getByText('{"order":"A-17"}').waitFor()
    await question.getByText('It ran in the earlier line').waitFor()
    expect(await question.evaluate((panel) => panel === document.activeElement)).toBe(true)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await reads('Refund.')
    await question.waitFor({ state: 'detached' })
    await turn(page, 1).getByRole('button', { name: 'Again from here' }).click()
    await press(page, 'Do not run it: the model gets a refusal')
    await page
      .getByRole('option', { name: 'shop-3, 2 turns, fork of shop-2 from the start' })
      .waitFor({ state: 'attached' })
    await turn(page, 1).getByText('same', { exact: true }).waitFor()
    await page.locator('.differs').filter({ hasText: 'differs: ' }).waitFor()
  })

  test('is saved below the folder, and a stored session is opened to be read', async (context) => {
    const studio = await begin(context)
    const { page, server } = studio
    await talk(studio, ['Hello', 'You said'])
    await summary(page, 'Save…').click()
    await page.getByLabel('Save as').selectOption('scenario')
    await page.getByLabel('Name').fill('A greeting')
    await press(page, 'Save')
    await page
      .getByRole('status')
      .filter({ hasText: 'Written: ' })
      .filter({ hasText: 'npx turnkeeper scenarios' })
      .waitFor()
    expect(readdirSync(server.folder, { recursive: true }).join(' ')).toContain('a-greeting')
    const file = page.getByLabel('Open a session…')
    await file.setInputFiles({ name: 'a.json', mimeType: 'application/json', buffer: Buffer.from('{') })
    await page.getByText('The file is not valid JSON.').waitFor()
    const texts = readdirSync(server.folder, { recursive: true, withFileTypes: true })
      .filter(({ name }) => name.endsWith('.json'))
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    const stored = JSON.parse(texts.find((text) => text.includes('You said: Hello')) ?? '{}')
    const session = Buffer.from(JSON.stringify(stored.line.turns[0].document))
    await file.setInputFiles({ name: 'a.json', mimeType: 'application/json', buffer: session })
    await page.getByRole('option', { name: /^opened-shop-1-1, 1 turn, read-only$/ }).waitFor({ state: 'attached' })
    await studio.reads('You said: Hello')
    await page.getByLabel('Message').waitFor({ state: 'detached' })
  })

  test('that is read-only has nothing to send, and no way back', async (context) => {
    const history = [turnOf({ reply: 'Stored.', durationMs: 0 })]
    const line = viewOf({ isReadOnly: true, history, map: { steps: [], moves: [] } })
    const { page, wrong } = await open(context, await serveLine(line))
    await page.getByText('Stored.').first().waitFor()
    await page.getByText('This session can only be read.').waitFor()
    await page.getByRole('button', { name: 'Turn 1 · Ask', exact: true }).waitFor()
    await page.locator('#Inspector').getByText('1970').waitFor()
    expect(await page.getByRole('button', { name: /from here|1 hour|Send/ }).count()).toBe(0)
    expect([await page.getByLabel('Message').count(), await summary(page, 'Save…').count()]).toEqual([0, 0])
    expect([await findings(page), wrong]).toEqual([[], []])
  })

  test('keeps what was refused, and says why once', async (context) => {
    const line = viewOf({ events: [{ name: 'ready', byUser: false }] })
    const { page } = await open(context, await serveLine(line, {}, { send: refuse, event: refuse }))
    await page.getByLabel('Message').fill('Hello')
    await page.getByLabel('Files').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') })
    await page.getByRole('button', { name: 'Send', exact: true }).hover()
    expect(await findings(page)).toEqual([])
    await page.getByLabel('Message').press('Enter')
    await page.locator('.notice .problem').getByText('Not now.').waitFor()
    expect(await page.getByLabel('Message').inputValue()).toBe('Hello')
    expect(await page.getByLabel('Files').evaluate((input: HTMLInputElement) => input.files?.length)).toBe(1)
    await summary(page, 'ready').click()
    await press(page, 'Send the event')
    await page.locator('.event .problem').getByText('Not now.').waitFor()
    expect(await page.getByText('Not now.').count()).toBe(1)
  })

  test('has buttons only as long as the session takes them, and the form of the newest turn', async (context) => {
    const parts = partsOf('Yes').filter(({ type }) => type === 'choices' || type === 'form')
    const history = [1, 2, 3].map((number) => turnOf({ number, parts }))
    const { page } = await open(context, await serveLine(viewOf({ history, choices: 2 })))
    await turn(page, 3).waitFor()
    const isOff = (set: string) =>
      page.locator(`fieldset.${set}`).evaluateAll((sets) => sets.map((one) => (one as HTMLFieldSetElement).disabled))
    expect([await isOff('choices'), await isOff('form')]).toEqual([
      [true, false, true],
      [true, true, false],
    ])
  })

  test('moves the time as far as it is told', async (context) => {
    const studio = await begin(context)
    await talk(studio, ['Hello', 'You said'], ['take', 'Refund.'])
    const time = studio.page.getByLabel('Another time')
    await time.fill('soon')
    await time.press('Enter')
    expect(await time.evaluate((input: HTMLInputElement) => input.validity.patternMismatch)).toBe(true)
    await time.fill('90m')
    await time.press('Enter')
    await studio.reads('Are you still there?')
  })

  test('has nothing more to send when it has ended', async (context) => {
    const studio = await begin(context)
    await talk(studio, ['Hello', 'You said'], ['take', 'Refund.'], ['bye', 'Goodbye.'])
    await studio.page.getByText('The conversation is completed.').waitFor()
    expect(await studio.page.getByLabel('Message').count()).toBe(0)
    expect(await studio.page.getByRole('button', { name: '1 week' }).isDisabled()).toBe(true)
  })

  test('of several flows begins with the one that is chosen', async (context) => {
    const updates = () => streamOf([{ type: 'lines', flows: ['Shop', 'Other'], lines: [], run: 'one' }])
    const { page } = await open(context, await serve({ updates }))
    await page.getByText('Begin with "New conversation".').waitFor()
    await page.getByLabel('Flow').selectOption('Other')
    await press(page, 'New conversation')
    await page.getByText("There is no flow 'Other'.").waitFor()
  })

  test('says that the code does not load, and goes on when it does', async (context) => {
    let loads = true
    const server = await serve({ updates: () => (loads ? undefined : new Response('', { status: 503 })) })
    const studio = await open(context, server)
    const { page } = studio
    await talk(studio, ['Hello', 'You said'])
    loads = false
    await server.restart()
    await page.getByText('Its code may not load: see the terminal.').waitFor()
    expect(await findings(page)).toEqual([])
    const disabled = page.getByRole('button', { name: 'Again from here', disabled: true })
    expect([await disabled.count(), await page.locator('[inert] textarea').count()]).toEqual([1, 1])
    loads = true
    await page.getByText('The code was loaded again.').waitFor()
    await talk(studio, ['Again', 'You said: Again'])
  })

  test('stays when the process restarts', async (context) => {
    const studio = await begin(context)
    await talk(studio, ['Hello', 'You said'])
    await studio.server.restart()
    await studio.page.getByText('The code was loaded again.').waitFor()
    await talk(studio, ['Again', 'You said: Again'])
  })
})

describe('the inspector', () => {
  test('shows what the chosen turn did', async (context) => {
    const studio = await begin(context)
    const { page } = studio
    await talk(studio, ['Hello', 'You said'], ['look', 'You said'], ['take', 'Refund.'])
    const inspector = page.locator('#Inspector')
    await inspector.getByText('→').first().waitFor()
    await turn(page, 2).click()
    await page.getByRole('button', { name: /^Turn 2/, pressed: true }).waitFor()
    await inspector.getByText('look_up', { exact: true }).first().waitFor()
    await inspector.locator('.call > summary').first().click()
    await inspector.getByText('You work for an orchid shop.').first().waitFor()
    await inspector.getByText('tool look_up').first().waitFor()
    await inspector.locator('.added').filter({ hasText: '+' }).first().waitFor()
    await inspector
      .locator('.changed')
      .filter({ hasText: /^turns$/ })
      .waitFor()
  })
})

describe('the inspector, of what the server answers,', () => {
  test('shows the chosen turn, though the answer for another one comes later', async (context) => {
    let answerFirst = (): void => undefined
    const first = new Promise<void>((resolve) => {
      answerFirst = resolve
    })
    const history = [1, 2, 3].map((number) => turnOf({ number }))
    const turnAnswer = async ({ turn: number }: { turn?: number }) => {
      if (number === 1) await first
      return detailOf({ error: { code: 'FLOW_ERROR', text: `Of turn ${number}.`, frames: [] } })
    }
    const { page } = await open(context, await serveLine(viewOf({ history }), {}, { turn: turnAnswer }))
    await page.getByText('Of turn 3.').waitFor()
    const answered = page.waitForResponse((response) => /"turn":1}$/.test(response.request().postData() ?? ''))
    const asked = page.waitForRequest((request) => /"turn":1}$/.test(request.postData() ?? ''))
    await turn(page, 1).getByRole('button', { name: 'Turn 1' }).click()
    await asked
    await turn(page, 2).getByRole('button', { name: 'Turn 2' }).click()
    await page.getByText('Of turn 2.').waitFor()
    answerFirst()
    await (await answered).finished()
    await page.evaluate(() => new Promise(requestAnimationFrame))
    expect(await page.locator('#Inspector').textContent()).toContain('Turn 2 · ')
    expect(await page.getByText('Of turn 2.').count()).toBe(1)
  })

  test('says in words what was used and what is open', async (context) => {
    const usage = { inputTokens: 214, outputTokens: 19, modelCalls: 1, cost: 0.003 }
    const timers = [{ name: 'remind', at: '2000-01-01T12:00:00Z' }]
    const frames = [
      { step: 'Pay', entry: '1.1' },
      { step: 'Street', entry: '2.1', called: 'Address', timers },
    ]
    const line = viewOf({ history: [turnOf({})] })
    const { page } = await open(context, await serveLine(line, { usage, frames }))
    const inspector = page.locator('#Inspector')
    await inspector.getByText('214 tokens in, 19 out, 1 model call, cost 0.003').waitFor()
    const texts = await inspector.locator('p').allTextContents()
    expect(texts).toContain('Call of Address, which is in Street')
    expect(texts.find((text) => text.startsWith('remind'))).toMatch(/^remind of Street: .*2000/)
  })
})

test('asks the server once for updates that come together, and for no turn that cannot have changed', async (context) => {
  const line = viewOf({ history: [turnOf({})], isBusy: true })
  const changed = { type: 'changed', line: 'a' }
  let tell = (_updates: readonly object[]): void => undefined
  const body = new ReadableStream({
    start(controller) {
      tell = (updates) => controller.enqueue(updates.map((update) => `${JSON.stringify(update)}\n`).join(''))
    },
  }).pipeThrough(new TextEncoderStream())
  const updates = () => new Response(body)
  const { page } = await open(context, await serveLine(line, {}, { updates }))
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  tell([{ type: 'lines', flows: ['Shop'], lines: [summaryOf(line)], run: 'one' }, changed, changed])
  await page.locator('#Inspector').getByText('Turn 1 · ').waitFor()
  // The list has no turn yet.
  await page.getByRole('option', { name: 'a, 1 turn', exact: true }).waitFor({ state: 'attached' })
  for (let time = 0; time < 2; time++) {
    const answered = page.waitForResponse(/line$/)
    tell([changed, changed])
    await (await answered).finished()
  }
  expect(asked).toEqual(['/api/line', '/api/turn', '/api/line', '/api/line'])
})

test('a question says what runs, and what happens without it', async (context) => {
  const question = { id: 'one', kind: 'once' as const, name: 'refunds.create' }
  const { page } = await open(context, await serveLine(viewOf({ isBusy: true, question })))
  await page.getByRole('alertdialog', { name: 'Run the effect refunds.create for real?' }).waitFor()
  await page.getByRole('button', { name: 'Do not run it: the turn ends, and the session stays as it was' }).waitFor()
})

describe('the map', () => {
  /** Five rows of eight steps, most with moves to two of the next row. */
  const steps = Array.from({ length: 40 }, (_, index): MapStep => {
    const kind = (['model', 'logic', 'end'] as const)[index % 3] as 'model'
    return { id: `Step${index}OfALongFlow`, kind, seen: index % 2, ...(index > 35 && { flow: 'Address' }) }
  })
  const moves = steps.flatMap(({ id: from }, index): MapMove[] =>
    [8, 9].flatMap((jump) => {
      const to = steps[index + jump]?.id
      return to === undefined ? [] : [{ from, to, declared: jump === 8, seen: index % 3, isOnPath: index === 0 }]
    }),
  )
  const map = { steps, moves: [...moves, { ...(moves[0] as MapMove), to: 'Gone' }] }
  const history = [turnOf({ path: [{ step: steps[0]?.id ?? '', level: 0 }] })]

  test.for([1440, 375])('of 40 steps is legible at %i pixels', async (width, context) => {
    const line = viewOf({ map, history, step: steps[39]?.id ?? '' })
    const { page, wrong } = await open(context, await serveLine(line), { width })
    if (width === 375) await press(page, 'Map')
    const picture = page.getByRole('group', { name: 'Map of the flow' })
    await picture.waitFor()
    const look = () =>
      picture.evaluate((svg: SVGSVGElement) => {
        const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width
        const boxes = Array.from(svg.querySelectorAll('.step'), (step) => step.getBoundingClientRect())
        const overlap = boxes.filter((one, index) =>
          boxes.some(
            (other, at) =>
              at > index &&
              one.left < other.right &&
              other.left < one.right &&
              one.top < other.bottom &&
              other.top < one.bottom,
          ),
        )
        const spilled = Array.from(svg.querySelectorAll('.step')).filter((step) => {
          const [shape, text] = ['rect', 'text'].map((name) => step.querySelector(name)?.getBoundingClientRect().width)
          return (shape ?? 0) < (text ?? 0)
        })
        const captions = Array.from(svg.querySelectorAll('.caption'), (caption) => caption.getBoundingClientRect())
        const covered = captions.filter(
          ({ bottom, top }) =>
            top < svg.getBoundingClientRect().top ||
            boxes.slice(36).some((box) => box.top < bottom && top < box.bottom),
        )
        const sizes = Array.from(svg.querySelectorAll('text'), (text) => parseFloat(getComputedStyle(text).fontSize))
        return {
          size: Math.min(...sizes) * scale,
          steps: boxes.length,
          overlap: overlap.length,
          spilled: spilled.length,
          covered: covered.length,
        }
      })
    const { size, ...shapes } = await look()
    expect(shapes).toEqual({ steps: 40, overlap: 0, spilled: 0, covered: 0 })
    expect(size).toBeGreaterThanOrEqual(12)
    // The map scrolls to the current step after it is drawn.
    await page.waitForFunction(() => {
      const [step, room] = ['.step.current', '.scroller'].map((one) =>
        document.querySelector(one)?.getBoundingClientRect(),
      )
      if (!step || !room) return false
      return step.left > room.left && step.right < room.right && step.top > room.top && step.bottom < room.bottom
    })
    expect([await findings(page), wrong]).toEqual([[], []])
  })

  test('shows what was seen, what is declared, and the path, as a picture and in words', async (context) => {
    const studio = await begin(context)
    const { page } = studio
    await talk(studio, ['Hello', 'You said'], ['take', 'Refund.'], ['move', 'Which'], ['Mill Lane', 'To Mill Lane.'])
    const list = page.locator('#Map title')
    await list
      .filter({ hasText: 'Refund: logic step, seen' })
      .filter({ hasText: 'current' })
      .waitFor({ state: 'attached' })
    const texts = await list.allTextContents()
    expect(texts).toContain('Ask to Refund: seen once, taken here')
    expect(texts).toContain('Ask to Hours: never seen')
    expect(texts).toContain('Refund calls Address/Street: seen once, taken here')
    expect(texts).toContain('Address/End returns to Refund: seen once, taken here')
    const dashOf = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((shape) => getComputedStyle(shape).strokeDasharray)
    expect([await dashOf('.move.path .line'), await dashOf('.move:not(.seen) .line')]).toEqual(['none', '4px, 3px'])
    await page.locator('.caption').filter({ hasText: 'Address' }).waitFor()
  })
})

test('on a narrow screen, a button for each pane shows one of them', async (context) => {
  const { page } = await begin(context, { width: 375 })
  await press(page, 'Inspector')
  await page.getByRole('button', { name: 'Inspector', pressed: true }).waitFor()
  const seen = await page.locator('.pane:visible').evaluateAll((panes) => panes.map(({ id }) => id))
  expect(seen).toEqual(['Inspector'])
})

/** Each ends as one would end the text around it. */
const attacks = [
  '<script>hacked = 1; alert(1)</script>',
  '<img src=/stolen onerror="hacked = 1">',
  '"><svg onload="hacked = 1">',
  '</textarea></select></title><a href="javascript:alert(1)" style="background:url(/stolen)">here</a>',
  'javascript:alert(1)',
  '__proto__',
  'W'.repeat(300),
]

describe('what flows, users, models and tools say is text', () => {
  test.for([1440, 375])('at %i pixels', async (width, context) => {
    const { page, wrong, stopped } = await open(context, await serveLine(...hostileLine()), { width })
    for (const name of width === 375 ? ['Inspector', 'Map', 'Conversation'] : []) {
      await press(page, name)
      expect(await findings(page)).toEqual([])
    }
    await page
      .locator('.turn')
      .nth(attacks.length - 1)
      .waitFor()
    const frames = page.locator('iframe')
    expect(await frames.count()).toBe(2 * attacks.length)
    expect(await frames.evaluateAll((all) => all.map((frame) => frame.getAttribute('sandbox')))).toEqual(
      Array.from({ length: 2 * attacks.length }, () => ''),
    )
    const made = await page.evaluate(() => {
      const all = Array.from(document.querySelectorAll('.studio *'))
      const attributes = all.flatMap((element) =>
        Array.from(element.attributes, ({ name, value }) => `${name}=${value}`),
      )
      return {
        hacked: Reflect.get(globalThis, 'hacked'),
        tags: all.map(({ tagName }) => tagName).filter((tag) => /^(?:script|object|embed|base|meta|link)$/i.test(tag)),
        attributes: attributes.filter((one) => /^(?:on|style=)|^(?:src|href)=(?!data:|https:)/i.test(one)),
      }
    })
    expect(made).toEqual({ hacked: undefined, tags: [], attributes: [] })
    expect(await findings(page)).toEqual([])
    expect(wrong).toEqual([])
    // Before the policy of the page would stop it.
    expect(stopped.join()).toContain('Blocked script execution')
  })
})

test('the page is one script and one style of at most 60 KiB, with the licences of what is in it', () => {
  expect(gzipSync(pageText).length).toBeLessThanOrEqual(60 * 1024)
  expect([pageText.split('<script>').length, pageText.split('<style>').length]).toEqual([2, 2])
  expect(pageText.match(/<\/script/g)).toHaveLength(1)
  expect(pageText).not.toMatch(/<[^>]+\s(?:src|on\w+)=/)
  for (const text of ['preact\n\nThe MIT License', '@dagrejs/dagre\n\nCopyright', '@dagrejs/graphlib\n\nCopyright'])
    expect(pageText).toContain(text)
})

function viewOf(given: Partial<LineView>): LineView {
  const map = { steps: [{ id: 'Ask', kind: 'model' as const, seen: 1 }], moves: [] }
  const empty = { history: [], events: [], timers: [], map, isBusy: false }
  return { id: 'a', flow: 'Shop', turns: 0, now: 0, state: 'running', step: 'Ask', ...empty, ...given }
}

function turnOf(given: Partial<TurnView>): TurnView {
  const said = { reply: '', contentType: 'text/plain', step: 'Ask', path: [{ step: 'Ask', level: 0 }] }
  return { input: { text: 'Hello' }, at: 0, durationMs: 1, number: 1, ...said, ...given }
}

function summaryOf({ id, flow, turns, isReadOnly }: LineView) {
  return { id, flow, turns, ...(isReadOnly && { isReadOnly }) }
}

/** Updates that do not end. */
function streamOf(updates: readonly object[]): Response {
  const text = updates.map((update) => `${JSON.stringify(update)}\n`).join('')
  const start = (controller: ReadableStreamDefaultController) => controller.enqueue(new TextEncoder().encode(text))
  return new Response(new ReadableStream({ start }))
}

function detailOf(detail: Partial<TurnDetail>): TurnDetail {
  return { changes: [], frames: [], calls: [], models: [], ...turnOf({}), ...detail }
}

const refuse = () => ({ problem: 'Not now.' })

/** A studio with one line, as it is given. */
function serveLine(line: LineView, detail: Partial<TurnDetail> = {}, answers: Answers = {}): Promise<StudioServer> {
  const updates = [{ type: 'lines', flows: [line.flow], lines: [summaryOf(line)], run: 'one' }]
  const given = { updates: () => streamOf(updates), line: () => line, turn: () => detailOf(detail) }
  return serve({ ...given, ...answers })
}

/** A line in which everything attacks the page. */
function hostileLine(): [LineView, Partial<TurnDetail>] {
  const all = attacks.join('\n')
  const history = attacks.flatMap((attack) => {
    const turns = [
      turnOf({
        reply: attack,
        parts: partsOf(attack),
        step: attack,
        error: { code: { innerHTML: attack } as never, text: attack, frames: [attack] },
      }),
      turnOf({ reply: attack, contentType: 'text/html' }),
      turnOf({ reply: `<svg xmlns="http://www.w3.org/2000/svg">${attack}</svg>`, contentType: 'image/svg+xml' }),
      turnOf({ reply: btoa(attack), contentType: 'text/html', encoding: 'base64' }),
    ]
    const event = { name: attack, payload: { [attack]: attack }, by: attack }
    const attachments = [{ type: 'file' as const, mediaType: 'text/html', name: attack, data: btoa(attack) }]
    return turns.map((one) => ({ ...one, input: { text: attack, event, attachments, sender: 'application' as const } }))
  })
  const schema = { properties: { [all]: { type: 'string', title: all, description: all, enum: [all] } } }
  const line = viewOf({
    ...{ flow: all, history, step: attacks[0] ?? '' },
    question: { id: all, kind: 'tool', name: all, input: { all }, reason: all },
    events: [
      { name: all, byUser: true, schema },
      { name: all, byUser: false },
    ],
    timers: [{ name: all, step: all, at: 0 }],
    map: { steps: attacks.map((id) => ({ id, kind: 'logic', seen: 1, flow: all })), moves: [] },
  })
  const change = { key: all, kind: 'added' as const, after: { [all]: all } }
  const said = [{ role: all, parts: [{ type: 'text', text: all }, { all }] }]
  const tools = [{ name: all, description: all, inputSchema: { description: all } }]
  return [
    line,
    {
      changes: [{ key: all, kind: 'changed', children: [change] }],
      frames: [{ step: all }],
      calls: [{ kind: 'tool', name: all, input: { all }, result: all, error: all, durationMs: 1 }],
      models: [{ provider: all, model: all, step: all, system: all, messages: said, tools, answer: [{ text: all }] }],
    },
  ]
}

function partsOf(attack: string): NonNullable<TurnView['parts']> {
  const schema = {
    type: 'object',
    title: attack,
    properties: { a: { type: 'string', title: attack, default: attack } },
  }
  return [
    { type: 'choices', name: attack, options: [{ value: attack, label: attack }] },
    { type: 'card', title: attack, rows: [[attack, attack]] },
    { type: 'form', name: attack, schema, errors: { a: attack } },
    { type: 'file', name: attack, mediaType: attack, url: 'javascript:alert(1)' },
    { type: 'custom', name: attack, data: { [attack]: attack } },
  ]
}
