/** What can be chosen: buttons, labels, numbers, and texts that mean the same. */
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { bookings, buttons, flowOfForm, said, stored } from '../../../testing/contract/forms/test-forms.js'
import { Conversation } from '../../../testing/index.js'
import { choices } from '../../parts/index.js'
import { type FieldOptions, field } from '../index.js'

const text = z.string()
const sizes = [
  { value: 's', label: 'Small one' },
  { value: 'l', label: 'Large one' },
]
const size = field(z.enum(['s', 'l'], 'That is no size.'), { ask: 'Which size?', choices: sizes })

describe('buttons', () => {
  test('are the values of an enum', async () => {
    const { Shop } = bookings()
    await using conversation = new Conversation(Shop)
    await conversation.say('Hello')
    conversation.expectParts([
      choices(
        'repair',
        ['tune-up', 'brakes', 'new tyre'].map((one) => ({ value: one, label: one })),
      ),
    ])
    await conversation.choose('brakes')
    conversation.expectReply('Which day?').expectParts([])
    expect((await stored(conversation, 'Booking')).values).toEqual({ repair: 'brakes' })
  })

  test('are the values of an enum that is optional', async () => {
    const schema = z.enum(['s', 'l']).optional()
    await using conversation = new Conversation(flowOfForm({ size: field(schema, { ask: 'Size?', optional: true }) }))
    await conversation.say('Hello')
    expect(buttons(conversation)).toEqual(['s', 'l'])
  })

  test('are yes and no for a boolean', async () => {
    await using conversation = new Conversation(flowOfForm({ gift: field(z.boolean(), { ask: 'Is it a gift?' }) }))
    await conversation.say('Hello')
    conversation.expectParts([
      choices('gift', [
        { value: 'true', label: 'Yes' },
        { value: 'false', label: 'No' },
      ]),
    ])
    await conversation.choose('No')
    expect(await stored(conversation)).toEqual({ values: { gift: false }, reviewing: true })
    conversation.expectReply('gift: No\nIs that right?')
  })

  const many: NonNullable<FieldOptions<string, 'day', false>['choices']>[] = [
    ['9:00', '10:00'],
    ({ day }) => (day === 'Friday' ? ['9:00', '10:00'] : []),
    async ({ day }, turn) => (day === 'Friday' && turn.number > 1 ? [{ value: '9:00', label: '9:00' }, '10:00'] : []),
  ]
  test.each(many)('are the given choices, also of a function of what is needed: %s', async (own) => {
    const fields = {
      day: field(text, { ask: 'Day?' }),
      time: field(text, { ask: 'When?', needs: ['day'], choices: own }),
    }
    await using conversation = new Conversation(flowOfForm(fields))
    await said(conversation, 'Hello', 'Friday')
    conversation.expectParts([
      choices(
        'time',
        ['9:00', '10:00'].map((one) => ({ value: one, label: one })),
      ),
    ])
    await conversation.choose('10:00')
    expect((await stored(conversation)).values).toEqual({ day: 'Friday', time: '10:00' })
  })

  test('are asked from a function only once the needed values are there', async () => {
    const own = vi.fn(() => ['9:00'])
    const fields = {
      day: field(text, { ask: 'Day?' }),
      time: field(text, { ask: 'When?', needs: ['day'], choices: own }),
    }
    await using conversation = new Conversation(flowOfForm(fields))
    await said(conversation, 'Hello', 'change time to 9:00')
    expect(own).not.toHaveBeenCalled()
  })

  test('are none if a function finds none now', async () => {
    await using conversation = new Conversation(flowOfForm({ time: field(text, { ask: 'When?', choices: () => [] }) }))
    await conversation.say('Hello')
    conversation.expectReply('When?').expectParts([])
  })

  test('are none for other schemas', async () => {
    const schemas = [text, z.number(), z.literal([1, 2]), z.array(z.enum(['a', 'b'])), z.union([z.literal('a'), text])]
    for (const schema of schemas) {
      await using conversation = new Conversation(flowOfForm({ any: field<unknown>(schema, { ask: 'What?' }) }))
      await conversation.say('Hello')
      conversation.expectReply('What?').expectParts([])
    }
  })

  test('are none for an enum whose values could be numbers of the list', async () => {
    const stars = field(z.enum(['2', '3', '4']), { ask: 'How many stars?' })
    await using conversation = new Conversation(flowOfForm({ stars }))
    await conversation.say('Hello')
    conversation.expectReply('How many stars?').expectParts([])
    await conversation.say('2')
    expect((await stored(conversation)).values).toEqual({ stars: '2' })
  })

  test.each<[string, FieldOptions<string, never, false>['choices']]>([
    ['two values are the same', ['a', 'a']],
    [
      'two labels are the same, but for case and spaces',
      [
        { value: 'a', label: 'One' },
        { value: 'b', label: ' o ne' },
      ],
    ],
    ['a label is the value of another one', ['a', { value: 'b', label: 'A' }]],
    ['a value is the number of another one', ['2', '1']],
    ['a label is the number of another one', [{ value: 'a', label: '2' }, 'b']],
    ['they are too long together', Array.from({ length: 400 }, (_, index) => `Choice ${index} ${'x'.repeat(40)}`)],
  ])('are none, with a warning, if %s', async (_what, own) => {
    const warn = vi.fn()
    const logger = { debug() {}, info() {}, warn, error() {} }
    const shop = flowOfForm({ any: field(text, { ask: 'What?', choices: own as string[] }) })
    await using conversation = new Conversation(shop, { logger })
    await conversation.say('Hello')
    conversation.expectReply('What?').expectParts([])
    expect(warn.mock.calls.map(([said]) => said)).toEqual([
      "The choices of 'any' have no buttons: two are alike, one is the number of another, or they are too long.",
    ])
    // They can be said.
    const [last] = (own as readonly (string | { readonly value: string })[]).slice(-1)
    const value = typeof last === 'string' ? last : last?.value
    await conversation.say(value ?? '')
    expect((await stored(conversation)).values).toEqual({ any: value })
  })

  test('are given again after a wrong answer', async () => {
    await using conversation = new Conversation(flowOfForm({ size }))
    await said(conversation, 'Hello', 'huge')
    conversation.expectReply('That is no size. Which size?')
    expect(buttons(conversation)).toEqual(['Small one', 'Large one'])
  })
})

