/** Forms that other steps and flows call, events of their own, repeats by key, and failures after the yes. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { complete, modelFlow, modelForm, set } from '../../../testing/contract/forms/model-forms.js'
import { bookings, type FormMembers, formOf } from '../../../testing/contract/forms/test-forms.js'
import { flow, step } from '../../../testing/contract/side-flows/talk.js'
import { Conversation, retryAs } from '../../../testing/index.js'
import { back, call, event, finish, go, reply, type Transition, type Turn, tool } from '../../index.js'
import { FormStep, field, ModelFormStep } from '../index.js'

const isDay = z.string().regex(/day$/, 'That is no day.')
const fields = {
  day: field(isDay, { ask: 'Which day?' }),
  phone: field(z.string(), { ask: 'Your phone?', optional: true }),
}

/** A step that calls the form, each time with what `state` gives, and says what it got back. */
function calling(state: (message: string) => { state?: { values: Record<string, string> } } | undefined) {
  return step('Start', (turn) => {
    if (turn.returned) return reply(`${turn.returned.from}: ${JSON.stringify(turn.returned.value)}`)
    return turn.entered ? reply('Yes?') : call('Form', state(turn.message))
  })
}

const returning: FormMembers = { done: (values: object) => back({ ...values }) }

describe.each(['text', 'model'] as const)('a form by %s that is called', (kind) => {
  const Form = kind === 'text' ? formOf(fields, returning) : modelForm(fields, returning)
  const talk = (state: Parameters<typeof calling>[0]) =>
    new Conversation(modelFlow([calling(state), Form]), { script: () => 'ok' })

  test('returns its values to the step that called it', async () => {
    await using conversation = talk(() => undefined)
    for (const message of ['Hello', 'go', 'change day to Friday', 'skip']) await conversation.say(message)
    conversation.expectReply('day: Friday\nIs that right?').expectStep('Form')
    await conversation.say('yes')
    conversation.expectReply('Form: {"day":"Friday"}').expectStep('Start')
  })

  test('a second time has its state, unless it is given another one', async () => {
    await using conversation = talk((message) => (message === 'go' ? undefined : { state: { values: {} } }))
    for (const message of ['Hello', 'go', 'change day to Friday', 'skip', 'yes', 'go']) await conversation.say(message)
    conversation.expectReply('day: Friday\nIs that right?')
    for (const message of ['yes', 'anew']) await conversation.say(message)
    conversation.expectReply('Which day?').expectState('Form', { values: {}, skipped: undefined, reviewing: undefined })
    await conversation.say('change day to Monday')
    conversation.expectReply('Your phone?')
    for (const message of ['skip', 'yes']) await conversation.say(message)
    conversation.expectReply('Form: {"day":"Monday"}')
  })

  test('begins with values that it is given, which are checked', async () => {
    await using conversation = talk((day) => ({ state: { values: { day } } }))
    for (const message of ['Hello', 'Friday']) await conversation.say(message)
    conversation.expectReply('Your phone?').expectState('Form', { values: { day: 'Friday' } })
    for (const message of ['skip', 'yes', 'noon']) await conversation.say(message)
    conversation.expectReply('That is no day. Which day?').expectState('Form', { values: {} })
  })
})

