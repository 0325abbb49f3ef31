import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { FakeSessionStore, VirtualClock } from '../../testing/index.js'
import { EngineClosedError, LimitExceededError } from '../errors/engine-errors.js'
import { FlowSession } from './flow-session.js'
import type { LockHolder } from './lock/lock-line.js'
import type { LockWait } from './lock/lock-request.js'
import { StoreAccess } from './store-access.js'

const turn: LockWait = { counted: true }

/** An access to a store. No lock ever calls it. */
const newAccess = (): StoreAccess =>
  new StoreAccess({ store: new FakeSessionStore(), clock: new VirtualClock(), storeTimeoutMs: 1_000 })

const timingOf = (clock: VirtualClock) => ({ clock, turnTimeoutMs: 100, storeTimeoutMs: 1_000 })

/** @param clock - Default: one that stands still. */
const newSession = (clock = new VirtualClock()): FlowSession => new FlowSession(newAccess(), timingOf(clock))

/** Work that begins when it gets the lock and ends when the test ends it. */
function gate(): { work: () => Promise<string>; open: () => void; entered: Promise<void> } {
  let open!: () => void
  let enter!: () => void
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  const work = async (): Promise<string> => {
    enter()
    await opened
    return 'done'
  }
  return { work, open, entered }
}

/** Runs everything that does not wait for a gate. */
const settled = (): Promise<void> => new VirtualClock().settle()

describe('FlowSession.withSessionLock', () => {
  test('[4.8-1] work of one session runs one at a time, in order of arrival', async () => {
    const session = newSession()
    const log: string[] = []
    const works = ['first', 'second', 'third'].map((name) =>
      session.withSessionLock('a', async () => {
        log.push(`${name} begins`)
        await settled()
        log.push(`${name} ends`)
        return name
      }),
    )
    expect(await Promise.all(works)).toEqual(['first', 'second', 'third'])
    expect(log).toEqual(['first begins', 'first ends', 'second begins', 'second ends', 'third begins', 'third ends'])
    expect(session.locked).toBe(0)
  })

  test('[4.8-1] work of different sessions runs at the same time', async () => {
    const session = newSession()
    const [one, other] = [gate(), gate()]
    const results = [session.withSessionLock('a', one.work), session.withSessionLock('b', other.work)]
    await Promise.all([one.entered, other.entered])
    expect(session.locked).toBe(2)
    one.open()
    other.open()
    expect(await Promise.all(results)).toEqual(['done', 'done'])
  })

  test.each([undefined, ''])('[4.8-2] the session ID %j locks nothing', async (sessionId) => {
    const session = newSession()
    const [one, other] = [gate(), gate()]
    const results = [session.withSessionLock(sessionId, one.work), session.withSessionLock(sessionId, other.work)]
    await Promise.all([one.entered, other.entered])
    expect(session.locked).toBe(0)
    one.open()
    other.open()
    expect(await Promise.all(results)).toEqual(['done', 'done'])
  })

  test('[4.8-4] the lock belongs to one engine: another engine does not wait for it', async () => {
    const access = newAccess()
    const [one, other] = [gate(), gate()]
    const first = new FlowSession(access, timingOf(new VirtualClock())).withSessionLock('a', one.work)
    const second = new FlowSession(access, timingOf(new VirtualClock())).withSessionLock('a', other.work)
    await Promise.all([one.entered, other.entered])
    one.open()
    other.open()
    expect(await Promise.all([first, second])).toEqual(['done', 'done'])
  })

  test.each<[string, () => Promise<never>]>([
    ['rejects', () => Promise.reject(new Error('broken'))],
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
  ])('work that %s gives its error to its caller and the lock to the next', async (_name, work) => {
    const session = newSession()
    const failing = session.withSessionLock('a', work)
    const next = session.withSessionLock('a', () => 'next')
    await expect(failing).rejects.toThrow('broken')
    expect(await next).toBe('next')
    expect(session.locked).toBe(0)
  })
})

