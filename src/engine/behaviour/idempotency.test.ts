/** Idempotency keys: a repeat gets the recorded outcome, byte for byte, and nothing is run for it. */
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, harness, type OnlyRun } from '../../../testing/contract/engine-harness.js'
import { recordEvents } from '../../../testing/contract/event-recorder.js'
import { FakeSessionStore } from '../../../testing/index.js'
import {
  End,
  type ExecuteResult,
  Flow,
  FlowEngine,
  type FlowEngineOptions,
  type FlowRunInput,
  finish,
  LogicStep,
  MemorySessionStore,
  reply,
  type SessionDocument,
  type Turn,
} from '../../index.js'
import { bytesOfLists } from '../../session/document-bytes.js'

afterEach(expectNothingLeft)

const keyA = '11111111-aaaa-4aaa-8aaa-000000000001'
const keyB = '22222222-bbbb-4bbb-8bbb-000000000002'
const keyC = '33333333-cccc-4ccc-8ccc-000000000003'

/** Two processes over one store have the same claims. */
class ClaimingStore extends MemorySessionStore {
  readonly claims: Map<string, string>
  constructor(backing: Map<string, SessionDocument>, claims: Map<string, string>) {
    super({ backing })
    this.claims = claims
  }
  override async claim(key: string, sessionId: string): Promise<string> {
    const claimed = this.claims.get(key) ?? sessionId
    this.claims.set(key, claimed)
    return claimed
  }
}

/** A flow `Talk` that counts what it runs, and says so in its reply. */
function counting(
  options: FlowEngineOptions & { readonly backing?: Map<string, SessionDocument> } = {},
  run?: OnlyRun,
) {
  const count = { runs: 0, inits: 0 }
  const flow = flowOf(
    'Talk',
    (turn, step) => {
      count.runs++
      return run?.(turn, step) ?? reply(`${count.runs}: ${turn.message}`)
    },
    {
      init: () => {
        count.inits++
      },
    },
  )
  const made = harness({ flows: [flow], ...options })
  const events = recordEvents(made.engine)
  const say = (userMessage: string, more: Partial<FlowRunInput> = {}): Promise<ExecuteResult> =>
    made.engine.execute({ flowName: 'Talk', userMessage, ...more })
  return { ...made, count, events, say }
}

