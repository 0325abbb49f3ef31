/** A form that a conversation fills in: its questions are answered, and what does not fit is reported. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type FormValues, field, ModelFormStep } from '../../../src/forms/index.js'
import { finish, go, MemorySessionStore, reply, type Turn } from '../../../src/index.js'
import { answers, Booking, Desk, Shop } from '../../contract/booking-form.js'
import { coverageOf, ExpectationError } from '../../index.js'
import { Conversation } from '../conversation.js'

/** The messages so far. */
async function saidIn(conversation: Conversation): Promise<readonly string[]> {
  return (await conversation.document()).history.map(({ message }) => message)
}

/** The failure of `act`, without the transcript. */
async function failureOf(act: Promise<unknown>): Promise<string> {
  const failure = await act.then(
    () => new Error('nothing failed'),
    (error: unknown) => error,
  )
  expect(ExpectationError.isInstance(failure)).toBe(true)
  expect((failure as Error).stack).toContain('filled-form.test.ts')
  const { message } = failure as Error
  return message.slice(0, message.indexOf('\nWhere:'))
}

function deskOf(form: typeof Booking): typeof Desk {
  return class extends Desk {
    override steps() {
      return [form]
    }
  }
}

describe('each answer is said when it is asked', () => {
  test('whatever the order of the answers', async () => {
    await using conversation = new Conversation(Desk)
    await conversation.say('Hello')
    const { phone, bicycles, time, day, repair } = answers
    const last = await conversation.fill({ phone, bicycles, time, day, repair })
    expect(await saidIn(conversation)).toEqual(['Hello', 'brakes', 'Friday', '11', '2', 'skip'])
    expect(last).toBe(conversation.reply)
    conversation.expectReply(/Friday\n.*\nIs that right\?$/s)
    await conversation.say('yes')
    conversation.expectReply('Booked: Friday at 11.').expectCompleted()
  })

  test('of a new conversation, which begins with an empty message', async () => {
    await using conversation = new Conversation(Desk)
    await conversation.fill({ repair: 'brakes' })
    expect(await saidIn(conversation)).toEqual(['', 'brakes'])
    conversation.expectReply('Which day, Tuesday or Friday?')
  })

  test('in parts, after a restart and in a fork', async () => {
    await using conversation = new Conversation(Desk)
    await conversation.fill({ repair: 'brakes', day: 'Friday' })
    await conversation.restart()
    const { time, bicycles, phone } = answers
    await using fork = await conversation.fork()
    for (const one of [conversation, fork]) {
      await one.fill({ time, bicycles, phone })
      one.expectReply(/Is that right/)
    }
  })

  test('of a form in the middle, whose values were given', async () => {
    await using conversation = Conversation.at(Desk, { step: Booking, state: { values: { repair: 'brakes' } } })
    await conversation.fill({ day: 'Friday', time: '10' })
    expect(await saidIn(conversation)).toEqual(['Friday', '10'])
    conversation.expectReply('How many?')
  })

  test('of a form in the middle, which begins with what is missing', async () => {
    for (const state of [
      { values: { day: 'Friday' }, skipped: ['repair'] },
      { values: {}, asking: 'time' },
    ]) {
      await using conversation = Conversation.at(Desk, { step: Booking, state })
      await conversation.fill({ repair: 'brakes' })
      expect(await saidIn(conversation)).toEqual(['brakes'])
    }
  })

  test('of a form that shows itself to a page first', async () => {
    class Shown extends Booking {
      override async onEnter(turn: Turn) {
        return reply('Please fill in the form.').withParts([await this.asPart(turn)])
      }
    }
    await using conversation = new Conversation(deskOf(Shown))
    await conversation.fill({ repair: 'brakes', day: 'Friday' })
    conversation.expectReply('When? 10, 11.')
  })

  test('with the options of a message', async () => {
    class Mine extends Booking {
      override fields() {
        return { ...super.fields(), name: field(z.string(), { ask: (_, { session }) => `Are you ${session.owner}?` }) }
      }
    }
    await using conversation = new Conversation(deskOf(Mine))
    await conversation.fill({ ...answers }, { owner: 'Ada' })
    conversation.expectReply('Are you Ada?')
  })
})

