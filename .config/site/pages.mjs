/**
 * Decides which pages the site has, and in which order: those that the section "Documentation" of the README links to,
 * or names if the package does not have them, in groups by its headings. A page without a place there is an error of
 * the build, so that none can be forgotten.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const records = 'docs/decisions'

/** The groups of pages in a README: `{ title, pages }`, with the paths as they are written. */
export function groupsOf(readme) {
  const [, section = ''] = readme.split(/^## Documentation$/m)
  const [own] = section.split(/^## /m)
  const [, ...parts] = own.split(/^### /m)
  return parts.map((part) => ({
    title: part.slice(0, part.indexOf('\n')).trim(),
    pages: Array.from(
      part.matchAll(/\]\(([^)#\s]+\.md)(?:#[^)]*)?\)|`(docs\/[\w/-]+\.md)`/g),
      ([, linked, named]) => linked ?? named,
    ),
  }))
}

/** One sentence for each page of `existing` that `groups` have not, or have twice. */
export function problemsOf(groups, existing) {
  const listed = groups.flatMap(({ pages }) => pages)
  return [
    ...existing
      .filter((page) => !listed.includes(page))
      .map((page) => `${page} has no place on the site. Link it in the section "Documentation" of README.md.`),
    ...listed
      .filter((page, index) => listed.indexOf(page) !== index)
      .map(
        (page) =>
          `${page} is linked twice in the section "Documentation" of README.md, which is the order of the site.`,
      ),
  ]
}

const markdownIn = (folder) =>
  readdirSync(root + folder)
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `${folder}/${name}`)

/** The groups of this repository's README. */
export const groups = groupsOf(readFileSync(`${root}README.md`, 'utf8'))

/** What is wrong with them. */
export const problems = problemsOf(groups, markdownIn('docs'))

/** The pages on decisions. They are below the page that lists them, and not in the navigation. */
export const decisions = markdownIn(records).filter((page) => !page.endsWith('/README.md'))