describe('a repeat of a turn that was stored', () => {
  test('gets the recorded reply, and nothing is run or written', async () => {
    const { say, count, store, stored, start, events } = counting()
    const sessionId = await start('Talk')
    const first = await say('pay', { sessionId, idempotencyKey: keyA })
    const before = await stored(sessionId)
    store.clearJournal()
    events.length = 0
    const repeat = await say('pay', { sessionId, idempotencyKey: keyA })
    expect(repeat).toEqual({ ...first, replayed: true })
    expect(JSON.stringify(repeat.response)).toBe(JSON.stringify(first.response))
    expect(count).toEqual({ runs: 2, inits: 2 })
    expect(await stored(sessionId)).toBe(before)
    store.expectJournal(['load'])
    const [entry] = JSON.parse(before).history.slice(-1)
    expect(events).toEqual([
      ['turn:replayed', { sessionId, flowName: 'Talk', turnId: entry.id, joined: false, at: expect.any(Number) }],
    ])
  })

  test('the same message with another key is a new turn', async () => {
    const { say, count, start } = counting()
    const sessionId = await start('Talk')
    await say('pay', { sessionId, idempotencyKey: keyA })
    const other = await say('pay', { sessionId, idempotencyKey: keyB })
    expect(other.replayed).toBeUndefined()
    expect(count.runs).toBe(3)
  })

  test.each<[string, Partial<FlowRunInput>]>([
    ['message', { userMessage: 'pay twice' }],
    ['config', { config: { language: 'en' } }],
    ['attachments', { attachments: [{ type: 'image', mediaType: 'image/png', data: 'aGk=' }] }],
  ])('the same key with another %s is refused, and nothing is run', async (_what, other) => {
    const { say, count, start, stored } = counting()
    const sessionId = await start('Talk')
    await say('pay', { sessionId, idempotencyKey: keyA })
    const before = await stored(sessionId)
    const refused = await say('pay', { sessionId, idempotencyKey: keyA, ...other })
    expect(refused.error?.code).toBe('IDEMPOTENCY_MISMATCH')
    expect(refused).toMatchObject({ response: { success: false, session: sessionId }, sessionState: 'running' })
    expect(count.runs).toBe(2)
    expect(await stored(sessionId)).toBe(before)
  })

  test('what the server adds does not belong to the request', async () => {
    const { say, start } = counting()
    const sessionId = await start('Talk')
    await say('pay', { sessionId, idempotencyKey: keyA, serverContext: { at: 1 } })
    expect(await say('pay', { sessionId, idempotencyKey: keyA, serverContext: { at: 2 } })).toMatchObject({
      replayed: true,
    })
  })

  test('a raw reply in base64, with its type, is the same', async () => {
    const { say, start } = counting({}, () => reply('aGk=').withContentType('image/png', { encoding: 'base64' }))
    const sessionId = await start('Talk')
    const first = await say('picture', { sessionId, idempotencyKey: keyA })
    expect(first).toMatchObject({ encoding: 'base64', response: { contentType: 'image/png' } })
    expect(await say('picture', { sessionId, idempotencyKey: keyA })).toEqual({ ...first, replayed: true })
  })

  test('the turn that completed the session answers with completed, and a turn before it does not', async () => {
    const { say, start } = counting({}, (turn) => (turn.message === 'bye' ? finish('Good bye.') : reply('Yes.')))
    const sessionId = await start('Talk')
    const before = await say('hello', { sessionId, idempotencyKey: keyA })
    const last = await say('bye', { sessionId, idempotencyKey: keyB })
    expect(last).toMatchObject({ response: { completed: true }, sessionState: 'completed' })
    expect(await say('bye', { sessionId, idempotencyKey: keyB })).toEqual({ ...last, replayed: true })
    expect(await say('hello', { sessionId, idempotencyKey: keyA })).toEqual({
      ...before,
      sessionState: 'completed',
      replayed: true,
    })
  })

  test('a failure that aborted the session is the answer to its repeat', async () => {
    const { say, start, count, document } = counting({}, (turn) => {
      if (turn.message === 'start') return reply('started')
      throw new Error('The service is down.')
    })
    const sessionId = await start('Talk')
    const first = await say('pay', { sessionId, idempotencyKey: keyA })
    expect(first).toMatchObject({ sessionState: 'aborted', response: { message: 'The service is down.' } })
    expect((await document(sessionId)).receipts).toEqual([
      { key: expect.stringMatching(/^[\w-]{22}$/), request: expect.stringMatching(/^[\w-]{22}$/), code: 'FLOW_ERROR' },
    ])
    expect((await document(sessionId)).bytes).toBe(bytesOfLists(await document(sessionId)))
    const repeat = await say('pay', { sessionId, idempotencyKey: keyA })
    expect(repeat).toMatchObject({ response: first.response, sessionState: 'aborted', replayed: true })
    expect(repeat.error?.code).toBe('FLOW_ERROR')
    expect(count.runs).toBe(2)
  })

  test('a turn that was rolled back runs again', async () => {
    let fails = true
    const { say, start, count, document } = counting({ onTurnError: 'rollback' }, (turn) => {
      if (turn.message === 'pay' && fails) throw new Error('The service is down.')
      return reply(turn.message)
    })
    const sessionId = await start('Talk')
    expect(await say('pay', { sessionId, idempotencyKey: keyA })).toMatchObject({ sessionState: 'running' })
    expect((await document(sessionId)).receipts).toBeUndefined()
    fails = false
    const again = await say('pay', { sessionId, idempotencyKey: keyA })
    expect(again).toMatchObject({ response: { success: true, message: 'pay' } })
    expect(again.replayed).toBeUndefined()
    expect(count.runs).toBe(3)
  })

  test('after a cancelled turn the repeat runs', async () => {
    const opened = gate()
    const entered = gate()
    const { say, start } = counting({}, async (turn) => {
      if (turn.message === 'pay') {
        entered.open()
        await opened.opened
      }
      return reply(turn.message)
    })
    const sessionId = await start('Talk')
    const controller = new AbortController()
    const first = say('pay', { sessionId, idempotencyKey: keyA, signal: controller.signal })
    await entered.opened
    controller.abort()
    expect((await first).error?.code).toBe('TURN_ABORTED')
    opened.open()
    expect(await say('pay', { sessionId, idempotencyKey: keyA })).toMatchObject({ response: { message: 'pay' } })
  })
})

