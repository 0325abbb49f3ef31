import { describe, expect, test } from 'vitest'
import {
  type Bench,
  bench,
  documentOf,
  errorOf,
  revisions,
  storeTimeout,
} from '../../testing/contract/session-bench.js'
import { LimitExceededError } from '../errors/engine-errors.js'
import type { FlowError } from '../errors/flow-error.js'
import { isOutcomeUnknown } from '../errors/session-errors.js'

const always = Number.POSITIVE_INFINITY

/** A write over '1-a', or the creation of a new document: the same protocol. */
const writes = [
  { operation: 'create', before: undefined, own: '1-own' },
  { operation: 'save', before: '1-a', own: '2-own' },
] as const

describe.each(writes)('write: $operation', ({ operation, before, own }) => {
  const write = ({ access }: Bench): Promise<void> => access.write(documentOf('s-1', own), before)

  test('that hangs is ended, read back and tried again', async () => {
    const place = await bench(before)
    place.store.hangNext(operation)
    const writing = write(place)
    await place.clock.advance(storeTimeout)
    await writing
    expect(place.store.operations).toEqual([operation, 'load', operation])
    expect(place.clock.pending).toBe(0)
  })

  test('that hangs but took effect succeeds', async () => {
    const place = await bench(before)
    place.store.hangNext(operation, { after: true })
    const writing = write(place)
    await place.clock.advance(storeTimeout)
    await writing
    expect(place.store.operations).toEqual([operation, 'load'])
    expect(await revisions(place.inner, 's-1')).toEqual([own])
  })

  test('that hangs and cannot be read back in time has an unknown outcome', async () => {
    const place = await bench(before)
    place.store.hangNext(operation)
    place.store.hangNext('load')
    const failing = errorOf(write(place))
    await place.clock.advance(2 * storeTimeout)
    const error = await failing
    expect(isOutcomeUnknown(error)).toBe(true)
    expect(error.cause).toBeInstanceOf(LimitExceededError)
    expect(place.clock.pending).toBe(0)
  })

  test('a late answer to an attempt that timed out changes nothing', async () => {
    const place = await bench(before)
    place.store.delayNext(operation, storeTimeout + 1)
    const writing = write(place)
    await place.clock.advance(storeTimeout)
    await writing
    await place.inner.save(documentOf('s-1', '9-later'), own)
    await place.clock.advance(storeTimeout)
    expect(place.store.journal[0]?.outcome).toBe('failed')
    expect(await revisions(place.inner, 's-1')).toEqual(['9-later'])
  })

  test('takes three times storeTimeoutMs at most, and then its outcome is unknown', async () => {
    const place = await bench(before)
    const first = new Error('connection lost')
    place.store.failNext(operation, { latencyMs: 900, error: first })
    place.store.failNext(operation, { latencyMs: 900, times: always })
    place.store.delayNext('load', 900, { times: always })
    let error: FlowError | undefined
    void errorOf(write(place)).then((thrown) => {
      error = thrown
    })
    await place.clock.advance(3 * storeTimeout - 1)
    expect(error).toBeUndefined()
    await place.clock.advance(1)
    expect(error?.message).toBe(
      `Session store failed to ${operation} session 's-1'. Whether it took effect is unknown.`,
    )
    expect(error?.cause).toBe(first)
    expect(isOutcomeUnknown(error)).toBe(true)
    await place.clock.advance(10 * storeTimeout)
    expect(place.clock.pending).toBe(0)
  })

  test('writes nothing after its deadline', async () => {
    const place = await bench(before)
    place.store.failNext(operation, { latencyMs: 900, times: 2 })
    place.store.delayNext('load', 900, { times: always })
    const failing = errorOf(write(place))
    await place.clock.advance(3 * storeTimeout)
    expect(isOutcomeUnknown(await failing)).toBe(true)
    const asked = place.store.operations.filter((name) => name === operation)
    await place.clock.advance(10 * storeTimeout)
    expect(place.store.operations.filter((name) => name === operation)).toEqual(asked)
    expect(await revisions(place.inner, 's-1')).toEqual([before])
  })

  test('an attempt that ends at the deadline is not even read back', async () => {
    const place = await bench(before)
    place.store.failNext(operation, { latencyMs: 900, times: 3 })
    place.store.delayNext('load', 500, { times: 2 })
    const failing = errorOf(write(place))
    await place.clock.advance(3 * storeTimeout)
    expect(isOutcomeUnknown(await failing)).toBe(true)
    await place.clock.advance(10 * storeTimeout)
    expect(place.store.operations).toEqual([operation, 'load', operation, 'load', operation])
  })

  test('with the limit off, follows the same protocol and sets no timer', async () => {
    const place = await bench(before, Number.POSITIVE_INFINITY)
    place.store.failNext(operation)
    place.store.failNext(operation, { after: true })
    place.store.delayNext('load', 10 ** 8)
    const writing = write(place)
    await place.clock.settle()
    // The one timer is the latency.
    expect(place.clock.pending).toBe(1)
    await place.clock.advance(10 ** 8)
    await writing
    expect(place.store.operations).toEqual([operation, 'load', operation, 'load'])
  })
})
