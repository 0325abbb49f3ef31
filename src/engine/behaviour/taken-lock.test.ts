import { afterEach, describe, expect, test, vi } from 'vitest'
import { type Gate, gate, gatedFlow, never } from '../../../testing/contract/engine-harness.js'
import { recordEvents } from '../../../testing/contract/event-recorder.js'
import { FakeSessionStore, LockProbe, VirtualClock } from '../../../testing/index.js'
import { FlowEngine, type LockEvent, MemorySessionStore, type SessionDocument } from '../../index.js'
import { Waiter } from '../../session/lock/lock-line.js'

afterEach(() => {
  vi.restoreAllMocks()
})

/** A clock of a runtime that drops the timers of a request together with it. */
class DroppingClock extends VirtualClock {
  readonly timersEndWithRequest = true
  #request = { isDropped: false }

  /** What follows belongs to another request. */
  nextRequest(): void {
    this.#request = { isDropped: false }
  }

  /** The request before this one is dropped: its client is gone. */
  drop(): void {
    this.#request.isDropped = true
    this.nextRequest()
  }

  override setTimer(callback: () => void, ms: number): () => void {
    const request = this.#request
    return super.setTimer(() => request.isDropped || callback(), ms)
  }
}

const turnTimeoutMs = 1000
const storeTimeoutMs = 100
/** When the lock of a holder may be taken, from when it has it. */
const takenAfterMs = turnTimeoutMs + 11 * storeTimeoutMs

/** A session, and an engine on a runtime that drops requests. */
async function scene(ownLimits: { readonly turnTimeoutMs?: number } = {}) {
  const { flow, open, journal } = gatedFlow()
  const clock = new DroppingClock()
  const backing = new Map<string, SessionDocument>()
  const store = new FakeSessionStore({ inner: new MemorySessionStore({ backing, clock }), clock })
  const limits = { turnTimeoutMs, storeTimeoutMs, ...ownLimits }
  const engine = new FlowEngine({ flows: [flow], clock, sessionStore: store, limits })
  const { session } = await engine.run({ flowName: 'Talk', userMessage: 'start' })
  const locks: string[] = []
  engine
    .getFlowSession()
    .watchLocks(({ kind, request, holder }: LockEvent) => locks.push(`${kind} ${request} ${holder}`))
  const probe = new LockProbe({ clock })
  probe.observe(engine)
  const events = recordEvents(engine)
  const say = (userMessage: string) => engine.execute({ flowName: 'Talk', userMessage, sessionId: session })
  const messages = (): string[] => backing.get(session)?.history.map(({ message }) => message) ?? []
  const writes = (): number => store.operations.filter((operation) => operation !== 'load').length
  clock.nextRequest()
  return { engine, clock, store, backing, session, locks, probe, events, say, open, journal, messages, writes }
}

/** Keeps the next call of an operation of the store from reaching it until the gate opens. */
function holdBack(store: FakeSessionStore, operation: 'save' | 'delete'): Gate {
  const held = gate()
  const original = store[operation].bind(store) as (...given: unknown[]) => Promise<void>
  vi.spyOn(store, operation).mockImplementationOnce(async (...given: unknown[]) => {
    await held.opened
    return original(...given)
  })
  return held
}