describe('receipts', () => {
  test('take less than 100 bytes each; the last 16 are kept, and that of the first turn', async () => {
    const { say, document } = counting()
    const keyOf = (turn: number): string => `key-of-the-turn-with-number-${turn}`
    const first = await say('turn 1', { idempotencyKey: keyOf(1) })
    const sessionId = first.response.session
    for (let turn = 2; turn <= 20; turn++) await say(`turn ${turn}`, { sessionId, idempotencyKey: keyOf(turn) })
    const receipts = (await document(sessionId)).receipts ?? []
    expect(receipts.map(({ turn }) => turn)).toEqual([1, ...Array.from({ length: 16 }, (_, index) => index + 5)])
    for (const receipt of receipts) expect(JSON.stringify(receipt).length).toBeLessThan(100)
    expect(JSON.stringify(await document(sessionId))).not.toContain('key-of-the-turn')
    expect(await say('turn 5', { sessionId, idempotencyKey: keyOf(5) })).toMatchObject({ replayed: true })
    expect(await say('turn 1', { sessionId, idempotencyKey: keyOf(1) })).toMatchObject({ replayed: true })
    // An older one is a new message.
    const old = await say('turn 4', { sessionId, idempotencyKey: keyOf(4) })
    expect(old).toMatchObject({ response: { message: '21: turn 4' } })
  })

  test('maxReceipts says how many', async () => {
    const { say, start, document } = counting({ limits: { maxReceipts: 2 } })
    const sessionId = await start('Talk')
    for (const turn of [2, 3, 4, 5]) await say(`${turn}`, { sessionId, idempotencyKey: `key-of-the-turn-${turn}` })
    expect((await document(sessionId)).receipts?.map(({ turn }) => turn)).toEqual([4, 5])
  })

  test('go with their history entries; the repeat of the first turn is refused then, and never run', async () => {
    const { say, document, count } = counting({ limits: { maxHistoryTurns: 4 } })
    const keyOf = (turn: number): string => `key-of-the-turn-with-number-${turn}`
    const sessionId = (await say('1', { idempotencyKey: keyOf(1) })).response.session
    for (let turn = 2; turn <= 6; turn++) await say(`${turn}`, { sessionId, idempotencyKey: keyOf(turn) })
    const { history, receipts } = await document(sessionId)
    const oldest = history[0]?.turn ?? 0
    expect(oldest).toBeGreaterThan(2)
    expect(receipts?.map(({ turn }) => turn)).toEqual([1, ...history.map(({ turn }) => turn)])
    const runs = count.runs
    for (const given of [{}, { sessionId }]) {
      expect((await say('1', { idempotencyKey: keyOf(1), ...given })).error?.code).toBe('IDEMPOTENCY_MISMATCH')
    }
    expect(count.runs).toBe(runs)
  })

  test('go with their history entries in turns without a key, too', async () => {
    const { say, start, document } = counting({ limits: { maxHistoryTurns: 4 } })
    const sessionId = await start('Talk')
    await say('2', { sessionId, idempotencyKey: keyA })
    expect((await document(sessionId)).receipts).toHaveLength(1)
    for (const turn of [3, 4, 5]) await say(`${turn}`, { sessionId })
    const { history, receipts } = await document(sessionId)
    expect(history[0]?.turn).toBe(3)
    expect(receipts).toEqual([])
  })
})

