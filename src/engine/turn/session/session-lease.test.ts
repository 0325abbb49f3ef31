import { afterEach, describe, expect, test } from 'vitest'
import {
  expectNothingLeft,
  flowOf,
  gate,
  gatedFlow,
  harness,
  never,
} from '../../../../testing/contract/engine-harness.js'
import { FakeSessionStore, type VirtualClock } from '../../../../testing/index.js'
import { FlowEngine, MemorySessionStore, reply, type SessionDocument, type SessionStore } from '../../../index.js'
import type { EngineContext } from '../../core/engine-context.js'
import { createEngineContext } from '../../create-context.js'
import { checkTurnInput } from '../../input/check-input.js'
import { TurnControl } from '../control/turn-control.js'
import { giveBackLeases, takeLease } from './session-lease.js'

afterEach(expectNothingLeft)

const turnTimeoutMs = 1_000
const storeTimeoutMs = 100

type Lease = NonNullable<SessionStore['lease']>

/** A memory store whose leases a test decides about. */
class LeasingStore extends MemorySessionStore {
  readonly #lease: Lease
  readonly calls: string[] = []

  constructor(backing: Map<string, SessionDocument>, lease: Lease) {
    super({ backing })
    this.#lease = lease
  }
  async lease(...call: Parameters<Lease>): Promise<() => Promise<void>> {
    this.calls.push('lease')
    const giveBack = await this.#lease(...call)
    return () => {
      this.calls.push('give back')
      return giveBack()
    }
  }
  override load(sessionId: string): Promise<SessionDocument | undefined> {
    this.calls.push('load')
    return super.load(sessionId)
  }
}

/** Two engines over one store's data with leases, as two processes have them, and a session. */
async function twoProcesses() {
  const talk = gatedFlow()
  const limits = { turnTimeoutMs, storeTimeoutMs }
  const backing = new Map<string, SessionDocument>()
  const first = harness({ flows: [talk.flow], limits, backing })
  const open = (clock: VirtualClock) => {
    const inner = new MemorySessionStore({ backing, clock })
    const sessionStore = new FakeSessionStore({ inner, clock, leases: true })
    return { store: sessionStore, engine: new FlowEngine({ flows: [talk.flow], clock, sessionStore, limits }) }
  }
  const sessionId = await first.start('Talk')
  const { clock } = first
  const [one, two] = [open(clock), open(clock)]
  const say = (engine: FlowEngine, userMessage: string, signal?: AbortSignal) =>
    engine.execute({ flowName: 'Talk', userMessage, sessionId, ...(signal === undefined ? {} : { signal }) })
  const messages = (): string[] => backing.get(sessionId)?.history.map(({ message }) => message) ?? []
  return { ...talk, clock, one, two, say, sessionId, messages }
}

