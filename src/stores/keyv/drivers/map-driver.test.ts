import { afterEach, describe, expect, test, vi } from 'vitest'
import { driverCases } from '../../../../testing/contract/stores/driver-cases.js'
import type { SessionSwap } from '../driver/session-driver.js'
import { createMapDriver } from './map-driver.js'

const swapOf = (more: Partial<SessionSwap> = {}): SessionSwap => ({
  key: 'k',
  expectedRevision: undefined,
  revision: '1-a',
  head: 'head 1',
  chunks: [['list#0', 'first']],
  removed: [],
  replacesChunks: true,
  ttlMs: undefined,
  ...more,
})

afterEach(() => {
  vi.useRealTimers()
})

describe('the Map driver', () => {
  const map = new Map()
  driverCases(
    () => createMapDriver(map),
    () => createMapDriver(map),
  )

  test('adds chunks, and replaces the others if the swap says so', async () => {
    const driver = createMapDriver(new Map())
    expect(await driver.swap(swapOf())).toBe('done')
    const second = swapOf({ expectedRevision: '1-a', revision: '2-a', head: 'head 2', chunks: [['list#1', 'second']] })
    expect(await driver.swap({ ...second, replacesChunks: false })).toBe('done')
    expect(await driver.read('k', ['list#1', 'list#2', 'list#0'])).toEqual({
      revision: '2-a',
      head: 'head 2',
      chunks: ['second', undefined, 'first'],
    })
    await driver.swap(swapOf({ expectedRevision: '2-a', revision: '3-a', chunks: [['list#0', 'other']] }))
    expect([...((await driver.readAll('k'))?.chunks ?? [])]).toEqual([['list#0', 'other']])
  })

  test('a swap that was already done changes nothing', async () => {
    const driver = createMapDriver(new Map())
    await driver.swap(swapOf())
    expect(await driver.swap(swapOf({ head: 'another' }))).toBe('done')
    expect((await driver.readAll('k'))?.head).toBe('head 1')
    expect(await driver.swap(swapOf({ revision: '2-a' }))).toBe('conflict')
    expect(await driver.remove('k', '0-a')).toBe('conflict')
    expect(await driver.remove('k', '1-a')).toBe('done')
    expect(await driver.remove('k', '1-a')).toBe('done')
  })

  test('a session expires after its time to live, counted from its last save', async () => {
    vi.useFakeTimers()
    const driver = createMapDriver(new Map())
    await driver.swap(swapOf({ ttlMs: 100 }))
    vi.advanceTimersByTime(60)
    await driver.swap(swapOf({ expectedRevision: '1-a', revision: '2-a', ttlMs: 100 }))
    vi.advanceTimersByTime(60)
    expect((await driver.readAll('k'))?.revision).toBe('2-a')
    vi.setSystemTime(Date.now() + 3_600_000)
    expect((await driver.readAll('k'))?.revision).toBe('2-a')
    vi.advanceTimersByTime(40)
    expect(await driver.readAll('k')).toBeUndefined()
    expect(await driver.swap(swapOf({ expectedRevision: '2-a', revision: '3-a' }))).toBe('conflict')
  })

  test('stays closed, and does not change the Map', async () => {
    const map = new Map()
    const driver = createMapDriver(map)
    await driver.swap(swapOf())
    await driver.close()
    await expect(driver.readAll('k')).rejects.toThrow('The Map driver is closed.')
    await expect(driver.swap(swapOf())).rejects.toThrow('The Map driver is closed.')
    expect(map.size).toBe(1)
  })
})
