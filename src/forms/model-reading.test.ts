/** What a model gets of a form, and what the form reads without it. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  begun,
  complete,
  modelFlow,
  modelForm,
  modelTalk,
  reviewed,
  set,
} from '../../testing/contract/forms/model-forms.js'
import { bookings } from '../../testing/contract/forms/test-forms.js'
import { lines } from '../../testing/contract/test-flows.js'
import { Conversation } from '../../testing/index.js'
import { finish, reply, type Turn, tool } from '../index.js'
import { field, ModelFormStep } from './index.js'

/** The form as the last prompt shows it: after what the model is told in general. */
const shownForm = ({ model: scripted }: Conversation): string => {
  const text = scripted.requests.at(-1)?.system ?? ''
  return text.slice(text.indexOf('\nNow: ') + 1)
}
const schemaFor = ({ model: scripted }: Conversation): unknown => scripted.requests.at(-1)?.tools[0]?.inputSchema

describe('the prompt', () => {
  test('has the fields, their values, the open question and the time', async () => {
    const { conversation } = await begun(set({ day: 'Friday', name: 'Ada "the first"' }), 'ok')
    await using _ = conversation
    const head = [`Now: ${new Date(conversation.clock.now()).toISOString()}`, 'The form:']
    const rest = ['- time (time): open', '- name (name): open', '- phone (phone, optional): open']
    expect(shownForm(conversation).split('\n')).toEqual([
      ...head,
      '- repair (repair): open',
      '- day (day): open',
      ...rest,
      'The user was asked: What does your bicycle need?',
    ])
    await conversation.say('Friday, Ada "the first".')
    expect(conversation.model.requests[1]?.system).toContain('- day (day): open')
    // After its call, the model sees what the form has now.
    expect(shownForm(conversation).split('\n')).toEqual([
      ...head,
      '- repair (repair): open',
      '- day (day): "Friday"',
      '- time (time): open',
      '- name (name): "Ada \\"the first\\""',
      '- phone (phone, optional): open',
      'The user was asked: What does your bicycle need?',
    ])
  })

  test('has the time of the turn, not of the first', async () => {
    const { conversation } = await begun('ok')
    await using _ = conversation
    const before = conversation.clock.now()
    await conversation.advance(86_400_000)
    await conversation.say('Tomorrow.')
    conversation.expectAsked({ system: new RegExp(`Now: ${new Date(before + 86_400_000).toISOString()}`) })
  })

  test('says at the review that the user was asked for a yes', async () => {
    const { conversation } = await reviewed('ok')
    await using _ = conversation
    await conversation.say('Hm.')
    expect(shownForm(conversation)).toContain(
      '- phone (phone, optional): "123"\nThe user was asked: Is all of this right?',
    )
  })

  test('says which field was left empty', async () => {
    const { conversation } = await reviewed(set({ phone: null }), 'ok', 'ok')
    await using _ = conversation
    for (const message of ['No phone.', 'Hm.']) await conversation.say(message)
    expect(shownForm(conversation)).toContain('- phone (phone, optional): empty\n')
  })

  test('names a field that is asked again, with its value', async () => {
    const { conversation } = await reviewed('ok', 'ok')
    await using _ = conversation
    await conversation.say('change day')
    await conversation.say('Later.')
    expect(shownForm(conversation)).toContain('- day (day): "Tuesday"')
    expect(shownForm(conversation)).toMatch(/\nThe user was asked: Which day\?$/)
  })

  test('and the tools are those of the form besides its own', async () => {
    const prices = tool({ name: 'prices', description: 'Prices.', execute: () => ({ brakes: 40 }) })
    class Form extends ModelFormStep {
      static override readonly id = 'Form'
      override fields() {
        return { day: field(z.string(), { ask: 'Which day?' }) }
      }
      override async prompt(turn: Turn) {
        return `${await super.prompt(turn)}\n\nBe brief.`
      }
      override async tools(turn: Turn) {
        return [...(await super.tools(turn)), prices]
      }
      override done() {
        return finish('Done.')
      }
    }
    const script = [{ toolCalls: [{ name: 'prices' }] }, 'Brakes are 40.', set({ day: 'Friday' }), 'ok', 'ok']
    await using conversation = new Conversation(modelFlow([Form]), { script })
    await conversation.say('What are the prices?')
    conversation
      .expectReply('Brakes are 40. Which day?')
      .expectAsked({ system: /Be brief\.$/, tools: ['set_fields', 'prices'] })
    await conversation.say('Friday')
    await conversation.say('yes')
    conversation.expectReply('Done.').expectAsked({ system: 'Answer with: ok\n\nBe brief.', tools: ['prices'] })
  })
})