describe('between two processes', () => {
  test('the second turn waits for the first, and both are stored', async () => {
    const { one, two, say, clock, journal, open, messages } = await twoProcesses()
    const first = say(one.engine, 'a')
    await clock.settle()
    const second = say(two.engine, 'b')
    await clock.settle()
    expect(journal).toEqual(['a begins'])
    two.store.expectJournal(['lease pending'])
    open('a')
    open('b')
    expect((await first).response.success).toBe(true)
    expect((await second).response.success).toBe(true)
    expect(journal).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
    expect(messages()).toEqual(['start', 'a', 'b'])
    two.store.expectJournal(['lease', 'load', 'save'])
  })

  test('a turn waits until its deadline, and leaves the session as it was', async () => {
    const { one, two, say, clock, sessionId } = await twoProcesses()
    const held = await one.store.lease?.(sessionId, 60_000, new AbortController().signal)
    const waiting = say(two.engine, 'b')
    await clock.advance(turnTimeoutMs)
    const { error, sessionState } = await waiting
    expect(error?.code).toBe('TURN_TIMEOUT')
    // Nobody has asked: the client keeps the ID.
    expect(sessionState).toBe('unknown')
    expect(two.store.operations).not.toContain('save')
    await held?.()
    expect(await say(two.engine, 'start')).toMatchObject({ response: { success: true } })
  })

  test('a turn that is aborted stops waiting, and takes no lease', async () => {
    const { one, two, say, clock, open } = await twoProcesses()
    const first = say(one.engine, 'a')
    await clock.settle()
    const controller = new AbortController()
    const waiting = say(two.engine, 'b', controller.signal)
    await clock.settle()
    controller.abort()
    expect((await waiting).error?.code).toBe('TURN_ABORTED')
    two.store.expectJournal(['lease failed'])
    open('a')
    await first
    expect((await say(one.engine, 'start')).response.success).toBe(true)
  })

  test('the lease of a process that died expires', async () => {
    const { one, two, say, clock, sessionId } = await twoProcesses()
    await one.store.lease?.(sessionId, 500, new AbortController().signal)
    const waiting = say(two.engine, 'start')
    await clock.advance(500)
    expect((await waiting).response.success).toBe(true)
  })

  test('a failed turn gives its lease back', async () => {
    const flow = flowOf('Talk', (turn) => {
      if (turn.message === 'fail') throw new Error('no')
      return reply('done')
    })
    const { clock, store: inner, start, backing } = harness({ flows: [flow] })
    const sessionId = await start('Talk')
    const store = new FakeSessionStore({ inner: new MemorySessionStore({ backing }), clock, leases: true })
    const engine = new FlowEngine({ flows: [flow], clock, sessionStore: store, onTurnError: 'rollback' })
    const say = (userMessage: string) => engine.run({ flowName: 'Talk', userMessage, sessionId })
    expect((await say('fail')).success).toBe(false)
    expect((await say('again')).success).toBe(true)
    expect(inner.operations).toEqual(['create'])
  })

  test('a turn that is answered by a new session gives the lease of the other one back while it runs', async () => {
    const { one, two, clock, open, sessionId } = await twoProcesses()
    const foreign = one.engine.execute({ flowName: 'Talk', userMessage: 'a', sessionId, owner: 'somebody else' })
    await clock.settle()
    expect((await two.engine.execute({ flowName: 'Talk', userMessage: 'start', sessionId })).response.success).toBe(
      true,
    )
    open('a')
    expect((await foreign).restarted).toBe('unknown')
  })

  test('a first message with one key, sent to both, runs once: the claimed ID has a lease', async () => {
    const { one, two, clock, journal, open } = await twoProcesses()
    const input = { flowName: 'Talk', userMessage: 'a', idempotencyKey: 'one-key-for-both-of-them' }
    const original = one.engine.execute(input)
    await clock.settle()
    const repeat = two.engine.execute(input)
    await clock.settle()
    expect(journal).toEqual(['a begins'])
    open('a')
    const [first, second] = [await original, await repeat]
    expect(journal).toEqual(['a begins', 'a ends'])
    expect(second.response).toEqual(first.response)
    expect(second.replayed).toBe(true)
    two.store.expectJournal(['claim', 'load', 'lease', 'load'])
  })

  test('a first turn takes none, and neither does a delete', async () => {
    const { one, sessionId } = await twoProcesses()
    await one.engine.run({ flowName: 'Talk', userMessage: 'start' })
    await one.engine.deleteSession(sessionId)
    expect(one.store.operations).not.toContain('lease')
  })
})

function controlOf(engine: EngineContext, owner: string | undefined): TurnControl {
  const input = checkTurnInput({ flowName: 'Talk', userMessage: 'Hello', sessionId: 'a', owner }, engine.limits)
  return new TurnControl(engine, input, 'Talk', 'a')
}

test('a turn that has a lease does not ask for it again', async () => {
  const { clock, backing } = harness()
  const store = new FakeSessionStore({ inner: new MemorySessionStore({ backing }), clock, leases: true })
  const control = controlOf(
    createEngineContext({ clock, sessionStore: store }, () => Promise.resolve()),
    undefined,
  )
  await takeLease(control, 'a')
  expect(takeLease(control, 'a')).toBeUndefined()
  await takeLease(control, 'b')
  giveBackLeases(control, 'b')
  giveBackLeases(control)
  giveBackLeases(control)
  store.expectJournal(['lease', 'lease'])
})

