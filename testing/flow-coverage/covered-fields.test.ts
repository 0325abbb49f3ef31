/** The coverage of forms: which fields got a value, and which never did. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { field } from '../../src/forms/index.js'
import { call, event, Flow, FlowEngine, reply, type Turn } from '../../src/index.js'
import { answers, Booking, Desk, Shop, Welcome } from '../contract/booking-form.js'
import { Conversation } from '../conversation/conversation.js'
import { coverageOf } from './flow-coverage.js'
import { mergeReports } from './merge-reports.js'

/** How often each field was answered. */
function answeredIn({ flows }: ReturnType<typeof mergeReports>): Readonly<Record<string, number>> {
  return Object.fromEntries((flows[0]?.fields ?? []).map(({ step, name, answered }) => [`${step}.${name}`, answered]))
}

test('counts the fields that got a value, and lists those that never did', async () => {
  const coverage = coverageOf(Shop)
  await using conversation = new Conversation(Shop, { coverage })
  for (const text of ['Hello', 'book', 'brakes', 'Sunday', 'Friday', 'change day to Friday']) {
    await conversation.say(text)
  }
  await conversation.say('change day to Tuesday')
  await conversation.fill({ time: '9', bicycles: 2, phone: undefined })
  expect(answeredIn(coverage.report())).toEqual({
    'Booking.repair': 1,
    'Booking.day': 2,
    'Booking.time': 1,
    'Booking.bicycles': 1,
    'Booking.phone': 0,
  })
  await conversation.say('yes')
  expect(coverage.text()).toMatchInlineSnapshot(`
    "Shop, 11 turns
      steps       2 of 2
      end steps   1 of 1
      tools       none
      fields      4 of 5
      transitions none
      seen from steps without next: Welcome -> Booking, Booking -> End
      missing:
      - field Booking.phone: never answered"
  `)
  expect(() => coverage.expectFull()).toThrow('field Booking.phone: never answered')
  coverage.expectFull({ except: ['Booking.phone'] })
})

test('counts what a page sends', async () => {
  const coverage = coverageOf(Desk)
  await using conversation = new Conversation(Desk, { coverage })
  await conversation.say('Hello')
  await conversation.sendEvent('Booking', { day: 'Friday', repair: 'gears', phone: '123' })
  const { 'Booking.day': day, 'Booking.repair': repair, 'Booking.phone': phone } = answeredIn(coverage.report())
  expect([day, repair, phone]).toEqual([1, 0, 1])
  expect(coverage.report().flows[0]?.events).toEqual([{ step: 'Booking', name: 'Booking', taken: 1 }])
})

test('needs no page that sends a form, and counts the form that took what one sent', async () => {
  class Side extends Flow {
    static override readonly id = 'Side'
    override steps() {
      return [Welcome]
    }
  }
  class Asking extends Booking {
    override events() {
      return [...super.events(), event({ name: 'help', execute: () => reply('Please wait.') })]
    }
  }
  class Office extends Flow {
    static override readonly id = 'Office'
    override steps(): ReturnType<Flow['steps']> {
      return [Asking, Side]
    }
    override onMessage({ message }: Turn) {
      return message === 'aside' ? call(Side) : undefined
    }
  }
  const coverage = coverageOf(Office)
  await using conversation = new Conversation(Office, { coverage })
  await conversation.say('Hello')
  expect(coverage.report().flows[0]?.events).toEqual([{ step: 'Booking', name: 'help', taken: 0 }])
  await conversation.say('aside')
  await conversation.sendEvent('Booking', { day: 'Friday' })
  expect(coverage.report().flows[0]?.events).toEqual([
    { step: 'Booking', name: 'help', taken: 0 },
    { step: 'Booking', name: 'Booking', taken: 1 },
  ])
  expect(mergeReports([coverage.report(), coverageOf(Office).report()]).flows[0]?.events).toHaveLength(2)
})

test('counts a value in the session that gave it, and not again in a fork or for a conversation that began with it', async () => {
  const coverage = coverageOf(Desk)
  await using conversation = new Conversation(Desk, { coverage })
  await conversation.fill({ ...answers })
  await using fork = await conversation.fork()
  await fork.fill({ bicycles: 3 })
  await using begun = Conversation.at(Desk, { coverage, step: Booking, state: { values: { repair: 'brakes' } } })
  await begun.fill({ day: 'Tuesday' })
  expect(answeredIn(coverage.report())).toEqual({
    'Booking.repair': 1,
    'Booking.day': 2,
    'Booking.time': 1,
    'Booking.bicycles': 2,
    'Booking.phone': 0,
  })
  conversation.sessionId = ''
  await conversation.fill({ repair: 'brakes' })
  expect(answeredIn(coverage.report())['Booking.repair']).toBe(2)
})

