/** Which option a message chooses, by button, value, label or number. */
import { describe, expect, test } from 'vitest'
import { chosen } from './choice.js'

const open = {
  ...{ turn: 4, name: 'day' },
  options: [
    { value: '2026-12-01', label: 'Tuesday' },
    { value: 'late', label: 'Friday  Night' },
    { value: '1', label: '3' },
    { value: 'Straße', label: 'ÄRGER' },
  ],
}
const day = (value: string) => ({ name: 'day', value })
const button = (value: string, more: object = {}) => ({ turn: 4, name: 'day', value, ...more })

describe('a text', () => {
  test.each<[string, string | undefined]>([
    ['2026-12-01', '2026-12-01'],
    ['  late\n', 'late'],
    // A value is compared exactly.
    ['LATE', undefined],
    ['Tuesday', '2026-12-01'],
    ['tuesday', '2026-12-01'],
    [' T u E s D a Y ', '2026-12-01'],
    ['friday night', 'late'],
    ['FridayNight', 'late'],
    ['Friday\t\u00A0Night', 'late'],
    ['Tuesday.', undefined],
    ['not tuesday', undefined],
    ['Ärger', 'Straße'],
    ['Straße', 'Straße'],
    ['2', 'late'],
    [' 4 ', 'Straße'],
    // A value comes before a label, and a label before a number.
    ['1', '1'],
    ['3', '1'],
    ['0', undefined],
    ['5', undefined],
    ['99', undefined],
    ['-1', undefined],
    ['2.', 'late'],
    ['2)', 'late'],
    ['1 2', undefined],
    ['2.0', undefined],
    ['(2)', undefined],
    ['1000000002', undefined],
    ['2e0', undefined],
    ['0x2', undefined],
    ['２', undefined],
    ['', undefined],
    ['   ', undefined],
    ['undefined', undefined],
    ['constructor', undefined],
  ])('%j chooses %s', (userMessage, value) => {
    const expected = value === undefined ? undefined : day(value)
    expect(chosen({ userMessage, choice: undefined, event: undefined }, open, undefined)).toEqual(expected)
  })

  test('a number chooses from a long list', () => {
    const options = Array.from({ length: 120 }, (_, index) => ({ value: `v${index}`, label: `Option ${index}` }))
    const choose = (userMessage: string) =>
      chosen({ userMessage, choice: undefined, event: undefined }, { ...open, options }, undefined)
    expect([choose('10'), choose('120'), choose('121')]).toEqual([day('v9'), day('v119'), undefined])
  })
})

describe('a button', () => {
  test.each<[string, object, string, string | undefined]>([
    ['of the open list chooses, whatever the text says', button('late'), 'Tuesday', 'late'],
    ['with no text chooses', button('late'), '', 'late'],
    [
      'of an older reply is text that chooses nothing, also if the list has its label',
      button('late', { turn: 3 }),
      'Tuesday',
      undefined,
    ],
    [
      'of an older reply is text that chooses nothing, also if the list has its value',
      button('late', { turn: 3 }),
      'late',
      undefined,
    ],
    ['of a later turn does not exist', button('late', { turn: 5 }), 'late', undefined],
    ['of another list chooses nothing', button('late', { name: 'month' }), 'late', undefined],
    [
      'with a value that the list does not have leaves the choice to the text',
      button('never'),
      'tuesday',
      '2026-12-01',
    ],
    ['compares values exactly', button('LATE'), '', undefined],
    ['does not choose by label or number', button('Tuesday'), 'something else', undefined],
  ])('%s', (_what, choice, userMessage, value) => {
    const expected = value === undefined ? undefined : day(value)
    expect(chosen({ userMessage, choice: choice as never, event: undefined }, open, undefined)).toEqual(expected)
  })
})

test('an event chooses nothing, and neither does a text if no list is open', () => {
  expect(chosen({ userMessage: 'late', choice: undefined, event: {} as never }, open, undefined)).toBeUndefined()
  expect(
    chosen({ userMessage: 'late', choice: button('late'), event: undefined }, undefined, undefined),
  ).toBeUndefined()
})

test('a choice is frozen, and has nothing else', () => {
  const choice = chosen({ userMessage: 'late', choice: undefined, event: undefined }, open, undefined)
  expect([Object.isFrozen(choice), JSON.stringify(choice)]).toEqual([true, '{"name":"day","value":"late"}'])
})

describe('if labels are stored masked', () => {
  const masked = {
    ...open,
    options: [
      { value: 'a', label: 'Call [name]' },
      { value: 'b', label: 'Write to [name]' },
      { value: 'c', label: '[gone]' },
      { value: 'd', label: '[gone]' },
      { value: 'e', label: '' },
    ],
  }
  const mask = (text: string) =>
    text === 'nothing' ? '' : text.replace(/Ada|Bob/, '[name]').replace(/yes|no/, '[gone]')
  test.each<[string, string | undefined]>([
    ['Call Ada', 'a'],
    ['WRITE  to Ada', 'b'],
    // The stored labels are the same, so it cannot be known which one the user meant.
    ['yes', undefined],
    ['nothing', undefined],
    ['', undefined],
    ['4', 'd'],
    ['5', 'e'],
    ['d', 'd'],
  ])('%j chooses %s', (userMessage, value) => {
    const expected = value === undefined ? undefined : day(value)
    expect(chosen({ userMessage, choice: undefined, event: undefined }, masked, mask)).toEqual(expected)
  })

  test.each<[string, object, string | undefined]>([
    ['needs no label', button('c', { name: 'Ada' }), 'c'],
    ['may have a name and a value that were read masked', button('[gone] a', { name: '[name]' }), 'yes a'],
    ['may have a name that was read as it is', button('yes a', { name: 'Ada' }), 'yes a'],
    ['with a masked value of two options chooses none', button('[gone] b', { name: '[name]' }), undefined],
    ['of another list chooses none', button('c', { name: 'day' }), undefined],
  ])('a button %s', (_what, choice, value) => {
    const values = ['yes a', 'yes b', 'no b']
    const options = [...masked.options, ...values.map((one) => ({ value: one, label: `[gone] ${one.at(-1)}` }))]
    const expected = value === undefined ? undefined : { name: 'Ada', value }
    const list = { ...masked, name: 'Ada', options }
    expect(chosen({ userMessage: 'yes', choice: choice as never, event: undefined }, list, mask)).toEqual(expected)
  })
})