describe('a field that is not asked next is corrected', () => {
  test('if others are open', async () => {
    await using conversation = new Conversation(Desk)
    await conversation.fill({ time: '10', phone: null, day: 'Friday' })
    expect(await saidIn(conversation)).toEqual([
      '',
      'change day to Friday',
      'change time to 10',
      'change phone to skip',
    ])
    conversation.expectReply('What does your bicycle need?')
  })

  test('at the review, by its label', async () => {
    await using conversation = new Conversation(Desk)
    await conversation.fill(answers)
    await conversation.fill({ bicycles: 3, day: 'Tuesday', time: '9' })
    expect((await saidIn(conversation)).slice(-3)).toEqual([
      'change day to Tuesday',
      '9',
      'change number of bicycles to 3',
    ])
    conversation.expectReply(/^repair: brakes\nday: Tuesday\ntime: 9\nnumber of bicycles: 3\nIs that right\?$/)
  })

  test('in the words of the form', async () => {
    class German extends Booking {
      override words = { skip: ['weiter'], change: ['ändere {field}', '{field}: {value}'] }
    }
    await using conversation = new Conversation(deskOf(German))
    await conversation.fill({ day: 'Friday', phone: undefined })
    expect(await saidIn(conversation)).toEqual(['', 'day: Friday', 'phone: weiter'])
  })

  test('unless the form has no words for it', async () => {
    class Strict extends Booking {
      override words = { change: ['change {field}'] }
    }
    await using conversation = new Conversation(deskOf(Strict))
    expect(await failureOf(conversation.fill({ day: 'Friday', time: '10' }))).toBe(
      "Form 'Booking' asks for 'repair', which fill was not given, and its words.change has no '... {field} ... {value}' to say another field with. Left to say: day, time.",
    )
    await conversation.fill({ ...answers })
    expect(await failureOf(conversation.fill({ day: 'Friday' }))).toContain("Form 'Booking' asks for a yes, and its")
  })
})

describe('fields that depend on the turn', () => {
  const formWith = (read: (turn: Turn) => unknown): typeof Booking =>
    class extends Booking {
      override fields(turn: Turn = {} as Turn) {
        const right = String(read(turn))
        const day = z.string().refine((text) => text === right, 'Not that day.')
        return { ...super.fields(), day: field(day, { ask: 'Which day?', label: 'big day' }) }
      }
    }

  test.each<readonly [string, (turn: Turn) => unknown, string]>([
    ['its time', ({ now }) => new Date(now).getUTCFullYear(), '2026'],
    ['its services', ({ services }) => (services as { day: string }).day, 'Friday'],
    ['its context', ({ context }) => typeof context, 'object'],
  ])('are known: %s', async (_, read, day) => {
    await using conversation = new Conversation(deskOf(formWith(read)), { services: { day: 'Friday' } as never })
    await conversation.fill({ day })
    expect(await saidIn(conversation)).toEqual(['', `change big day to ${day}`])
    conversation.expectField(Booking, 'day', day)
    expect(await failureOf(conversation.fill({ dya: day }))).toContain("has no field 'dya'")
  })

  test('are answered by their names if they need more of it', async () => {
    await using conversation = new Conversation(deskOf(formWith(({ number }) => number)))
    await conversation.fill({ repair: 'brakes', day: '3', phone: '123' })
    expect(await saidIn(conversation)).toEqual(['', 'brakes', '3', 'change phone to 123'])
    conversation.expectField(Booking, 'day', '3')
    expect(() => conversation.expectField('Booking', 'dya', '3')).toThrow('dya: expected "3", got nothing')
    expect(await failureOf(conversation.fill({ bicycles: 'many' }))).toContain(
      'did not take "change bicycles to many" for \'bicycles\'',
    )
  })
})

