import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LockHolder, type Waiter } from './lock-line.js'
import type { LockWait } from './lock-request.js'
import { SessionLock } from './session-lock.js'

const waitOf = (wait: Partial<LockWait> = {}): LockWait => ({ counted: true, ...wait })

const newHolder = (): LockHolder => new LockHolder(waitOf)

/** Acquires a lock that must be free. */
function acquire(lock: SessionLock, sessionId: string): LockHolder {
  const holder = newHolder()
  if (!lock.tryAcquire(sessionId, holder)) throw new Error(`'${sessionId}' is locked.`)
  return holder
}

const enqueue = (lock: SessionLock, sessionId: string, wait?: Partial<LockWait>): Waiter =>
  lock.enqueue(sessionId, newHolder(), waitOf(wait))

/** Runs every chain of settled promises. */
async function settled(): Promise<void> {
  for (let count = 0; count < 5; count++) await Promise.resolve()
}

describe('SessionLock', () => {
  test('has one holder at a time', () => {
    const lock = new SessionLock(() => 0)
    const holder = acquire(lock, 'a')
    expect(lock.tryAcquire('a', newHolder())).toBe(false)
    lock.release(holder)
    expect(lock.tryAcquire('a', newHolder())).toBe(true)
  })

  test('different sessions are independent, whatever their IDs are', () => {
    const lock = new SessionLock(() => 0)
    for (const id of ['a', 'A', '__proto__', 'constructor', 'a ']) acquire(lock, id)
    expect(lock.size).toBe(5)
  })

  test('[4.8-1] is passed on in order of arrival', async () => {
    const lock = new SessionLock(() => 0)
    const holder = acquire(lock, 'a')
    const order: string[] = []
    const waiters = ['first', 'second', 'third'].map((name) => {
      const waiter = enqueue(lock, 'a')
      void waiter.settled.then(() => order.push(name))
      return waiter
    })
    await settled()
    expect(order).toEqual([])
    lock.release(holder)
    await settled()
    expect(order).toEqual(['first'])
    for (const waiter of waiters) lock.release(waiter.holder)
    await settled()
    expect([order, lock.size]).toEqual([['first', 'second', 'third'], 0])
  })

  test('no request can slip in between two holders', () => {
    const lock = new SessionLock(() => 0)
    const holder = acquire(lock, 'a')
    enqueue(lock, 'a')
    lock.release(holder)
    expect(lock.tryAcquire('a', newHolder())).toBe(false)
  })

  test('there is no queue without a holder', () => {
    expect(() => enqueue(new SessionLock(() => 0), 'a')).toThrow()
  })

  test('keeps no entry for a session that is free again', () => {
    const lock = new SessionLock(() => 0)
    for (let count = 0; count < 1_000; count++) lock.release(acquire(lock, `session ${count}`))
    expect(lock.size).toBe(0)
  })

  test('a holder that releases twice, or never held the lock, releases no other holder', () => {
    const lock = new SessionLock(() => 0)
    const holder = acquire(lock, 'a')
    lock.release(holder)
    const next = acquire(lock, 'a')
    lock.release(holder)
    lock.release(newHolder())
    expect(lock.holderOf('a')).toBe(next)
  })

  test('counts only the counted waiters of one owner, without the holder and other owners', async () => {
    const lock = new SessionLock(() => 0)
    expect(lock.queued('a')).toBe(0)
    const holder = acquire(lock, 'a')
    expect(lock.queued('a')).toBe(0)
    const turn = enqueue(lock, 'a')
    enqueue(lock, 'a', { counted: false })
    enqueue(lock, 'a', { caller: { owner: 'ada' } })
    const last = enqueue(lock, 'a', { caller: {} })
    expect([lock.queued('a'), lock.queued('a', 'ada'), lock.queued('a', 'bob')]).toEqual([2, 1, 0])
    last.cancel(new Error('gone'))
    await expect(last.settled).rejects.toThrow('gone')
    expect(lock.queued('a')).toBe(1)
    lock.release(holder)
    await turn.settled
    expect([lock.queued('a'), lock.queued('a', 'ada')]).toEqual([0, 1])
  })

  test.each([
    ['first', 0, ['second', 'third']],
    ['second', 1, ['first', 'third']],
    ['third', 2, ['first', 'second']],
  ])('the %s of three can leave; the others keep their order', async (name, index, expected) => {
    const lock = new SessionLock(() => 0)
    const holders = [acquire(lock, 'a')]
    const order: string[] = []
    const requests = ['first', 'second', 'third'].map((waiter) => {
      const request = enqueue(lock, 'a')
      request.settled.then(
        () => {
          holders.push(request.holder)
          order.push(waiter)
        },
        (reason: unknown) => order.push(`${waiter} left: ${reason}`),
      )
      return request
    })
    requests[index]?.cancel('tired')
    requests[index]?.cancel('very tired')
    for (let count = 0; count < 3; count++) {
      lock.release(holders.pop() as LockHolder)
      await settled()
    }
    expect(order).toEqual([`${name} left: tired`, ...expected])
    expect(lock.size).toBe(0)
  })

  test('leaving after the lock is held does nothing', async () => {
    const lock = new SessionLock(() => 0)
    const holder = acquire(lock, 'a')
    const request = enqueue(lock, 'a')
    const next = enqueue(lock, 'a')
    lock.release(holder)
    request.cancel(new Error('too late'))
    await expect(request.settled).resolves.toBeUndefined()
    expect(lock.queued('a')).toBe(1)
    lock.release(request.holder)
    await expect(next.settled).resolves.toBeUndefined()
  })

  test('waiters can wait for the next holder, and do not mistake a waiter that leaves the queue for it', async () => {
    const lock = new SessionLock(() => 0)
    const holder = acquire(lock, 'a')
    const [, second, third] = [enqueue(lock, 'a'), enqueue(lock, 'a'), enqueue(lock, 'a')]
    let isPassedOn = false
    void second.nextHolder().then(() => {
      isPassedOn = true
    })
    third.leave()
    await settled()
    expect(isPassedOn).toBe(false)
    lock.release(holder)
    await settled()
    expect(isPassedOn).toBe(true)
  })

  test('refuses every waiter of every session, each with its own reason', async () => {
    const lock = new SessionLock(() => 0)
    // No request waits for the last one.
    const holders = [acquire(lock, 'a'), acquire(lock, 'b'), acquire(lock, 'c')]
    const waiting = [enqueue(lock, 'a'), enqueue(lock, 'a', { counted: false }), enqueue(lock, 'b')]
    let count = 0
    lock.refuseWaiters(() => `closed ${++count}`)
    const reasons = await Promise.allSettled(waiting.map((waiter) => waiter.settled))
    expect(reasons.map((result) => result.status === 'rejected' && result.reason)).toEqual([
      'closed 1',
      'closed 2',
      'closed 3',
    ])
    expect([lock.queued('a'), lock.queued('b'), lock.size]).toEqual([0, 0, 3])
    for (const holder of holders) lock.release(holder)
    expect(lock.size).toBe(0)
  })
})