describe('the first turn', () => {
  test('sent again without a session ID makes one session', async () => {
    const { say, count, backing } = counting()
    const first = await say('hello', { idempotencyKey: keyA })
    const repeat = await say('hello', { idempotencyKey: keyA })
    expect(repeat).toEqual({ ...first, replayed: true })
    expect(backing.size).toBe(1)
    expect(count).toEqual({ runs: 1, inits: 1 })
    expect(await say('hello', { idempotencyKey: keyA, sessionId: first.response.session })).toEqual(repeat)
  })

  test('in two processes makes one session', async () => {
    const backing = new Map<string, SessionDocument>()
    const claims = new Map<string, string>()
    const one = counting({ sessionStore: new ClaimingStore(backing, claims) })
    const other = counting({ sessionStore: new ClaimingStore(backing, claims) })
    const first = await one.say('hello', { idempotencyKey: keyA })
    expect(await other.say('hello', { idempotencyKey: keyA })).toEqual({ ...first, replayed: true })
    expect(other.count.runs).toBe(0)
    expect(backing.size).toBe(1)
  })

  test('in two processes at once: one commits, and the other answers with its receipt', async () => {
    const backing = new Map<string, SessionDocument>()
    const claims = new Map<string, string>()
    const opened = gate()
    const entered = [gate(), gate()]
    const [one, other] = [0, 1].map((index) =>
      counting({ sessionStore: new ClaimingStore(backing, claims) }, async () => {
        entered[index]?.open()
        await opened.opened
        return reply(`from process ${index}`)
      }),
    ) as [ReturnType<typeof counting>, ReturnType<typeof counting>]
    const both = Promise.all([one.say('hello', { idempotencyKey: keyA }), other.say('hello', { idempotencyKey: keyA })])
    await Promise.all(entered.map((each) => each.opened))
    opened.open()
    const [first, second] = await both
    expect(JSON.stringify(first.response)).toBe(JSON.stringify(second.response))
    expect([first.replayed, second.replayed].filter((replayed) => replayed === true)).toHaveLength(1)
    expect(backing.size).toBe(1)
    expect([...backing.values()][0]?.history).toHaveLength(1)
    const loser = first.replayed === true ? one : other
    const names = loser.events.map(([name]) => name)
    expect(names).toContain('session:conflict')
    expect(names).toContain('turn:replayed')
    expect(names).not.toContain('turn:error')
  })

  test('that was rolled back runs again in the same session', async () => {
    let fails = true
    const { say, backing } = counting({ onTurnError: 'rollback' }, (turn) => {
      if (fails) throw new Error('The service is down.')
      return reply(turn.message)
    })
    const failed = await say('hello', { idempotencyKey: keyA })
    fails = false
    const again = await say('hello', { idempotencyKey: keyA })
    expect(again.response).toMatchObject({ success: true, session: failed.response.session })
    expect(again.restarted).toBeUndefined()
    expect(backing.size).toBe(1)
    expect(await say('hello', { idempotencyKey: keyA })).toEqual({ ...again, replayed: true })
  })

  test('that aborted its session is answered with the failure', async () => {
    const { say, count } = counting({}, () => {
      throw new Error('The service is down.')
    })
    const failed = await say('hello', { idempotencyKey: keyA })
    const repeat = await say('hello', { idempotencyKey: keyA })
    expect(repeat).toMatchObject({ response: failed.response, sessionState: 'aborted', replayed: true })
    expect(count.runs).toBe(1)
  })

  test('after a delete nothing is recognised: the repeat is a new conversation', async () => {
    const { say, engine, count } = counting()
    const first = await say('hello', { idempotencyKey: keyA })
    await engine.deleteSession(first.response.session)
    const again = await say('hello', { idempotencyKey: keyA })
    expect(again.replayed).toBeUndefined()
    expect(again.response.success).toBe(true)
    expect(count.runs).toBe(2)
  })

  test('costs one command more, and a later turn none', async () => {
    const counted = async (idempotencyKey?: string) => {
      const { say, store } = counting()
      const key = idempotencyKey === undefined ? {} : { idempotencyKey }
      const first = await say('hello', key)
      const begun = store.operations.length
      await say('more', {
        sessionId: first.response.session,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey: keyB }),
      })
      return [begun, store.operations.length - begun]
    }
    const [firstPlain = 0, laterPlain] = await counted()
    const [first, later] = await counted(keyA)
    expect(later).toBe(laterPlain)
    expect((first ?? 0) - firstPlain).toBeLessThanOrEqual(1)
  })
})

describe('a repeat that looks for its answer', () => {
  test('is not cancelled; a new message is, as soon as it turns out to be one', async () => {
    const { say, start, engine, store, clock } = counting()
    const sessionId = await start('Talk')
    const first = await say('pay', { sessionId, idempotencyKey: keyA })
    store.delayNext('load', 100)
    const repeat = say('pay', { sessionId, idempotencyKey: keyA })
    await clock.settle()
    const cancelled = engine.cancel(sessionId)
    await clock.advance(100)
    expect(await repeat).toEqual({ ...first, replayed: true })
    expect(await cancelled).toBe(false)
    store.delayNext('load', 100)
    const fresh = say('pay', { sessionId, idempotencyKey: keyB })
    await clock.settle()
    const cancelledToo = engine.cancel(sessionId)
    await clock.advance(100)
    expect((await fresh).error?.code).toBe('TURN_ABORTED')
    expect(await cancelledToo).toBe(true)
  })

  test.each([
    ['an answered one', keyA, true],
    ['a new one', keyB, false],
  ])('refuses nobody while it looks (reject, %s)', async (_which, idempotencyKey, isAnswered) => {
    const { say, start, store, clock } = counting({ busy: 'reject' }, (turn) => reply(turn.message))
    const sessionId = await start('Talk')
    await say('slow', { sessionId, idempotencyKey: keyA })
    store.delayNext('load', 100)
    const looking = say('slow', { sessionId, idempotencyKey })
    await clock.settle()
    const other = say('other', { sessionId })
    await clock.advance(100)
    expect((await looking).response.success).toBe(true)
    expect((await other).error?.code).toBe(isAnswered ? undefined : 'SESSION_BUSY')
  })

  test('keeps its place: messages run in the order in which they came', async () => {
    const opened = gate()
    const { say, start, document, store, clock, count } = counting({ busy: 'interrupt' }, async (turn) => {
      if (turn.message === 'hold') await opened.opened
      return reply(turn.message)
    })
    const sessionId = await start('Talk')
    const runs = count.runs
    const hold = say('hold', { sessionId })
    await clock.settle()
    store.delayNext('load', 100)
    const older = say('older', { sessionId, idempotencyKey: keyA })
    const newer = say('newer', { sessionId })
    await clock.advance(100)
    opened.open()
    expect((await hold).error?.code).toBe('TURN_SUPERSEDED')
    expect((await older).error?.code).toBe('TURN_SUPERSEDED')
    expect((await newer).response.message).toBe('newer')
    expect((await document(sessionId)).history.map(({ message }) => message)).toEqual(['start', 'newer'])
    expect(count.runs - runs).toBe(2)
  })
})

