import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LockWait } from './lock-request.js'
import { LockHolder, SessionLock, type Waiter } from './session-lock.js'

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

/** Lets every chain of settled promises run. */
async function settled(): Promise<void> {
  for (let count = 0; count < 5; count++) await Promise.resolve()
}

describe('SessionLock', () => {
  test('is taken by one at a time', () => {
    const lock = new SessionLock(() => 0)
    const holder = acquire(lock, 'a')
    expect(lock.tryAcquire('a', newHolder())).toBe(false)
    lock.release(holder)
    expect(lock.tryAcquire('a', newHolder())).toBe(true)
  })

  test('different sessions know nothing of each other, whatever they are called', () => {
    const lock = new SessionLock(() => 0)
    for (const id of ['a', 'A', '__proto__', 'constructor', 'a ']) acquire(lock, id)
    expect(lock.size).toBe(5)
  })

  test('[4.8-1] is passed on in the order of arrival', async () => {
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

  test('between two holders nobody can slip in', () => {
    const lock = new SessionLock(() => 0)
    const holder = acquire(lock, 'a')
    enqueue(lock, 'a')
    lock.release(holder)
    expect(lock.tryAcquire('a', newHolder())).toBe(false)
  })

  test('there is no queue where nobody holds the lock', () => {
    expect(() => enqueue(new SessionLock(() => 0), 'a')).toThrow()
  })

  test('keeps nothing of a session that is free again', () => {
    const lock = new SessionLock(() => 0)
    for (let count = 0; count < 1_000; count++) lock.release(acquire(lock, `session ${count}`))
    expect(lock.size).toBe(0)
  })

  test('a holder that releases twice, or never held the lock, releases nobody else', () => {
    const lock = new SessionLock(() => 0)
    const holder = acquire(lock, 'a')
    lock.release(holder)
    const next = acquire(lock, 'a')
    lock.release(holder)
    lock.release(newHolder())
    expect(lock.holderOf('a')).toBe(next)
  })

  test('counts those of one owner who wait and are counted, not the holder and not the others', async () => {
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

  test('turns every waiter of every session away, each with a reason of its own', async () => {
    const lock = new SessionLock(() => 0)
    const holders = [acquire(lock, 'a'), acquire(lock, 'b')]
    const waiting = [enqueue(lock, 'a'), enqueue(lock, 'a', { counted: false }), enqueue(lock, 'b')]
    let count = 0
    lock.refuseWaiters(() => `closed ${++count}`)
    const reasons = await Promise.allSettled(waiting.map((waiter) => waiter.settled))
    expect(reasons.map((result) => result.status === 'rejected' && result.reason)).toEqual([
      'closed 1',
      'closed 2',
      'closed 3',
    ])
    expect([lock.queued('a'), lock.queued('b'), lock.size]).toEqual([0, 0, 2])
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

  test('is not noted by who has the lock no longer', () => {
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

describe('a lock that is taken', () => {
  test('goes to the first in the queue; its old holder may not write, and releases nothing', async () => {
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
})

/** What the lock should do, as a plain list for each session. */
interface Line {
  id: number
  counted: boolean
  owner: string | undefined | null
}

test('requests, cancels, releases, owners and takes in any order behave as with a plain list', async () => {
  const command = fc.record({
    action: fc.constantFrom('come', 'come', 'come', 'leave', 'release', 'release', 'take', 'load'),
    session: fc.constantFrom('a', 'b'),
    counted: fc.boolean(),
    // `null` names no owner.
    owner: fc.constantFrom('ada', 'bob', undefined, null),
    choice: fc.nat(9),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
      const lock = new SessionLock(() => 0)
      const log: string[] = []
      const expected: string[] = []
      const lines: Record<string, Line[]> = { a: [], b: [] }
      const holders = new Map<number, LockHolder>()
      const requests: { id: number; session: string; waiter: Waiter }[] = []
      let id = 0
      for (const { action, session, counted, owner, choice } of commands) {
        const line = lines[session] ?? []
        const holding = line[0] === undefined ? undefined : holders.get(line[0].id)
        if (action === 'come') {
          const own = ++id
          const caller = owner === null ? undefined : { owner }
          const holder = newHolder()
          holders.set(own, holder)
          if (lock.isForeign(session, caller)) continue
          line.push({ id: own, counted, owner })
          if (lock.tryAcquire(session, holder)) log.push(`${own} holds`)
          else {
            const waiter = lock.enqueue(session, holder, { counted, caller })
            requests.push({ id: own, session, waiter })
            waiter.settled.then(
              () => log.push(`${own} ${holder.isStranger ? 'is a stranger' : 'holds'}`),
              (reason: unknown) => log.push(`${own} ${reason}`),
            )
          }
          if (line.length === 1) expected.push(`${own} holds`)
        } else if (action === 'leave') {
          const chosen = requests[choice % Math.max(1, requests.length)]
          if (chosen === undefined) continue
          chosen.waiter.cancel('leaves')
          const ownLine = lines[chosen.session] ?? []
          const place = ownLine.findIndex((waiter) => waiter.id === chosen.id)
          if (place > 0) {
            ownLine.splice(place, 1)
            expected.push(`${chosen.id} leaves`)
          }
        } else if (action === 'load') {
          if (holding === undefined || holding.owner === owner) continue
          lock.setOwner(holding, owner === null ? undefined : { owner })
          const leaving = line.slice(1).filter((waiter) => waiter.owner !== null && waiter.owner !== owner)
          lines[session] = line.filter((waiter) => !leaving.includes(waiter))
          for (const waiter of leaving) expected.push(`${waiter.id} is a stranger`)
        } else if (holding !== undefined) {
          if (action === 'release') lock.release(holding)
          else if (line.length > 1) lock.take(holding)
          else continue
          line.shift()
          if (line[0] !== undefined) expected.push(`${line[0].id} holds`)
          // Late, or twice: nothing changes.
          lock.release(holding)
        }
        await settled()
        expect(log).toEqual(expected)
        for (const [name, waiting] of Object.entries(lines)) {
          for (const who of ['ada', 'bob', undefined]) {
            const count = waiting.slice(1).filter((waiter) => waiter.counted && (waiter.owner ?? undefined) === who)
            expect(lock.queued(name, who)).toBe(count.length)
          }
          expect(lock.holderOf(name)).toBe(waiting[0] === undefined ? undefined : holders.get(waiting[0].id))
        }
        expect(lock.size).toBe(Object.values(lines).filter((waiting) => waiting.length > 0).length)
      }
    }),
  )
})
