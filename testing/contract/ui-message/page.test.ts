import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

test('the page of docs/ui-message.md is the one that the tests run', () => {
  const text = readFileSync(new URL('../../../docs/ui-message.md', import.meta.url), 'utf8')
  const code = readFileSync(new URL('page/use-flow-chat.mjs', import.meta.url), 'utf8')
  expect(/^```js\n([\s\S]*?)^```$/m.exec(text)?.[1]).toBe(code)
})
