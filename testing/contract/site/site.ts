/** The site that `npm run docs` has built: its files, and the addresses that a browser opens without a server. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const folder = join(import.meta.dirname, '../../../site')

/** Every file of the site, by its path in it. */
export function filesOfSite(): string[] {
  const all = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = all.filter((entry) => entry.isFile())
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1)).sort()
}

/** The text of a file of the site. */
export const readPage = (path: string): string => readFileSync(join(folder, path), 'utf8')

/** The address of a page, from the disk. */
export const addressOf = (path: string): string => pathToFileURL(join(folder, path)).href

/** Ten pages of every kind. They are looked at by eye, too, when the style sheet changes. */
export const tenPages = [
  'index.html',
  'guides/get-started.html',
  'guides/writing-flows.html',
  'guides/http.html',
  'guides/sessions-and-stores.html',
  'guides/troubleshooting.html',
  'guides/decisions.html',
  'project/changelog.html',
  'modules/turnkeeper.html',
  'classes/turnkeeper.FlowEngine.html',
] as const
