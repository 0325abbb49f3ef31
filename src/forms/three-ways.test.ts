/** The same answers as text, by a model and from a page: the same state, and the same booking. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bookings } from '../../testing/contract/forms/test-forms.js'
import { ScriptedModel, type ScriptedReplyFunction } from '../../testing/index.js'
import { type ExecuteResult, FlowEngine, type FlowRunInput, MemorySessionStore } from '../index.js'
import type { FormState } from './index.js'

/** What a page sends, or a model passes; by text, `null` is said as `skip`. */
type Given = Readonly<Record<string, string | null>>

interface Case {
  /** What is given, message by message. By text, each field is a message of its own. */
  readonly given: readonly Given[]
  readonly values: Given
  readonly skipped?: readonly string[]
  /** The open question: a field, or the review. */
  readonly open: string
}

const complete: Given = { repair: 'brakes', day: 'Tuesday', time: '9:00', name: 'Ada', phone: '123' }
const { phone: _, ...withoutPhone } = complete
const { time: __, ...withoutTime } = complete

const cases: Readonly<Record<string, Case>> = {
  'the first answer': { given: [{ repair: 'brakes' }], values: { repair: 'brakes' }, open: 'day' },
  'an answer in other letters': { given: [{ repair: ' New TYRE ' }], values: { repair: 'new tyre' }, open: 'day' },
  'several at once': {
    given: [{ repair: 'brakes', day: 'Tuesday', time: '9:00' }],
    values: { repair: 'brakes', day: 'Tuesday', time: '9:00' },
    open: 'name',
  },
  'all at once': { given: [complete], values: complete, open: 'review' },
  'one after the other': {
    given: Object.entries(complete).map(([name, value]) => ({ [name]: value })),
    values: complete,
    open: 'review',
  },
  'the last first': {
    given: [{ phone: '123' }, { name: 'Ada' }],
    values: { name: 'Ada', phone: '123' },
    open: 'repair',
  },
  'a value before what it needs': {
    given: [{ repair: 'brakes' }, { time: '10:00' }],
    values: { repair: 'brakes', time: '10:00' },
    open: 'day',
  },
  'what it needs makes it right': {
    given: [{ repair: 'brakes' }, { time: '10:00' }, { day: 'Friday' }],
    values: { repair: 'brakes', time: '10:00', day: 'Friday' },
    open: 'name',
  },
  'what it needs makes it wrong': {
    given: [{ repair: 'brakes' }, { time: '9:00' }, { day: 'Friday' }],
    values: { repair: 'brakes', day: 'Friday' },
    open: 'time',
  },
  'a correction': { given: [complete, { name: 'Grace' }], values: { ...complete, name: 'Grace' }, open: 'review' },
  'a correction to the same': { given: [complete, { name: 'Ada' }], values: complete, open: 'review' },
  'a correction that keeps a dependent field': {
    given: [{ ...complete, time: '10:00' }, { day: 'Friday' }],
    values: { ...complete, day: 'Friday', time: '10:00' },
    open: 'review',
  },
  'a correction that drops a dependent field': {
    given: [complete, { day: 'Friday' }],
    values: { ...withoutTime, day: 'Friday' },
    open: 'time',
  },
  'a dropped field, given again': {
    given: [complete, { day: 'Friday' }, { time: '11:00' }],
    values: { ...complete, day: 'Friday', time: '11:00' },
    open: 'review',
  },
  'both in one correction': {
    given: [complete, { day: 'Friday', time: '11:00' }],
    values: { ...complete, day: 'Friday', time: '11:00' },
    open: 'review',
  },
  'an optional field left empty': {
    given: [withoutPhone, { phone: null }],
    values: withoutPhone,
    skipped: ['phone'],
    open: 'review',
  },
  'an optional field left empty, then given': {
    given: [withoutPhone, { phone: null }, { phone: '456' }],
    values: { ...withoutPhone, phone: '456' },
    open: 'review',
  },
  'an optional field cleared': {
    given: [complete, { phone: null }],
    values: withoutPhone,
    skipped: ['phone'],
    open: 'review',
  },
  'a required field cleared': { given: [complete, { name: null }], values: complete, open: 'name' },
  'a wrong first answer': { given: [{ repair: 'paint' }], values: {}, open: 'repair' },
  'a wrong answer by the schema': {
    given: [{ repair: 'brakes' }, { day: 'tomorrow' }],
    values: { repair: 'brakes' },
    open: 'day',
  },
  'a wrong answer by the check': {
    given: [{ repair: 'brakes' }, { day: 'Sunday' }],
    values: { repair: 'brakes' },
    open: 'day',
  },
  'a wrong correction': { given: [complete, { day: 'Sunday' }], values: complete, open: 'day' },
  'a wrong correction of a dependent field': { given: [complete, { time: '11:00' }], values: complete, open: 'time' },
  'a wrong correction, mended': {
    given: [complete, { day: 'Sunday' }, { day: 'Friday', time: '10:00' }],
    values: { ...complete, day: 'Friday', time: '10:00' },
    open: 'review',
  },
}