describe('an option', () => {
  test.each([
    ['its button', (conversation: Conversation) => conversation.choose('Large one')],
    ['its button, whose label the client has changed', (conversation) => press(conversation, 1, 'l', 'This one')],
    ['its label', (conversation) => conversation.say('Large one')],
    ['its label in capitals and other spaces', (conversation) => conversation.say(' LARGE  one ')],
    ['its label with a full stop', (conversation) => conversation.say('Large one.')],
    ['its value', (conversation) => conversation.say('l')],
    ['its value in capitals', (conversation) => conversation.say('L')],
    ['its number', (conversation) => conversation.say('2')],
    ['its number in a list', (conversation) => conversation.say('2.')],
    ['its label in a correction', (conversation) => conversation.say('change size to large one')],
    ['its value in a correction', (conversation) => conversation.say('change size to l')],
    [
      'its label on a page',
      (conversation) => conversation.say('', { event: { name: 'Form', payload: { size: 'Large one' } } }),
    ],
    [
      'its value on a page',
      (conversation) => conversation.say('', { event: { name: 'Form', payload: { size: 'l' } } }),
    ],
  ] as [string, (conversation: Conversation) => Promise<unknown>][])('is chosen by %s', async (_by, choose) => {
    await using conversation = new Conversation(flowOfForm({ size }))
    await conversation.say('Hello')
    await choose(conversation)
    expect(await stored(conversation)).toEqual({ values: { size: 'l' }, reviewing: true })
    // The user reads labels.
    conversation.expectReply('size: Large one\nIs that right?')
  })

  test.each([
    ['yes', true],
    ['Y', true],
    ['OK.', true],
    ['true', true],
    ['1', true],
    ['no', false],
    ['N', false],
    ['wrong', false],
    ['false', false],
    ['2', false],
  ])('of a boolean is chosen by %s', async (answer, value) => {
    await using conversation = new Conversation(flowOfForm({ gift: field(z.boolean(), { ask: 'Is it a gift?' }) }))
    await said(conversation, 'Hello', answer)
    expect(await stored(conversation)).toEqual({ values: { gift: value }, reviewing: true })
  })

  test('of a boolean is not chosen by anything else', async () => {
    const gift = field(z.boolean('Yes or no?'), { ask: 'Is it a gift?' })
    await using conversation = new Conversation(flowOfForm({ gift }))
    expect(await said(conversation, 'Hello', 'perhaps')).toBe('Yes or no? Is it a gift?')
  })

  test('is the one that is said exactly, if another one differs only in capitals', async () => {
    const schema = z.enum(['a', 'A'])
    await using conversation = new Conversation(flowOfForm({ any: field(schema, { ask: 'Which?' }) }))
    await said(conversation, 'Hello', 'A')
    expect((await stored(conversation)).values).toEqual({ any: 'A' })
    await said(conversation, 'change any to a')
    expect((await stored(conversation)).values).toEqual({ any: 'a' })
  })

  test('is not the only answer: schema and check decide', async () => {
    const time = field(text, { ask: 'When?', choices: ['9:00'], check: (given) => given !== 'never' || 'Never?' })
    await using conversation = new Conversation(flowOfForm({ time }))
    expect(await said(conversation, 'Hello', 'never')).toBe('Never? When?')
    await conversation.say('at noon')
    expect((await stored(conversation)).values).toEqual({ time: 'at noon' })
  })

  test('is checked like an answer', async () => {
    const time = field(text, {
      ask: 'When?',
      choices: ['9:00', '10:00'],
      check: (given) => given !== '9:00' || 'Taken.',
    })
    await using conversation = new Conversation(flowOfForm({ time }))
    await conversation.say('Hello')
    await conversation.choose('9:00')
    conversation.expectReply('Taken. When?')
  })

  test('of a number is a number', async () => {
    const guests = field(z.number(), { ask: 'How many?', choices: ['10', '20'] })
    await using conversation = new Conversation(flowOfForm({ guests }))
    await conversation.say('Hello')
    await conversation.choose('20')
    expect((await stored(conversation)).values).toEqual({ guests: 20 })
  })
})