test('has no fields of a form whose values it has not seen', async () => {
  const coverage = coverageOf(Shop)
  await using conversation = new Conversation(Shop, { coverage })
  await conversation.say('Hello')
  const engine = coverage.watch(new FlowEngine({ flows: [Shop] }))
  await engine.execute({ flowName: 'Shop', userMessage: 'book' })
  expect(coverage.report().flows[0]).not.toHaveProperty('fields')
  expect(coverage.text()).not.toContain('field')
  await engine.close()
})

test('has fields that depend on what was answered, and none of a form that cannot list them without', async () => {
  class Changing extends Booking {
    override fields() {
      const { day } = this.state.values
      const fields = super.fields()
      if (day === undefined) return fields
      return { ...fields, note: field(z.string(), { ask: `A note for ${day}?` }) }
    }
  }
  class Failing extends Booking {
    override fields() {
      if (this.state.values.day === undefined && this.state.entry === undefined) throw new Error('not yet')
      return super.fields()
    }
  }
  const none = Object.fromEntries(Object.keys(answers).map((name) => [`Booking.${name}`, 0]))
  for (const [form, expected] of [
    [Changing, { ...none, 'Booking.day': 1, 'Booking.note': 1 }],
    [Failing, { 'Booking.day': 1 }],
  ] as const) {
    class Changed extends Desk {
      override steps() {
        return [form]
      }
    }
    const coverage = coverageOf(Changed)
    await using conversation = Conversation.at(Changed, { coverage, step: form, state: { entry: '0.1' } })
    for (const text of ['change day to Friday', 'change note to Hello']) await conversation.say(text)
    expect(answeredIn(coverage.report())).toEqual(expected)
  }
})

test('has fields that depend on the time of a turn, and of others those that were answered', async () => {
  for (const [read, expected] of [
    [({ now }: Turn) => now, { 'Booking.late': 0, 'Booking.note': 1 }],
    [({ services }: Turn) => services, { 'Booking.note': 1 }],
  ] as const) {
    class Late extends Booking {
      override fields(turn: Turn = {} as Turn) {
        const from = read(turn)
        const late = z.string().refine((text) => text !== String(from))
        const fields = { note: field(z.string(), { ask: 'A note?' }), late: field(late, { ask: 'How late?' }) }
        return fields as unknown as ReturnType<Booking['fields']>
      }
    }
    class LateDesk extends Desk {
      override steps() {
        return [Late]
      }
    }
    const coverage = coverageOf(LateDesk)
    await using conversation = new Conversation(LateDesk, { coverage })
    for (const text of ['Hello', 'no note']) await conversation.say(text)
    expect(answeredIn(coverage.report())).toEqual(expected)
  }
})

test('is added up over processes', async () => {
  const [one, other] = [coverageOf(Desk), coverageOf(Desk)]
  for (const coverage of [one, other]) {
    await using conversation = new Conversation(Desk, { coverage })
    await conversation.fill({ repair: 'brakes', day: 'Friday' })
  }
  const report = JSON.parse(JSON.stringify(one))
  const twice = { 'Booking.repair': 2, 'Booking.day': 2, 'Booking.time': 0, 'Booking.bicycles': 0, 'Booking.phone': 0 }
  expect(answeredIn(mergeReports([report, other.report()]))).toEqual(twice)
  expect(mergeReports([report]).flows[0]?.gaps).toEqual(one.report().flows[0]?.gaps)
  expect(answeredIn(coverageOf(Desk).add(report).report())).toEqual(answeredIn(one.report()))
  expect(answeredIn(other.add(report).report())).toEqual(twice)
  const unanswered = coverageOf(Desk)
  await using conversation = new Conversation(Desk, { coverage: unanswered })
  await conversation.say('Hello')
  expect(Object.values(answeredIn(coverageOf(Desk).add(unanswered.report()).report()))).toEqual([0, 0, 0, 0, 0])
  // A report of an older release has no fields.
  const [{ fields: _, ...old }] = report.flows
  expect(answeredIn(other.add({ flows: [old] }).report())).toEqual(twice)
})
