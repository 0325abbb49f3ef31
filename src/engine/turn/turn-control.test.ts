import { describe, expect, test, vi } from 'vitest'
import { FakeSessionStore, VirtualClock } from '../../../testing/index.js'
import { EngineClosedError, SessionStoreError, TurnAbortedError } from '../../index.js'
import { FlowSession } from '../../session/flow-session.js'
import { StoreAccess } from '../../session/store-access.js'
import type { EngineParts } from '../engine-context.js'
import { EngineEvents } from '../engine-events.js'
import { TurnScope } from './turn-control.js'

function made() {
  const clock = new VirtualClock(1000)
  const store = new FakeSessionStore()
  const events = new EngineEvents(() => undefined)
  const session = new FlowSession(new StoreAccess({ store, clock, storeTimeoutMs: 5000 }))
  // What a scope uses of an engine.
  const parts = { clock, events, session, generateId: (kind: string) => `${kind}-1` } as unknown as EngineParts
  return { clock, store, events, scope: new TurnScope(parts, 'Talk', 'one') }
}

/** Lets every settled promise run on. */
const settled = (): Promise<void> => new VirtualClock().settle()

describe('the identity of a turn', () => {
  test('is its flow, its session and an ID of its own', () => {
    expect(made().scope).toMatchObject({ flowName: 'Talk', sessionId: 'one', turnId: 'turn-1' })
  })
})

describe('race', () => {
  test('gives what the work gives', async () => {
    const { scope } = made()
    expect(await scope.race(async () => 42)).toBe(42)
    await expect(scope.race(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  })

  test('ends when the turn is given up, and what comes later goes nowhere', async () => {
    const { scope } = made()
    const error = new TurnAbortedError()
    for (const late of [async () => 1, () => Promise.reject(new Error('late'))]) {
      let release!: () => void
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      const { scope: own } = made()
      const race = own.race(() => held.then<unknown>(late))
      own.giveUp(error)
      await expect(race).rejects.toBe(error)
      release()
      await settled()
    }
    scope.giveUp(error)
    const work = vi.fn(async () => 1)
    await expect(scope.race(work)).rejects.toBe(error)
    expect(work).not.toHaveBeenCalled()
  })

  test('work that throws at once rejects', async () => {
    const { scope } = made()
    const work = async (): Promise<never> => {
      throw new Error('at once')
    }
    await expect(scope.race(work)).rejects.toThrow('at once')
  })
})

describe('giveUp', () => {
  test('counts once', async () => {
    const { scope } = made()
    const first = new TurnAbortedError()
    const race = scope.race(() => new Promise(() => undefined))
    scope.giveUp(first)
    scope.giveUp(new EngineClosedError())
    await expect(race).rejects.toBe(first)
    expect(() => scope.check()).toThrow(first)
    expect(scope.signal.reason).toBe(first)
  })

  test('does nothing once the work is done', async () => {
    const { scope } = made()
    const { signal } = scope
    await scope.race(async () => 1)
    scope.finishWork()
    scope.giveUp(new TurnAbortedError())
    expect(() => scope.check()).not.toThrow()
    expect(signal.aborted).toBe(false)
  })

  test('fires the signal, whether it was asked for before or after', () => {
    const { scope } = made()
    const { signal } = scope
    expect(scope.signal).toBe(signal)
    const error = new TurnAbortedError()
    scope.giveUp(error)
    expect([signal.aborted, signal.reason]).toEqual([true, error])
    const late = made().scope
    late.giveUp(error)
    expect([late.signal.aborted, late.signal.reason]).toEqual([true, error])
  })

  test('check says nothing before', () => {
    expect(() => made().scope.check()).not.toThrow()
  })
})

describe('events', () => {
  test('carry the turn, the time and what is added', () => {
    const { scope, events } = made()
    const heard: unknown[] = []
    events.on('step:enter', (payload) => heard.push(payload))
    expect(scope.isHeard('step:enter')).toBe(true)
    expect(scope.isHeard('step:exit')).toBe(false)
    scope.emit('step:enter', { step: 'Ask' })
    scope.sessionId = 'two'
    scope.announce('step:enter', { step: 'Ask' })
    const of = { flowName: 'Talk', turnId: 'turn-1', at: 1000, step: 'Ask' }
    expect(heard).toEqual([
      { ...of, sessionId: 'one' },
      { ...of, sessionId: 'two' },
    ])
  })

  test('are silent after the turn was given up, but for how it was settled', () => {
    const { scope, events } = made()
    const heard = vi.fn()
    events.on('turn:error', heard)
    scope.giveUp(new TurnAbortedError())
    scope.emit('turn:error', { code: 'TURN_ABORTED' })
    expect(heard).not.toHaveBeenCalled()
    expect(scope.isHeard('turn:error')).toBe(false)
    scope.announce('turn:error', { code: 'TURN_ABORTED' })
    expect(heard).toHaveBeenCalledTimes(1)
  })

  test('cost nothing where nobody listens', () => {
    const { scope, clock } = made()
    const now = vi.spyOn(clock, 'now')
    scope.emit('step:enter', { step: 'Ask' })
    expect(now).not.toHaveBeenCalled()
  })
})

describe('hold and end', () => {
  test('let go of everything that was held, and tell who waits', () => {
    const { scope, store } = made()
    const journal: string[] = []
    store.hold = (sessionId) => {
      journal.push(`hold ${sessionId}`)
      return () => journal.push(`let go ${sessionId}`)
    }
    scope.hold('one')
    scope.hold('two')
    scope.onSettled = () => journal.push('settled')
    scope.end()
    expect(journal).toEqual(['hold one', 'hold two', 'let go one', 'let go two', 'settled'])
  })

  test('a store that cannot hold is left alone', () => {
    const { scope, store } = made()
    Object.assign(store, { hold: undefined })
    expect(() => scope.hold('one')).not.toThrow()
    expect(() => scope.end()).not.toThrow()
  })

  test('a hold that throws is a store error; letting go that throws changes nothing', () => {
    const { scope, store } = made()
    const cause = new Error('at redis://user:hunter2@host')
    store.hold = () => {
      throw cause
    }
    try {
      scope.hold('one')
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(SessionStoreError)
      expect(error).toMatchObject({ message: "Session store failed to load session 'one'.", cause })
    }
    const journal: string[] = []
    store.hold = (sessionId) => () => {
      journal.push(sessionId)
      throw cause
    }
    scope.hold('one')
    scope.hold('two')
    scope.onSettled = () => journal.push('settled')
    expect(() => scope.end()).not.toThrow()
    expect(journal).toEqual(['one', 'two', 'settled'])
  })
})
