import { expect, test } from 'vitest'
import { slotOf } from './redis-slot.js'

// The replies of CLUSTER KEYSLOT in Redis 7.0.
test.each([
  ['123456789', 12_739],
  ['turnkeeper::Zb3_x-9', 14_330],
  ['{user}.a', 5_474],
  ['a{user}', 5_474],
  ['a{}b', 13_694],
  ['a{b', 13_340],
  ['}{x}', 16_287],
  ['{{a}}', 10_276],
  ['Zoë ☕', 12_001],
  ['', 0],
])('the slot of %j is %i', (key, slot) => {
  expect(slotOf(key)).toBe(slot)
})