describe('a first message whose session ended without an answer to it', () => {
  test.each(['completed', 'outdated'] as const)('is answered once all the same (%s)', async (how) => {
    let fails = true
    const { say, engine, backing, rewrite } = counting({ onTurnError: 'rollback', outdated: 'restart' }, (turn) => {
      if (turn.message === 'bye') return finish('Good bye.')
      if (fails) throw new Error('The service is down.')
      return reply(turn.message)
    })
    const failed = await say('hello', { idempotencyKey: keyA })
    const { session } = failed.response
    if (how === 'completed') await say('bye', { sessionId: session })
    else await rewrite(session, (stored) => Object.assign(stored.flow, { version: 0 }))
    fails = false
    const first = await say('hello', { idempotencyKey: keyA })
    expect(first.response).toMatchObject({ success: true, message: 'hello' })
    const repeats = [await say('hello', { idempotencyKey: keyA }), await say('hello', { idempotencyKey: keyA })]
    for (const repeat of repeats) expect(repeat).toMatchObject({ response: first.response, replayed: true })
    expect(backing.size).toBe(2)
    await engine.close()
  })
})

describe('a request that restarts an ended session', () => {
  test('is recognised, whichever ID the repeat names', async () => {
    const { say, start, engine, backing } = counting({}, (turn) =>
      turn.message === 'bye' ? finish('Good bye.') : reply(turn.message),
    )
    const ended = await start('Talk')
    await say('bye', { sessionId: ended })
    const first = await say('hello', { sessionId: ended, idempotencyKey: keyA })
    expect(first).toMatchObject({ restarted: 'completed', response: { message: 'hello' } })
    expect(first.response.session).not.toBe(ended)
    expect(await say('hello', { sessionId: ended, idempotencyKey: keyA })).toEqual({ ...first, replayed: true })
    const { restarted: _restarted, ...rest } = first
    const { session } = first.response
    expect(await say('hello', { sessionId: session, idempotencyKey: keyA })).toEqual({ ...rest, replayed: true })
    expect(await say('hello', { idempotencyKey: keyA })).toEqual({ ...rest, replayed: true })
    await engine.deleteSession(ended)
    expect(await say('hello', { sessionId: ended, idempotencyKey: keyA })).toEqual({
      ...first,
      restarted: 'unknown',
      replayed: true,
    })
    expect(backing.size).toBe(1)
  })

  test('is recognised where the flow itself wants a new session', async () => {
    let restarts = false
    const count = { runs: 0 }
    const flow = flowOf(
      'Talk',
      (turn) => {
        count.runs++
        return reply(turn.message)
      },
      { onRestore: () => (restarts ? null : undefined) },
    )
    const { engine, start, backing } = harness({ flows: [flow] })
    const old = await start('Talk')
    restarts = true
    const input = { flowName: 'Talk', userMessage: 'hello', sessionId: old, idempotencyKey: keyA }
    const first = await engine.execute(input)
    expect(first).toMatchObject({ restarted: 'flow' })
    expect(await engine.execute(input)).toEqual({ ...first, replayed: true })
    expect(backing.size).toBe(2)
    expect(count.runs).toBe(2)
  })
})

