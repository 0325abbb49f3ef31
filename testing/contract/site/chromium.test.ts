/** The site in Chromium, opened from the disk: its search, how it fits a phone, and what axe finds in it. */
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closeBrowser, launchBrowser, openPage } from '../browser/chromium.js'
import { addressOf, tenPages } from './site.js'

/** axe takes a second or two for a long page, and much longer on a machine that is busy. */
const patient = { timeout: 300_000 }

beforeAll(launchBrowser)
afterAll(closeBrowser)

/** The addresses of what a search finds, in its order. */
async function searchFor(page: Page, words: string): Promise<string[]> {
  await page.click('#tsd-search-trigger')
  await page.fill('#tsd-search-input', words)
  await page.waitForSelector('#tsd-search-results li a')
  const found = await page.$$eval('#tsd-search-results li a', (links) =>
    links.map((link) => link.getAttribute('href') ?? ''),
  )
  await page.keyboard.press('Escape')
  return found.map((href) => href.replace(/^.*\/(?=\w+\/[^/]+$)/, ''))
}

test('a search finds guides, without a server', async (context) => {
  const expected = {
    rollback: ['guides/failures.html', 'guides/effects.html'],
    idempotency: ['guides/retries.html'],
    'Redis Cluster': ['guides/operations.html', 'guides/sessions-and-stores.html'],
    FlowEngine: ['classes/turnkeeper.FlowEngine.html'],
  }
  for (const [words, places] of Object.entries(expected)) {
    const page = await openPage(context, addressOf('guides/glossary.html'))
    expect((await searchFor(page, words)).slice(0, 5), words).toEqual(expect.arrayContaining(places))
    await page.close()
  }
})

test('no page scrolls sideways on a phone, and the menu has every guide', async (context) => {
  const page = await openPage(context, addressOf('index.html'))
  await page.setViewportSize({ width: 390, height: 844 })
  for (const path of tenPages) {
    await page.goto(addressOf(path))
    const widths = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth])
    expect([path, ...widths]).toEqual([path, 390, 390])
  }
  await page.close()

  const stranger = await openPage(context, addressOf('index.html'))
  await stranger.setViewportSize({ width: 390, height: 844 })
  await stranger.click('#tsd-toolbar-menu-trigger')
  await stranger.click('.site-menu summary:has-text("Guides")')
  await stranger.click('.site-menu a:has-text("Get started")')
  expect(stranger.url()).toBe(addressOf('guides/get-started.html'))
  await stranger.close()
})

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly target: readonly string[] }[]
}

/** What axe finds that is serious: in `within` of the page alone, if it is named. */
async function violationsOf(page: Page, within?: string): Promise<Violation[]> {
  await page.evaluate(axe.source)
  const found = await page.evaluate((selector) => {
    const { axe } = globalThis as unknown as {
      axe: { run(context: unknown, options: object): Promise<{ violations: Violation[] }> }
    }
    return axe.run(selector === undefined ? document : { include: [selector] }, { resultTypes: ['violations'] })
  }, within)
  return found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
}

test.for(['light', 'dark'] as const)(
  'axe finds nothing serious in our own content, %s',
  patient,
  async (colorScheme, context) => {
    const page = await openPage(context, addressOf('index.html'))
    await page.emulateMedia({ colorScheme })
    for (const path of tenPages) {
      await page.goto(addressOf(path))
      expect([path, await violationsOf(page, '.col-content .tsd-typography')]).toEqual([path, []])
    }
    await page.close()
  },
)

test('what axe finds in the theme is known', patient, async (context) => {
  const page = await openPage(context, addressOf('index.html'))
  const known = new Set<string>()
  for (const path of ['guides/glossary.html', 'modules/turnkeeper.html', 'classes/turnkeeper.FlowEngine.html']) {
    await page.goto(addressOf(path))
    for (const { id } of await violationsOf(page)) known.add(id)
  }
  // The headings of groups of names are links inside of what folds the group.
  expect([...known].sort()).toEqual(['nested-interactive'])
  await page.close()
})
