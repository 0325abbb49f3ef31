import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SessionLock } from './session-lock.js'

/** Lets every chain of settled promises run. */
async function settled(): Promise<void> {
  for (let count = 0; count < 5; count++) await Promise.resolve()
}

describe('SessionLock', () => {
  test('is taken by one at a time', () => {
    const lock = new SessionLock()
    expect(lock.tryAcquire('a')).toBe(true)
    expect(lock.tryAcquire('a')).toBe(false)
    lock.release('a')
    expect(lock.tryAcquire('a')).toBe(true)
  })

  test('different sessions know nothing of each other, whatever they are called', () => {
    const lock = new SessionLock()
    for (const id of ['a', 'A', '__proto__', 'constructor', 'a ']) expect(lock.tryAcquire(id)).toBe(true)
    expect(lock.size).toBe(5)
  })

  test('[4.8-1] is passed on in the order of arrival', async () => {
    const lock = new SessionLock()
    lock.tryAcquire('a')
    const order: string[] = []
    for (const name of ['first', 'second', 'third']) {
      void lock.enqueue('a', true).held.then(() => order.push(name))
    }
    await settled()
    expect(order).toEqual([])
    lock.release('a')
    await settled()
    expect(order).toEqual(['first'])
    lock.release('a')
    lock.release('a')
    await settled()
    expect(order).toEqual(['first', 'second', 'third'])
  })

  test('between two holders nobody can slip in', () => {
    const lock = new SessionLock()
    lock.tryAcquire('a')
    void lock.enqueue('a', true)
    lock.release('a')
    expect(lock.tryAcquire('a')).toBe(false)
  })

  test('there is no queue where nobody holds the lock', () => {
    expect(() => new SessionLock().enqueue('a', true)).toThrow()
  })

  test('keeps nothing of a session that is free again', () => {
    const lock = new SessionLock()
    for (let count = 0; count < 1_000; count++) {
      lock.tryAcquire(`session ${count}`)
      lock.release(`session ${count}`)
    }
    expect(lock.size).toBe(0)
  })

  test('releasing what nobody holds does nothing', () => {
    const lock = new SessionLock()
    lock.release('a')
    expect(lock.size).toBe(0)
    expect(lock.tryAcquire('a')).toBe(true)
  })

  test('counts those who wait and are counted, not the holder and not the others', async () => {
    const lock = new SessionLock()
    expect(lock.queued('a')).toBe(0)
    lock.tryAcquire('a')
    expect(lock.queued('a')).toBe(0)
    const turn = lock.enqueue('a', true)
    void lock.enqueue('a', false)
    const last = lock.enqueue('a', true)
    expect(lock.queued('a')).toBe(2)
    last.cancel(new Error('gone'))
    await expect(last.held).rejects.toThrow('gone')
    expect(lock.queued('a')).toBe(1)
    lock.release('a')
    await turn.held
    expect(lock.queued('a')).toBe(0)
  })

  test.each([
    ['first', 0, ['second', 'third']],
    ['second', 1, ['first', 'third']],
    ['third', 2, ['first', 'second']],
  ])('the %s of three can leave; the others keep their order', async (name, index, expected) => {
    const lock = new SessionLock()
    lock.tryAcquire('a')
    const order: string[] = []
    const requests = ['first', 'second', 'third'].map((waiter) => {
      const request = lock.enqueue('a', true)
      request.held.then(
        () => order.push(waiter),
        (reason: unknown) => order.push(`${waiter} left: ${reason}`),
      )
      return request
    })
    requests[index]?.cancel('tired')
    requests[index]?.cancel('very tired')
    for (let count = 0; count < 3; count++) {
      lock.release('a')
      await settled()
    }
    expect(order).toEqual([`${name} left: tired`, ...expected])
    expect(lock.size).toBe(0)
  })

  test('leaving after the lock is held does nothing', async () => {
    const lock = new SessionLock()
    lock.tryAcquire('a')
    const request = lock.enqueue('a', true)
    const next = lock.enqueue('a', true)
    lock.release('a')
    request.cancel(new Error('too late'))
    await expect(request.held).resolves.toBeUndefined()
    expect(lock.queued('a')).toBe(1)
    lock.release('a')
    await expect(next.held).resolves.toBeUndefined()
  })

  test('turns every waiter of every session away, each with a reason of its own', async () => {
    const lock = new SessionLock()
    lock.tryAcquire('a')
    lock.tryAcquire('b')
    const waiting = [lock.enqueue('a', true), lock.enqueue('a', false), lock.enqueue('b', true)]
    let count = 0
    lock.refuseWaiters(() => `closed ${++count}`)
    const reasons = await Promise.allSettled(waiting.map(({ held }) => held))
    expect(reasons.map((result) => result.status === 'rejected' && result.reason)).toEqual([
      'closed 1',
      'closed 2',
      'closed 3',
    ])
    expect([lock.queued('a'), lock.queued('b'), lock.size]).toEqual([0, 0, 2])
    lock.release('a')
    lock.release('b')
    expect(lock.size).toBe(0)
  })

  test('requests, cancels and releases in any order behave as with a plain list', async () => {
    const command = fc.record({
      action: fc.constantFrom('come', 'come', 'come', 'leave', 'release', 'release'),
      session: fc.constantFrom('a', 'b'),
      counted: fc.boolean(),
      choice: fc.nat(9),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
        const lock = new SessionLock()
        const log: string[] = []
        const expected: string[] = []
        // The model: who holds each session, and behind them a list of those who wait.
        const lines: Record<string, { id: number; counted: boolean }[]> = { a: [], b: [] }
        const requests: { id: number; session: string; leave: (reason: unknown) => void }[] = []
        let id = 0
        for (const { action, session, counted, choice } of commands) {
          const line = lines[session] ?? []
          if (action === 'come') {
            const own = ++id
            if (lock.tryAcquire(session)) log.push(`${own} holds`)
            else {
              const request = lock.enqueue(session, counted)
              requests.push({ id: own, session, leave: request.cancel })
              request.held.then(
                () => log.push(`${own} holds`),
                (reason: unknown) => log.push(`${own} ${reason}`),
              )
            }
            line.push({ id: own, counted })
            if (line.length === 1) expected.push(`${own} holds`)
          } else if (action === 'leave') {
            const chosen = requests[choice % Math.max(1, requests.length)]
            if (chosen === undefined) continue
            chosen.leave('leaves')
            const ownLine = lines[chosen.session] ?? []
            const place = ownLine.findIndex((waiter) => waiter.id === chosen.id)
            if (place > 0) {
              ownLine.splice(place, 1)
              expected.push(`${chosen.id} leaves`)
            }
          } else if (line.length > 0) {
            lock.release(session)
            line.shift()
            if (line[0] !== undefined) expected.push(`${line[0].id} holds`)
          }
          await settled()
          expect(log).toEqual(expected)
          for (const [name, waiting] of Object.entries(lines)) {
            expect(lock.queued(name)).toBe(waiting.slice(1).filter((waiter) => waiter.counted).length)
          }
          expect(lock.size).toBe(Object.values(lines).filter((waiting) => waiting.length > 0).length)
        }
      }),
    )
  })
})