describe('the owner of a session', () => {
  const ada = { caller: { owner: 'ada' } }
  const bob = { caller: { owner: 'bob' } }

  test.each<[what: string, stored: unknown, staying: readonly number[]]>([
    ['of ada', { owner: 'ada' }, [0, 3, 4]],
    ['of nobody', {}, [2, 3, 4]],
    ['that does not exist', undefined, [3, 4]],
    ['whose document is malformed', 'broken', [2, 3, 4]],
    ['whose owner is not a text', { owner: 5 }, [3, 4]],
  ])('of a session %s: requests of other owners leave, and come no more', (_what, stored, staying) => {
    const lock = new SessionLock(() => 0)
    const holder = acquire(lock, 'a')
    const waits = [ada, bob, { caller: {} }, {}, { counted: false }]
    for (const { caller } of waits as Partial<LockWait>[]) expect(lock.isForeign('a', caller)).toBe(false)
    const waiters = waits.map((wait) => enqueue(lock, 'a', wait))
    lock.setOwner(holder, stored)
    expect(waiters.flatMap(({ hasLeft }, index) => (hasLeft ? [] : [index]))).toEqual(staying)
    for (const { hasLeft, holder: own, wait } of waiters) {
      expect([own.isStranger, lock.isForeign('a', wait.caller)]).toEqual([hasLeft, hasLeft])
    }
  })

  test('is forgotten when the lock is passed on: the next holder loads the document itself', async () => {
    const lock = new SessionLock(() => 0)
    const holder = acquire(lock, 'a')
    const next = enqueue(lock, 'a', ada)
    lock.setOwner(holder, { owner: 'ada' })
    lock.release(holder)
    await next.settled
    expect(lock.isForeign('a', bob.caller)).toBe(false)
  })

  test('is not recorded by a holder that lost the lock', () => {
    const lock = new SessionLock(() => 0)
    const [late, taken] = [acquire(lock, 'a'), acquire(lock, 'b')]
    enqueue(lock, 'a')
    enqueue(lock, 'b')
    lock.release(late)
    lock.take(taken)
    lock.setOwner(late, { owner: 'ada' })
    lock.setOwner(taken, { owner: 'ada' })
    expect([lock.isForeign('a', bob.caller), lock.isForeign('b', bob.caller)]).toEqual([false, false])
  })
})

