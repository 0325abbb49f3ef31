/** Parts of replies in a conversation: expected, shown, and buttons that are pressed. */
import { describe, expect, test } from 'vitest'
import { Flow, finish, go, LogicStep, reply, type StepConstructor, type Turn } from '../../../src/index.js'
import { card, choices, custom, file, form } from '../../../src/parts/index.js'
import { Conversation } from '../conversation.js'

const days = [
  { value: '2026-12-01', label: 'Tuesday' },
  { value: '2026-12-04', label: 'Friday' },
]

class Day extends LogicStep {
  static override readonly id = 'Day'
  override run({ choice, message }: Turn) {
    if (choice !== undefined) return go(Size).withMessage(choice.value)
    if (message === 'crash') throw new Error('no calendar')
    return reply('Which day?').withParts([choices('day', days)])
  }
}
class Size extends LogicStep {
  static override readonly id = 'Size'
  override run(turn: Turn) {
    if (!turn.entered) return turn.message === 'all' ? this.all() : finish(`As a text: ${turn.message}.`)
    return reply(`On ${turn.message}.`).withParts([card({ title: 'Order 4711', rows: [['Status', 'on its\nway']] })])
  }
  all() {
    return reply('All.').withParts([
      form({
        name: 'address',
        schema: { type: 'object', properties: { town: { type: 'string' }, zip: { type: 'string' } } },
        values: { town: 'Ulm' },
        errors: { zip: 'Too short.' },
      }),
      file({ name: 'invoice.pdf', mediaType: 'application/pdf', url: 'https://files.example/1' }),
      custom('map', { zoom: 3 }),
    ])
  }
}
class Shop extends Flow {
  static override readonly id = 'Shop'
  override steps(): readonly StepConstructor[] {
    return [Day, Size]
  }
}

test('parts are expected as a whole, or in part', async () => {
  await using conversation = new Conversation(Shop)
  await conversation.say('Hello')
  conversation.expectParts([choices('day', days)]).expectParts([{ type: 'choices' }])
  conversation.expectParts([{ options: [{ label: 'Tuesday' }, { label: /^Fri/ }] }])
  expect(conversation.reply).toMatchObject({ parts: [{ name: 'day' }], turn: 1 })
  expect(() => conversation.expectParts([{ options: [{ label: 'Monday' }, {}] }])).toThrow(
    'The parts of the reply are not what was expected:\n  parts[0].options[0].label: expected "Monday", got "Tuesday"\n  the parts: [{"type":"choices","name":"day",',
  )
  expect(() => conversation.expectParts([])).toThrow('parts: expected 0 entries, got [{"type":"choices"')
})

test('parts are not expected of a turn that failed', async () => {
  await using conversation = new Conversation(Shop)
  await conversation.say('crash')
  expect(() => conversation.expectParts([])).toThrow('Expected a reply with parts, but the turn failed.')
  conversation.expectError('FLOW_ERROR', 'no calendar')
})

describe('a button', () => {
  test('is pressed by its label, and shown as pressed', async () => {
    await using conversation = new Conversation(Shop)
    await conversation.say('Hello')
    await conversation.choose('Friday', { key: 'friday' })
    conversation
      .expectReply('On 2026-12-04.')
      .expectStep(Size)
      .expectParts([{ type: 'card', title: 'Order 4711' }])
    await conversation.say('all')
    expect(conversation.transcript()).toMatchInlineSnapshot(`
      "# Shop

      ## Turn 1

      User: Hello

      - enters Day

      Reply: Which day?

      - button: Tuesday
      - button: Friday

      Now at Day.

      ## Turn 2

      User chooses: Friday

      - enters Size

      Reply: On 2026-12-04.

      - card: Order 4711
      - row: Status = on its way

      Now at Size.

      ## Turn 3

      User: all

      Reply: All.

      - form: address (town, zip), values {"town":"Ulm"}, errors {"zip":"Too short."}
      - file: invoice.pdf, https://files.example/1
      - map: {"zoom":3}

      Now at Size.
      "
    `)
  })

  test('of an older reply is text for the flow', async () => {
    await using conversation = new Conversation(Shop)
    await conversation.say('Hello')
    await conversation.choose('Tuesday')
    await conversation.choose('Friday')
    conversation.expectReply('As a text: Friday.').expectCompleted()
  })

  test('is one of the newest list', async () => {
    await using conversation = new Conversation(Shop)
    for (const text of ['Hello', 'Hm']) await conversation.say(text)
    await conversation.choose('Tuesday')
    conversation.expectReply('On 2026-12-01.')
  })

  test('is pressed in a fork and after a restart too', async () => {
    await using conversation = new Conversation(Shop)
    await conversation.say('Hello')
    await using fork = await conversation.fork()
    await conversation.restart()
    for (const one of [conversation, fork]) {
      await one.choose('Friday')
      one.expectReply('On 2026-12-04.')
    }
  })

  test('must be there', async () => {
    await using conversation = new Conversation(Shop)
    await expect(conversation.choose('Friday')).rejects.toThrow(
      'There is no button "Friday": no reply had choices so far.',
    )
    await conversation.say('Hello')
    await expect(conversation.choose('friday')).rejects.toThrow(
      'There is no button "friday". The buttons: Tuesday, Friday.',
    )
    await conversation.stream('Friday', { choice: { turn: 1, name: 'day', value: '2026-12-04' } }).reply()
    expect(conversation.transcript()).toContain('User chooses: Friday')
  })
})
