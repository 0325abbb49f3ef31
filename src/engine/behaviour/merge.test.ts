// `merge` of a flow: the messages of turns that were superseded, and the new one, as one.
import { afterEach, describe, expect, test } from 'vitest'
import { busyTalk, outcomeOf } from '../../../testing/contract/busy-talk.js'
import { expectNothingLeft, flowOf, gate, harness, never } from '../../../testing/contract/engine-harness.js'
import {
  type Flow,
  type FlowConstructor,
  type FlowEngineOptions,
  type FlowRunInput,
  reply,
  type Turn,
} from '../../index.js'

afterEach(expectNothingLeft)

type Merge = (messages: readonly string[], flow: Flow) => unknown

const join: Merge = (messages) => messages.join('+')

/** What the steps of the flow saw. */
interface Seen {
  readonly message: string
  readonly attachments: readonly unknown[]
}

/** A flow whose turns hang while the message has an `!`, and that merges. */
function merging(merge: Merge, seen: Seen[] = []): FlowConstructor {
  const base = flowOf('Talk', (turn: Turn) => {
    seen.push({ message: turn.message, attachments: turn.attachments })
    return turn.message.endsWith('!') ? never() : reply(turn.message)
  })
  base.prototype.merge = function (this: Flow, messages: readonly string[]) {
    return merge(messages, this) as string
  }
  return base
}

async function merged(merge: Merge, options: FlowEngineOptions = {}, seen: Seen[] = []) {
  const made = harness({ flows: [merging(merge, seen)], busy: 'interrupt', ...options })
  const session = await made.start('Talk')
  seen.length = 0
  const say = async (userMessage: string, more: Partial<FlowRunInput> = {}) => {
    const turn = made.engine.execute({ flowName: 'Talk', userMessage, sessionId: session, ...more })
    await made.clock.settle()
    return { turn }
  }
  const messages = async () => (await made.document(session)).history.map(({ message }) => message)
  return { ...made, session, say, messages, seen }
}

test('is asked once, with the messages oldest first, and its text is the message of the turn', async () => {
  const asked: unknown[] = []
  const { say, messages, seen, session } = await merged((given, flow) => {
    asked.push(given, Object.isFrozen(given), flow.context)
    return given.join(' / ')
  })
  const first = await say('a!')
  const second = await say('b')
  expect(outcomeOf(await first.turn)).toBe('TURN_SUPERSEDED')
  expect((await second.turn).response).toMatchObject({ success: true, message: 'a! / b', session })
  expect(asked).toEqual([['a!', 'b'], true, {}])
  expect(await messages()).toEqual(['start', 'a! / b'])
  expect(seen.map(({ message }) => message)).toEqual(['a!', 'a! / b'])
})

test.each([undefined, Promise.resolve(undefined)])(
  'where it returns nothing, the turn runs with its own message',
  async (nothing) => {
    const { say, messages } = await merged(() => nothing)
    await say('a!')
    const second = await say('b')
    expect(outcomeOf(await second.turn)).toBe('ok')
    expect(await messages()).toEqual(['start', 'b'])
  },
)

test('is not asked where nothing was superseded', async () => {
  let asked = 0
  const { say, messages } = await merged(() => {
    asked++
    return 'merged'
  })
  await (await say('a')).turn
  await (await say('b')).turn
  expect([asked, await messages()]).toEqual([0, ['start', 'a', 'b']])
})

test('a turn that merged and is superseded itself passes on what the messages were', async () => {
  const asked: unknown[] = []
  const { say, messages } = await merged((given) => {
    asked.push(given)
    return given.length === 3 ? given.join('+') : 'merged!'
  })
  await say('a!')
  await say('b')
  const third = await say('c')
  expect(outcomeOf(await third.turn)).toBe('ok')
  expect(asked).toEqual([
    ['a!', 'b'],
    ['a!', 'b', 'c'],
  ])
  expect(await messages()).toEqual(['start', 'a!+b+c'])
})

