import { describe, expect, test } from 'vitest'
import { documentOf } from '../../testing/contract/session-bench.js'
import type { SessionDocument } from '../session/session-document.js'
import { type MemorySessionRecord, WarmSessions } from './warm-sessions.js'

/** A document that says it is so long. */
const sized = (id: string, bytes: number): SessionDocument => documentOf(id, `1-${id}`, { bytes })

const isWarm = (record: MemorySessionRecord): boolean => record.warm !== undefined

/** Five sessions; four fit. */
function five(): { warm: WarmSessions; records: MemorySessionRecord[] } {
  const warm = new WarmSessions()
  const records = ['a', 'b', 'c', 'd'].map((id) => warm.record(sized(id, 32 * 1024)))
  expect(records.map(isWarm)).toEqual([true, true, true, true])
  records.push(warm.record(sized('e', 32 * 1024)))
  return { warm, records }
}

describe('warm sessions', () => {
  test('a new one makes the one used longest ago cold', () => {
    const { records } = five()
    expect(records.map(isWarm)).toEqual([false, true, true, true, true])
    expect(records[0]?.revision).toBe('1-a')
  })

  test('a warm one gives the same objects each time', () => {
    const warm = new WarmSessions()
    const document = sized('a', 1)
    const record = warm.record(document)
    expect(warm.read(record)).toBe(document)
    expect(warm.read(record)).toBe(document)
  })

  test('a cold one comes back as it was, and is warm again', () => {
    const { warm, records } = five()
    const [first, second] = records as [MemorySessionRecord, MemorySessionRecord]
    const document = warm.read(first)
    expect(document).toEqual(sized('a', 32 * 1024))
    expect(Object.isFrozen(document.history)).toBe(true)
    expect(warm.read(first)).toBe(document)
    expect(isWarm(second)).toBe(false)
  })

  test('a read keeps a session warm', () => {
    const warm = new WarmSessions()
    const records = ['a', 'b', 'c', 'd'].map((id) => warm.record(sized(id, 32 * 1024)))
    warm.read(records[0] as MemorySessionRecord)
    warm.record(sized('e', 32 * 1024))
    expect(records.map(isWarm)).toEqual([true, false, true, true])
  })

  test('what is stored no longer makes room', () => {
    const warm = new WarmSessions()
    const records = ['a', 'b', 'c', 'd'].map((id) => warm.record(sized(id, 32 * 1024)))
    warm.forget(records[1] as MemorySessionRecord)
    warm.forget(records[1] as MemorySessionRecord)
    warm.record(sized('e', 32 * 1024))
    expect(records.map(isWarm)).toEqual([true, true, true, true])
  })

  test('a long one stays warm, and takes no room from the others', () => {
    const warm = new WarmSessions()
    const long = warm.record(sized('long', 32 * 1024 + 1))
    const records = ['a', 'b', 'c', 'd'].map((id) => warm.record(sized(id, 32 * 1024)))
    expect([long, ...records].map(isWarm)).toEqual([true, true, true, true, true])
    expect(warm.read(long).id).toBe('long')
    warm.record(sized('e', 32 * 1024))
    expect([long, ...records].map(isWarm)).toEqual([true, false, true, true, true])
  })

  test('one that says nothing of its length counts as long', () => {
    const warm = new WarmSessions()
    const record = warm.record(documentOf('s', '1-s', { bytes: 'many' as unknown as number }))
    for (const id of ['a', 'b', 'c', 'd', 'e']) warm.record(sized(id, 32 * 1024))
    expect(isWarm(record)).toBe(true)
  })

  test('one that cannot be packed stays as it is', () => {
    const warm = new WarmSessions()
    const nested = (levels: number): unknown => (levels === 0 ? 'end' : [nested(levels - 1)])
    const base = sized('deep', 32 * 1024)
    const deep = { ...base, flow: { ...base.flow, context: { nested: nested(200) } } } as unknown as SessionDocument
    const record = warm.record(deep)
    const records = ['a', 'b', 'c', 'd', 'e'].map((id) => warm.record(sized(id, 32 * 1024)))
    expect(isWarm(record)).toBe(true)
    expect(records.map(isWarm)).toEqual([false, true, true, true, true])
    expect(warm.read(record)).toBe(deep)
  })

  test('the records of another store may be cold already, or become so', () => {
    const { warm, records } = five()
    const other = new WarmSessions()
    const [first, second] = records as [MemorySessionRecord, MemorySessionRecord]
    expect(other.read(second).id).toBe('b')
    expect(warm.read(first).id).toBe('a')
    expect(isWarm(second)).toBe(false)
    for (const id of ['v', 'w', 'x', 'y']) other.record(sized(id, 32 * 1024))
    expect(other.read(second)).toEqual(sized('b', 32 * 1024))
    warm.clear()
    expect(warm.read(first)).toEqual(sized('a', 32 * 1024))
  })
})
