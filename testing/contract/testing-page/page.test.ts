/** Checks that the tests in the pages on testing are those that are run here, and how long the first may be. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')

function firstProgramOf(page: string): string {
  return /^```ts\n([\s\S]*?)^```$/m.exec(read(`../../../docs/${page}`))?.[1] ?? ''
}

const block = firstProgramOf('testing.md')

test('the first program of the page is booking.test.ts', () => {
  expect(block).toBe(read('./booking.test.ts'))
})

test('the first program of the page on models is models.test.ts', () => {
  expect(firstProgramOf('testing-models.md')).toBe(read('./models.test.ts'))
})

test('the first program of the page on retries is retries.test.ts', () => {
  expect(firstProgramOf('testing-retries.md')).toBe(read('./retries.test.ts'))
})

test('its test takes fewer than 60 lines, and ten turns', () => {
  const [, testCode = ''] = block.split('// The test.\n')
  expect(testCode.trim().split('\n').length).toBeLessThan(60)
  expect(testCode.match(/\.say\(/g)).toHaveLength(10)
})
