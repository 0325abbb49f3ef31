/** Finds links of Markdown pages that lead nowhere: in the repository, and in the package that is made of it. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

/** The text of a page without its code blocks. */
export function proseOf(root: string, page: string): string {
  return readFileSync(join(root, page), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '')
}

/** The anchors that GitHub makes of a page's headings. */
function anchorsOf(root: string, page: string): Set<string> {
  const headings = proseOf(root, page).matchAll(/^#+ (.*)$/gm)
  return new Set(
    Array.from(headings, ([, text = '']) =>
      text
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  )
}

/**
 * What is wrong with a relative link of a page; `undefined` if it leads to a file below `root`, and to a heading in it.
 */
export function linkProblem(root: string, page: string, link: string): string | undefined {
  const [path = '', anchor] = link.split('#', 2)
  const target = path === '' ? page : posix.join(dirname(page), path)
  if (target.startsWith('..') || !existsSync(join(root, target))) return `${page}: ${link} leads nowhere`
  if (anchor === undefined || !target.endsWith('.md') || anchorsOf(root, target).has(anchor)) return undefined
  return `${page}: ${link} names no heading of ${target}`
}

/** The relative links of a page: those without a scheme. */
export function relativeLinksOf(root: string, page: string): string[] {
  const links = Array.from(proseOf(root, page).matchAll(/\]\(([^)\s]+)\)/g), ([, link = '']) => link)
  return links.filter((link) => !/^[a-z]+:/.test(link))
}
