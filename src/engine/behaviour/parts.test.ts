/** Rich replies: where the parts of a reply go, and what they are next to. */
import { Keyv } from 'keyv'
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { calls as callsTool, fails, modelHarness } from '../../../testing/contract/model-harness.js'
import { flow, modelStep, step, talk } from '../../../testing/contract/side-flows/talk.js'
import {
  back,
  call,
  EndStep,
  event,
  type FlowConstructor,
  finish,
  go,
  type ReplyPart,
  reply,
  stay,
  type Transition,
  tool,
} from '../../index.js'
import { card, choices, custom, file, form } from '../../parts/index.js'
import { KeyvSessionStore } from '../../stores/keyv/index.js'

afterEach(expectNothingLeft)

const size = choices('size', [
  { value: 's', label: 'Small' },
  { value: 'l', label: 'Large' },
])
const order = card({ title: 'Order 4711', rows: [['State', 'sent']] })
const all: readonly ReplyPart[] = [
  size,
  order,
  form({
    name: 'address',
    schema: { type: 'object', properties: { town: { type: 'string' } } },
    values: { town: 'B' },
  }),
  file({ name: 'invoice.pdf', mediaType: 'application/pdf', url: 'https://files.example.com/1' }),
  custom('map', { at: [52.5, null] }),
]
const rich = () => reply('Which size?').withParts(all)
const small = () => ({ provider: 'own', name: 'small' })
/** Answers with parts in each turn. */
const Shop = flow('Shop', [step('Ask', rich)])
const key = 'a-key-of-16-characters'

describe('the parts of a reply', () => {
  test('are in the result with the number of the turn, in the history, and in turn:content; all frozen', async () => {
    const { say, last, now, engine, id } = talk(Shop)
    const entries: unknown[] = []
    engine.on('turn:content', ({ entry }) => entries.push(entry))
    await say('hello')
    await say('again')
    expect(last()).toMatchObject({ parts: all, turn: 2 })
    const { history } = await now()
    expect(history.map(({ parts, reply: text }) => [parts, text])).toEqual([
      [all, 'Which size?'],
      [all, 'Which size?'],
    ])
    expect(entries).toEqual(history)
    const read = await engine.getSession(id())
    for (const list of [last().parts, read?.history[0]?.parts]) {
      const [first] = list as [typeof size]
      expect([list, first, first.options, first.options[0]].map(Object.isFrozen)).not.toContain(false)
    }
  })

  test('are not in the five fields of the envelope', async () => {
    const { engine } = talk(Shop)
    const response = await engine.run({ flowName: 'Shop', userMessage: 'hello' })
    expect(Object.keys(response)).toEqual(['success', 'completed', 'message', 'session', 'contentType'])
    const result = await engine.execute({ flowName: 'Shop', userMessage: 'hello' })
    expect(Object.keys(result.response)).toEqual(Object.keys(response))
  })

  test('come with the last event of a stream', async () => {
    const { engine } = talk(Shop)
    const events = []
    for await (const one of engine.stream({ flowName: 'Shop', userMessage: 'hello' })) events.push(one)
    expect(events.at(-1)).toMatchObject({ type: 'result', parts: all, turn: 1 })
    expect(events.filter((one) => 'parts' in one)).toHaveLength(1)
  })

  test('leave no trace in a turn without them', async () => {
    const { say, last, now } = talk(flow('Shop', [step('Ask', () => reply('Hello.').withParts([])), step('Other')]))
    await say('hello')
    const plain = talk(flow('Shop', [step('Ask', () => reply('Hello.')), step('Other')]))
    await plain.say('hello')
    expect(Object.keys(plain.last())).toEqual(['response', 'sessionState'])
    expect([(await plain.now()).history[0], (await plain.now()).flow.steps]).not.toContainEqual(
      expect.objectContaining({ parts: expect.anything() }),
    )
    // An empty list is no part either.
    expect([last().parts ?? [], (await now()).history[0]?.parts ?? []]).toEqual([[], []])
  })

  test('are the same for a repeat under a key, also by another process over a store of JSON', async () => {
    const map = new Map()
    const over = () => ({ sessionStore: new KeyvSessionStore({ keyv: new Keyv({ store: map }) }) })
    const first = talk(Shop, over())
    await first.say('hello')
    await first.say('more', { idempotencyKey: key })
    const { parts, turn } = first.last()
    await first.say('later')
    for (const again of [first, talk(Shop, { ...over(), session: first.id() })]) {
      await again.say('more', { idempotencyKey: key, sessionId: first.id() })
      expect(again.last()).toMatchObject({ parts, turn, replayed: true })
      expect(turn).toBe(2)
      expect(again.last().parts).toEqual(all)
    }
    const restarted = talk(Shop, { ...over(), session: first.id() })
    expect((await restarted.engine.getSession(first.id()))?.history[0]?.parts).toEqual(all)
    for (const { engine } of [first, restarted]) await engine.close()
  })
})

