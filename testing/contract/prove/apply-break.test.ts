import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

interface Break {
  readonly name: string
  readonly file: string
  readonly find: string
  readonly replace: string
  readonly tests: readonly string[]
}

// Scripts without types of their own: Node runs them as they are.
const load = (file: string): Promise<unknown> => import(new URL(file, import.meta.url).href)
const { applyBreak } = (await load('./apply-break.mjs')) as {
  applyBreak(source: string, change: Pick<Break, 'find' | 'replace'>): string
}
const { breaks } = (await load('./breaks/index.mjs')) as { breaks: readonly Break[] }

describe('applyBreak', () => {
  test('replaces the text and leaves the rest', () => {
    expect(applyBreak('a(1)\nb(2)\n', { find: 'b(2)', replace: 'c()' })).toBe('a(1)\nc()\n')
  })

  test('finds the text also where it is wrapped in another way', () => {
    const source = 'if (\n  one &&\n  two(\n    three)\n) {}\n'
    expect(applyBreak(source, { find: 'one && two(three)', replace: 'one' })).toBe('if (\n  one\n) {}\n')
  })

  test('takes text and replacement literally', () => {
    expect(applyBreak('x = [$1].y?', { find: '[$1].y?', replace: '$& $1' })).toBe('x = $& $1')
  })

  test.each([
    ['a text that is not there', 'a()', { find: 'b()', replace: '' }, 'its search text is not in the file any more'],
    ['a text that is there twice', 'a() a()', { find: 'a()', replace: '' }, 'its search text is in the file 2 times'],
    ['no change', 'a()', { find: 'a()', replace: 'a()' }, 'its replacement changes nothing'],
  ])('refuses %s', (_name, source, change, message) => {
    expect(() => applyBreak(source, change)).toThrow(new Error(message))
  })
})

test('every break has a name of its own, a file that exists, and tests', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  expect(breaks.length).toBeGreaterThanOrEqual(30)
  expect(new Set(breaks.map(({ name }) => name)).size).toBe(breaks.length)
  expect(breaks.filter(({ file, tests }) => !existsSync(`${root}/${file}`) || tests.length === 0)).toEqual([])
})
