/** Checks the contents of the package. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { linkProblem, relativeLinksOf } from '../page-links.js'

const packed = inject('packed')
const folder = join(inject('consumer'), 'node_modules', 'turnkeeper')

test('holds no test and nothing of the tools', () => {
  const left = /\.test(-d)?\.|(^|\/)contract\/|(^|\/)node_modules\/|(^|\/)package-lock\.json$|^\./
  const ofExamples = /^examples\/(bench|dist|docker|kubernetes|tsconfig)/
  expect(packed.filter((path) => left.test(path) || ofExamples.test(path))).toEqual([])
})

test('holds what is imported, run or read by an application, and not what it was made of', () => {
  expect([...new Set(packed.map((path) => path.split('/')[0]))].sort()).toEqual(
    ['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'bin', 'dist', 'docs', 'examples', 'package.json'].sort(),
  )
  expect(
    packed.filter((path) => /^docs\/(?!pictures\/).*\/|^docs\/(?:architecture|contributing)\.md$/.test(path)),
  ).toEqual([])
  // A map without its sources leads a debugger to files that are not there. The built files are not minified.
  expect(packed.filter((path) => path.endsWith('.map'))).toEqual([])
})

test('takes at most 7 MB, with the packages that come with it', () => {
  const modules = join(folder, '..')
  const bytes = readdirSync(modules, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
  console.log(`node_modules: ${bytes} bytes`)
  expect(bytes).toBeLessThanOrEqual(7_000_000)
})

test('runs nothing when it is installed', () => {
  const { scripts = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  expect(Object.keys(scripts).filter((name) => /^(?:pre|post)?install$|^(?:pre|post)?prepare$/.test(name))).toEqual([])
})

test('holds its papers', () => {
  expect(packed).toEqual(
    expect.arrayContaining(['LICENSE', 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'package.json']),
  )
})

describe('its pages', () => {
  const pages = packed.filter((path) => path.endsWith('.md'))

  test('are the guides, and what is beside the README', () => {
    const expected = ['README.md', 'docs/get-started.md', 'docs/troubleshooting.md']
    expect(pages).toEqual(expect.arrayContaining(expected))
  })

  test('have no relative link that leads out of the package, or nowhere in it', () => {
    const links = pages.flatMap((page) => relativeLinksOf(folder, page).map((link) => ({ page, link })))
    expect(links.length).toBeGreaterThan(500)
    const problems = links.map(({ page, link }) => linkProblem(folder, page, link))
    expect(problems.filter((problem) => problem !== undefined)).toEqual([])
  })

  test('name examples that are in the package, and no sources, but those that speak of the repository', () => {
    const ofTheProject = /^CHANGELOG|^docs\/(?:security|releases)\.md$/
    // The page about deploying says so.
    const inTheRepository = /^examples\/(?:docker|kubernetes)\b/
    const named = pages
      .filter((page) => !ofTheProject.test(page))
      .flatMap((page) => {
        const paths = readFileSync(join(folder, page), 'utf8').matchAll(
          /`((?:src|adapters|testing|examples)\/[\w./-]+)`/g,
        )
        return Array.from(paths, ([, path = '']) => ({ page, path }))
      })
      .filter(({ path }) => !inTheRepository.test(path))
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter(({ path }) => !existsSync(join(folder, path)))).toEqual([])
  })
})

test('holds declarations for every built file that is imported', () => {
  const built = packed.filter((path) => /^dist\/(?!chunks\/).*\.js$/.test(path) && path !== 'dist/src/index.node.js')
  expect(built.length).toBeGreaterThan(15)
  expect(built.map((path) => path.replace(/\.js$/, '.d.ts')).filter((path) => !packed.includes(path))).toEqual([])
})

test('its exports are these, and each names files of the package', () => {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { types: string; node?: string; default: string }>
  }
  expect(Object.keys(manifest.exports)).toEqual([
    '.',
    './keyv',
    './compaction',
    './forms',
    './parts',
    './prompt',
    './d1',
    './durable-object',
    './fetch',
    './openapi',
    './client',
    './ui-message',
    './ag-ui',
    './tickets',
    './hono',
    './node',
    './ai-sdk',
    './otel',
    './upstash',
    './diagram',
    './studio',
    './testing',
    './testing/msw',
    './testing/suites',
    './testing/vitest',
    './testing/vitest/plugin',
    './testing/judge',
    './testing/scenarios',
    './testing/vitest/reporter',
    './package.json',
  ])
  const targets = Object.values(manifest.exports).flatMap((target) =>
    typeof target === 'string' ? [target] : [target.types, target.node ?? target.default, target.default],
  )
  expect(targets.filter((target) => !packed.includes(target.slice('./'.length)))).toEqual([])
})