test('a lease is one of the session and its owner: whoever names another does not wait', async () => {
  const { clock } = harness()
  const store = new FakeSessionStore({ inner: new MemorySessionStore(), clock, leases: true })
  const context = createEngineContext({ clock, sessionStore: store }, () => Promise.resolve())
  const controls = ['alice', 'bob', undefined].map((owner) => controlOf(context, owner))
  for (const control of controls) await takeLease(control, 'a')
  for (const control of controls) giveBackLeases(control)
})

describe('nothing depends on a lease', () => {
  /** A session, and two engines whose stores lease as the test says. */
  async function scene(lease: Lease) {
    const talk = gatedFlow()
    const first = harness({ flows: [talk.flow], limits: { turnTimeoutMs, storeTimeoutMs } })
    const { backing, clock } = first
    const sessionId = await first.start('Talk')
    const stores = [new LeasingStore(backing, lease), new LeasingStore(backing, lease)] as const
    const limits = { turnTimeoutMs, storeTimeoutMs }
    const engines = stores.map((sessionStore) => new FlowEngine({ flows: [talk.flow], clock, sessionStore, limits }))
    const say = (index: 0 | 1, userMessage: string) =>
      (engines[index] as FlowEngine).execute({ flowName: 'Talk', userMessage, sessionId })
    const messages = (): string[] => backing.get(sessionId)?.history.map(({ message }) => message) ?? []
    return { ...talk, clock, stores, engines, say, messages }
  }

  test('everybody gets it: one of two turns is stored, the other is a conflict', async () => {
    const { say, open, clock, messages, stores } = await scene(async () => async () => undefined)
    const turns = [say(0, 'a'), say(1, 'b')] as const
    await clock.settle()
    open('a')
    open('b')
    const codes = (await Promise.all(turns)).map(({ error }) => error?.code)
    expect(codes.sort()).toEqual(['SESSION_CONFLICT', undefined])
    expect(messages()).toHaveLength(2)
    for (const { calls } of stores) expect(calls.slice(0, 2)).toEqual(['lease', 'load'])
    for (const { calls } of stores) expect(calls.filter((call) => call === 'give back')).toHaveLength(1)
  })

  test.each<[string, () => Promise<never>]>([
    ['rejects', () => Promise.reject(new Error('connect ECONNREFUSED'))],
    [
      'throws',
      () => {
        throw new Error('not even a promise')
      },
    ],
    ['answers nonsense', async () => 'yours' as never],
  ])('where it %s, the turn runs without', async (_what, lease) => {
    const { say, messages } = await scene(lease)
    expect(await say(0, 'start')).toMatchObject({ response: { success: true, message: 'started' } })
    expect(messages()).toEqual(['start', 'start'])
  })

  test.each<[string, () => Promise<void>]>([
    ['rejects', () => Promise.reject(new Error('connect ECONNREFUSED'))],
    [
      'throws',
      () => {
        throw new Error('not even a promise')
      },
    ],
    ['hangs', () => never()],
  ])('where giving back %s, the reply is the same, and the next turn runs', async (_what, giveBack) => {
    const { say, stores, messages } = await scene(async () => giveBack)
    for (let count = 0; count < 2; count++) expect((await say(0, 'start')).response.success).toBe(true)
    expect(stores[0].calls).toEqual(['lease', 'load', 'give back', 'lease', 'load', 'give back'])
    expect(messages()).toHaveLength(3)
  })

  test('where it hangs and ignores its signal, the turn ends at its deadline', async () => {
    const { say, clock, messages } = await scene(() => never())
    const waiting = say(0, 'start')
    await clock.advance(turnTimeoutMs)
    expect((await waiting).error?.code).toBe('TURN_TIMEOUT')
    expect(messages()).toEqual(['start'])
  })

  test('where it comes after the turn was aborted, it is given back at once', async () => {
    const late = gate()
    const { say, clock, stores } = await scene(async () => {
      await late.opened
      return async () => undefined
    })
    const waiting = say(0, 'start')
    await clock.advance(turnTimeoutMs)
    expect((await waiting).error?.code).toBe('TURN_TIMEOUT')
    expect(stores[0].calls).not.toContain('give back')
    late.open()
    await clock.settle()
    expect(stores[0].calls).toEqual(['lease', 'give back'])
  })
})
