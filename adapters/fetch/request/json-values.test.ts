import { expect, test } from 'vitest'
import { hasMoreValues } from './json-values.js'

const more = (text: string, max: number): boolean => hasMoreValues(new TextEncoder().encode(text), max)

test.each([
  ['{"a":1,"b":[2,3],"c":{}}', 9],
  ['[[],[],[]]', 6],
  ['[[[[[]]]]]', 5],
  ['["a,:[{","\\",:[{","\\\\",7]', 4],
  ['{"é,":"日本,語:"}', 2],
])('%s has %i signs of values outside strings', (text, count) => {
  expect([more(text, count - 1), more(text, count)]).toEqual([true, false])
})

test('a string alone has none', () => {
  expect(more('"a,b,c,d,e,f"', 0)).toBe(false)
})

test('a string without an end, and a backslash at the end of the text', () => {
  for (const text of ['["a,b,c,d,e', '["a,b,c,d,e\\', '\\,,,,,']) expect(more(text, 5)).toBe(false)
})

test('infinity counts nothing', () => {
  expect(more('[1,2,3]', Number.POSITIVE_INFINITY)).toBe(false)
})

test('a number counts once more for each 64 characters', () => {
  const number = `1.${'7'.repeat(300)}`
  expect([more(`[${number},${number}]`, 9), more(`[${number},${number}]`, 10)]).toEqual([true, false])
  expect(more(`["${'7'.repeat(300)}","${'7'.repeat(300)}"]`, 2)).toBe(false)
})