/** Sets what the message says as JSON, if it does and has not been set. */
const modelThatReads: ScriptedReplyFunction = ({ messages }) => {
  const part = messages.at(-1)?.parts[0]
  const said = part?.type === 'text' ? /^I say (.*)$/.exec(part.text)?.[1] : undefined
  return said === undefined ? 'ok' : { toolCalls: [{ name: 'set_fields', input: JSON.parse(said) }] }
}

/** One engine for the conversations of many plays. */
class Shop {
  readonly booked: readonly unknown[]
  readonly #store = new MemorySessionStore()
  readonly #engine: FlowEngine

  constructor(kind: 'text' | 'model') {
    const { Shop: byText, ModelShop: byModel, booked } = bookings()
    this.booked = booked
    const model = new ScriptedModel(modelThatReads)
    const providers = [{ provider: 'scripted', resolve: () => model }]
    this.#engine = new FlowEngine({ flows: [kind === 'text' ? byText : byModel], sessionStore: this.#store, providers })
  }

  async send(sessionId: string, input: Partial<FlowRunInput>): Promise<ExecuteResult> {
    const result = await this.#engine.execute({ flowName: 'Shop', userMessage: '', sessionId, ...input })
    expect(result.error).toBe(undefined)
    return result
  }

  /** @returns the session */
  async begin(): Promise<string> {
    return (await this.send('', { userMessage: 'Hello' })).response.session
  }

  /** What must be the same: what is known, and what is asked. */
  async outcomeOf(sessionId: string): Promise<Omit<Case, 'given'>> {
    const state: unknown = (await this.#store.load(sessionId))?.flow.steps.Booking?.state
    const { values, skipped, asking = 'nothing', reviewing } = state as FormState
    return { values: values as Given, open: reviewing ? 'review' : asking, ...(skipped && { skipped }) }
  }
}

interface Way {
  readonly kind: 'text' | 'model'
  /** The messages in which something is given. */
  messages(given: Given): readonly Partial<FlowRunInput>[]
}

const byPage: Way['messages'] = (payload) => [{ event: { name: 'Booking', payload } }]

const ways: Readonly<Record<string, Way>> = {
  'by text': {
    kind: 'text',
    messages: (given) =>
      Object.entries(given).map(([name, value]) => ({ userMessage: `change ${name} to ${value ?? 'skip'}` })),
  },
  'by model': { kind: 'model', messages: (given) => [{ userMessage: `I say ${JSON.stringify(given)}` }] },
  'by page': { kind: 'text', messages: byPage },
  'by page, to a model form': { kind: 'model', messages: byPage },
}

/** @returns the session */
async function play(shop: Shop, { messages }: Way, given: readonly Given[]): Promise<string> {
  const session = await shop.begin()
  for (const message of given.flatMap(messages)) await shop.send(session, message)
  return session
}

describe.each(Object.entries(ways))('%s', (_way, way) => {
  test.each(Object.entries(cases))('%s', async (_case, { given, ...expected }) => {
    const shop = new Shop(way.kind)
    expect(await shop.outcomeOf(await play(shop, way, given))).toEqual(expected)
  })

  test('a yes books what was corrected, and nothing before it', async () => {
    const shop = new Shop(way.kind)
    const session = await play(shop, way, [complete, { day: 'Friday', time: '11:00' }, { phone: null }])
    expect(shop.booked).toEqual([])
    const { response } = await shop.send(session, { userMessage: 'yes' })
    expect([response.message, response.completed]).toEqual(['Booked, Ada.', true])
    expect(shop.booked).toEqual([{ ...withoutPhone, day: 'Friday', time: '11:00' }])
  })
})

test('any answers in any order give the same state in each way', async () => {
  const shops = Object.values(ways).map((way) => [new Shop(way.kind), way] as const)
  const answer = fc.record({
    name: fc.constantFrom('repair', 'day', 'time', 'name', 'phone'),
    value: fc.constantFrom('brakes', 'Tuesday', 'Friday', '9:00', '10:00', '11:00', 'Ada', '123', null),
  })
  // A page that leaves an optional field out leaves it empty; the other ways ask for it.
  const begins = fc.constantFrom<Given>({ phone: '123' }, complete)
  await fc.assert(
    fc.asyncProperty(begins, fc.array(answer, { maxLength: 8 }), async (first, answers) => {
      const given = [first, ...answers.map(({ name, value }) => ({ [name]: value }))]
      const outcomes: object[] = []
      for (const [shop, way] of shops) {
        const { open, ...known } = await shop.outcomeOf(await play(shop, way, given))
        // A page shows all fields, and is asked for the first of them.
        outcomes.push({ ...known, isReview: open === 'review' })
      }
      for (const outcome of outcomes) expect(outcome).toEqual(outcomes[0])
    }),
    { numRuns: 25 },
  )
})