test('a session that cannot be read after an answer is reported', async () => {
  let loads = 0
  class Unreadable extends MemorySessionStore {
    override load(id: string) {
      // The harness loads after each turn, and the engine before the second one.
      return ++loads > 2 ? Promise.reject(new Error('the replica is gone')) : super.load(id)
    }
  }
  const conversation = new Conversation(Desk, { createStore: () => new Unreadable() })
  expect(await failureOf(conversation.fill({ repair: 'brakes', day: 'Friday' }))).toMatch(
    /^The session could not be read after the turn "brakes"\. .*the replica is gone/,
  )
  await conversation.close()
})

describe('fails', () => {
  test('if the form does not take an answer, with what it said', async () => {
    await using conversation = new Conversation(Desk)
    expect(await failureOf(conversation.fill({ ...answers, day: 'Sunday' }))).toBe(
      'Form \'Booking\' did not take "Sunday" for \'day\'. It said: "We are closed that day. Which day, Tuesday or Friday?"',
    )
    expect(await failureOf(conversation.fill({ day: undefined }))).toContain('It said: "The day is needed. Which day')
  })

  test('if a correction is not right, though the form keeps the old value', async () => {
    await using conversation = new Conversation(Desk)
    await conversation.fill(answers)
    expect(await failureOf(conversation.fill({ time: '9' }))).toBe(
      'Form \'Booking\' did not take "change time to 9" for \'time\'. It said: "9 is not free. When? 10, 11."',
    )
    conversation.expectField(Booking, 'time', '11')
  })

  test('if the form gives up because of an answer', async () => {
    class Patient extends Booking {
      override attempts = 1
      override onGaveUp() {
        return finish('Please call us.')
      }
    }
    await using conversation = new Conversation(deskOf(Patient))
    expect(await failureOf(conversation.fill({ repair: 'gears' }))).toContain('It said: "Please call us."')
  })

  test('for a field that the form does not have', async () => {
    await using conversation = new Conversation(Desk)
    const fields = 'Its fields: repair, day, time, bicycles, phone.'
    expect(await failureOf(conversation.fill({ dya: 'Friday' }))).toBe(
      `fill: form 'Booking' has no field 'dya'. ${fields} Did you mean 'day'?`,
    )
    expect(await failureOf(conversation.fill({ constructor: 'Friday' }))).toBe(
      `fill: form 'Booking' has no field 'constructor'. ${fields}`,
    )
  })

  test('if no form is open', async () => {
    await using conversation = new Conversation(Shop)
    expect(await failureOf(conversation.fill({ day: 'Friday', time: '10' }))).toBe(
      "fill needs a form that asks, and step 'Welcome' is not one. Left to say: day, time.",
    )
    await conversation.say('book')
    await conversation.fill(answers)
    await conversation.say('yes')
    expect(await failureOf(conversation.fill({ day: 'Friday' }))).toContain("the session is stored as 'completed'")
    conversation.sessionId = 'another'
    expect(await failureOf(conversation.fill({ day: 'Friday' }))).toContain('and nothing is stored yet')
  })

  test('if the flow leaves the form in the middle', async () => {
    class Leaving extends Shop {
      override onMessage({ message }: Turn) {
        return message === 'Friday' ? go('Welcome') : undefined
      }
    }
    await using conversation = new Conversation(Leaving)
    await conversation.say('book')
    expect(await failureOf(conversation.fill({ repair: 'brakes', day: 'Friday' }))).toContain(
      'did not take "Friday" for \'day\'. It said: "Say book."',
    )
  })

  test.each([
    ['{}', {}],
    ['["Friday"]', ['Friday']],
    ['undefined', undefined],
    ['["Friday"] for \'day\'. Of other values, write what the user says', { day: ['Friday'] }],
  ])('for values that nobody says: %s', async (shown, given) => {
    await using conversation = new Conversation(Desk)
    expect(await failureOf(conversation.fill(given as never))).toBe(
      `fill needs what a user says, by field, as in fill({ day: 'Friday', phone: undefined }); got ${shown}.`,
    )
  })

  test('for an option that belongs to one message', async () => {
    await using conversation = new Conversation(Desk)
    await expect(conversation.fill({ day: 'Friday' }, { key: 'day' } as never)).rejects.toThrow(
      "fill: there is no option 'key'.",
    )
  })

  test('after close, and while a turn is under way', async () => {
    const conversation = new Conversation(Desk)
    const saying = conversation.say('Hello')
    expect(await failureOf(conversation.fill({ day: 'Friday' }))).toContain(
      'fill() was called while say("Hello") is under way',
    )
    await saying
    await conversation.close()
    await expect(conversation.fill({ day: 'Friday' })).rejects.toThrow('fill() was called after close()')
  })

  test('if it is not awaited, at the next call', async () => {
    const conversation = new Conversation(Desk)
    await conversation.say('Hello')
    const filling = conversation.fill(answers)
    expect(() => conversation.expectReply('x')).toThrow('was called while say("brakes") is under way')
    await filling
    await conversation.close()
  })
})