describe('a turn whose work was dropped', () => {
  test('loses the lock to the next one at its moment, not before, and can write no more', async () => {
    const { engine, clock, session, locks, probe, events, say, open, messages, writes } = await scene()
    const lost = say('a')
    await clock.settle()
    clock.drop()
    await clock.advance(300)
    const next = say('b')
    open('b')
    await clock.advance(takenAfterMs - 301)
    expect(locks).toEqual(['requested 1 turn', 'acquired 1 turn', 'requested 2 turn'])
    const at = clock.now() + 1
    await clock.advance(1)
    expect((await next).response).toMatchObject({ success: true, session, message: 'b' })
    expect(locks.slice(3)).toEqual(['taken 1 turn', 'acquired 2 turn', 'released 2 turn'])
    const turnId = events.find(([name]) => name === 'turn:start')?.[1].turnId
    expect(events.filter(([name]) => name === 'lock:taken')).toEqual([
      ['lock:taken', { sessionId: session, at, holder: 'turn', turnId }],
    ])
    const before = writes()
    expect(await lost).toMatchObject({ response: { success: false, session }, error: { code: 'SESSION_CONFLICT' } })
    open('a')
    await clock.settle()
    expect([messages(), writes(), engine.getFlowSession().locked]).toEqual([['start', 'b'], before, 0])
    probe.assertSerialized(session)
    await probe.assertReleased()
    // The record of the probe, in the error of an assertion for which too little happened.
    expect(() => probe.assertFirstInFirstOut(session)).toThrow(
      [
        "  #1 turn of flow 'Talk' requests and acquires the lock",
        "  #2 turn of flow 'Talk' requests the lock",
        "  #1 turn of flow 'Talk' loses it to a request that waited too long",
        "  #2 turn of flow 'Talk' acquires it",
        "  #2 turn of flow 'Talk' releases it",
      ].join('\n'),
    )
  })

  test('and that never settles keeps neither close() nor the next turns waiting', async () => {
    const { engine, clock, store, say, open, messages } = await scene()
    vi.spyOn(store, 'save').mockImplementationOnce(() => never())
    void say('a')
    open('a')
    await clock.settle()
    clock.drop()
    const next = say('b')
    open('b')
    await clock.runUntil(next)
    open('c')
    expect((await clock.runUntil(say('c'))).response.success).toBe(true)
    const begun = clock.now()
    await clock.runUntil(engine.close())
    expect([messages(), clock.now() - begun]).toEqual([['start', 'b', 'c'], 0])
  })

  test('loses it at once to a request that comes later than that', async () => {
    const { clock, say, open } = await scene()
    void say('a')
    await clock.settle()
    clock.drop()
    await clock.advance(10 * takenAfterMs)
    open('b')
    const begun = clock.now()
    expect((await clock.runUntil(say('b'))).response.success).toBe(true)
    expect(clock.now() - begun).toBe(0)
  })

  test('while it commits: what it sent counts, and what it would send again does not', async () => {
    const { clock, store, say, open, messages, writes } = await scene()
    const held = holdBack(store, 'save')
    const lost = say('a')
    open('a')
    await clock.settle()
    clock.drop()
    const next = say('b')
    await clock.advance(takenAfterMs)
    // The next turn has the lock, and has loaded the session. Now the write arrives, and takes effect.
    held.open()
    await lost
    open('b')
    const { error } = await clock.runUntil(next)
    expect([messages(), error?.code]).toEqual([['start', 'a'], 'SESSION_CONFLICT'])
    // A write that failed is not sent again.
    const failed = gate()
    vi.spyOn(store, 'save').mockImplementationOnce(async () => {
      await failed.opened
      throw new Error('connection lost')
    })
    const second = say('c')
    open('c')
    await clock.settle()
    clock.drop()
    const last = say('d')
    await clock.advance(takenAfterMs)
    const before = writes()
    failed.open()
    expect((await second).error?.code).toBe('SESSION_CONFLICT')
    expect(writes()).toBe(before)
    open('d')
    expect((await clock.runUntil(last)).response.success).toBe(true)
    expect(messages()).toEqual(['start', 'a', 'd'])
  })
})

test('a delete takes the lock from the owner and from a stranger, whose requests were dropped one after the other', async () => {
  const { engine, clock, session, store, backing, say } = await scene()
  void say('a')
  await clock.settle()
  clock.drop()
  await clock.advance(500)
  store.delayNext('load', 10)
  void engine.execute({ flowName: 'Talk', userMessage: 'b', sessionId: session, owner: 'stranger' })
  await clock.settle()
  clock.drop()
  const deleted = engine.deleteSession(session)
  await clock.advance(takenAfterMs)
  expect(await deleted).toEqual({ success: true, session })
  expect([backing.has(session), engine.getFlowSession().locked]).toEqual([false, 0])
})

test('a delete whose work was dropped loses the lock too, and removes nothing any more', async () => {
  const { engine, clock, store, session, events, locks, say, open, messages } = await scene()
  const failed = gate()
  vi.spyOn(store, 'delete').mockImplementationOnce(async () => {
    await failed.opened
    throw new Error('connection lost')
  })
  const deleting = engine.executeDelete(session)
  await clock.settle()
  clock.drop()
  const next = say('b')
  await clock.advance(takenAfterMs)
  expect(events.filter(([name]) => name === 'lock:taken')).toEqual([
    ['lock:taken', { sessionId: session, at: clock.now(), holder: 'delete' }],
  ])
  // Its write had no effect, and is not sent again.
  failed.open()
  expect((await deleting).error?.code).toBe('SESSION_CONFLICT')
  open('b')
  await clock.runUntil(next)
  expect([messages(), locks.includes('taken 1 delete')]).toEqual([['start', 'b'], true])
})

