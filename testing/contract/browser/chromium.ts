// The browser of the tests in this folder: Debian's Chromium, or the one that CHROMIUM_PATH names. Without one the
// tests are skipped by name; in CI they fail.
import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { TestContext } from 'vitest'

const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

let browser: Browser | undefined

/** Starts the browser, if there is one. */
export async function launchBrowser(): Promise<void> {
  if (existsSync(executablePath)) browser = await chromium.launch({ executablePath, args })
}

/** Ends the browser that was started, and its process with it. */
export async function closeBrowser(): Promise<void> {
  await browser?.close()
}

/** Opens a new page; ends the test if there is no browser. */
export async function openPage(context: TestContext, url: string): Promise<Page> {
  if (browser === undefined) {
    if (process.env.CI === 'true') throw new Error(`There is no Chromium at ${executablePath}. Set CHROMIUM_PATH.`)
    return context.skip(`There is no Chromium at ${executablePath}. Set CHROMIUM_PATH.`)
  }
  const page = await browser.newPage()
  await page.goto(url)
  return page
}
