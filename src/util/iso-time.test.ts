import { expect, test } from 'vitest'
import { isoTime } from './iso-time.js'

test('the same time gives the same text, and another time another', () => {
  expect(isoTime(0)).toBe('1970-01-01T00:00:00.000Z')
  expect(isoTime(0)).toBe('1970-01-01T00:00:00.000Z')
  expect(isoTime(1_767_225_600_123)).toBe('2026-01-01T00:00:00.123Z')
  expect(isoTime(0)).toBe('1970-01-01T00:00:00.000Z')
})

test('an invalid time throws, and is not cached', () => {
  expect(isoTime(1)).toBe('1970-01-01T00:00:00.001Z')
  expect(() => isoTime(Number.NaN)).toThrow(RangeError)
  expect(() => isoTime(Number.NaN)).toThrow(RangeError)
  expect(isoTime(1)).toBe('1970-01-01T00:00:00.001Z')
})
