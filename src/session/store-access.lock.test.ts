import { describe, expect, test, vi } from 'vitest'
import { bench, documentOf, errorOf, revisions } from '../../testing/contract/session-bench.js'
import { isOutcomeUnknown, SessionConflictError } from '../errors/session-errors.js'
import { LockHolder } from './lock/lock-line.js'
import { SessionLock } from './lock/session-lock.js'

/** A holder whose lock can be taken. */
function newHolder() {
  const lock = new SessionLock(() => 0)
  const holder = new LockHolder(() => ({ counted: true }))
  lock.tryAcquire('s-1', holder)
  return { holder, take: () => lock.take(holder) }
}

describe('a holder whose lock was taken', () => {
  test.each(['create', 'save', 'delete'] as const)('sends no %s to the store', async (operation) => {
    const place = await bench(operation === 'create' ? undefined : '1-a')
    const { holder, take } = newHolder()
    take()
    const { access } = place
    const before = operation === 'create' ? undefined : '1-a'
    const written =
      operation === 'delete'
        ? access.remove('s-1', '1-a', holder)
        : access.write(documentOf('s-1', '2-own'), before, { holder })
    expect(await errorOf(written)).toBeInstanceOf(SessionConflictError)
    expect(place.store.operations).toEqual([])
  })

  test('reads back an earlier write, and does not send it again', async () => {
    const place = await bench('1-a')
    const { holder, take } = newHolder()
    vi.spyOn(place.store, 'save').mockImplementationOnce(async () => {
      take()
      throw new Error('connection lost')
    })
    const document = documentOf('s-1', '2-own')
    const error = await errorOf(place.access.write(document, '1-a', { holder }))
    expect(error).toBeInstanceOf(SessionConflictError)
    expect(place.store.operations).toEqual(['load'])
    expect(await revisions(place.inner, 's-1')).toEqual(['1-a'])
  })
})

test('a doubtful write that cannot get a deadline has an unknown outcome', async () => {
  const place = await bench('1-a')
  place.store.failNext('save', { after: true })
  vi.spyOn(place.clock, 'setTimer').mockImplementation(() => {
    throw new Error('no timers')
  })
  const error = await errorOf(place.access.write(documentOf('s-1', '2-own'), '1-a'))
  expect(isOutcomeUnknown(error)).toBe(true)
  await place.clock.settle()
})
