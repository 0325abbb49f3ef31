/** The texts and sizes that every driver of the Keyv store must keep as they are, as tests over a real backend. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { SessionDriver } from '../../../src/stores/keyv/driver/session-driver.js'
import { swapOf } from './driver-cases.js'

/** Texts that databases have lost or changed. */
const hostileTexts: readonly string[] = [
  '',
  '\0',
  'a\0b\0',
  '\ud800',
  'x\udc00y',
  '\udc00\ud800',
  '😀 ünï ﷽ \u200f',
  '"quoted"',
  '"',
  '""\0',
  '\\',
  "'; DROP TABLE turnkeeper_session; --",
  '{"a":[1,null]}',
  '{1,2,NULL}',
  'NULL',
  'null',
  '$1 ?1 %s',
  ' leading and trailing ',
  'a\r\nb\tc\v\u001f\u007f',
  '\u2028\u2029',
  '\ufeffbom',
  '\\u0000',
  '\\x00',
  ':sqlite',
  '1e5',
  '0012',
]

const newKey = (): string => `key-${randomUUID()}`

/**
 * Registers the cases.
 *
 * @param driver - The driver under test, at the time of the test; `other` of another connection to the same backend.
 */
export function driverTextCases(driver: () => SessionDriver, other: () => SessionDriver): void {
  describe('texts', () => {
    test.each(hostileTexts.map((text) => [JSON.stringify(text), text] as const))('come back as %s', async (_, text) => {
      const key = `${newKey()}${text}`
      const revision = `r1${text}`
      const first = swapOf(key, {
        revision,
        head: text,
        chunks: [
          [`c${text}`, text],
          ['c', `${text}${text}`],
        ],
      })
      expect(await driver().swap(first)).toBe('done')
      expect(await other().swap(first)).toBe('done')
      const read = await other().read(key, [`c${text}`, 'd'])
      expect(read).toEqual({ revision, head: text, chunks: [text, undefined] })
      const next = swapOf(key, { expectedRevision: revision, revision: `${text}r2`, head: text, chunks: [['e', text]] })
      expect(await driver().swap(next)).toBe('done')
      expect((await driver().readAll(key))?.chunks.get('e')).toBe(text)
      const cut = swapOf(key, { expectedRevision: `${text}r2`, revision: `${text}r3`, removed: [`c${text}`] })
      expect(await driver().swap(cut)).toBe('done')
      const left = (await other().readAll(key))?.chunks
      expect([left?.has(`c${text}`), left?.has('e')]).toEqual([false, true])
      expect(await driver().remove(key, `${text}r3`)).toBe('done')
      expect(await driver().readAll(key)).toBeUndefined()
    })

    test('that differ in half a surrogate pair are different keys', async () => {
      const key = newKey()
      await driver().swap(swapOf(`${key}\ud800`, { head: 'high' }))
      await driver().swap(swapOf(`${key}\udc00`, { head: 'low' }))
      await driver().swap(swapOf(`${key}\ufffd`, { head: 'replacement' }))
      expect(await driver().read(`${key}\ud800`, [])).toMatchObject({ head: 'high' })
      expect(await driver().read(`${key}\udc00`, [])).toMatchObject({ head: 'low' })
    })
  })

  describe('sizes', () => {
    test('5 000 chunks, added in one swap, then replaced, then removed', async () => {
      const key = newKey()
      const chunks = Array.from({ length: 5_000 }, (_, index) => [`history#${index}`, `text ${index} é`] as const)
      expect(await driver().swap(swapOf(key, { chunks }))).toBe('done')
      expect((await other().readAll(key))?.chunks).toEqual(new Map(chunks))
      const read = await other().read(key, [...chunks.map(([name]) => name), 'none'])
      expect(read?.chunks).toEqual([...chunks.map(([, text]) => text), undefined])
      const replacing = swapOf(key, { expectedRevision: 'r1', revision: 'r2', chunks: chunks.slice(2_500) })
      expect(await driver().swap({ ...replacing, replacesChunks: true })).toBe('done')
      expect((await other().readAll(key))?.chunks.size).toBe(2_500)
      const removed = chunks.slice(2_600).map(([name]) => name)
      expect(await driver().swap(swapOf(key, { expectedRevision: 'r2', revision: 'r3', removed }))).toBe('done')
      expect((await other().readAll(key))?.chunks).toEqual(new Map(chunks.slice(2_500, 2_600)))
    })

    test('a head and a chunk of 1 MB', async () => {
      const key = newKey()
      const head = 'h😀'.repeat(350_000)
      await driver().swap(swapOf(key, { head, chunks: [['big', `${head}\ud800`]] }))
      expect(await other().readAll(key)).toEqual({ revision: 'r1', head, chunks: new Map([['big', `${head}\ud800`]]) })
    })
  })
}