describe('a turn that fails', () => {
  class Broken extends Booking {
    override fields() {
      const crash = z.string().refine((text) => {
        if (text === 'crash') throw new Error('no calendar')
        return true
      })
      return { ...super.fields(), repair: field(crash, { ask: 'What?' }) } as unknown as ReturnType<Booking['fields']>
    }
  }

  test('is expected if it is the last', async () => {
    await using conversation = new Conversation(deskOf(Broken))
    const { success } = await conversation.fill({ repair: 'crash' })
    expect(success).toBe(false)
    conversation.expectError('FLOW_ERROR', 'no calendar')
  })

  test('is reported if answers are left, with the line of the test', async () => {
    await using conversation = new Conversation(deskOf(Broken))
    // No asynchronous function waits for it, whose line the runtime would know.
    const failing = new Promise<unknown>((_resolve, reject) => {
      conversation.fill({ repair: 'crash', day: 'Friday' }).catch(reject)
    })
    await expect(failing).rejects.toThrow(
      /^The turn "crash" failed with FLOW_ERROR: no calendar\n(?: {2}at .*\n)+ {2}said at .*filled-form\.test\.ts/,
    )
  })
})

describe('a form that a model reads', () => {
  class Reading extends ModelFormStep {
    static override readonly id = 'Reading'
    override fields() {
      return {
        day: field(z.string(), { ask: 'Which day?' }),
        time: field(z.string(), { ask: 'When?' }),
      }
    }
    override done({ day, time }: FormValues<Reading>) {
      return finish(`${day} at ${time}.`)
    }
  }
  class Desk extends Shop {
    override model() {
      return { provider: 'openai', name: 'gpt-5-mini' }
    }
    override steps() {
      return [Reading] as never
    }
  }
  const set = (input: Readonly<Record<string, string>>) => [{ toolCalls: [{ name: 'set_fields', input }] }, 'ok']

  test('gets the answers, and the script reads them', async () => {
    const script = ['ok', ...set({ day: 'Friday' }), ...set({ time: '10' }), 'ok']
    await using conversation = new Conversation(Desk, { script })
    await conversation.say('Hello')
    await conversation.fill({ day: 'On Friday, please', time: 10 })
    conversation.expectField(Reading, 'day', 'Friday').expectAsked({ user: '10' })
    await conversation.say('yes')
    conversation.expectReply('Friday at 10.')
  })

  test('and does not take one if the script sets nothing', async () => {
    await using conversation = new Conversation(Desk, { script: ['ok', 'We close at six.'] })
    await conversation.say('Hello')
    expect(await failureOf(conversation.fill({ day: 'Friday' }))).toContain(
      'It said: "We close at six. Which day?"\nA model reads this form: its script must call set_fields.',
    )
  })
})

test('the coverage of a conversation sees the messages of fill', async () => {
  const coverage = coverageOf(Desk)
  await using conversation = new Conversation(Desk, { coverage })
  await conversation.fill(answers)
  expect(coverage.report().flows[0]?.turns).toBe(6)
})