test('takes those whose place in the queue was taken, and not the turn whose commit had begun', async () => {
  const { say, messages, store, clock } = await merged(join)
  store.delayNext('save', 20)
  const turns = [await say('a'), await say('b'), await say('c')]
  const results = await clock.runUntil(Promise.all(turns.map(({ turn }) => turn)))
  expect(results.map(outcomeOf)).toEqual(['ok', 'TURN_SUPERSEDED', 'ok'])
  expect(await messages()).toEqual(['start', 'a', 'b+c'])
})

test("under 'latest' nothing is merged", async () => {
  const { say, messages, store, clock } = await merged(join, { busy: 'latest' })
  store.delayNext('save', 20)
  const turns = [await say('a'), await say('b'), await say('c')]
  await clock.runUntil(Promise.all(turns.map(({ turn }) => turn)))
  expect(await messages()).toEqual(['start', 'a', 'c'])
})

test('a turn that ended otherwise is not merged, nor what it had superseded', async () => {
  const asked: unknown[] = []
  const flow = merging((messages) => asked.push(messages))
  flow.prototype.isBatch = () => true
  const { engine, start, clock, store, document, rewrite } = harness({ flows: [flow], busy: 'interrupt' })
  const sessionId = await start('Talk')
  const say = (userMessage: string) => engine.execute({ flowName: 'Talk', userMessage, sessionId })
  const turns = [say('a!')]
  await clock.settle()
  // The checkpoint of the second turn is a conflict, found only after the third has interrupted it.
  store.delayNext('save', 20)
  turns.push(say('b'))
  await clock.settle()
  await rewrite(sessionId, (stored) => Object.assign(stored, { revision: '9-x' }))
  turns.push(say('c'))
  const results = await clock.runUntil(Promise.all(turns))
  expect(results.map(outcomeOf)).toEqual(['TURN_SUPERSEDED', 'SESSION_CONFLICT', 'ok'])
  expect(asked).toEqual([])
  expect((await document(sessionId)).history.map(({ message }) => message)).toEqual(['start', 'c'])
})

test('a repeat of a message that was merged is answered with the reply to all of them', async () => {
  const { say, messages } = await merged(join)
  const [one, other] = ['first-message-0001', 'second-message-002']
  const first = await say('a!', { idempotencyKey: one })
  const second = await say('b', { idempotencyKey: other })
  expect([outcomeOf(await first.turn), outcomeOf(await second.turn)]).toEqual(['TURN_SUPERSEDED', 'ok'])
  for (const [message, idempotencyKey] of [
    ['a!', one],
    ['b', other],
  ] as const) {
    const repeat = await (await say(message, { idempotencyKey })).turn
    expect([repeat.response.message, repeat.replayed]).toEqual(['a!+b', true])
  }
  expect(await messages()).toEqual(['start', 'a!+b'])
})

test('the first turn of a session: what was superseded is merged, and the session is created under the ID that its client knows', async () => {
  const { opened: begun, open } = gate()
  let turns = 0
  const flow = flowOf('Talk', (turn) => {
    if (++turns > 1) return reply(turn.message)
    open()
    return never()
  })
  flow.prototype.merge = (messages: readonly string[]) => messages.join('+')
  const { engine } = harness({ flows: [flow], busy: 'interrupt' })
  const stream = engine.stream({ flowName: 'Talk', userMessage: 'a' })
  const { value } = await stream.next()
  await begun
  const sessionId = (value as { session: string }).session
  const second = await engine.execute({ flowName: 'Talk', userMessage: 'b', sessionId })
  expect([second.response.message, second.restarted]).toEqual(['a+b', undefined])
  expect(second.response.session).toBe(sessionId)
  await stream.return()
})

describe('attachments', () => {
  const image = (data: string) => ({ type: 'image', mediaType: 'image/png', data }) as const
  const [one, two, three] = [image('AAAA'), image('BBBB'), image('CCCC')]

  test('come along, oldest first', async () => {
    const { say, seen } = await merged(join)
    await say('a!', { attachments: [one] })
    await say('b!', { attachments: [two] })
    await (await say('c', { attachments: [three] })).turn
    expect(seen.at(-1)).toEqual({ message: 'a!+b!+c', attachments: [one, two, three] })
  })

  test('do not where nothing was merged', async () => {
    const { say, seen } = await merged(() => undefined)
    await say('a!', { attachments: [one] })
    await (await say('b', { attachments: [two] })).turn
    expect(seen.at(-1)).toEqual({ message: 'b', attachments: [two] })
  })

  test('the oldest are left out where all would be too large', async () => {
    const maxAttachmentBytes = JSON.stringify([two, three]).length
    const { say, seen } = await merged(join, { limits: { maxAttachmentBytes } })
    await say('a!', { attachments: [one] })
    await say('b!', { attachments: [two] })
    await (await say('c', { attachments: [three] })).turn
    expect(seen.at(-1)).toEqual({ message: 'a!+b!+c', attachments: [two, three] })
  })
})