describe.each(['text', 'model'] as const)('a form by %s in a called flow', (kind) => {
  const Form = kind === 'text' ? formOf(fields) : modelForm(fields)
  const Start = step('Start', (turn) => {
    if (!turn.returned) return turn.entered ? reply('Yes?') : call('Visit')
    const { values } = turn.stateOf(Form as never) as { values: object }
    return reply(`${turn.returned.from}: ${JSON.stringify(values)}`)
  })
  const Shop = modelFlow([Start, flow('Visit', [Form])])

  test('ends that flow, and begins anew when it is called again', async () => {
    await using conversation = new Conversation(Shop, { script: () => 'ok' })
    for (const message of ['Hello', 'go']) await conversation.say(message)
    conversation.expectReply('Which day?').expectStep('Visit/Form')
    for (const message of ['change day to Friday', 'skip', 'yes']) await conversation.say(message)
    conversation.expectReply('Done: {"day":"Friday"}\n\nVisit: {"day":"Friday"}').expectStep('Start')
    await conversation.say('go')
    conversation.expectReply('Which day?').expectState('Visit/Form', { values: {}, skipped: undefined })
  })

  test('takes what a page sends by the ID of the step alone, as its part is named', async () => {
    await using conversation = new Conversation(Shop, { script: () => 'ok' })
    for (const message of ['Hello', 'go']) await conversation.say(message)
    await conversation.say('', { event: { name: 'Form', payload: { day: 'noon' } } })
    conversation.expectParts([{ type: 'form', name: 'Form', errors: { day: 'That is no day.' } }])
    await conversation.say('', { event: { name: 'Form', payload: { day: 'Friday' } } })
    await conversation.say('yes')
    conversation.expectReply('Done: {"day":"Friday"}\n\nVisit: {"day":"Friday"}')
  })
})

describe('events of a form', () => {
  let asked = 0
  class Refund extends FormStep {
    static override readonly id = 'Refund'
    override fields() {
      return { order: field(z.string(), { ask: 'Which order?' }) }
    }
    override events() {
      const execute = (turn: Turn): Transition =>
        turn.event?.by === 'Ada' ? finish('Paid.') : go('Refund').withLead('Turned down.')
      return [...super.events(), event({ name: 'decision', execute: (_, turn) => execute(turn) })]
    }
    override async done(_values: object, turn: Turn) {
      await turn.once('ask', () => void asked++)
      return reply('I have asked Ada.')
    }
  }
  const Shop = flow('Shop', [Refund])

  test('come beside what a page sends, and are taken after done', async () => {
    asked = 0
    await using conversation = new Conversation(Shop)
    await conversation.say('Hello')
    conversation.expectEvents(['Refund', 'decision'])
    await conversation.say('', { event: { name: 'Refund', payload: { order: '4711' } } })
    await conversation.say('yes')
    conversation.expectReply('I have asked Ada.').expectState('Refund', { values: { order: '4711' } })
    await conversation.say('yes')
    conversation.expectReply('order: 4711\nIs that right?')
    await conversation.sendEvent('decision', undefined, { by: 'Ada' })
    conversation.expectReply('Paid.').expectCompleted()
    expect(asked).toBe(1)
  })

  test('may enter the form again, which keeps its values and asks for a new yes', async () => {
    await using conversation = new Conversation(Shop)
    for (const message of ['Hello', '4711', 'yes']) await conversation.say(message)
    await conversation.sendEvent('decision', undefined, { by: 'Bob' })
    conversation.expectReply('Turned down.\n\norder: 4711\nIs that right?').expectState('Refund', { reviewing: true })
  })
})