describe('requests that name different owners', () => {
  const of = (owner?: string): LockWait => ({ counted: true, ...(owner === undefined ? {} : { caller: { owner } }) })
  const holderOf = (owner?: string): LockHolder => new LockHolder(() => of(owner))

  /** Ada has the lock. The application waits for her, and Bob waits behind the application. */
  function made() {
    const lock = new SessionLock(() => 0)
    const ada = holderOf('ada')
    expect(lock.tryAcquire('a', ada)).toBe(true)
    const application = lock.enqueue('a', holderOf(), of())
    const bob = holderOf('bob')
    expect(lock.tryAcquire('a', bob)).toBe(false)
    return { lock, ada, application, bob: lock.enqueue('a', bob, of('bob')) }
  }

  test('hold the lock at the same time; the application holds it alone', () => {
    const lock = new SessionLock(() => 0)
    const holders = [holderOf('ada'), holderOf('bob')]
    expect(holders.map((holder) => lock.tryAcquire('a', holder))).toEqual([true, true])
    expect([lock.tryAcquire('a', holderOf('ada')), lock.tryAcquire('a', holderOf())]).toEqual([false, false])
    expect(lock.holdersOf('a')).toEqual(holders)
  })

  test('wait behind the application, and no longer than the application', async () => {
    const { lock, ada, application, bob } = made()
    application.cancel('tired')
    await bob.settled
    expect(lock.holdersOf('a')).toEqual([ada, bob.holder])
    await expect(application.settled).rejects.toBe('tired')
  })

  test("learn the session's owner from the holder that excludes them, or else from any holder", () => {
    const { lock, ada, bob } = made()
    lock.setOwner(ada, { owner: 'ada' })
    expect([bob.hasLeft, bob.holder.isStranger]).toEqual([true, true])
    const other = new SessionLock(() => 0)
    const holders = [holderOf('ada'), holderOf('bob')] as const
    for (const holder of holders) other.tryAcquire('a', holder)
    const behindAda = other.enqueue('a', holderOf('ada'), of('ada'))
    other.setOwner(holders[1], { owner: 'bob' })
    expect(behindAda.hasLeft).toBe(false)
    other.setOwner(holders[0], { owner: 'bob' })
    expect([behindAda.hasLeft, behindAda.holder.isStranger]).toEqual([true, true])
  })

  test('do not get the lock when the application before them is refused', async () => {
    const { lock, ada, application, bob } = made()
    lock.refuseWaiters(() => 'closed')
    for (const { settled } of [application, bob]) await expect(settled).rejects.toBe('closed')
    expect(lock.holdersOf('a')).toEqual([ada])
  })
})

