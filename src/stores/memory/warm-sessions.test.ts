import { describe, expect, test } from 'vitest'
import { documentOf } from '../../../testing/contract/session-bench.js'
import type { SessionDocument } from '../../session/session-document.js'
import { type MemorySessionRecord, WarmSessions } from './warm-sessions.js'

const kibibyte = 1024

/** A document that says it is so long. */
const sized = (id: string, bytes = kibibyte): SessionDocument => documentOf(id, `1-${id}`, { bytes })

const isWarm = (record: MemorySessionRecord | undefined): boolean => record?.warm !== undefined

/** As many sessions as stay warm at least. */
function aFew(): { warm: WarmSessions; records: MemorySessionRecord[] } {
  const warm = new WarmSessions(() => 0)
  const records = Array.from({ length: 64 }, (_, index) => warm.record(sized(`s${index}`), undefined))
  expect(records.every(isWarm)).toBe(true)
  return { warm, records }
}

describe('warm sessions', () => {
  test('a new one makes the one used longest ago cold', () => {
    const { warm, records } = aFew()
    expect(isWarm(warm.record(sized('new'), undefined))).toBe(true)
    expect(records.map(isWarm)).toEqual([false, ...Array(63).fill(true)])
    expect(records[0]?.revision).toBe('1-s0')
  })

  test('a warm one gives the same objects each time', () => {
    const warm = new WarmSessions(() => 0)
    const document = sized('a')
    const record = warm.record(document, undefined)
    warm.record(sized('b'), undefined)
    expect(warm.read(record)).toBe(document)
    expect(warm.read(record)).toBe(document)
  })

  test('a cold one comes back as it was, and is warm again', () => {
    const { warm, records } = aFew()
    warm.record(sized('new'), undefined)
    const [first, second] = records as [MemorySessionRecord, MemorySessionRecord]
    const document = warm.read(first)
    expect(document).toEqual(sized('s0'))
    expect(Object.isFrozen(document.history)).toBe(true)
    expect(warm.read(first)).toBe(document)
    expect(isWarm(second)).toBe(false)
  })

  test('a read keeps a session warm', () => {
    const { warm, records } = aFew()
    warm.read(records[0] as MemorySessionRecord)
    warm.record(sized('new'), undefined)
    expect(records.map(isWarm)).toEqual([true, false, ...Array(62).fill(true)])
  })

  test('one that takes the place of another makes none cold', () => {
    const { warm, records } = aFew()
    warm.record(sized('s3'), records[3])
    warm.record(sized('s5'), records[5])
    expect(records.map(isWarm)).toEqual(Array(64).fill(true))
    warm.record(sized('new'), undefined)
    expect(isWarm(records[0])).toBe(false)
    expect(isWarm(records[1])).toBe(true)
  })

  test('one in sixteen stays warm where that is more', () => {
    let stored = 1040
    const warm = new WarmSessions(() => stored)
    const records = Array.from({ length: 66 }, (_, index) => warm.record(sized(`s${index}`), undefined))
    expect(records.map(isWarm)).toEqual([false, ...Array(65).fill(true)])
    // What was dropped since takes its share along, one session with each that is used.
    stored = 0
    warm.record(sized('new'), undefined)
    expect(records.map(isWarm)).toEqual([false, false, ...Array(64).fill(true)])
  })

  test('what is stored no longer makes room', () => {
    const { warm, records } = aFew()
    warm.forget(records[1] as MemorySessionRecord)
    warm.forget(records[1] as MemorySessionRecord)
    warm.record(sized('new'), undefined)
    expect(records.map(isWarm)).toEqual(Array(64).fill(true))
  })

  test('a long one stays warm, and takes no room from the others', () => {
    const warm = new WarmSessions(() => 0)
    const long = warm.record(sized('long', 32 * kibibyte + 1), undefined)
    const records = Array.from({ length: 65 }, (_, index) => warm.record(sized(`s${index}`, 32 * kibibyte), undefined))
    expect(isWarm(long)).toBe(true)
    expect(warm.read(long).id).toBe('long')
    expect(records.map(isWarm)).toEqual([false, ...Array(64).fill(true)])
  })

  test('one that says nothing of its length counts as long', () => {
    const warm = new WarmSessions(() => 0)
    const record = warm.record(documentOf('s', '1-s', { bytes: 'many' as unknown as number }), undefined)
    for (let count = 0; count < 65; count++) warm.record(sized(`s${count}`), undefined)
    expect(isWarm(record)).toBe(true)
  })

  test('one that cannot be packed stays as it is', () => {
    const warm = new WarmSessions(() => 0)
    const nested = (levels: number): unknown => (levels === 0 ? 'end' : [nested(levels - 1)])
    const base = sized('deep')
    const deep = { ...base, flow: { ...base.flow, context: { nested: nested(200) } } } as unknown as SessionDocument
    const record = warm.record(deep, undefined)
    const records = Array.from({ length: 65 }, (_, index) => warm.record(sized(`s${index}`), undefined))
    expect(isWarm(record)).toBe(true)
    expect(isWarm(records[0])).toBe(false)
    expect(warm.read(record)).toBe(deep)
  })

  test('the records of another store may be cold already, or become so', () => {
    const { warm, records } = aFew()
    warm.record(sized('new'), undefined)
    const other = new WarmSessions(() => 0)
    const [first, second] = records as [MemorySessionRecord, MemorySessionRecord]
    expect(other.read(second).id).toBe('s1')
    expect(warm.read(first).id).toBe('s0')
    expect(isWarm(second)).toBe(false)
    for (let count = 0; count < 64; count++) other.record(sized(`t${count}`), undefined)
    expect(other.read(second)).toEqual(sized('s1'))
    warm.clear()
    expect(warm.read(first)).toEqual(sized('s0'))
  })
})
