/** Checks the contents of the package. */
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { linkProblem, relativeLinksOf } from '../page-links.js'

const packed = inject('packed')
const folder = join(inject('consumer'), 'node_modules', 'turnkeeper')

test('holds no test and nothing of the tools', () => {
  const left = /\.test(-d)?\.|(^|\/)contract\/|(^|\/)node_modules\/|(^|\/)package-lock\.json$|^\.|^docs\/api-report\//
  const ofExamples = /^examples\/(bench|dist|tsconfig)/
  expect(packed.filter((path) => left.test(path) || ofExamples.test(path))).toEqual([])
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

  test('are those of the repository: guides, decisions, and what is beside the README', () => {
    const expected = ['README.md', 'docs/get-started.md', 'docs/troubleshooting.md', 'docs/decisions/README.md']
    expect(pages).toEqual(expect.arrayContaining(expected))
  })

  test('have no relative link that leads out of the package, or nowhere in it', () => {
    const links = pages.flatMap((page) => relativeLinksOf(folder, page).map((link) => ({ page, link })))
    expect(links.length).toBeGreaterThan(500)
    const problems = links.map(({ page, link }) => linkProblem(folder, page, link))
    expect(problems.filter((problem) => problem !== undefined)).toEqual([])
  })

  test('name sources and examples that are in the package, but those for people who work on the package itself', () => {
    const ofTheProject = /^CHANGELOG|^docs\/(?:contributing|architecture|security|releases)\.md$|^docs\/decisions\//
    const named = pages
      .filter((page) => !ofTheProject.test(page))
      .flatMap((page) => {
        const paths = readFileSync(join(folder, page), 'utf8').matchAll(
          /`((?:src|adapters|testing|examples)\/[\w./-]+)`/g,
        )
        return Array.from(paths, ([, path = '']) => ({ page, path }))
      })
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter(({ path }) => !existsSync(join(folder, path)))).toEqual([])
  })
})

test('holds, for every built file, its map, and every source that the map names', () => {
  const built = packed.filter((path) => path.startsWith('dist/') && path.endsWith('.js'))
  expect(built.length).toBeGreaterThan(4)
  const sources = new Set<string>()
  for (const path of built) {
    const map = JSON.parse(readFileSync(join(folder, `${path}.map`), 'utf8')) as { sources: string[] }
    for (const source of map.sources) sources.add(posix.join(posix.dirname(path), source))
  }
  expect(sources).toContain('src/engine/flow-engine.ts')
  const elsewhere = [...sources].filter((source) => !packed.includes(source))
  // Three packages are in the core file, and are installed beside this one all the same.
  const packages = new Set(
    elsewhere.map((source) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1] ?? source),
  )
  expect([...packages].sort()).toEqual(['@noble/hashes', 'eventemitter3', 'lru-cache'])
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { dependencies: object }
  expect(Object.keys(manifest.dependencies)).toEqual(expect.arrayContaining([...packages]))
})

test('holds, for every source, its declarations and their map', () => {
  const sources = packed.filter((path) => /^(?:src|adapters|testing)\/.*(?<!\.d)\.ts$/.test(path))
  expect(sources).toContain('src/index.ts')
  const declarations = sources.flatMap((path) => {
    const stem = `dist/${path.slice(0, -'.ts'.length)}`
    return [`${stem}.d.ts`, `${stem}.d.ts.map`]
  })
  expect(declarations.filter((path) => !packed.includes(path))).toEqual([])
})

test('its exports are these, and each names files of the package', () => {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { types: string; node?: string; default: string }>
  }
  expect(Object.keys(manifest.exports)).toEqual([
    '.',
    './keyv',
    './compaction',
    './prompt',
    './d1',
    './durable-object',
    './fetch',
    './openapi',
    './client',
    './ui-message',
    './ag-ui',
    './hono',
    './node',
    './ai-sdk',
    './otel',
    './upstash',
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