describe('the lock as seen by a waiting request', () => {
  const of = (owner?: string): LockWait => ({ counted: true, ...(owner === undefined ? {} : { caller: { owner } }) })
  const holderOf = (wait: LockWait): LockHolder => new LockHolder(() => wait)
  const [ada, bob, again, nobody] = [of('ada'), of('bob'), of('ada'), of()]

  /** Ada and Bob have the lock. */
  function made() {
    const lock = new SessionLock(() => 0)
    const holders = [holderOf(ada), holderOf(bob)] as const
    for (const holder of holders) lock.tryAcquire('a', holder)
    return { lock, holders }
  }

  test('shows the holder that excludes it, or the first one', () => {
    const { lock, holders } = made()
    expect(lock.holderOf('a', bob.caller)).toBe(holders[1])
    expect(lock.holderOf('a', { owner: 'eve' })).toBe(holders[0])
    expect(lock.holderOf('a')).toBe(holders[0])
    expect(lock.holderOf('b')).toBeUndefined()
    expect(lock.heldLock('a', bob.caller).holder).toBe(bob)
  })

  test('shows the waiters as they come and go', () => {
    const { lock } = made()
    const held = lock.heldLock('a', ada.caller)
    expect(held.waiting()).toEqual([])
    const waiters = [lock.enqueue('a', holderOf(again), again), lock.enqueue('a', holderOf(nobody), nobody)]
    expect(held.waiting()).toEqual(waiters)
    waiters[0]?.leave()
    expect(held.waiting()).toEqual(waiters.slice(1))
  })

  test('shows the last request that it would wait behind', () => {
    const { lock } = made()
    expect([lock.lastWait('a', ada.caller), lock.lastWait('b', ada.caller)]).toEqual([undefined, undefined])
    lock.enqueue('a', holderOf(again), again)
    lock.enqueue('a', holderOf(bob), bob)
    expect(lock.lastWait('a', ada.caller)).toBe(again)
    expect(lock.lastWait('a')).toBe(bob)
    expect(lock.lastWait('a', { owner: 'eve' })).toBeUndefined()
  })

  test('shows when the current holder acquired it', () => {
    let now = 5
    const lock = new SessionLock(() => now)
    const holder = acquire(lock, 'a')
    const next = enqueue(lock, 'a')
    now = 7
    lock.release(holder)
    expect([holder.since, next.holder.since]).toEqual([5, 7])
  })

  test('shows nothing for an unlocked session', () => {
    const lock = new SessionLock(() => 0)
    expect(lock.holdersOf('a')).toEqual([])
    expect([lock.isClosedTo('a', ada.caller), lock.isForeign('a', ada.caller), lock.queued('a')]).toEqual([
      false,
      false,
      0,
    ])
  })
})

describe('a lock that is taken from its holder', () => {
  test('goes to the first in the queue; the old holder may not write, and releases nothing', async () => {
    const lock = new SessionLock(() => 0)
    const holder = acquire(lock, 'a')
    const [first, second] = [enqueue(lock, 'a'), enqueue(lock, 'a')]
    holder.check()
    lock.take(holder)
    await first.settled
    expect(() => holder.check()).toThrow("Session 'a' was changed or deleted by another request.")
    lock.release(holder)
    expect([lock.holderOf('a'), second.hasLeft]).toEqual([first.holder, false])
    first.holder.check()
  })

  test('and was released before goes to no request', () => {
    const lock = new SessionLock(() => 0)
    const late = acquire(lock, 'a')
    lock.release(late)
    const holder = acquire(lock, 'a')
    lock.take(late)
    expect([lock.holderOf('a'), late.isTaken]).toEqual([holder, true])
  })
})

/** The model of the lock: a plain list for each session. */
interface Entry {
  readonly id: number
  readonly counted: boolean
  /** `null`: no owner. */
  readonly owner: string | undefined | null
  readonly holder: LockHolder
  readonly waiter: Waiter | undefined
  isHolding: boolean
}

function areExclusive(one: Entry['owner'], other: Entry['owner']): boolean {
  return one === null || other === null || one === other
}

/** The lists of all sessions, and the behaviour that they predict. */
class Model {
  readonly lines: Record<string, Entry[]> = { a: [], b: [] }
  readonly expected: string[] = []

  holding(session: string): Entry[] {
    return this.#line(session).filter(({ isHolding }) => isHolding)
  }

  waiting(session: string): Entry[] {
    return this.#line(session).filter(({ isHolding }) => !isHolding)
  }

  isClosedTo(session: string, owner: Entry['owner']): boolean {
    return this.#line(session).some((entry) => areExclusive(entry.owner, owner))
  }

  add(session: string, entry: Entry): void {
    this.#line(session).push(entry)
    if (entry.isHolding) this.expected.push(`${entry.id} holds`)
  }