describe('the schema of set_fields', () => {
  test('is flat, requires nothing, and has what can be chosen now', async () => {
    const fields = {
      repair: field(z.enum(['tune-up', 'brakes']), { ask: '?', label: 'work' }),
      day: field(z.string(), { ask: '?', choices: [{ value: '2026-12-01', label: 'Tuesday' }] }),
      time: field(z.string(), { ask: '?', needs: ['day'], choices: ({ day }) => [`${day} 9:00`] }),
      bikes: field(z.int(), { ask: '?' }),
      price: field(z.number(), { ask: '?' }),
      express: field(z.boolean(), { ask: '?' }),
      mail: field(z.email(), { ask: '?', optional: true }),
      pickUpAt: field(z.object({ street: z.string() }), { ask: '?' }),
      code: field(z.string(), { ask: '?', secret: true }),
    }
    const script = [set({ day: '2026-12-01' }), 'ok']
    await using conversation = new Conversation(modelFlow([modelForm(fields)]), { script })
    await conversation.say('Hello')
    const properties = {
      repair: { title: 'work', type: 'string', enum: ['tune-up', 'brakes'] },
      day: { title: 'day', type: 'string', enum: ['2026-12-01'] },
      time: { title: 'time', type: 'string' },
      bikes: { title: 'bikes', type: 'integer' },
      price: { title: 'price', type: 'number' },
      express: { title: 'express', type: 'boolean' },
      mail: { title: 'mail', type: 'string', format: 'email' },
      pickUpAt: { title: 'pick up at', type: 'string' },
    }
    const [first, second] = conversation.model.requests.map(({ tools }) => tools[0]?.inputSchema)
    expect(first).toEqual({ type: 'object', properties, additionalProperties: false })
    const time = { ...properties.time, enum: ['2026-12-01 9:00'] }
    expect(second).toEqual({ type: 'object', properties: { ...properties, time }, additionalProperties: false })
    expect(JSON.parse(JSON.stringify(second))).toEqual(second)
  })

  test.each([['skip'], ['change name to Ada'], ['yes'], ['brakes']])(
    'is there for the message that begins the form, whatever it is: %s',
    async (message) => {
      const { ModelBooking } = bookings()
      await using conversation = new Conversation(modelFlow([ModelBooking]), { script: ['ok'] })
      await conversation.say(message)
      conversation.expectAsked({ tools: ['set_fields'], user: message }).expectState(ModelBooking, { values: {} })
    },
  )

  test('is there for each message that the model reads', async () => {
    const { conversation } = await begun('ok')
    await using _ = conversation
    await conversation.say('Hm.')
    expect(schemaFor(conversation)).toMatchObject({ type: 'object', properties: { repair: {}, phone: {} } })
    conversation.expectAsked({ tools: ['set_fields'] })
  })
})

test('the memory has what the user and the model said, and each question', async () => {
  const { conversation } = await begun(set({ repair: 'brakes', day: 'Sunday' }), 'ok', 'We are open until 5.', 'ok')
  await using _ = conversation
  for (const message of ['Brakes on Sunday.', 'How long are you open?', 'skip']) await conversation.say(message)
  const { flow: stored } = await conversation.document()
  expect(lines(stored.memory.Booking?.messages)).toEqual([
    'user: Hello',
    'assistant: ok',
    'assistant: What does your bicycle need?',
    'user: Brakes on Sunday.',
    'assistant: set_fields({"repair":"brakes","day":"Sunday"})',
    'tool: set_fields = {"accepted":["repair"],"refused":{"day":"We are closed on Sunday."},"dropped":{}}',
    'assistant: ok',
    'assistant: We are closed on Sunday. Which day?',
    'user: How long are you open?',
    'assistant: We are open until 5.',
    'assistant: We are open until 5. Which day?',
    'user: skip',
    'assistant: ok',
    'assistant: The day is needed. Which day?',
  ])
})