describe('a button of an older reply is text', () => {
  test('at the next question', async () => {
    const fields = { size, note: field(text, { ask: 'A note?' }) }
    await using conversation = new Conversation(flowOfForm(fields))
    await said(conversation, 'Hello', 'Small one')
    await press(conversation, 1, 'l', 'Large one')
    expect((await stored(conversation)).values).toEqual({ size: 's', note: 'Large one' })
  })

  test('at the same question, which was asked again', async () => {
    const schema = z.enum(['s', 'l'], 'That is no size.')
    let labels = sizes
    const fields = { size: field(schema, { ask: 'Which size?', choices: () => labels }) }
    await using conversation = new Conversation(flowOfForm(fields))
    await conversation.say('Hello')
    labels = [{ value: 's', label: 'Tiny one' }]
    await conversation.say('huge')
    await press(conversation, 1, 'l', 'Large one')
    conversation.expectReply('That is no size. Which size?')
  })

  test('at the review', async () => {
    await using conversation = new Conversation(flowOfForm({ size }))
    await said(conversation, 'Hello', 'l')
    await press(conversation, 1, 's', 'Small one')
    conversation.expectReply(/^What should I change: size/)
    expect((await stored(conversation)).values).toEqual({ size: 'l' })
  })
})

describe('choices are refused', () => {
  const wrong = "choices of the field 'any' must be a list of texts, or of { value, label }."
  test.each<[unknown, string]>([
    [() => 'a', wrong],
    [() => undefined, wrong],
    [[1, 2], wrong],
    [[{ value: 'a' }], wrong],
    [[null], wrong],
    [[''], wrong],
    [[{ value: 'a', label: ' ' }], wrong],
  ])('%j', async (own, message) => {
    const fields = { any: field(text, { ask: 'What?', choices: own as string[] }) }
    await using conversation = new Conversation(flowOfForm(fields))
    await conversation.say('Hello')
    conversation.expectError('FLOW_ERROR', message)
  })

  test('also before they are asked', async () => {
    const fields = { first: field(text, { ask: 'First?' }), any: field(text, { ask: 'What?', choices: [1] as never }) }
    await using conversation = new Conversation(flowOfForm(fields))
    await said(conversation, 'Hello', 'change any to 1')
    conversation.expectError('FLOW_ERROR', wrong)
  })
})

/** Presses a button of the reply in a turn, with a label. */
function press(conversation: Conversation, turn: number, value: string, label: string): Promise<unknown> {
  return conversation.say(label, { choice: { turn, name: 'size', value } })
}