describe('FlowSession.hold', () => {
  test('passes the number of counted requests that already wait', async () => {
    const session = newSession()
    const held = gate()
    const seen: number[] = []
    const wait: LockWait = { counted: true, onBlocked: (queued) => seen.push(queued) }
    const results = [
      session.hold('a', held.work, () => wait),
      session.hold(
        'a',
        () => 'second',
        () => wait,
      ),
      session.withSessionLock('a', () => 'not counted'),
      session.hold(
        'a',
        () => 'third',
        () => wait,
      ),
    ]
    await held.entered
    expect(seen).toEqual([0, 1])
    held.open()
    expect(await Promise.all(results)).toEqual(['done', 'second', 'not counted', 'third'])
  })

  test('a caller that may not wait is refused and leaves no trace', async () => {
    const session = newSession()
    const held = gate()
    const first = session.hold('a', held.work, () => turn)
    const refusal = new LimitExceededError({ limit: 'maxQueuedTurnsPerSession', value: 1, problem: 'The queue' })
    const refused = session.hold(
      'a',
      () => 'never',
      () => ({
        counted: true,
        onBlocked: () => {
          throw refusal
        },
      }),
    )
    await expect(refused).rejects.toBe(refusal)
    held.open()
    await first
    expect(session.locked).toBe(0)
  })

  test('a wait that takes too long ends with its error; the next request gets the lock', async () => {
    const clock = new VirtualClock()
    const session = newSession(clock)
    const wait: LockWait = { counted: true, timeoutMs: 100, onTimeout: () => new Error('too late') }
    const held = gate()
    const first = session.hold('a', held.work, () => turn)
    const late = session.hold(
      'a',
      () => 'never',
      () => wait,
    )
    const lateRejects = expect(late).rejects.toThrow('too late')
    await clock.advance(50)
    const patient = session.hold(
      'a',
      () => 'patient',
      () => wait,
    )
    await clock.advance(50)
    await lateRejects
    held.open()
    expect(await Promise.all([first, patient])).toEqual(['done', 'patient'])
    expect(clock.pending).toBe(0)
  })

  test('the deadline of the wait ends when the lock is held', async () => {
    const clock = new VirtualClock()
    const session = newSession(clock)
    const [held, second] = [gate(), gate()]
    const first = session.hold('a', held.work, () => turn)
    const queued = session.hold('a', second.work, () => ({
      counted: true,
      timeoutMs: 100,
    }))
    held.open()
    await first
    await second.entered
    expect(clock.pending).toBe(0)
    await clock.advance(1_000)
    second.open()
    expect(await queued).toBe('done')
  })

  test('a signal ends the wait, and has no listener once the lock is held', async () => {
    const session = newSession()
    const controller = new AbortController()
    const wait: LockWait = { counted: true, signal: controller.signal, onAbort: () => new Error('cancelled') }
    const [held, second] = [gate(), gate()]
    const first = session.hold('a', held.work, () => turn)
    const queued = session.hold('a', second.work, () => wait)
    held.open()
    await first
    await second.entered
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    const third = session.hold(
      'a',
      () => 'never',
      () => wait,
    )
    controller.abort()
    await expect(third).rejects.toThrow('cancelled')
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    second.open()
    expect(await queued).toBe('done')
    expect(session.locked).toBe(0)
  })

  test('an aborted signal ends the wait before it begins', async () => {
    const session = newSession()
    const held = gate()
    const first = session.hold('a', held.work, () => turn)
    const refused = session.hold(
      'a',
      () => 'never',
      () => ({
        counted: true,
        signal: AbortSignal.abort(),
        onAbort: () => new Error('cancelled'),
      }),
    )
    await expect(refused).rejects.toThrow('cancelled')
    held.open()
    await first
    expect(session.locked).toBe(0)
  })

  test('a signal that refuses listeners takes no place in the queue', async () => {
    const session = newSession()
    const held = gate()
    const first = session.hold('a', held.work, () => turn)
    const signal = Object.assign(new EventTarget(), {
      addEventListener: () => {
        throw new Error('stumbled')
      },
    }) as unknown as AbortSignal
    await expect(
      session.hold(
        'a',
        () => 'never',
        () => ({ counted: true, signal }),
      ),
    ).rejects.toThrow('stumbled')
    held.open()
    await first
    expect(session.locked).toBe(0)
  })

  test('a wait that begins while the engine closes is refused', async () => {
    const session = newSession()
    const held = gate()
    const first = session.hold('a', held.work, () => turn)
    let closing: Promise<void> | undefined
    const refused = session.hold(
      'a',
      () => 'never',
      () => ({
        counted: true,
        onBlocked: () => {
          closing = session.close()
        },
      }),
    )
    await expect(refused).rejects.toThrow(new EngineClosedError())
    held.open()
    await first
    await closing
    expect(session.locked).toBe(0)
  })

  test('without a lock to wait for, neither deadline nor signal is used', async () => {
    const clock = new VirtualClock()
    const session = newSession(clock)
    const wait: LockWait = {
      counted: true,
      onBlocked: () => {
        throw new Error('not blocked')
      },
      timeoutMs: 100,
      signal: AbortSignal.abort(),
    }
    expect(
      await session.hold(
        'a',
        () => clock.pending,
        () => wait,
      ),
    ).toBe(0)
  })
})