test('a page fills in a model form without a model, and its memory has what the form says then', async () => {
  const { conversation, ModelBooking } = await begun('ok')
  await using _ = conversation
  const { phone: __, ...payload } = complete
  await conversation.say('', { event: { name: 'Booking', payload: { ...payload, day: 'Sunday' } } })
  conversation.expectReply('We are closed on Sunday.')
  await conversation.say('', { event: { name: 'Booking', payload } })
  conversation
    .expectReply('brakes on Tuesday at 9:00, for Ada, phone none. Right?')
    .expectState(ModelBooking, { reviewing: true })
  const { flow: stored } = await conversation.document()
  expect(lines(stored.memory.Booking?.messages).at(-1)).toBe(`assistant: ${conversation.reply.message}`)
  await conversation.say('yes')
  conversation.expectReply('Booked, Ada.').expectCompleted()
})

describe('what the form reads without a model', () => {
  const readAlone: readonly (readonly [string, string])[] = [
    ['change day', 'Which day?'],
    ['Change the day to Friday', '9:00 is not free on Friday. When on Friday? Free: 10:00, 11:00.'],
    ['change phone to skip', 'brakes on Tuesday at 9:00, for Ada, phone none. Right?'],
    ['no', 'What should I change: repair, day, time, name, phone? If nothing, say yes.'],
    ['phone', 'Your phone number? Or skip.'],
    ['Yes.', 'Booked, Ada.'],
    ['1', 'Booked, Ada.'],
  ]

  test.each(readAlone)('it is offered no tool for: %s', async (message, expected) => {
    const { conversation } = await reviewed('Booked! I have set everything.')
    await using _ = conversation
    await conversation.say(message)
    conversation.expectReply(expected).expectAsked({ tools: [], system: 'Answer with: ok', user: message })
  })

  test.each(readAlone)('works if no model answers: %s', async (message, expected) => {
    for (const failure of [new Error('down'), { refusal: 'I will not.' }]) {
      const { conversation } = await reviewed(failure)
      await using _ = conversation
      await conversation.say(message)
      conversation.expectReply(expected)
    }
  })

  test('a button and skip work if no model answers', async () => {
    const { phone: __, repair: ___, ...others } = complete
    const { conversation } = await modelTalk([set(others), 'ok', new Error('down'), new Error('down')])
    await using _ = conversation
    await conversation.choose('new tyre')
    conversation.expectReply('Your phone number? Or skip.')
    await conversation.say('Skip')
    conversation.expectReply('new tyre on Tuesday at 9:00, for Ada, phone none. Right?')
  })

  test('anything else is the failure of the flow if no model answers', async () => {
    const { conversation, ModelBooking } = await reviewed(new Error('down'))
    await using _ = conversation
    await conversation.say('At 10, please.')
    conversation.expectError('MODEL_ERROR')
    expect(await conversation.document()).toMatchObject({ runStatus: 'aborted' })
    expect((await conversation.document()).flow.steps[ModelBooking.id]?.state).toMatchObject({ values: complete })
  })

  test('and the flow may answer for it', async () => {
    const { ModelBooking } = bookings()
    const onModelError = () => reply('Please use the buttons.')
    await using conversation = new Conversation(modelFlow([ModelBooking], { onModelError }), {
      script: ['ok', new Error('down'), new Error('down')],
    })
    await conversation.say('Hello')
    await conversation.say('The brakes need to be looked at.')
    conversation.expectReply('Please use the buttons.')
    await conversation.say('brakes')
    conversation.expectReply('Which day?').expectState(ModelBooking, { values: { repair: 'brakes' } })
  })
})
