import { describe, expect, test, vi } from 'vitest'
import { FakeSessionStore, VirtualClock } from '../../../../testing/index.js'
import { EngineClosedError, TurnAbortedError } from '../../../errors/engine-errors.js'
import { SessionStoreError } from '../../../index.js'
import { FlowSession } from '../../../session/flow-session.js'
import { StoreAccess } from '../../../session/store-access.js'
import type { EngineContext } from '../../core/engine-context.js'
import { EngineEvents } from '../../core/engine-events.js'
import { resolveLimits } from '../../core/engine-limits.js'
import { checkTurnInput } from '../../input/check-input.js'
import { TurnControl } from './turn-control.js'

function made() {
  const clock = new VirtualClock(1000)
  const store = new FakeSessionStore()
  const events = new EngineEvents(() => undefined)
  const session = new FlowSession(new StoreAccess({ store, clock, storeTimeoutMs: 5000 }), {
    clock,
    turnTimeoutMs: 5000,
    storeTimeoutMs: 5000,
  })
  // What a control uses of an engine.
  const engine = {
    clock,
    events,
    session,
    turns: new Set(),
    generateId: (kind: string) => `${kind}-1`,
  } as unknown as EngineContext
  const input = checkTurnInput({ flowName: 'Talk', userMessage: 'Hello', sessionId: 'one' }, resolveLimits())
  return { clock, store, events, control: new TurnControl(engine, input, 'Talk', 'one') }
}

/** Lets every settled promise run on. */
const settled = (): Promise<void> => new VirtualClock().settle()

describe('the identity of a turn', () => {
  test('is its flow, its session and an ID of its own', () => {
    expect(made().control).toMatchObject({ flowName: 'Talk', sessionId: 'one', turnId: 'turn-1' })
  })
})

describe('race', () => {
  test('gives what the work gives', async () => {
    const { control } = made()
    expect(await control.work.race(async () => 42)).toBe(42)
    await expect(control.work.race(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  })

  test('ends when the turn is aborted, and what comes later is ignored', async () => {
    const { control } = made()
    const error = new TurnAbortedError()
    for (const late of [async () => 1, () => Promise.reject(new Error('late'))]) {
      let release!: () => void
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      const { control: own } = made()
      const race = own.work.race(() => held.then<unknown>(late))
      own.work.abort(error)
      await expect(race).rejects.toBe(error)
      release()
      await settled()
    }
    control.work.abort(error)
    const work = vi.fn(async () => 1)
    await expect(control.work.race(work)).rejects.toBe(error)
    expect(work).not.toHaveBeenCalled()
  })

  test('work that throws at once rejects', async () => {
    const { control } = made()
    const work = async (): Promise<never> => {
      throw new Error('at once')
    }
    await expect(control.work.race(work)).rejects.toThrow('at once')
  })
})

describe('abort', () => {
  test('counts once', async () => {
    const { control } = made()
    const first = new TurnAbortedError()
    const race = control.work.race(() => new Promise(() => undefined))
    control.work.abort(first)
    control.work.abort(new EngineClosedError())
    await expect(race).rejects.toBe(first)
    expect(() => control.work.check()).toThrow(first)
    expect(control.work.signal.reason).toBe(first)
  })

  test('does nothing once the work is done', async () => {
    const { control } = made()
    const { signal } = control.work
    await control.work.race(async () => 1)
    control.work.finish()
    control.work.abort(new TurnAbortedError())
    expect(() => control.work.check()).not.toThrow()
    expect(signal.aborted).toBe(false)
  })

  test('fires the signal, whether it was asked for before or after', () => {
    const { control } = made()
    const { signal } = control.work
    expect(control.work.signal).toBe(signal)
    const error = new TurnAbortedError()
    control.work.abort(error)
    expect([signal.aborted, signal.reason]).toEqual([true, error])
    const late = made().control.work
    late.abort(error)
    expect([late.signal.aborted, late.signal.reason]).toEqual([true, error])
  })

  test('check does nothing before', () => {
    expect(() => made().control.work.check()).not.toThrow()
  })
})

describe('events', () => {
  test('carry the turn, the time and what is added', () => {
    const { control, events } = made()
    const received: unknown[] = []
    events.on('step:enter', (payload) => received.push(payload))
    expect(control.hasListeners('step:enter')).toBe(true)
    expect(control.hasListeners('step:exit')).toBe(false)
    control.emit('step:enter', { step: 'Ask' })
    control.sessionId = 'two'
    control.report('step:enter', { step: 'Ask' })
    const of = { flowName: 'Talk', turnId: 'turn-1', at: 1000, step: 'Ask' }
    expect(received).toEqual([
      { ...of, sessionId: 'one' },
      { ...of, sessionId: 'two' },
    ])
  })

  test('are not emitted after the turn was aborted; how it was settled is reported', () => {
    const { control, events } = made()
    const received = vi.fn()
    events.on('turn:error', received)
    const error = new TurnAbortedError()
    control.work.abort(error)
    control.emit('turn:error', { code: 'TURN_ABORTED', error })
    expect(received).not.toHaveBeenCalled()
    expect(control.hasListeners('turn:error')).toBe(false)
    control.report('turn:error', { code: 'TURN_ABORTED', error })
    expect(received).toHaveBeenCalledTimes(1)
  })

  test('cost nothing where nobody listens', () => {
    const { control, clock } = made()
    const now = vi.spyOn(clock, 'now')
    control.emit('step:enter', { step: 'Ask' })
    expect(now).not.toHaveBeenCalled()
  })
})

describe('hold and end', () => {
  test('release everything that was held, and call onSettled', () => {
    const { control, store } = made()
    const journal: string[] = []
    store.hold = (sessionId) => {
      journal.push(`hold ${sessionId}`)
      return () => journal.push(`release ${sessionId}`)
    }
    control.hold('one')
    control.hold('two')
    control.work.onSettled = () => journal.push('settled')
    control.end()
    expect(journal).toEqual(['hold one', 'hold two', 'release one', 'release two', 'settled'])
  })

  test('a store without hold needs none', () => {
    const { control, store } = made()
    Object.assign(store, { hold: undefined })
    expect(() => control.hold('one')).not.toThrow()
    expect(() => control.end()).not.toThrow()
  })

  test('a hold that throws is a store error; a release that throws changes nothing', () => {
    const { control, store } = made()
    const cause = new Error('at redis://user:hunter2@host')
    store.hold = () => {
      throw cause
    }
    try {
      control.hold('one')
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
    control.hold('one')
    control.hold('two')
    control.work.onSettled = () => journal.push('settled')
    expect(() => control.end()).not.toThrow()
    expect(journal).toEqual(['one', 'two', 'settled'])
  })
})

describe('uninterrupted', () => {
  test('work ends although the turn is aborted, and the abort comes after it', async () => {
    const { control } = made()
    const error = new TurnAbortedError()
    const journal: string[] = []
    let release!: () => void
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const race = control.work.race(async () => {
      await control.work.uninterrupted(async () => {
        await held
        journal.push('stored')
      })
      journal.push('never')
    })
    race.catch(() => journal.push('aborted'))
    control.work.abort(error)
    await settled()
    expect(journal).toEqual([])
    release()
    await expect(race).rejects.toBe(error)
    expect(journal).toEqual(['stored', 'aborted'])
  })

  test('the turn can be aborted again afterwards', async () => {
    const { control } = made()
    const error = new TurnAbortedError()
    const race = control.work.race(async () => {
      await control.work.uninterrupted(async () => undefined)
      await new Promise(() => undefined)
    })
    await settled()
    control.work.abort(error)
    await expect(race).rejects.toBe(error)
  })
})
