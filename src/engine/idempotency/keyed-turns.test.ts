import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/index.js'
import { TurnAbortedError } from '../../errors/engine-errors.js'
import type { KeyedTurn } from '../core/engine-context.js'
import { EngineEvents } from '../core/engine-events.js'
import { resolveLimits } from '../core/engine-limits.js'
import { successEnvelope, type TurnOutcome } from '../core/run-envelope.js'
import { checkTurnInput } from '../input/check-input.js'
import { KeyedTurns } from './keyed-turns.js'
import { requestKeyOf } from './request-key.js'

const limits = resolveLimits({ turnTimeoutMs: 1_000, storeTimeoutMs: 100 })
const events = new EngineEvents(() => undefined)
const reply = { text: 'Hello.', contentType: 'text/plain', encoding: undefined }
const outcome = successEnvelope('session-1', reply, false)
const control = {
  turnId: 'turn-1',
  flowName: 'Talk',
  isCancelled: false,
  outcome: new Promise<never>(() => undefined),
  readFrom: () => undefined,
}

function inputOf(sessionId: string | undefined) {
  const input = checkTurnInput({ flowName: 'Talk', userMessage: 'Hello', sessionId }, limits)
  return { ...input, idempotency: requestKeyOf('a-key-of-sixteen', input, 'Talk') }
}

test('a repeat runs by itself where the turn that it joined never settles: the runtime dropped it', async () => {
  const clock = new VirtualClock()
  const turns = new KeyedTurns({ clock, limits, events })
  const turn = { ...control, input: inputOf('session-1') }
  void turns.run(turn, () => new Promise(() => undefined))
  let runs = 0
  const repeat = turns.run(turn, async () => {
    runs++
    return outcome
  })
  await clock.advance(4_199)
  expect(runs).toBe(0)
  await clock.advance(1)
  expect(await repeat).toBe(outcome)
  expect(runs).toBe(1)
  expect(clock.pending).toBe(0)
})

test('a turn that has ended is joined no more', async () => {
  const turns = new KeyedTurns({ clock: new VirtualClock(), limits, events })
  const turn = { ...control, input: inputOf(undefined) }
  turns.addSession(turn, 'session-2')
  for (const expected of [1, 2]) {
    let runs = expected - 1
    await turns.run(turn, async () => {
      turns.addSession(turn, 'session-1')
      runs++
      return outcome
    })
    expect(runs).toBe(expected)
  }
})

/** A turn with this key that settles when the test says so. */
function heldTurn(
  turns: KeyedTurns,
  given: { key?: string; sessionId?: string; flowName?: string; signal?: AbortSignal },
) {
  const { key = 'a-key-of-sixteen', sessionId, flowName = 'Talk', signal } = given
  const checked = checkTurnInput({ flowName, userMessage: 'Hello', sessionId, signal }, limits)
  const input = { ...checked, idempotency: requestKeyOf(key, checked, flowName) }
  let settle!: (result: TurnOutcome) => void
  const settled = new Promise<TurnOutcome>((resolve) => {
    settle = resolve
  })
  const readFrom: unknown[] = []
  const turn: KeyedTurn = {
    ...control,
    input,
    flowName,
    outcome: settled,
    readFrom: (other) => readFrom.push(other),
  }
  let runs = 0
  /** Runs the turn, or a repeat of it. */
  const run = (control: KeyedTurn = turn): Promise<TurnOutcome> =>
    turns.run(control, () => {
      runs++
      return settled
    })
  /** Runs a repeat whose input differs in this. */
  const repeat = (more: object): Promise<TurnOutcome> => run({ ...turn, input: { ...input, ...more } })
  return { turn, input, settle, run, repeat, readFrom, runs: () => runs }
}

const keyedTurns = (maxQueuedTurnsPerSession = 16) =>
  new KeyedTurns({ clock: new VirtualClock(), limits: { ...limits, maxQueuedTurnsPerSession }, events })

const failed = (error: TurnAbortedError): TurnOutcome => ({ ...outcome, error })

describe('turns under one key', () => {
  test.each([
    ['two sessions', { sessionId: 'session-1' }, { sessionId: 'session-2' }],
    ['two flows', { flowName: 'Talk' }, { flowName: 'Order' }],
  ])('of %s both run', async (_where, one, other) => {
    const turns = keyedTurns()
    const both = [heldTurn(turns, one), heldTurn(turns, other)]
    const outcomes = both.map((each) => each.run())
    expect(both.map((each) => each.runs())).toEqual([1, 1])
    for (const each of both) each.settle(outcome)
    expect(await Promise.all(outcomes)).toEqual([outcome, outcome])
  })

  test('a repeat reads the stream of the turn that it joins, and its event has its own request ID, if any', async () => {
    const turns = keyedTurns()
    const held = heldTurn(turns, { sessionId: 'session-1' })
    const replays: unknown[] = []
    const note = (event: unknown): void => void replays.push(event)
    events.on('turn:replayed', note)
    const first = held.run()
    const repeats = [held.run(), held.repeat({ requestId: 'request-7' })]
    held.settle(outcome)
    await first
    expect(await Promise.all(repeats)).toEqual([1, 2].map(() => ({ ...outcome, replayed: true })))
    events.off('turn:replayed', note)
    expect(held.readFrom).toEqual([held.turn, held.turn])
    expect(replays).toEqual([
      expect.not.objectContaining({ requestId: expect.anything() }),
      expect.objectContaining({ requestId: 'request-7' }),
    ])
    expect(Object.keys(replays[0] as object)).not.toContain('requestId')
  })

  test('the session of a turn does not take the place of another turn that runs there', async () => {
    const turns = keyedTurns()
    const [begins, goesOn] = [heldTurn(turns, {}), heldTurn(turns, { sessionId: 'session-1' })]
    const outcomes = [begins.run(), goesOn.run()]
    turns.addSession(begins.turn, 'session-1')
    const repeat = goesOn.run()
    begins.settle(successEnvelope('session-2', reply, false))
    goesOn.settle(outcome)
    await Promise.all(outcomes)
    expect(await repeat).toEqual({ ...outcome, replayed: true })
  })
})

