import { expect, test } from 'vitest'
import { issueText } from './schema-issues.js'

test('issues become one line of paths and reasons', () => {
  expect(
    issueText([
      { message: 'too long', path: ['names', 0, { key: 'first' }] },
      { message: 'closed' },
      { message: 'odd', path: [Symbol('kind')] },
    ]),
  ).toBe('names.0.first: too long; closed; Symbol(kind): odd')
})
