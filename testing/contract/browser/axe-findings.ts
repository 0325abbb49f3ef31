// What is wrong with a page for people who use it without a mouse, without eyes or on a telephone.
import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** What axe-core finds wrong, and whether the page is wider than its window. */
export async function findings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run())
  const isTooWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
  const found = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
  return isTooWide ? [...found, 'the page is wider than its window'] : found
}