  remove(session: string, entry: Entry, what?: string): void {
    this.lines[session] = this.#line(session).filter((other) => other !== entry)
    if (what !== undefined) this.expected.push(`${entry.id} ${what}`)
  }

  /** Requests that wait for no other request have the lock. */
  pass(session: string): void {
    const line = this.#line(session)
    for (const [place, entry] of line.entries()) {
      const isBlocked = line.some(
        (other, index) =>
          (index < place || other.isHolding) && other !== entry && areExclusive(other.owner, entry.owner),
      )
      if (entry.isHolding || isBlocked) continue
      entry.isHolding = true
      this.expected.push(`${entry.id} holds`)
    }
  }

  #line(session: string): Entry[] {
    return this.lines[session] ?? []
  }
}

test('requests, cancels, releases, owners and takes in any order behave like a plain list', async () => {
  const command = fc.record({
    action: fc.constantFrom('come', 'come', 'come', 'leave', 'release', 'release', 'take', 'load'),
    session: fc.constantFrom('a', 'b'),
    counted: fc.boolean(),
    // `null`: no owner.
    owner: fc.constantFrom('ada', 'bob', undefined, null),
    choice: fc.nat(9),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
      const lock = new SessionLock(() => 0)
      const log: string[] = []
      const model = new Model()
      let id = 0
      for (const { action, session, counted, owner, choice } of commands) {
        const holding = model.holding(session)
        const chosen = holding[choice % Math.max(1, holding.length)]
        if (action === 'come') {
          const own = ++id
          const wait: LockWait = { counted, ...(owner === null ? {} : { caller: { owner } }) }
          const holder = new LockHolder(() => wait)
          const isClosed = model.isClosedTo(session, owner)
          expect(lock.isClosedTo(session, wait.caller)).toBe(isClosed)
          if (isClosed && lock.isForeign(session, wait.caller)) continue
          const isHolding = lock.tryAcquire(session, holder)
          expect(isHolding).toBe(!isClosed)
          const waiter = isHolding ? undefined : lock.enqueue(session, holder, wait)
          model.add(session, { id: own, counted, owner, holder, waiter, isHolding })
          if (isHolding) log.push(`${own} holds`)
          waiter?.settled.then(
            () => log.push(`${own} ${holder.isStranger ? 'is a stranger' : 'holds'}`),
            (reason: unknown) => log.push(`${own} ${reason}`),
          )
        } else if (action === 'leave') {
          const waiting = model.waiting(session)
          const leaving = waiting[choice % Math.max(1, waiting.length)]
          // Late: nothing changes.
          chosen?.waiter?.cancel('leaves')
          leaving?.waiter?.cancel('leaves')
          if (leaving !== undefined) model.remove(session, leaving, 'leaves')
        } else if (action === 'load' && chosen !== undefined) {
          lock.setOwner(chosen.holder, owner === null ? undefined : { owner })
          for (const entry of model.waiting(session)) {
            const isExcluded = holding.some((other) => areExclusive(other.owner, entry.owner))
            // A request that another holder excludes waits for that holder. At most one holder excludes a request with
            // an owner.
            if (entry.owner === null || entry.owner === owner) continue
            if (!isExcluded || areExclusive(chosen.owner, entry.owner)) model.remove(session, entry, 'is a stranger')
          }
        } else if (chosen !== undefined) {
          if (action === 'release') lock.release(chosen.holder)
          else if (action === 'take') lock.take(chosen.holder)
          model.remove(session, chosen)
          // Late, or twice: nothing changes.
          lock.release(chosen.holder)
        }
        model.pass(session)
        await settled()
        expect([...log].sort()).toEqual([...model.expected].sort())
        for (const name of ['a', 'b']) {
          for (const who of ['ada', 'bob', undefined]) {
            const count = model.waiting(name).filter((entry) => entry.counted && (entry.owner ?? undefined) === who)
            expect(lock.queued(name, who)).toBe(count.length)
          }
          expect(new Set(lock.holdersOf(name))).toEqual(new Set(model.holding(name).map(({ holder }) => holder)))
        }
        expect(lock.size).toBe(['a', 'b'].filter((name) => model.holding(name).length > 0).length)
      }
    }),
  )
})
