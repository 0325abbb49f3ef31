/** Decides that the test in docs/testing.md is the one that is run here, and how long it may be. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
const [, block = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(read('../../../docs/testing.md')) ?? []

test('the first program of the page is booking.test.ts', () => {
  expect(block).toBe(read('./booking.test.ts'))
})

test('its test takes fewer than 60 lines, and ten turns', () => {
  const [, testCode = ''] = block.split('// The test.\n')
  expect(testCode.trim().split('\n').length).toBeLessThan(60)
  expect(testCode.match(/\.say\(/g)).toHaveLength(10)
})