describe('FlowSession.close', () => {
  test('resolves at once if nothing runs, and refuses later work', async () => {
    const session = newSession()
    expect(session.closing).toBe(false)
    await session.close()
    expect(session.closing).toBe(true)
    await expect(session.withSessionLock('a', () => 'never')).rejects.toThrow(new EngineClosedError())
    await expect(session.withSessionLock(undefined, () => 'never')).rejects.toThrow('The engine is closed.')
  })

  test('lets holders finish, refuses waiting requests, and resolves after the last holder', async () => {
    const session = newSession()
    const [held, other, unlocked] = [gate(), gate(), gate()]
    const running = [
      session.hold('a', held.work, () => turn),
      session.hold('b', other.work, () => turn),
      session.hold(undefined, unlocked.work, () => turn),
    ]
    const waiting = session.hold(
      'a',
      () => 'never',
      () => turn,
    )
    const refused = expect(waiting).rejects.toThrow(new EngineClosedError())
    let closed = false
    const closing = session.close().then(() => {
      closed = true
    })
    await refused
    held.open()
    unlocked.open()
    await settled()
    expect(closed).toBe(false)
    other.open()
    await closing
    expect(await Promise.all(running)).toEqual(['done', 'done', 'done'])
    expect(session.locked).toBe(0)
  })

  test('also waits for work that has just acquired the lock', async () => {
    const session = newSession()
    const log: string[] = []
    const first = session.hold(
      'a',
      () => log.push('first ends'),
      () => turn,
    )
    const second = session.hold(
      'a',
      async () => {
        await settled()
        log.push('second ends')
      },
      () => turn,
    )
    const outcome = second.catch((error: unknown) => log.push(`second: ${error}`))
    await first
    // The second request has the lock now, although its work has not begun.
    await session.close()
    log.push('closed')
    await outcome
    expect(log.at(-1)).toBe('closed')
  })
})

describe('a caller that names another owner', () => {
  const bob = (): LockWait => ({ counted: true, caller: { owner: 'bob' } })

  test('runs without the lock, and counts as active work', async () => {
    const session = newSession()
    const reported: string[] = []
    session.watchLocks(({ kind, request }) => reported.push(`${kind} ${request}`))
    const [held, stranger] = [gate(), gate()]
    const first = session.hold(
      'a',
      (holder) => {
        session.setOwner(holder, { owner: 'ada' })
        return held.work()
      },
      () => turn,
    )
    const second = session.hold('a', stranger.work, bob)
    await stranger.entered
    held.open()
    await first
    let isClosed = false
    const closing = session.close().then(() => {
      isClosed = true
    })
    await settled()
    expect([isClosed, session.locked]).toEqual([false, 0])
    stranger.open()
    expect(await second).toBe('done')
    await closing
    expect(reported).toEqual(['requested 1', 'acquired 1', 'requested 2', 'refused 2', 'released 1'])
  })

  test('is refused by an engine that closes before it has begun', async () => {
    const session = newSession()
    const held = gate()
    let holding: LockHolder | undefined
    const first = session.hold(
      'a',
      (holder) => {
        holding = holder
        return held.work()
      },
      () => turn,
    )
    const second = session.hold('a', () => 'never', bob)
    session.setOwner(holding as LockHolder, { owner: 'ada' })
    const closing = session.close()
    await expect(second).rejects.toThrow(new EngineClosedError())
    held.open()
    await Promise.all([first, closing])
  })
})

describe('FlowSession.watchLocks', () => {
  /** The reported events, in short: `asked 1 application a`. */
  function watched(session: FlowSession): string[] {
    const reported: string[] = []
    session.watchLocks(({ kind, request, holder, turnId = '', sessionId }) => {
      reported.push(`${kind} ${request} ${holder}${turnId} ${sessionId}`)
    })
    return reported
  }

  test('reports each request: requested, acquired and released', async () => {
    const session = newSession()
    const reported = watched(session)
    const { work, open } = gate()
    const first = session.withSessionLock('a', work)
    const second = session.hold(
      'a',
      () => 'second',
      () => ({ ...turn, holder: 'turn', turnId: '7' }),
    )
    await session.hold(
      'b',
      () => 'other',
      () => ({ counted: false, holder: 'delete' }),
    )
    open()
    await Promise.all([first, second])
    expect(reported).toEqual([
      'requested 1 application a',
      'acquired 1 application a',
      'requested 2 turn7 a',
      'requested 3 delete b',
      'acquired 3 delete b',
      'released 3 delete b',
      'released 1 application a',
      'acquired 2 turn7 a',
      'released 2 turn7 a',
    ])
  })

  test('reports work that fails, and a request that is refused', async () => {
    const session = newSession()
    const reported = watched(session)
    const { work, open } = gate()
    await expect(session.withSessionLock('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    const first = session.withSessionLock('a', work)
    const second = session.withSessionLock('a', () => 'never')
    const closing = session.close()
    await expect(second).rejects.toThrow(new EngineClosedError())
    open()
    await Promise.all([first, closing])
    expect(reported.slice(2)).toEqual([
      'released 1 application a',
      'requested 2 application a',
      'acquired 2 application a',
      'requested 3 application a',
      'refused 3 application a',
      'released 2 application a',
    ])
  })

  test('reports nothing if no lock is taken, nor to a removed listener', async () => {
    const session = newSession()
    const reported = watched(session)
    await session.withSessionLock('', () => 'done')
    await session.withSessionLock(undefined, () => 'done')
    const late: string[] = []
    const stop = session.watchLocks(({ kind }) => late.push(kind))
    stop()
    await session.withSessionLock('a', () => 'done')
    expect([reported.length, late]).toEqual([3, []])
  })

  test('a listener that throws changes nothing', async () => {
    const session = newSession()
    session.watchLocks(() => {
      throw new Error('not today')
    })
    const reported = watched(session)
    expect(await session.withSessionLock('a', () => 'done')).toBe('done')
    expect([session.locked, reported.length]).toEqual([0, 3])
  })
})