describe('a repeat of a turn whose caller has left', () => {
  test.each([
    ['after it was stored gets its outcome', outcome, true, 1],
    ['before it was stored runs', failed(new TurnAbortedError()), true, 2],
    ['is aborted with a turn that was aborted otherwise', failed(new TurnAbortedError()), false, 1],
  ])('%s', async (_what, result, hasLeft, runs) => {
    const turns = keyedTurns()
    const controller = new AbortController()
    const held = heldTurn(turns, { sessionId: 'session-1', signal: controller.signal })
    const first = held.run()
    const repeat = held.repeat({ signal: undefined })
    if (hasLeft) controller.abort()
    held.settle(result)
    await Promise.all([first, repeat])
    expect(held.runs()).toBe(runs)
  })

  test('is aborted with a turn that had no signal', async () => {
    const turns = keyedTurns()
    const held = heldTurn(turns, { sessionId: 'session-1' })
    const outcomes = [held.run(), held.run()]
    held.settle(failed(new TurnAbortedError()))
    expect((await Promise.all(outcomes)).map(({ error }) => error?.code)).toEqual(['TURN_ABORTED', 'TURN_ABORTED'])
    expect(held.runs()).toBe(1)
  })

  test.each([true, false])('its own signal ends the wait, with the reason (aborted before: %s)', async (isBefore) => {
    const turns = keyedTurns()
    const held = heldTurn(turns, { sessionId: 'session-1' })
    const first = held.run()
    const controller = new AbortController()
    const left = new Error('left')
    if (isBefore) controller.abort(left)
    const repeat = held.repeat({ signal: controller.signal })
    controller.abort(left)
    await expect(repeat).rejects.toMatchObject({ code: 'TURN_ABORTED', cause: left })
    held.settle(outcome)
    await first
  })
})

describe('the repeat of a superseded turn', () => {
  const superseded = (turns: KeyedTurns, key: string) => heldTurn(turns, { key, sessionId: 'session-1' })

  test('waits for the newer turn; all are known that could have waited, with a key or without', async () => {
    const turns = keyedTurns(2)
    const former = ['the-key-number-1', 'the-key-number-2'].map((key) => superseded(turns, key))
    const newer = superseded(turns, 'the-key-number-3')
    const withoutKey = { ...control, input: inputOf('session-1') }
    for (const each of former) void each.run()
    turns.follow([...former.map(({ turn }) => turn), withoutKey], newer.turn)
    const repeats = former.map((each) => each.run())
    for (const each of former) expect([each.runs(), each.readFrom]).toEqual([1, [undefined]])
    newer.settle(outcome)
    for (const each of former) each.settle(outcome)
    await Promise.all(repeats)
    expect(former.map((each) => each.runs())).toEqual([2, 2])
  })

  test('runs at once if the turn has ended, or names a session in which it did not go on', async () => {
    const turns = keyedTurns()
    const ended = superseded(turns, 'the-key-number-1')
    const newer = superseded(turns, 'the-key-number-2')
    ended.settle(outcome)
    await ended.run()
    turns.follow([ended.turn], newer.turn)
    turns.addSession(ended.turn, 'session-9')
    await ended.run()
    expect(ended.runs()).toBe(2)
    const under = superseded(turns, 'the-key-number-4')
    void under.run()
    turns.follow([under.turn], newer.turn)
    turns.addSession(under.turn, 'session-9')
    const elsewhere = heldTurn(turns, { key: 'the-key-number-4', sessionId: 'session-9' })
    void elsewhere.run()
    expect(elsewhere.runs()).toBe(1)
  })

  test('gets the outcome of the newer turn if that is the repeat itself', async () => {
    const turns = keyedTurns()
    const former = superseded(turns, 'the-key-number-1')
    former.settle(outcome)
    await former.run()
    const newer = superseded(turns, 'the-key-number-1')
    const first = newer.run()
    turns.follow([former.turn], newer.turn)
    const repeat = newer.run()
    newer.settle(outcome)
    expect(await Promise.all([first, repeat])).toEqual([outcome, { ...outcome, replayed: true }])
    expect(newer.runs()).toBe(1)
  })
})