describe('those who wait', () => {
  test('keep their order, and one of them is dropped in the queue', async () => {
    const { engine, clock, probe, session, say, open, journal, locks } = await scene()
    void say('a')
    await clock.settle()
    clock.drop()
    // The runtime never goes on with this one, whether it gets the lock or not.
    const resolve = vi.spyOn(Waiter.prototype, 'resolve').mockImplementationOnce(function (this: Waiter) {
      this.leave()
    })
    void say('dropped')
    await clock.settle()
    clock.drop()
    for (const message of ['b', 'c']) open(message)
    const living = [say('b'), say('c')]
    await clock.advance(takenAfterMs)
    expect(resolve).toHaveBeenCalledTimes(1)
    expect(journal).toEqual(['a begins'])
    await clock.advance(storeTimeoutMs)
    expect((await Promise.all(living)).map(({ response }) => response.success)).toEqual([true, true])
    expect(journal.slice(1)).toEqual(['b begins', 'b ends', 'c begins', 'c ends'])
    expect(locks.filter((line) => line.startsWith('taken'))).toEqual(['taken 1 turn', 'taken 2 turn'])
    expect(engine.getFlowSession().locked).toBe(0)
    probe.assertFirstInFirstOut(session)
    await probe.assertReleased()
  })

  test('behind living turns wait no longer than turnTimeoutMs', async () => {
    const { clock, say, open } = await scene()
    const first = say('a')
    await clock.advance(50)
    const second = say('b')
    await clock.advance(50)
    const third = say('c')
    await clock.advance(400)
    open('a')
    await first
    // The second turn has the lock from 500 on, and may have it until 1500. The third came at 100.
    const begun = clock.now()
    expect((await clock.runUntil(third)).error?.code).toBe('TURN_TIMEOUT')
    expect(clock.now() - begun).toBe(600)
    open('b')
    expect((await second).response.success).toBe(true)
  })

  test("of the application take a dropped turn's lock too, and keep their own for ever", async () => {
    const { engine, clock, session, say, open, locks } = await scene()
    void say('a')
    await clock.settle()
    clock.drop()
    let works = 0
    const working = engine.getFlowSession().withSessionLock(session, () => {
      works++
      return never()
    })
    void working
    await clock.advance(takenAfterMs)
    expect(works).toBe(1)
    clock.drop()
    await clock.advance(10 * takenAfterMs)
    const begun = clock.now()
    open('b')
    const { error } = await clock.runUntil(say('b'))
    expect([error?.code, clock.now() - begun]).toEqual(['TURN_TIMEOUT', turnTimeoutMs])
    expect(locks.filter((line) => line.startsWith('taken'))).toEqual(['taken 1 turn'])
  })

  /** The runtime does not go on with the next request in the queue that gets the lock. */
  function dropNextInQueue(): void {
    vi.spyOn(Waiter.prototype, 'resolve').mockImplementationOnce(function (this: Waiter) {
      this.leave()
    })
  }

  test('behind a holder whose lock cannot be taken, take that of the next holder, dropped in the queue', async () => {
    const { engine, clock, session, say, open, locks } = await scene()
    const held = gate()
    const holding = engine.getFlowSession().withSessionLock(session, () => held.opened)
    void say('dropped')
    const waiting = engine.getFlowSession().withSessionLock(session, () => 'done')
    await clock.settle()
    clock.drop()
    dropNextInQueue()
    held.open()
    await holding
    await clock.advance(storeTimeoutMs)
    expect(locks.filter((line) => line.startsWith('taken'))).toEqual(['taken 2 turn'])
    expect(await waiting).toBe('done')
    open('b')
    expect((await say('b')).response.success).toBe(true)
  })

  test('or of the next holder, dropped while it works', async () => {
    const { engine, clock, session, say, locks } = await scene()
    const held = gate()
    const holding = engine.getFlowSession().withSessionLock(session, () => held.opened)
    void say('dropped')
    await clock.settle()
    const waiting = engine.getFlowSession().withSessionLock(session, () => 'done')
    // The turn's own timers are gone.
    const setTimer = clock.setTimer.bind(clock)
    vi.spyOn(clock, 'setTimer').mockImplementation((callback, ms) =>
      ms === turnTimeoutMs ? () => undefined : setTimer(callback, ms),
    )
    clock.drop()
    held.open()
    await holding
    await clock.advance(takenAfterMs - 1)
    expect(locks.filter((line) => line.startsWith('taken'))).toEqual([])
    await clock.advance(1)
    expect(locks.filter((line) => line.startsWith('taken'))).toEqual(['taken 2 turn'])
    expect(await waiting).toBe('done')
  })

  test('without a limit, take the lock of one that was dropped in the queue', async () => {
    const { clock, say, open, locks } = await scene({ turnTimeoutMs: Number.POSITIVE_INFINITY })
    const first = say('a')
    await clock.settle()
    void say('dropped')
    await clock.settle()
    open('c')
    const last = say('c')
    await clock.settle()
    dropNextInQueue()
    open('a')
    expect((await first).response.success).toBe(true)
    await clock.advance(storeTimeoutMs)
    expect(locks.filter((line) => line.startsWith('taken'))).toEqual(['taken 2 turn'])
    expect((await last).response.success).toBe(true)
    expect(clock.pending).toBe(0)
  })

  test('and are cancelled where the clock cannot set the timer that they need then', async () => {
    const { engine, clock, session, say, open } = await scene()
    const held = gate()
    const holding = engine.getFlowSession().withSessionLock(session, () => held.opened)
    const next = say('a')
    const waiting = engine.getFlowSession().withSessionLock(session, () => 'done')
    await clock.settle()
    vi.spyOn(clock, 'setTimer').mockImplementationOnce(() => {
      throw new Error('no timers today')
    })
    held.open()
    await holding
    await expect(waiting).rejects.toThrow("The engine's clock failed")
    open('a')
    expect((await next).response.success).toBe(true)
    expect(engine.getFlowSession().locked).toBe(0)
  })

  test('set a timer only where they wait', async () => {
    const { clock, say, open } = await scene()
    const timers = vi.spyOn(clock, 'setTimer')
    open('a')
    await say('a')
    // The deadlines of the turn, its load and its save.
    expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([turnTimeoutMs, storeTimeoutMs, storeTimeoutMs])
  })
})