/** A model step over answers, with what its hooks return. */
const withModel = (members: object) => flow('Shop', [modelStep('Ask', members), step('Next')], { model: small })
const look = tool({ name: 'look', description: 'Looks.', execute: () => rich() })
const stays = tool({ name: 'look', description: 'Looks.', execute: () => stay('Seen.').withParts(all) })

describe('a reply has its parts from', () => {
  const Next = step('Next', () => reply('Next?'))
  class Bye extends EndStep {
    static override readonly id = 'Bye'
    override message() {
      return 'Bye.'
    }
  }
  const asking = (transition: () => Transition) => flow('Shop', [step('Ask', transition), Next, Bye])
  test.each<[string, FlowConstructor]>([
    ['reply', asking(rich)],
    ['reply of an object', asking(() => reply({ a: 1 }).withParts(all))],
    ['stay', asking(() => stay('Which size?').withParts(all))],
    ['finish', asking(() => finish('Which size?').withParts(all))],
    ['go', asking(() => go('Next').withReply('Which size?').withParts(all))],
    ['call', asking(() => call('Next').withReply('Which size?').withParts(all))],
    [
      'back',
      flow('Shop', [
        step('Ask', () => call('Side')),
        step('Side', () => back().withReply('Which size?').withParts(all)),
      ]),
    ],
    ['onEnter', flow('Shop', [step('Ask', undefined, { onEnter: rich })])],
    ['onMessage', flow('Shop', [step('Ask')], { onMessage: rich })],
    [
      'onError',
      flow(
        'Shop',
        [
          step('Ask', () => {
            throw new Error('no')
          }),
        ],
        { onError: rich },
      ),
    ],
  ])('%s', async (_where, made) => {
    const { say, last, now } = talk(made)
    await say('hello')
    expect(last()).toMatchObject({ response: { success: true }, parts: all, turn: 1 })
    expect((await now()).history[0]?.parts).toEqual(all)
  })

  test.each<[string, FlowConstructor, Parameters<typeof modelHarness>[0][string]]>([
    ['onReply', withModel({ onReply: rich }), ['Well.']],
    ['a tool', withModel({ tools: () => [look] }), [callsTool('look')]],
    ['onModelError', withModel({ onModelError: rich, retry: { attempts: 1 } }), [fails(new Error('down'))]],
  ])('%s, and the memory of the model has the text alone', async (_where, made, acts) => {
    const { engine, document } = modelHarness({ 'own/small': acts }, { flows: [made] })
    const { parts, response } = await engine.execute({ flowName: 'Shop', userMessage: 'hello' })
    expect(parts).toEqual(all)
    const { flow: stored } = await document(response.session)
    const texts = JSON.stringify(stored.memory)
    expect(texts).not.toMatch(/4711|invoice|Small/)
    if (_where !== 'onReply') expect(texts).toContain('Which size?')
  })

  test('an event', async () => {
    const press = event({ name: 'press', execute: rich })
    const { say, send, last, now } = talk(flow('Shop', [step('Ask', undefined, { events: () => [press] })]))
    await say('hello')
    await send('press')
    expect(last()).toMatchObject({ parts: all, turn: 2 })
    expect((await now()).history[1]).toMatchObject({ event: { name: 'press' }, parts: all })
  })

  test('only the transition that answers: not from feedback that a model reads', async () => {
    const { engine } = modelHarness(
      { 'own/small': [callsTool('look'), 'Done.'] },
      { flows: [withModel({ tools: () => [stays] })] },
    )
    const result = await engine.execute({ flowName: 'Shop', userMessage: 'hello' })
    expect([result.response.message, result.parts]).toEqual(['Done.', undefined])
  })

  test('finish completes the session; what it offered cannot be chosen from', async () => {
    const { say, last, now } = talk(flow('Shop', [step('Ask', () => finish('Bye.').withParts(all))]))
    await say('hello')
    expect(last()).toMatchObject({ sessionState: 'completed', parts: all })
    expect(JSON.stringify((await now()).flow.steps)).not.toContain('choices')
  })

  test('not from a turn that failed', async () => {
    const made = flow(
      'Shop',
      [
        step('Ask', (turn) => {
          const rest = rich()
          if (turn.message === 'fail') throw new Error(`no ${rest.fields.kind}`)
          return rest
        }),
      ],
      {},
      { onTurnError: 'rollback' },
    )
    const { say, last, now } = talk(made)
    await say('hello')
    const { flow: before, history } = await now()
    await say('fail')
    expect([last().parts, last().turn]).toEqual([undefined, undefined])
    expect([(await now()).flow, (await now()).history]).toEqual([before, history])
  })
})

