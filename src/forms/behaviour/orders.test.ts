/** Answers and corrections in every order, compared with a model of the form of a few lines. */
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, harness } from '../../../testing/contract/engine-harness.js'
import { bookings, type Calendar } from '../../../testing/contract/forms/test-forms.js'
import { flow } from '../../../testing/contract/side-flows/talk.js'

afterEach(expectNothingLeft)

const names = ['repair', 'day', 'time', 'name', 'phone'] as const
type Name = (typeof names)[number]
type Values = Partial<Record<Name, string>>

const first = { repair: 'brakes', day: 'Tuesday', time: '9:00', name: 'Ada', phone: '0123' }
const orders = permutations(names)

function permutations<Item>(items: readonly Item[]): readonly Item[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item) => permutations(items.filter((one) => one !== item)).map((others) => [item, ...others]))
}

/** What the form must say and hold. */
class Model {
  readonly #free: Calendar
  values: Values = {}
  #asking: Name | undefined

  constructor(free: Calendar, values: Values = {}) {
    this.#free = free
    this.values = { ...values }
    this.question()
  }

  /** @returns the reply */
  change(name: Name, value: string): string {
    const problem = name === 'time' ? this.#problemOf(value) : undefined
    if (problem !== undefined) {
      this.#asking = 'time'
      return `${problem} ${this.question()}`
    }
    this.values[name] = value
    if (this.#asking === name) this.#asking = undefined
    const dropped = this.#problemOf(this.values.time)
    if (dropped === undefined) return this.question()
    delete this.values.time
    // The reason comes with its question.
    this.#asking = 'time'
    return `${dropped} ${this.question()}`
  }

  #problemOf(time: string | undefined): string | undefined {
    const { day } = this.values
    if (day === undefined || time === undefined || this.#free[day]?.includes(time)) return undefined
    return `${time} is not free on ${day}.`
  }

  question(): string {
    const { repair, day, time, name, phone } = this.values
    this.#asking ??= names.find((one) => this.values[one] === undefined)
    const questions = {
      repair: 'What does your bicycle need?',
      day: 'Which day?',
      time: `When on ${day}? Free: ${this.#free[day as string]?.join(', ')}.`,
      name: 'Your name?',
      phone: 'Your phone number? Or skip.',
    }
    if (this.#asking !== undefined) return questions[this.#asking]
    return `${repair} on ${day} at ${time}, for ${name}, phone ${phone}. Right?`
  }
}

/**
 * Plays each order, all with one engine, compares each reply, and expects that the end is always the same.
 *
 * @returns the replies that say that a time is not free
 */
async function playOrders(begin: Values, corrections: Record<Name, string>, last: string): Promise<readonly string[]> {
  const { free, booked, Booking } = bookings()
  class Begun extends Booking {
    override initialState() {
      return { values: { ...begin } }
    }
  }
  const { engine } = harness({ flows: [flow('Shop', [Begun])] })
  const seen = new Set<string>()
  for (const order of orders) {
    let sessionId = ''
    const say = async (userMessage: string): Promise<string> => {
      const { message, session } = await engine.run({ flowName: 'Shop', userMessage, sessionId })
      sessionId = session
      return message
    }
    const model = new Model(free, begin)
    expect(await say('Hello')).toBe(model.question())
    let reply = ''
    for (const name of order) {
      reply = await say(`change ${name} to ${corrections[name]}`)
      expect(reply, order.join(', ')).toBe(model.change(name, corrections[name]))
      if (/not free/.test(reply)) seen.add(reply)
    }
    if (reply.includes('When on')) expect(await say(last), order.join(', ')).toMatch(/Right\?$/)
    expect(await say('yes'), order.join(', ')).toBe(`Booked, ${corrections.name}.`)
  }
  expect(booked).toEqual(orders.map(() => ({ ...corrections, time: last })))
  return [...seen].sort()
}

describe('five fields in each of their 120 orders give the same booking', () => {
  test('from the first question', async () => {
    expect(orders).toHaveLength(120)
    expect(await playOrders({}, first, '9:00')).toEqual([])
  })

  test('from the first question, with a time that the day does not have', async () => {
    const corrections = { ...first, day: 'Friday' }
    // If the day comes first, the time is refused; if the time comes first, it is kept until the day is known.
    expect(await playOrders({}, corrections, '11:00')).toEqual([
      '9:00 is not free on Friday. When on Friday? Free: 10:00, 11:00.',
    ])
  })

  const second = { repair: 'tune-up', day: 'Friday', time: '10:00', name: 'Grace', phone: '0456' }

  test('as corrections at the review, with a time that both days have', async () => {
    // The earlier time goes, if the day comes first.
    expect(await playOrders(first, second, '10:00')).toEqual([
      '9:00 is not free on Friday. When on Friday? Free: 10:00, 11:00.',
    ])
  })

  test('as corrections at the review, with a time that only the new day has', async () => {
    expect(await playOrders(first, { ...second, time: '11:00' }, '11:00')).toEqual([
      '11:00 is not free on Tuesday. When on Tuesday? Free: 9:00, 10:00.',
      '9:00 is not free on Friday. When on Friday? Free: 10:00, 11:00.',
    ])
  })
})
