/** The calendar by itself. */
import { expect, test } from 'vitest'
import { createCalendar } from './calendar.js'

const slot = { day: '2026-11-25', time: '09:00' }

test('the same reference books one time', () => {
  const calendar = createCalendar(() => Date.UTC(2026, 10, 24, 12))
  expect(calendar.book({ reference: 'a', ...slot })).toBe(true)
  expect(calendar.book({ reference: 'a', ...slot })).toBe(true)
  expect(calendar.book({ reference: 'b', ...slot })).toBe(false)
  expect(calendar.book({ reference: 'a', ...slot, time: '10:30' })).toBe(true)
  expect(calendar.freeTimes('2026-11-25')).toEqual(['09:00', '13:00', '14:30', '16:00'])
})