test('a called flow that finishes gives its parts to the reply of its caller, without its choices', async () => {
  const inner = flow('Inner', [step('Deep', () => finish('Ordered.').withParts([size, order]))])
  const Chat = step('Chat', (turn) => (turn.message === 'in' && !turn.entered ? call(inner) : rich()))
  const { say, last, now } = talk(flow('Shop', [Chat, inner]))
  await say('hello')
  expect(await say('in')).toBe('Ordered.\n\nWhich size?')
  expect(last().parts).toEqual([order, ...all])
  expect((await now()).history[1]?.parts).toEqual([order, ...all])
})

test('parts count as bytes of the history: maxHistoryBytes removes old turns', async () => {
  const large = custom('large', 'x'.repeat(10_000))
  const made = flow('Shop', [
    step('Ask', ({ message }) => (message === 'plain' ? reply('.') : reply('.').withParts([large]))),
  ])
  const keptOf = async (message: string) => {
    const { say, now } = talk(made, { limits: { maxHistoryBytes: 40_000 } })
    for (let turn = 0; turn < 8; turn++) await say(message)
    const { history, bytes } = await now()
    return [history.length, bytes > 10_000]
  }
  expect(await keptOf('plain')).toEqual([8, false])
  const [kept] = await keptOf('rich')
  expect(kept).toBeLessThan(5)
})

describe('a stored document with malformed parts is refused, and stays', () => {
  const last = 'history[0].parts'
  const steps = 'flow.steps.Ask.choices'
  test.each<
    [string, (document: { history: { parts: unknown }[]; flow: { steps: { Ask: { choices: unknown } } } }) => void]
  >([
    [
      `${last} is of type object and not a list`,
      ({ history: [one] }) => {
        if (one) one.parts = {}
      },
    ],
    [
      `${last}[0] is null and not an object`,
      ({ history: [one] }) => {
        if (one) one.parts = [null]
      },
    ],
    [
      `${last}[1].type is missing and not a string`,
      ({ history: [one] }) => {
        if (one) one.parts = [size, {}]
      },
    ],
    [
      `${last}[0].type is empty`,
      ({ history: [one] }) => {
        if (one) one.parts = [{ type: '' }]
      },
    ],
    [
      `${steps} is a list and not an object`,
      ({ flow: made }) => {
        made.steps.Ask.choices = []
      },
    ],
    [
      `${steps}.turn is a string and not a count`,
      ({ flow: made }) => {
        made.steps.Ask.choices = { ...size, turn: '1' }
      },
    ],
    [
      `${steps}.name is empty`,
      ({ flow: made }) => {
        made.steps.Ask.choices = { ...size, turn: 1, name: '' }
      },
    ],
    [
      `${steps}.options is missing and not a list`,
      ({ flow: made }) => {
        made.steps.Ask.choices = { turn: 1, name: 'a' }
      },
    ],
    [
      `${steps}.options[0].value is 1 and not a string`,
      ({ flow: made }) => {
        made.steps.Ask.choices = { turn: 1, name: 'a', options: [{ value: 1, label: 'a' }] }
      },
    ],
  ])('%s', async (problem, damage) => {
    const { say, rewrite, stored, id } = talk(Shop)
    await say('hello')
    await rewrite(id(), damage as never)
    const before = await stored(id())
    const said = await say('again')
    expect(said).toMatch(/^SESSION_FLOW_INVARIANT: /)
    expect(said).toContain(problem)
    expect(await stored(id())).toBe(before)
  })
})
