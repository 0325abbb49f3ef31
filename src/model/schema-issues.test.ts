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

test('at most twenty issues are listed, and a long text is cut off', () => {
  const issues = Array.from({ length: 1_000 }, (_, index) => ({ message: 'no', path: [index] }))
  expect(issueText(issues)).toMatch(/^0: no; 1: no; .*; 19: no; and 980 more$/)
  expect(issueText([{ message: 'x'.repeat(5_000) }])).toBe(`${'x'.repeat(2_000)}…`)
})