describe('a repeat while the turn runs', () => {
  function held(options: FlowEngineOptions = {}) {
    const opened = gate()
    const entered = gate()
    const made = counting(options, async (turn) => {
      if (turn.message === 'pay') {
        entered.open()
        await opened.opened
      }
      return reply(turn.message)
    })
    return { ...made, entered, opened }
  }

  test.each([
    ['with a session', true],
    ['without a session', false],
  ])('%s joins it', async (_where, hasSession) => {
    const { say, start, entered, opened, events, count } = held()
    const given = hasSession ? { sessionId: await start('Talk') } : {}
    const runs = count.runs
    const first = say('pay', { ...given, idempotencyKey: keyA })
    await entered.opened
    events.length = 0
    const repeats = [1, 2, 3].map(() => say('pay', { ...given, idempotencyKey: keyA }))
    opened.open()
    const outcome = await first
    expect(outcome.replayed).toBeUndefined()
    for (const repeat of await Promise.all(repeats)) expect(repeat).toEqual({ ...outcome, replayed: true })
    expect(count.runs - runs).toBe(1)
    expect(events.filter(([name]) => name === 'turn:replayed').map(([, payload]) => payload)).toEqual(
      [1, 2, 3].map(() => expect.objectContaining({ joined: true, sessionId: outcome.response.session })),
    )
    expect(events.map(([name]) => name)).not.toContain('turn:queued')
  })

  test('with the ID that the first turn has got joins it', async () => {
    const { engine, say, entered, opened, events } = held()
    const locked: string[] = []
    engine.getFlowSession().watchLocks(({ kind, sessionId }) => {
      if (kind === 'acquired') locked.push(sessionId)
    })
    const first = say('pay', { idempotencyKey: keyA })
    await entered.opened
    const repeat = say('pay', { sessionId: locked.at(-1) as string, idempotencyKey: keyA })
    opened.open()
    expect(await repeat).toEqual({ ...(await first), replayed: true })
    const replays = events.filter(([name]) => name === 'turn:replayed')
    expect(replays.map(([, { joined }]) => joined)).toEqual([true])
  })

  test('of another owner who names the session and the key joins nothing', async () => {
    const { say, entered, opened } = held()
    const started = await say('hello', { owner: 'alice' })
    const given = { sessionId: started.response.session, idempotencyKey: keyA }
    const first = say('pay', { owner: 'alice', ...given })
    await entered.opened
    const stranger = say('pay', { owner: 'bob', ...given })
    opened.open()
    const [alice, bob] = await Promise.all([first, stranger])
    expect(bob).toMatchObject({ restarted: 'unknown' })
    expect(bob.replayed).toBeUndefined()
    expect(bob.response.session).not.toBe(alice.response.session)
  })

  test('of another request is refused at once', async () => {
    const { say, start, entered, opened } = held()
    const sessionId = await start('Talk')
    const first = say('pay', { sessionId, idempotencyKey: keyA })
    await entered.opened
    const refused = await say('pay more', { sessionId, idempotencyKey: keyA })
    expect(refused).toMatchObject({ error: { code: 'IDEMPOTENCY_MISMATCH' }, sessionState: 'running' })
    opened.open()
    expect((await first).response.success).toBe(true)
  })

  test('of another owner is a message of its own', async () => {
    const { say, entered, opened, count } = held()
    const first = say('pay', { owner: 'alice', idempotencyKey: keyA })
    await entered.opened
    const other = say('pay', { owner: 'bob', idempotencyKey: keyA })
    opened.open()
    const [alice, bob] = await Promise.all([first, other])
    expect(alice.response.session).not.toBe(bob.response.session)
    expect(count.runs).toBe(2)
  })

  test('waits in vain where its own caller leaves; the turn goes on', async () => {
    const { say, start, entered, opened } = held()
    const sessionId = await start('Talk')
    const first = say('pay', { sessionId, idempotencyKey: keyA })
    await entered.opened
    const controller = new AbortController()
    const repeat = say('pay', { sessionId, idempotencyKey: keyA, signal: controller.signal })
    await Promise.resolve()
    controller.abort()
    expect((await repeat).error?.code).toBe('TURN_ABORTED')
    opened.open()
    expect((await first).response.success).toBe(true)
  })

  test('runs it where the first caller cancelled it, once for all that joined', async () => {
    const { say, start, entered, opened, count } = held()
    const sessionId = await start('Talk')
    const controller = new AbortController()
    const first = say('pay', { sessionId, idempotencyKey: keyA, signal: controller.signal })
    await entered.opened
    const repeats = [1, 2, 3].map(() => say('pay', { sessionId, idempotencyKey: keyA }))
    await Promise.resolve()
    controller.abort()
    opened.open()
    expect((await first).error?.code).toBe('TURN_ABORTED')
    const outcomes = await Promise.all(repeats)
    expect(outcomes.map(({ replayed }) => replayed)).toEqual([undefined, true, true])
    expect(new Set(outcomes.map(({ response }) => JSON.stringify(response))).size).toBe(1)
    // The start, the one that was cancelled, and one for the three.
    expect(count.runs).toBe(3)
  })

  test('gets the failure of the turn that it joined', async () => {
    const { say, start, entered, opened, engine } = held({ limits: { closeTimeoutMs: 1 } })
    const sessionId = await start('Talk')
    const first = say('pay', { sessionId, idempotencyKey: keyA })
    await entered.opened
    const waiting = say('other', { sessionId })
    const repeat = say('other', { sessionId, idempotencyKey: keyB })
    const joined = say('other', { sessionId, idempotencyKey: keyB })
    await Promise.resolve()
    await Promise.resolve()
    await Promise.resolve()
    const closing = engine.close()
    opened.open()
    await closing
    expect((await first).response.success).toBe(true)
    expect((await waiting).error?.code).toBe('ENGINE_CLOSED')
    expect((await repeat).error?.code).toBe('ENGINE_CLOSED')
    expect(await joined).toMatchObject({ error: { code: 'ENGINE_CLOSED' } })
  })

  test.each(['interrupt', 'reject'] as const)(
    'a repeat of an earlier turn has its answer at once, and does nothing to the one that runs (%s)',
    async (busy) => {
      const { say, entered, opened, events } = held({ busy })
      const first = await say('first', { idempotencyKey: keyC })
      const sessionId = first.response.session
      const earlier = await say('hello', { sessionId, idempotencyKey: keyB })
      const running = say('pay', { sessionId, idempotencyKey: keyA })
      await entered.opened
      events.length = 0
      expect(await say('hello', { sessionId, idempotencyKey: keyB })).toEqual({ ...earlier, replayed: true })
      expect(await say('first', { idempotencyKey: keyC })).toEqual({ ...first, replayed: true })
      expect(events.map(([name]) => name)).toEqual(['turn:replayed', 'turn:replayed'])
      opened.open()
      expect((await running).response.success).toBe(true)
    },
  )

  test('a repeat of an earlier turn waits in the queue, and reads the session once', async () => {
    const { say, start, entered, opened, store } = held()
    const sessionId = await start('Talk')
    const earlier = await say('hello', { sessionId, idempotencyKey: keyB })
    const running = say('pay', { sessionId, idempotencyKey: keyA })
    await entered.opened
    store.clearJournal()
    const repeat = say('hello', { sessionId, idempotencyKey: keyB })
    opened.open()
    await running
    expect(await repeat).toEqual({ ...earlier, replayed: true })
    store.expectJournal(['save', 'load'])
  })
})

