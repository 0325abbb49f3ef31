// The page of the example server in a browser, as a user has it: what one says, and what one reads.
import type { Page } from 'playwright-core'
import { type TestContext, vi } from 'vitest'
import { openPage } from './chromium.js'

/** The open page. */
export interface DeskPage {
  readonly page: Page
  say(text: string): Promise<void>
  /** Waits until the last entry of the conversation has this text. */
  reads(text: string): Promise<void>
  /** Waits until every message has its outcome. */
  idle(): Promise<void>
  /** Waits until the page says that it tries again. */
  triesAgain(): Promise<void>
}

/** Opens the page; ends the test if there is no browser. */
export async function openDesk(context: TestContext, origin: string): Promise<DeskPage> {
  const page = await openPage(context, origin)
  const last = page.locator('#conversation .text').last()
  return {
    page,
    async say(text) {
      await page.getByLabel('Your message').fill(text)
      await page.getByRole('button', { name: 'Send' }).click()
    },
    async reads(text) {
      await last.filter({ hasText: new RegExp(`^${text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`) }).waitFor()
    },
    idle: () => page.locator('#conversation[aria-busy=false]').waitFor(),
    triesAgain: () => page.getByRole('status').filter({ hasText: 'tries again' }).waitFor(),
  }
}

/** Waits until a check passes, as long as the browser's own waits, which a busy machine needs. */
export const eventually = (check: () => void | Promise<void>): Promise<void> => vi.waitFor(check, { timeout: 30_000 })
