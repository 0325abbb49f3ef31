import { expect, test } from 'vitest'
import { WriteAttempts } from './write-attempts.js'

test('counts the attempts of each write, and forgets only old ones', () => {
  const attempts = new WriteAttempts()
  expect(attempts.count('first')).toBe(0)
  attempts.add('first')
  for (let other = 0; other < 10_000; other++) attempts.add(`${other}`)
  attempts.add('first')
  expect(attempts.count('first')).toBe(2)
  expect(attempts.count('9999')).toBe(1)
  for (let other = 0; other < 30_000; other++) attempts.add(`later ${other}`)
  expect(attempts.count('first')).toBe(0)
})