describe('a conflict with another process', () => {
  test('over the same request is answered with its receipt', async () => {
    const backing = new Map<string, SessionDocument>()
    const opened = gate()
    const entered = gate()
    const slow = counting({ backing }, async (turn) => {
      if (turn.message === 'pay') {
        entered.open()
        await opened.opened
      }
      return reply(`slow: ${turn.message}`)
    })
    const quick = counting({ backing }, (turn) => reply(`quick: ${turn.message}`))
    const sessionId = await slow.start('Talk')
    const input = { sessionId, idempotencyKey: keyA }
    const loser = slow.say('pay', input)
    await entered.opened
    const winner = await quick.say('pay', input)
    opened.open()
    expect(await loser).toEqual({ ...winner, replayed: true })
    expect((await slow.document(sessionId)).turns).toBe(2)
  })

  test.each(['abort', 'rollback'] as const)(
    'over the same request, where the turn of this one failed and is to be settled by %s, is answered with its receipt',
    async (onTurnError) => {
      const backing = new Map<string, SessionDocument>()
      const opened = gate()
      const entered = gate()
      const slow = counting({ backing, onTurnError }, async (turn) => {
        if (turn.message !== 'pay') return reply(turn.message)
        entered.open()
        await opened.opened
        throw new Error('It failed.')
      })
      const quick = counting({ backing }, () => {
        throw new Error('It failed first.')
      })
      const sessionId = await slow.start('Talk')
      const input = { sessionId, idempotencyKey: keyA }
      const loser = slow.say('pay', input)
      await entered.opened
      const winner = await quick.say('pay', input)
      opened.open()
      expect(await loser).toEqual({ ...winner, error: expect.objectContaining({ code: 'FLOW_ERROR' }), replayed: true })
      expect(winner.response.message).toBe('It failed first.')
    },
  )

  test('over another request is a conflict', async () => {
    const backing = new Map<string, SessionDocument>()
    const opened = gate()
    const entered = gate()
    const slow = counting({ backing }, async (turn) => {
      if (turn.message === 'pay') {
        entered.open()
        await opened.opened
      }
      return reply(turn.message)
    })
    const quick = counting({ backing })
    const sessionId = await slow.start('Talk')
    const loser = slow.say('pay', { sessionId, idempotencyKey: keyA })
    await entered.opened
    await quick.say('other', { sessionId, idempotencyKey: keyB })
    opened.open()
    expect(await loser).toMatchObject({ error: { code: 'SESSION_CONFLICT' }, sessionState: 'running' })
  })
})

