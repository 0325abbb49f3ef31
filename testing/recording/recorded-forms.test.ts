/** A form in a recording: what the user said, and what a page sent, has the same result again. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { FormStep, field, ModelFormStep } from '../../src/forms/index.js'
import { finish, type JsonObject, reply, type StepConstructor, type Turn } from '../../src/index.js'
import { answers, Booking, Desk } from '../contract/booking-form.js'
import { Conversation } from '../conversation/conversation.js'
import { recordingOf, replay } from './recording.js'

/** Sends what a page sends: the user's own event. */
function submit(conversation: Conversation, name: string, payload: JsonObject): ReturnType<Conversation['say']> {
  return conversation.say('', { event: { name, payload } })
}

function deskOf(form: StepConstructor): typeof Desk {
  return class extends Desk {
    override model() {
      return { provider: 'openai', name: 'gpt-5-mini' }
    }
    override steps() {
      return [form]
    }
  }
}

test('a form is replayed, with what a page has sent', async () => {
  class Shown extends Booking {
    override async onEnter(turn: Turn) {
      return reply('Please fill in the form.').withParts([await this.asPart(turn)])
    }
  }
  const flow = deskOf(Shown)
  await using conversation = new Conversation(flow)
  await conversation.say('Hello')
  await submit(conversation, 'Booking', { repair: 'gears', day: 'Friday', phone: '' })
  await submit(conversation, 'Booking', { repair: 'brakes', day: 'Friday', time: '11', bicycles: 2 })
  await conversation.fill({ day: 'Tuesday', time: '9' })
  await conversation.choose('Yes')
  conversation.expectReply('Booked: Tuesday at 9.').expectCompleted()
  const document = await conversation.document()
  const recording = JSON.parse(JSON.stringify(recordingOf(document)))
  const replayed = await replay(flow, recording)
  expect(replayed.history).toEqual(document.history)
  expect(replayed.flow.steps).toEqual(document.flow.steps)
})

test('a form that checks otherwise now differs, with the event in the failure', async () => {
  await using conversation = new Conversation(Desk)
  await conversation.say('Hello')
  await submit(conversation, 'Booking', { ...answers, phone: '0731' } as JsonObject)
  class Strict extends Booking {
    override fields(): ReturnType<Booking['fields']> {
      const phone = field(z.string().min(6, 'That number is too short.'), { ask: 'Your phone?', optional: true })
      return { ...super.fields(), phone }
    }
  }
  await expect(replay(deskOf(Strict), recordingOf(await conversation.document()))).rejects.toThrow(
    /differs at turn 2 of 2\.\n\n {2}Event: Booking \{"repair":"brakes".*\n\n {2}reply\n[\s\S]*\+ That number is too short\./,
  )
})

describe('a form that a model reads', () => {
  class Reading extends ModelFormStep {
    static override readonly id = 'Reading'
    override fields() {
      return { day: field(z.string(), { ask: 'Which day?' }), time: field(z.string(), { ask: 'When?' }) }
    }
    override done() {
      return finish('Done.')
    }
  }

  test('is replayed with what the model has read, and what a page has sent', async () => {
    const set = { toolCalls: [{ name: 'set_fields', input: { day: 'Friday' } }] }
    const flow = deskOf(Reading)
    await using conversation = new Conversation(flow, { script: ['ok', set, 'ok', 'Until six.', 'ok'] })
    await conversation.say('Hello')
    await conversation.say('On Friday')
    await conversation.say('How long are you open?')
    await submit(conversation, 'Reading', { time: '10' })
    await conversation.say('yes')
    conversation.expectCompleted()
    const document = await conversation.document()
    const replayed = await replay(flow, recordingOf(document))
    expect(replayed.history).toEqual(document.history)
    expect(replayed.flow.memory).toEqual(document.flow.memory)
  })
})

describe('a secret', () => {
  class Pin extends FormStep {
    static override readonly id = 'Pin'
    override fields() {
      const digits = z.string().regex(/^\d{4}$/, 'Four digits, please.')
      return { pin: field(digits, { ask: 'Your PIN?', secret: true }), name: field(z.string(), { ask: 'Your name?' }) }
    }
    override done() {
      return finish('Thank you.')
    }
  }
  const flow = deskOf(Pin)

  test('that a page has sent must be given again', async () => {
    await using conversation = new Conversation(flow)
    await conversation.say('Hello')
    await submit(conversation, 'Pin', { pin: '1234', name: 'Ada' })
    await conversation.say('yes')
    const document = await conversation.document()
    await expect(replay(flow, recordingOf(document))).rejects.toThrow('The history has no payload of this event')
    await replay(flow, recordingOf(document, { payloads: { 2: { pin: '1234', name: 'Ada' } } }))
  })

  test('that the user has said is written into the recording', async () => {
    await using conversation = new Conversation(flow)
    for (const text of ['Hello', '1234', 'Ada', 'yes']) await conversation.say(text)
    const recording = recordingOf(await conversation.document())
    expect(recording.turns[1]?.said).toBe('[pin]')
    await expect(replay(flow, recording)).rejects.toThrow('+ Four digits, please. Your PIN?')
    const turns = recording.turns.map((turn) => (turn.number === 2 ? { ...turn, said: '1234' } : turn))
    await replay(flow, { ...recording, turns })
  })
})
