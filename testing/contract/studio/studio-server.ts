// The studio on a free port, and the page of it in a browser: what it shows, and what it does that it should not.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import type { TestContext } from 'vitest'
import { toNodeListener } from '../../../adapters/node/index.js'
import { createStudioHandler } from '../../../testing/studio/handler.js'
import { openPage } from '../browser/chromium.js'
import { Shop, script } from './orchid-shop.js'

const { buildStudioPage } = (await import(
  new URL('../../../.config/scripts/studio-page.mjs', import.meta.url).href
)) as {
  buildStudioPage(): Promise<string>
}
/** The page as the build writes it. */
export const pageText: string = await buildStudioPage()

/** What takes the place of a route's answer, by what the page sent; `undefined` for the studio's own. */
export type Answers = Readonly<Record<string, (given: { readonly turn?: number }) => unknown>>

export interface StudioServer {
  readonly origin: string
  readonly url: string
  /** The folder that it writes to. */
  readonly folder: string
  /** Ends the studio, and begins another one on the same port, as a change of the code does. */
  restart(): Promise<void>
  close(): Promise<void>
}

export async function serveStudio(answers: Answers = {}): Promise<StudioServer> {
  const folder = mkdtempSync(join(tmpdir(), 'studio-page-'))
  const start = (token?: string) =>
    createStudioHandler({
      flows: [Shop],
      setup: { script: script as never },
      folder,
      source: {
        file: fileURLToPath(new URL('orchid-shop.ts', import.meta.url)),
        exportNames: { Shop: 'Shop' },
        hasSetup: false,
      },
      page: pageText,
      ...(token === undefined ? {} : { token }),
    })
  let handler = start()
  const { token } = handler
  const listener = toNodeListener(async (request: Request) => {
    const answer = answers[new URL(request.url).pathname.slice('/api/'.length)]
    const given = await answer?.(await request.clone().json())
    if (given === undefined) return handler.fetch(request)
    return given instanceof Response ? given : Response.json(given)
  })
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    url: `${origin}/#${token}`,
    folder,
    async restart() {
      await handler.close()
      server.closeAllConnections()
      handler = start(token)
    },
    async close() {
      await handler.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The page of a studio. */
export interface StudioPage {
  readonly page: Page
  /** What went wrong in it: errors of the console, dialogs, requests to others. */
  readonly wrong: string[]
  /** What frames of replies wanted, and could not have. */
  readonly stopped: string[]
  say(text: string): Promise<void>
  /** Waits until the newest turn has this text and no turn is under way. */
  reads(text: string): Promise<void>
}

/** Opens the page; ends the test if there is no browser. */
export async function openStudio(
  context: TestContext,
  { url, origin }: StudioServer,
  { width = 1440, scheme = 'light' }: { width?: number; scheme?: 'light' | 'dark' } = {},
): Promise<StudioPage> {
  const page = await openPage(context, 'about:blank')
  const wrong: string[] = []
  const stopped: string[] = []
  page.on('dialog', (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    if (!/^(?:data|about):/.test(request.url()) && new URL(request.url()).origin !== origin) wrong.push(request.url())
  })
  page.on('console', (message) => {
    const { url: source } = message.location()
    if (message.type() === 'error') (source === 'about:srcdoc' ? stopped : wrong).push(`${message.text()} ${source}`)
  })
  page.on('pageerror', (error) => wrong.push(String(error)))
  await page.setViewportSize({ width, height: 900 })
  await page.emulateMedia({ colorScheme: scheme })
  await page.goto(url)
  const turns = page.locator('.log > .turn')
  return {
    page,
    wrong,
    stopped,
    async say(text) {
      await page.getByLabel('Message').fill(text)
      await page.getByLabel('Message').press('Enter')
    },
    async reads(text) {
      await turns
        .last()
        .filter({ hasText: text })
        .filter({ has: page.locator('[aria-pressed]') })
        .waitFor()
    },
  }
}