describe('what may not be', () => {
  test.each([null, 7, ['a']])(
    '%s: the flow is at fault, and the session fails as for other flow code',
    async (wrong) => {
      const { say, session, document } = await merged(() => wrong)
      await say('a!')
      const { response, error } = await (await say('b')).turn
      expect([response.message, error?.code]).toEqual([
        "merge of flow 'Talk' must return a text or nothing.",
        'FLOW_ERROR',
      ])
      expect((await document(session)).runStatus).toBe('aborted')
    },
  )

  test('a text that is too long', async () => {
    const { say } = await merged(() => 'é'.repeat(6), { limits: { maxMessageBytes: 11 } })
    await say('a!')
    const { error } = await (await say('b')).turn
    expect(error?.message).toBe(
      "The message that merge of flow 'Talk' returned exceeds the limit maxMessageBytes (11).",
    )
    const exact = await merged(() => 'é'.repeat(5), { limits: { maxMessageBytes: 10 } })
    await exact.say('a!')
    expect(outcomeOf(await (await exact.say('b')).turn)).toBe('ok')
  })

  test('what it throws, after which onError is asked with the message of the new turn alone', async () => {
    const flow = merging(() => {
      throw new Error('cannot merge')
    })
    flow.prototype.onError = (error: Error, turn: Turn) => reply(`${error.message}: ${turn.message}`)
    const { engine, start, clock, document } = harness({ flows: [flow], busy: 'interrupt' })
    const sessionId = await start('Talk')
    const first = engine.execute({ flowName: 'Talk', userMessage: 'a!', sessionId })
    await clock.settle()
    const { response } = await engine.execute({ flowName: 'Talk', userMessage: 'b', sessionId })
    expect(response).toMatchObject({ success: true, message: 'cannot merge: b' })
    expect((await document(sessionId)).history.map(({ message }) => message)).toEqual(['start', 'b'])
    await first
  })
})

test('no more messages are kept than could have waited', async () => {
  const asked: (readonly string[])[] = []
  const { say } = await merged(
    (given) => {
      asked.push(given)
      return undefined
    },
    { limits: { maxQueuedTurnsPerSession: 2 } },
  )
  for (const message of ['a!', 'b!', 'c!', 'd!']) await say(message)
  await (await say('e')).turn
  expect(asked.at(-1)).toEqual(['c!', 'd!', 'e'])
})

test('messages of another owner are never merged', async () => {
  const asked: unknown[] = []
  const flow = (made: FlowConstructor): FlowConstructor => {
    made.prototype.merge = (messages: readonly string[]) => void asked.push(messages)
    return made
  }
  const { say, open, clock, store } = await busyTalk({ busy: 'interrupt' }, 'ada', flow)
  store.delayNext('load', 10, { times: Number.POSITIVE_INFINITY })
  const turns = [
    say('start', { owner: 'bob' }),
    say('a'),
    say('start', { owner: 'carol' }),
    say('b'),
    say('start', { owner: 'bob' }),
  ]
  open('a')
  open('b')
  await clock.runUntil(Promise.all(turns))
  for (const messages of asked) expect(messages).toEqual(expect.not.arrayContaining(['a', 'start']))
})