describe('a key', () => {
  test.each([
    ['too short', 'a'.repeat(15)],
    ['too long', 'a'.repeat(256)],
    ['with a comma', `${'a'.repeat(16)},`],
    ['with a space', `${'a'.repeat(16)} `],
    ['not ASCII', `${'a'.repeat(16)}é`],
    ['empty', ''],
    ['a number', 1234567890123456],
    ['null', null],
  ])('%s is refused, and nothing is run', async (_what, idempotencyKey) => {
    const { say, count } = counting()
    const refused = await say('hello', { idempotencyKey: idempotencyKey as string })
    expect(refused.error?.code).toBe('INVALID_INPUT')
    expect(refused.response.message).toBe(
      'idempotencyKey must be 16 to 255 visible ASCII characters without a comma, best a UUID.',
    )
    expect(count.inits).toBe(0)
  })

  test.each([16, 255])('of %i characters is taken', async (length) => {
    const { say } = counting()
    expect((await say('hello', { idempotencyKey: '~'.repeat(length) })).response.success).toBe(true)
  })

  test('of a flow that is not registered fails as without a key', async () => {
    const { engine } = counting()
    const failed = await engine.execute({ flowName: 'Nobody', userMessage: '', idempotencyKey: keyA })
    expect(failed.error?.code).toBe('FLOW_NOT_FOUND')
  })

  test('never shows a reply that is not one’s own, whatever owners, flows and keys meet', async () => {
    const owners = [undefined, 'alice', 'bob']
    const request = fc.record({
      owner: fc.constantFrom(...owners),
      flowName: fc.constantFrom('Talk', 'Other'),
      key: fc.constantFrom('1'.repeat(16), '2'.repeat(16)),
      message: fc.constantFrom('a', 'b'),
      session: fc.nat({ max: 5 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 12 }), async (requests) => {
        const secret: OnlyRun = (turn: Turn) =>
          reply(`${turn.session.owner ?? 'nobody'}/${turn.session.flowName}/${turn.message}/${turn.session.id}`)
        const engine = new FlowEngine({
          flows: [flowOf('Talk', secret), flowOf('Other', secret)],
          sessionStore: new FakeSessionStore(),
        })
        const sessions: string[] = []
        for (const { owner, flowName, key, message, session } of requests) {
          const sessionId = sessions[session]
          const { response } = await engine.execute({
            flowName,
            userMessage: message,
            idempotencyKey: key,
            ...(owner === undefined ? {} : { owner }),
            ...(sessionId === undefined ? {} : { sessionId }),
          })
          if (!response.success) {
            expect(response.message).not.toContain('/')
            continue
          }
          expect(response.message).toBe(`${owner ?? 'nobody'}/${flowName}/${message}/${response.session}`)
          sessions.push(response.session)
        }
        await engine.close()
      }),
    )
  })
})

describe('a session that a hook or an end step ends', () => {
  test('keeps the receipt of its first turn that ended it', async () => {
    class Only extends LogicStep {
      static override readonly id = 'Only'
      override run() {
        return finish('Done.')
      }
    }
    class Short extends Flow {
      static override readonly id = 'Short'
      override steps() {
        return [Only, End]
      }
    }
    const { engine } = harness({ flows: [Short] })
    const input = { flowName: 'Short', userMessage: 'go', idempotencyKey: keyA }
    const first = await engine.execute(input)
    expect(first).toMatchObject({ sessionState: 'completed', response: { completed: true } })
    expect(await engine.execute(input)).toEqual({ ...first, replayed: true })
  })
})