describe.each(['text', 'model'] as const)('the yes to a form by %s', (kind) => {
  /** The appointment at its review. Each `done` counts, and its effect is kept by `turn.once`. */
  async function reviewed(done: (values: object, turn: Turn) => unknown = () => undefined, options: object = {}) {
    const ran: object[] = []
    const { free: _, ...made } = bookings()
    const Parent = (kind === 'text' ? made.Booking : made.ModelBooking) as typeof made.Booking
    class Booking extends Parent {
      override fields() {
        return { name: field(z.string(), { ask: 'Your name?' }) }
      }
      override review() {
        return 'Right?'
      }
      override async done(values: object, turn: Turn) {
        ran.push(values)
        await done(values, turn)
        return finish('Booked.')
      }
    }
    const conversation = new Conversation(modelFlow([Booking]), { script: () => 'ok', ...options })
    for (const message of ['Hello', 'change name to Ada']) await conversation.say(message)
    conversation.expectReply('Right?')
    return { conversation, ran, Booking }
  }

  test('that is repeated by its key runs done once', async () => {
    const { conversation, ran } = await reviewed()
    await using _ = conversation
    await conversation.say('yes', { key: 'yes' })
    await conversation.say('yes', { key: 'yes' })
    conversation.expectReplayed().expectReply('Booked.').expectCompleted()
    expect(ran).toEqual([{ name: 'Ada' }])
  })

  test('whose process dies after the effect runs the effect once', async () => {
    const { conversation } = await reviewed((_, turn) => turn.once('book', () => 'booked'))
    await using _ = conversation
    conversation.dieAfterEffect('book')
    await conversation.say('yes', { key: 'yes', fault: retryAs('same-key') })
    conversation.expectReply('Booked.').expectRanOnce('book').expectCompleted()
  })

  test('is asked for again if done fails, and its effect is not repeated', async () => {
    let isDown = true
    const { conversation, ran, Booking } = await reviewed(
      async (_, turn) => {
        await turn.once('book', () => 'booked')
        if (isDown) throw new Error('The mail is down.')
      },
      { onTurnError: 'rollback' },
    )
    await using _ = conversation
    await conversation.say('yes')
    conversation.expectError('FLOW_ERROR', 'The mail is down.').expectState(Booking, { reviewing: true })
    isDown = false
    await conversation.say('yes')
    conversation.expectReply('Booked.').expectRanOnce('book').expectCompleted()
    expect(ran).toHaveLength(2)
  })

  test('is asked for again if the session cannot be stored, and its effect is not repeated', async () => {
    const { conversation, Booking } = await reviewed((_, turn) => turn.once('book', () => 'booked'), {
      onTurnError: 'rollback',
    })
    await using _ = conversation
    // The first two writes are those of the effect.
    conversation.store.failNext('save', { nth: 3, times: Number.POSITIVE_INFINITY })
    await conversation.say('yes')
    conversation.expectError('SESSION_STORE_ERROR').expectState(Booking, { reviewing: true })
    conversation.store.heal()
    await conversation.say('yes')
    conversation.expectReply('Booked.').expectRanOnce('book').expectCompleted()
  })

  test('may be followed by anything that a step returns', async () => {
    const Next = step('Next', ({ entered }) => (entered ? reply('What else?') : finish('Bye.')))
    const Form = formOf({ name: field(z.string(), { ask: 'Your name?' }) }, { done: () => go(Next).withLead('Noted.') })
    await using conversation = new Conversation(flow('Shop', [Form, Next]))
    for (const message of ['Hello', 'Ada', 'yes']) await conversation.say(message)
    conversation.expectReply('Noted.\n\nWhat else?').expectStep('Next')
  })
})

test('the flow sends the user back to the form after its failure, and the model reads the message again', async () => {
  const { ModelBooking } = bookings()
  const onError = () => go('Booking')
  await using conversation = new Conversation(modelFlow([ModelBooking], { onError }), {
    script: ['ok', new Error('down'), set(complete), 'ok'],
  })
  await conversation.say('Hello')
  await conversation.say('Brakes on Tuesday at 9, Ada, 123.')
  conversation.expectState(ModelBooking, { values: complete, reviewing: true }).expectToolCalls(['set_fields'])
})

test('a model form that is entered again in the middle of a message begins to read anew', async () => {
  const again = tool({ name: 'again', description: 'Begins again.', execute: () => go('Form') })
  class Form extends ModelFormStep {
    static override readonly id = 'Form'
    override fields() {
      return fields
    }
    override async tools(turn: Turn) {
      return [...(await super.tools(turn)), again]
    }
    override done() {
      return finish('Done.')
    }
  }
  const toolCalls = [{ name: 'set_fields', input: { day: 'noon' } }, { name: 'again' }]
  await using conversation = new Conversation(modelFlow([Form]), { script: ['ok', { toolCalls }, 'We begin at 9.'] })
  await conversation.say('Hello')
  await conversation.say('At noon, and again.')
  conversation.expectReply('We begin at 9. Which day?').expectState('Form', { values: {}, wrong: undefined })
})
