/** Checks that the tests in docs/testing-front-ends.md are those that are run here. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
const blocks = Array.from(
  read('../../../docs/testing-front-ends.md').matchAll(/^```ts\n([\s\S]*?)^```$/gm),
  ([, block]) => block,
)

test('the first program of the page is run, and so is the last', () => {
  expect(blocks.at(0)).toBe(read('./documented-script.test.ts'))
  expect(blocks.at(-1)).toBe(read('./documented-matchers.test.ts'))
})
