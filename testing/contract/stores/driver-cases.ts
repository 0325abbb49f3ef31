/**
 * What every driver of the Keyv store must do, as tests over a real backend: the swap, the snapshot, chunks and expiry
 * by the backend's clock. Each case uses its own key; texts are tested in driver-text-cases.ts, sizes in sql-cases.ts.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { SessionDriver, SessionSwap } from '../../../src/stores/keyv/driver/session-driver.js'

/** A swap with the fields that a test cares about. */
export function swapOf(key: string, fields: Partial<SessionSwap>): SessionSwap {
  const plain = { expectedRevision: undefined, revision: 'r1', head: '{}', chunks: [], removed: [] }
  return { key, ttlMs: undefined, replacesChunks: false, ...plain, ...fields }
}

/**
 * Registers the cases.
 *
 * @param driver - The driver under test, at the time of the test; `other` of another connection to the same backend.
 */
export function driverCases(driver: () => SessionDriver, other: () => SessionDriver): void {
  const newKey = (): string => `key-${randomUUID()}`

  describe('a swap', () => {
    test('creates if nothing is stored, and a second creation conflicts', async () => {
      const key = newKey()
      expect(await driver().read(key, [])).toBeUndefined()
      expect(await driver().readAll(key)).toBeUndefined()
      expect(await driver().swap(swapOf(key, { head: 'first' }))).toBe('done')
      expect(await other().swap(swapOf(key, { revision: 'r2', head: 'second' }))).toBe('conflict')
      expect(await other().read(key, ['x'])).toEqual({ revision: 'r1', head: 'first', chunks: [undefined] })
    })

    test('replaces under the expected revision only', async () => {
      const key = newKey()
      const next = swapOf(key, { expectedRevision: 'r1', revision: 'r2', head: 'second' })
      expect(await driver().swap(next)).toBe('conflict')
      expect(await driver().readAll(key)).toBeUndefined()
      await driver().swap(swapOf(key, { head: 'first' }))
      expect(await other().swap({ ...next, expectedRevision: 'R1' })).toBe('conflict')
      expect(await other().swap({ ...next, expectedRevision: 'r1 ' })).toBe('conflict')
      expect(await other().swap(next)).toBe('done')
      expect(await driver().swap({ ...next, revision: 'r3' })).toBe('conflict')
      expect(await driver().read(key, [])).toMatchObject({ revision: 'r2', head: 'second' })
    })

    test('is read with its head and chunks unless the caller knows its revision', async () => {
      const key = newKey()
      await driver().swap(swapOf(key, { head: 'first', chunks: [['a', '1']] }))
      expect(await driver().read(key, ['a', 'b'], 'r0')).toEqual({
        revision: 'r1',
        head: 'first',
        chunks: ['1', undefined],
      })
      expect(await driver().read(key, ['a', 'b'], 'r1')).toMatchObject({ revision: 'r1' })
      expect(await driver().read(newKey(), ['a'], 'r1')).toBeUndefined()
    })

    test('is done without a change if the new revision is already stored, whatever it contains', async () => {
      const key = newKey()
      const first = swapOf(key, { head: 'first', chunks: [['a', '1']], ttlMs: 60_000 })
      await driver().swap(first)
      expect(await driver().swap({ ...first, head: 'other', chunks: [['a', '9']], ttlMs: 1 })).toBe('done')
      const second = swapOf(key, { expectedRevision: 'r1', revision: 'r2', chunks: [['b', '2']], ttlMs: 60_000 })
      await driver().swap(second)
      const replacing = { ...second, head: 'other', replacesChunks: true, ttlMs: 1 }
      expect(await driver().swap({ ...replacing, chunks: [['c', '3']] })).toBe('done')
      expect(await driver().swap({ ...replacing, expectedRevision: 'r2' })).toBe('done')
      await sleep(20)
      const chunks = new Map([
        ['a', '1'],
        ['b', '2'],
      ] as const)
      expect(await other().readAll(key)).toEqual({ revision: 'r2', head: '{}', chunks })
    })

    test('adds chunks, or puts them in the place of the stored ones', async () => {
      const key = newKey()
      await driver().swap(
        swapOf(key, {
          chunks: [
            ['a', '1'],
            ['b', '2'],
          ],
        }),
      )
      await driver().swap(
        swapOf(key, {
          expectedRevision: 'r1',
          revision: 'r2',
          chunks: [
            ['c', '3'],
            ['a', '1*'],
          ],
        }),
      )
      expect(await other().read(key, ['c', 'x', 'a', 'b', 'a'])).toMatchObject({
        chunks: ['3', undefined, '1*', '2', '1*'],
      })
      const replacing = { replacesChunks: true, expectedRevision: 'r2', revision: 'r3', head: 'h3' }
      await driver().swap(
        swapOf(key, {
          ...replacing,
          chunks: [
            ['b', '2**'],
            ['d', '4'],
          ],
        }),
      )
      const chunks = new Map([
        ['b', '2**'],
        ['d', '4'],
      ])
      expect(await other().readAll(key)).toEqual({ revision: 'r3', head: 'h3', chunks })
      await driver().swap(swapOf(key, { expectedRevision: 'r3', revision: 'r4', replacesChunks: true }))
      expect((await other().readAll(key))?.chunks.size).toBe(0)
    })

    test('empties chunks: an empty text is a text', async () => {
      const key = newKey()
      await driver().swap(swapOf(key, { chunks: [['a', '1']] }))
      const chunks = [['a', ''] as const, ['b', ''] as const]
      await driver().swap(swapOf(key, { expectedRevision: 'r1', revision: 'r2', chunks }))
      expect(await other().read(key, ['a', 'b', 'c'])).toMatchObject({ chunks: ['', '', undefined] })
      expect((await other().readAll(key))?.chunks).toEqual(new Map(chunks))
    })

    test('removes chunks by name, and adds others in the same step', async () => {
      const key = newKey()
      const textOf = (name: string) => [name, `text of ${name}`] as const
      await driver().swap(swapOf(key, { chunks: ['a', 'b', 'c', '"', 'd'].map(textOf) }))
      const removed = ['b', '"', 'never stored']
      const cut = swapOf(key, { expectedRevision: 'r1', revision: 'r2', chunks: [['e', '5']], removed })
      expect(await driver().swap(cut)).toBe('done')
      expect((await other().readAll(key))?.chunks).toEqual(new Map([...['a', 'c', 'd'].map(textOf), ['e', '5']]))
      // A repeat changes nothing, even if it names other chunks.
      expect(await other().swap({ ...cut, removed: ['a'] })).toBe('done')
      expect(await driver().swap(swapOf(key, { expectedRevision: 'r2', revision: 'r3', removed: ['a', 'd'] }))).toBe(
        'done',
      )
      expect([...((await other().readAll(key))?.chunks.keys() ?? [])].sort()).toEqual(['c', 'e'])
      expect(await other().read(key, ['a', 'c', 'e'])).toMatchObject({ chunks: [undefined, 'text of c', '5'] })
    })

    test('that conflicts neither adds nor removes a chunk', async () => {
      const key = newKey()
      await driver().swap(swapOf(key, { chunks: [['a', '1']] }))
      const stale = { revision: 'r9', head: 'stale', chunks: [['z', '9']] as const, removed: ['a'] }
      expect(await driver().swap(swapOf(key, stale))).toBe('conflict')
      expect(await driver().swap(swapOf(key, { ...stale, expectedRevision: 'r0' }))).toBe('conflict')
      expect(await driver().swap(swapOf(key, { ...stale, expectedRevision: 'r0', replacesChunks: true }))).toBe(
        'conflict',
      )
      expect(await driver().readAll(key)).toEqual({ revision: 'r1', head: '{}', chunks: new Map([['a', '1']]) })
    })

    test('of twenty with one expectation is won by exactly one; creations too', async () => {
      for (let round = 0; round < 10; round++) {
        for (const expectedRevision of [undefined, '0']) {
          const key = newKey()
          if (expectedRevision !== undefined) await driver().swap(swapOf(key, { revision: expectedRevision }))
          const outcomes = await Promise.all(
            Array.from({ length: 20 }, (_, index) => {
              const own = swapOf(key, { expectedRevision, revision: `r-${index}`, head: `h-${index}` })
              return (index % 2 === 0 ? driver() : other()).swap({ ...own, chunks: [[`c-${index}`, `t-${index}`]] })
            }),
          )
          expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1)
          const winner = outcomes.indexOf('done')
          const chunks = new Map([[`c-${winner}`, `t-${winner}`]])
          expect(await driver().readAll(key)).toEqual({ revision: `r-${winner}`, head: `h-${winner}`, chunks })
        }
      }
    })

    test('that is sent twenty times at once is done each time, and counts once', async () => {
      for (let round = 0; round < 5; round++) {
        const key = newKey()
        for (const own of [{ revision: 'r1' }, { expectedRevision: 'r1', revision: 'r2' }]) {
          const same = swapOf(key, { ...own, chunks: [[own.revision, 'text']] })
          const twenty = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? driver() : other()).swap(same))
          expect(new Set(await Promise.all(twenty))).toEqual(new Set(['done']))
        }
        expect((await driver().readAll(key))?.chunks.size).toBe(2)
      }
    })

    test('of other keys never meets this one', async () => {
      const key = newKey()
      const twins = [key, key.toUpperCase(), `${key} `, ` ${key}`, `${key}\u0301`, `${key}%`, `${key}_`]
      for (const twin of twins) expect(await driver().swap(swapOf(twin, { head: twin }))).toBe('done')
      for (const twin of twins) expect(await other().read(twin, [])).toMatchObject({ head: twin })
    })
  })

  describe('a removal', () => {
    test('takes a session with its chunks, under its revision or any', async () => {
      for (const revision of ['r1', undefined]) {
        const key = newKey()
        await driver().swap(swapOf(key, { chunks: [['a', '1']] }))
        expect(await other().remove(key, 'r0')).toBe('conflict')
        expect((await other().readAll(key))?.chunks.size).toBe(1)
        expect(await other().remove(key, revision)).toBe('done')
        expect(await driver().readAll(key)).toBeUndefined()
        expect(await driver().remove(key, revision)).toBe('done')
        expect(await driver().readAll(key)).toBeUndefined()
      }
    })

    test('leaves a mark, which is no session and keeps the key from being used', async () => {
      const [removed, unused] = [newKey(), newKey()]
      await driver().swap(swapOf(removed, { chunks: [['a', '1']] }))
      for (const key of [removed, unused]) {
        expect(await other().isRemoved?.(key)).toBe(false)
        expect(await other().remove(key, key === removed ? 'r1' : 'r9')).toBe('done')
        expect(await driver().isRemoved?.(key)).toBe(true)
        expect(await driver().swap(swapOf(key, { revision: 'r1' }))).toBe('conflict')
        for (const expectedRevision of ['r1', '']) {
          expect(await driver().swap(swapOf(key, { expectedRevision, revision: 'r2' }))).toBe('conflict')
        }
        expect(await driver().read(key, ['a'])).toBeUndefined()
        expect(await driver().read(key, ['a'], '')).toBeUndefined()
        expect(await driver().readAll(key)).toBeUndefined()
        for (const revision of [undefined, 'r1', '']) expect(await driver().remove(key, revision)).toBe('done')
        expect(await other().isRemoved?.(key)).toBe(true)
      }
    })

    test('is done for each of twenty, and a late save does not bring the session back', async () => {
      for (let round = 0; round < 5; round++) {
        const key = newKey()
        await driver().swap(swapOf(key, { chunks: [['a', '1']] }))
        const late = swapOf(key, { expectedRevision: 'r1', revision: 'r2', chunks: [['b', '2']] })
        const [saved, ...removed] = await Promise.all([
          other().swap(late),
          ...Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? driver() : other()).remove(key)),
        ])
        expect(new Set(removed)).toEqual(new Set(['done']))
        expect(await driver().swap({ ...late, revision: 'r3' })).toBe('conflict')
        // In either order the session is gone.
        expect(['done', 'conflict']).toContain(saved)
        expect(await driver().readAll(key)).toBeUndefined()
      }
    })
  })

  test("a session is known as its owner's, whatever its texts say, until it is removed", async () => {
    const owned = driver().isOwnedBy?.bind(driver())
    if (owned === undefined) return
    const key = newKey()
    const owner = { ownerKey: `~owner-${key}`, createdAt: '2026-01-01T00:00:00.000Z' }
    await driver().swap(swapOf(key, { head: 'unreadable', owner: async () => owner }))
    expect(await owned(key, owner.ownerKey)).toBe(true)
    expect(await owned(key, '~owner-other')).toBe(false)
    expect(await owned(key, '')).toBe(false)
    expect(await owned(newKey(), owner.ownerKey)).toBe(false)
    await other().remove(key, 'r1', async () => owner)
    expect(await owned(key, owner.ownerKey)).toBe(false)
  })

  describe('a read', () => {
    test('sees the head and the chunks of one moment while another connection writes', async () => {
      const key = newKey()
      await driver().swap(swapOf(key, { revision: '0', head: '0' }))
      let writing = true
      const writer = (async () => {
        for (let turn = 1; turn <= 60; turn++) {
          const own = { expectedRevision: `${turn - 1}`, revision: `${turn}`, head: `${turn}` }
          const chunks = [
            [`c-${turn % 7}`, `${turn}`],
            ['last', `${turn}`],
          ] as const
          await other().swap(swapOf(key, { ...own, chunks, replacesChunks: turn % 5 === 0 }))
        }
        writing = false
      })()
      while (writing) {
        const [read, all] = await Promise.all([driver().read(key, ['last']), driver().readAll(key)])
        if (read?.head !== '0') expect(read).toEqual({ revision: read?.head, head: read?.head, chunks: [read?.head] })
        if (all?.head !== '0') expect(all?.chunks.get('last')).toBe(all?.head)
      }
      await writer
    })
  })

  describe('expiry', () => {
    const short = { ttlMs: 30, chunks: [['old', 'text']] } as const
    const expire = async (key: string, revision = 'r1'): Promise<void> => {
      await driver().swap(swapOf(key, { ...short, revision }))
      while ((await driver().read(key, [])) !== undefined) await sleep(5)
    }

    test('hides a session from everything, and a creation takes its place without the old chunks', async () => {
      const key = newKey()
      await expire(key)
      expect(await driver().readAll(key)).toBeUndefined()
      expect(await other().swap(swapOf(key, { expectedRevision: 'r1', revision: 'r2' }))).toBe('conflict')
      expect(await other().swap(swapOf(key, { revision: 'r3', head: 'new', chunks: [['new', 'n']] }))).toBe('done')
      expect(await driver().readAll(key)).toEqual({ revision: 'r3', head: 'new', chunks: new Map([['new', 'n']]) })
    })

    test('lets exactly one of twenty creations take the place of an expired session', async () => {
      const key = newKey()
      await expire(key)
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          (index % 2 === 0 ? driver() : other()).swap(
            swapOf(key, { revision: `n-${index}`, chunks: [[`${index}`, '']] }),
          ),
        ),
      )
      expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1)
      expect([...((await driver().readAll(key))?.chunks.keys() ?? [])]).toEqual([`${outcomes.indexOf('done')}`])
    })

    test('comes at the latest when the swap says, whatever its time to live', async () => {
      const key = newKey()
      await driver().swap(swapOf(key, { expiresBy: Date.now() + 60_000 }))
      expect(await other().read(key, [])).toMatchObject({ revision: 'r1' })
      const late = { expectedRevision: 'r1', revision: 'r2', ttlMs: 60_000, expiresBy: Date.now() - 1_000 }
      await driver().swap(swapOf(key, { ...late, chunks: [['old', 'text']] }))
      expect(await other().read(key, [])).toBeUndefined()
      expect(await other().swap(swapOf(key, { revision: 'r3' }))).toBe('done')
      expect(await driver().readAll(key)).toEqual({ revision: 'r3', head: '{}', chunks: new Map() })
    })

    test('is put off by each save, and called off by one without a time', async () => {
      const key = newKey()
      await driver().swap(swapOf(key, { ttlMs: 40 }))
      const kept = await driver().swap(swapOf(key, { expectedRevision: 'r1', revision: 'r2', ttlMs: 60_000 }))
      await sleep(60)
      // A machine that stood still in between has let the session expire before its second save.
      if (kept === 'done') expect(await driver().read(key, [])).toMatchObject({ revision: 'r2' })
      else await driver().swap(swapOf(key, { revision: 'r2', ttlMs: 60_000 }))
      expect(await driver().swap(swapOf(key, { expectedRevision: 'r2', revision: 'r3' }))).toBe('done')
      expect(await driver().read(key, [])).toMatchObject({ revision: 'r3' })
    })
  })
}
