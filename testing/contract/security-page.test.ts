/**
 * Checks docs/security.md against the tests: each test that it names exists under that title, and each promise names
 * one. Each row of the tables of docs/decisions/owasp.md has a verdict and says where.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type NamedTest, namedTests, promisesOf, rowsOf, titlesIn } from './security-page.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const page = read('docs/security.md')
const assessment = read('docs/decisions/owasp.md')

function problemOf({ path, title }: NamedTest): string | undefined {
  if (!existsSync(join(root, path))) return `${path} does not exist`
  if (!/(?:\.test|-cases)\.ts$/.test(path)) return `${path} holds no tests`
  return titlesIn(path, read(path)).includes(title) ? undefined : `${path} has no test "${title}"`
}

/** `1.2.10` comes after `1.2.9`. */
const inOrder = (one: string, other: string): number => one.localeCompare(other, 'en', { numeric: true })

describe('the promises', () => {
  const promises = promisesOf(page)

  test('are numbered one after the other', () => {
    expect(promises.size).toBeGreaterThan(20)
    expect([...promises.keys()]).toEqual(Array.from(promises.keys(), (_id, index) => `P${index + 1}`))
  })

  test('each name a test', () => {
    expect([...promises].filter(([, row]) => namedTests(row).length === 0).map(([id]) => id)).toEqual([])
  })

  test('name tests that exist, and a planted one is found', () => {
    const planted = [
      'adapters/fetch/nowhere.test.ts',
      'adapters/fetch/handler.ts',
      'adapters/fetch/request/body.test.ts',
    ].map((path) => ({ path, title: 'nothing' }))
    const named = namedTests(page)
    expect(named.length).toBeGreaterThanOrEqual(promises.size)
    expect([...named, ...planted].map(problemOf).filter((problem) => problem !== undefined)).toEqual([
      'adapters/fetch/nowhere.test.ts does not exist',
      'adapters/fetch/handler.ts holds no tests',
      'adapters/fetch/request/body.test.ts has no test "nothing"',
    ])
  })

  test('that the tables refer to exist', () => {
    const cited = rowsOf(assessment).flatMap(({ where }) => where.match(/\bP\d+\b/g) ?? [])
    expect(cited.length).toBeGreaterThan(30)
    expect(cited.filter((id) => !promises.has(id))).toEqual([])
  })

  test('are each referred to', () => {
    const cited = new Set(rowsOf(assessment).flatMap(({ where }) => where.match(/\bP\d+\b/g) ?? []))
    expect([...promises.keys()].filter((id) => !cited.has(id))).toEqual([])
  })
})

describe('the tables', () => {
  const rows = rowsOf(assessment)

  test('have a verdict in each row', () => {
    const verdicts = ['met', 'met, yours', 'yours', 'not met']
    expect(rows.filter(({ verdict }) => !verdicts.includes(verdict))).toEqual([])
  })

  test('say where, for each row that is met: a promise, or a link', () => {
    const met = rows.filter(({ verdict }) => verdict.startsWith('met'))
    expect(met.length).toBeGreaterThan(40)
    expect(met.filter(({ where }) => !/\bP\d+\b|\]\(/.test(where)).map(({ id }) => id)).toEqual([])
  })

  test('have each requirement of ASVS once, in order', () => {
    const ids = rows.map(({ id }) => id).filter((id) => /^\d/.test(id))
    expect(ids.length).toBeGreaterThan(80)
    expect(ids.filter((id) => !/^\d+\.\d+\.\d+$/.test(id))).toEqual([])
    expect(ids).toEqual([...new Set(ids)].sort(inOrder))
  })

  test.each(['API', 'LLM'])('have the ten of the list %s, in order', (list) => {
    const ids = rows.map(({ id }) => id).filter((id) => id.startsWith(list))
    const digits = list === 'API' ? 1 : 2
    expect(ids).toEqual(Array.from({ length: 10 }, (_, index) => `${list}${String(index + 1).padStart(digits, '0')}`))
  })
})

test('namedTests has each title after a path', () => {
  const text = 'No. | `src/a.test.ts` "one", "two: %s"; `src/b.ts` alone, "three"; `testing/c-cases.ts` "four" |'
  expect(namedTests(text)).toEqual([
    { path: 'src/a.test.ts', title: 'one' },
    { path: 'src/a.test.ts', title: 'two: %s' },
    { path: 'testing/c-cases.ts', title: 'four' },
  ])
})

describe('titlesIn', () => {
  test('counts tests that are skipped if a program is missing, but not tests that are always skipped', () => {
    const source = [
      "describe.skipIf(isRedisMissing)('group', () => { test('one', run) })",
      "test.skipIf(isRedisMissing).each(rows)('two: %s', run)",
      "test.skip('three', run)",
      "const name = { name: 'four' }",
    ].join('\n')
    expect(titlesIn('a.test.ts', source)).toEqual(['one', 'two: %s'])
  })

  test('has the names of the cases of a suite', () => {
    const source = "export const cases = [{ name: 'one', run }, { name: `two: ${what}`, run }]"
    expect(titlesIn('a-cases.ts', source)).toEqual(['one', 'two: …'])
  })
})
