/** Every link of the site leads to a file of it, and to a place in that file. Links to other sites are not followed. */
import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { filesOfSite, readPage } from './site.js'

const files = new Set(filesOfSite())
const pages = new Map([...files].filter((path) => path.endsWith('.html')).map((path) => [path, readPage(path)]))

const unescaped = (text: string): string => decodeURI(text.replaceAll('&amp;', '&').replaceAll('&#39;', "'"))

const anchors = new Map(
  Array.from(pages, ([path, html]) => [
    path,
    new Set(Array.from(html.matchAll(/\sid="([^"]*)"/g), ([, id = '']) => unescaped(id))),
  ]),
)

/** What is wrong with a link of `page`; `undefined` if it leads somewhere. */
function problemOf(page: string, link: string): string | undefined {
  const [path = '', anchor] = unescaped(link).split('#', 2)
  const target = path === '' ? page : posix.normalize(posix.join(posix.dirname(page), path))
  if (!files.has(target)) return `${page}: ${link} leads nowhere`
  if (anchor === undefined || anchor === '' || anchors.get(target)?.has(anchor)) return undefined
  return `${page}: ${link} names no place in ${target}`
}

test('every link and anchor leads somewhere', () => {
  const links = Array.from(pages, ([page, html]) =>
    Array.from(html.matchAll(/<(?:a|link|script|img)\s[^>]*?(?:href|src)="([^"]*)"/g), ([, link = '']) => ({
      page,
      link,
    })),
  ).flat()
  const internal = links.filter(({ link }) => !/^[a-z]+:/.test(link))
  expect(internal.length).toBeGreaterThan(5_000)
  expect(internal.map(({ page, link }) => problemOf(page, link)).filter((problem) => problem !== undefined)).toEqual([])
  expect(problemOf('guides/http.html', 'nowhere.html')).toBe('guides/http.html: nowhere.html leads nowhere')
  expect(problemOf('guides/http.html', 'limits.html#nothing')).toBe(
    'guides/http.html: limits.html#nothing names no place in guides/limits.html',
  )
})

test('every guide is a page, and every entry point has one by its import name', () => {
  const guides = ['index', 'guides/get-started', 'guides/decisions', 'project/changelog', 'project/security']
  const names = ['modules/turnkeeper', 'modules/turnkeeper_testing_vitest', 'classes/turnkeeper.FlowEngine']
  expect([...guides, ...names].filter((path) => !files.has(`${path}.html`))).toEqual([])
  expect(pages.get('index.html')).toContain('Use it if')
  expect(pages.get('guides/troubleshooting.html')).toContain('<title>Troubleshooting | Turnkeeper</title>')
})