describe('a message with a key', () => {
  const keyOf = (text: string): string => `key-of-the-message-${text}`
  const keyed = (text: string) => ({ idempotencyKey: keyOf(text) })

  test('that was merged joins the turn that answers it, and is not merged again', async () => {
    const { say, messages, seen } = await merged(join)
    const first = await say('a!', keyed('a'))
    const second = await say('b!', keyed('b'))
    expect(outcomeOf(await first.turn)).toBe('TURN_SUPERSEDED')
    const repeat = await say('a!', keyed('a'))
    const third = await say('c', keyed('c'))
    expect(outcomeOf(await second.turn)).toBe('TURN_SUPERSEDED')
    const answer = await third.turn
    expect(answer.response.message).toBe('a!+b!+c')
    expect(await repeat.turn).toEqual({ ...answer, replayed: true })
    expect(await messages()).toEqual(['start', 'a!+b!+c'])
    expect(seen.map(({ message }) => message)).toEqual(['a!', 'a!+b!', 'a!+b!+c'])
  })

  test('that was superseded and not merged runs when the newer turn has ended', async () => {
    const { say, messages } = await merged(() => undefined)
    const first = await say('a!', keyed('a'))
    const second = await say('b!')
    expect(outcomeOf(await first.turn)).toBe('TURN_SUPERSEDED')
    const repeat = await say('a!', keyed('a'))
    const third = await say('c')
    expect(outcomeOf(await second.turn)).toBe('TURN_SUPERSEDED')
    expect(outcomeOf(await third.turn)).toBe('ok')
    const fourth = await say('d')
    expect(outcomeOf(await repeat.turn)).toBe('TURN_SUPERSEDED')
    expect(outcomeOf(await fourth.turn)).toBe('ok')
    expect(await messages()).toEqual(['start', 'c', 'd'])
  })

  test('that was answered is neither merged nor interrupted, and interrupts nothing, when it comes with a new one', async () => {
    const { say, messages } = await merged(join)
    const first = await say('a', keyed('a'))
    const answer = await first.turn
    const [repeat, next] = await Promise.all([say('a', keyed('a')), say('b', keyed('b'))])
    expect(await repeat.turn).toEqual({ ...answer, replayed: true })
    expect((await next.turn).response.message).toBe('b')
    expect(await messages()).toEqual(['start', 'a', 'b'])
  })

  test('that is new is interrupted although its session was not loaded when the newer one came', async () => {
    const { say, messages, store, clock } = await merged(join)
    store.delayNext('load', 100)
    const first = await say('a', keyed('a'))
    const second = await say('b', keyed('b'))
    await clock.advance(100)
    expect(outcomeOf(await first.turn)).toBe('TURN_SUPERSEDED')
    expect((await second.turn).response.message).toBe('a+b')
    expect(await messages()).toEqual(['start', 'a+b'])
  })

  test('that another process answers meanwhile interrupts nothing when it is sent again', async () => {
    const { say, messages, store, clock, backing, session } = await merged(join)
    const other = harness({ flows: [merging(join)], backing })
    store.delayNext('load', 100)
    const second = await say('b', keyed('b'))
    const repeat = await say('a', keyed('a'))
    const first = await other.engine.execute({
      flowName: 'Talk',
      userMessage: 'a',
      sessionId: session,
      ...keyed('a'),
    })
    await clock.advance(100)
    expect((await second.turn).response.message).toBe('b')
    expect(await repeat.turn).toEqual({ ...first, replayed: true })
    expect(await messages()).toEqual(['start', 'a', 'b'])
  })

  test('that begins a session, is merged into one that names it, and comes again is answered', async () => {
    const { opened: begun, open } = gate()
    let turns = 0
    const flow = flowOf('Talk', (turn) => {
      if (++turns > 1) return reply(turn.message)
      open()
      return never()
    })
    flow.prototype.merge = (messages: readonly string[]) => messages.join('+')
    const { engine, backing } = harness({ flows: [flow], busy: 'interrupt' })
    const first = { flowName: 'Talk', userMessage: 'a', ...keyed('a') }
    const stream = engine.stream(first)
    const { value } = await stream.next()
    await begun
    const sessionId = (value as { session: string }).session
    const second = await engine.execute({ flowName: 'Talk', userMessage: 'b', sessionId, ...keyed('b') })
    expect(second.response).toMatchObject({ message: 'a+b', session: sessionId })
    expect(await engine.execute(first)).toEqual({ ...second, replayed: true })
    expect(backing.size).toBe(1)
    await stream.return()
  })
})
