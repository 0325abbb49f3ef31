import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/virtual-clock/virtual-clock.js'
import { BoundedSessions } from './bounded-sessions.js'

interface Known {
  value: string
  expiresAt: number
}

function bounded(
  maxSessions: number,
  ttlMs = Number.POSITIVE_INFINITY,
): { sessions: BoundedSessions<string>; dropped: string[]; clock: VirtualClock } {
  const dropped: string[] = []
  const clock = new VirtualClock()
  const onDropped = (sessionId: string, value: string): void => void dropped.push(`${sessionId}=${value}`)
  return { sessions: new BoundedSessions({ maxSessions, ttlMs, clock, onDropped }), dropped, clock }
}

describe('bounded sessions', () => {
  test('the one used longest ago goes, and its value is told', () => {
    const { sessions, dropped } = bounded(2)
    sessions.set('a', '1')
    sessions.set('b', '1')
    sessions.get('a')
    sessions.set('c', '1')
    sessions.set('a', '2')
    sessions.set('d', '1')
    expect(dropped).toEqual(['b=1', 'c=1'])
  })

  test('what is held counts, but stays; what was set just now stays, too', () => {
    const { sessions, dropped } = bounded(1)
    const letGo = [sessions.hold('a'), sessions.hold('b')]
    sessions.set('a', '1')
    sessions.set('b', '1')
    sessions.set('c', '1')
    expect(dropped).toEqual([])
    letGo[0]?.()
    expect(dropped).toEqual(['c=1', 'a=1'])
    expect(sessions.get('b')).toBe('1')
  })

  test('a held session that was deleted is gone, and can be set again', () => {
    const { sessions, dropped } = bounded(1)
    sessions.set('a', '1')
    const letGo = sessions.hold('a')
    expect(sessions.delete('a')).toBe(true)
    expect(sessions.delete('a')).toBe(false)
    expect(sessions.get('a')).toBeUndefined()
    sessions.set('a', '2')
    sessions.set('b', '1')
    expect(sessions.get('a')).toBe('2')
    letGo()
    expect(dropped).toEqual(['b=1'])
  })

  test('a session that is used for ever leaves nothing behind', () => {
    const { sessions, dropped } = bounded(1)
    for (let count = 0; count < 10; count++) {
      const letGo = sessions.hold('a')
      expect(sessions.get('a')).toBe(count === 0 ? undefined : String(count - 1))
      sessions.set('a', String(count))
      letGo()
    }
    sessions.set('b', '1')
    expect(dropped).toEqual(['a=9'])
  })

  test('does what a list in the order of use would do, whatever is asked of it', async () => {
    const command = fc.record({
      action: fc.constantFrom('get', 'set', 'set', 'delete', 'hold', 'let go', 'wait'),
      id: fc.constantFrom('a', 'b', 'c', 'd'),
      choice: fc.nat(10),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 60 }), async (commands) => {
        const { sessions, dropped, clock } = bounded(2, 20)
        // A Map in the order of use: simple, and slow.
        const model = new Map<string, Known>()
        const held: { id: string; letGo: () => void }[] = []
        const expected: string[] = []
        const isHeld = (id: string): boolean => held.some((hold) => hold.id === id)
        const use = (id: string, known: Known): void => {
          model.delete(id)
          model.set(id, known)
        }
        const trim = (justSet?: string): void => {
          for (const [id, { value }] of [...model]) {
            if (model.size <= 2) return
            if (isHeld(id)) continue
            if (id === justSet) return
            model.delete(id)
            expected.push(`${id}=${value}`)
          }
        }
        for (const [step, { action, id, choice }] of commands.entries()) {
          const known = model.get(id)
          if (action === 'get') {
            const isOver = known !== undefined && known.expiresAt <= clock.now() && !isHeld(id)
            if (isOver) {
              model.delete(id)
              expected.push(`${id}=${known.value}`)
            } else if (known !== undefined) use(id, known)
            expect(sessions.get(id)).toBe(isOver ? undefined : known?.value)
          } else if (action === 'set') {
            use(id, { value: String(step), expiresAt: clock.now() + 20 })
            trim(id)
            sessions.set(id, String(step))
          } else if (action === 'delete') {
            expect(sessions.delete(id)).toBe(model.delete(id))
          } else if (action === 'hold') {
            if (known !== undefined && known.expiresAt <= clock.now() && !isHeld(id)) {
              model.delete(id)
              expected.push(`${id}=${known.value}`)
            }
            held.push({ id, letGo: sessions.hold(id) })
          } else if (action === 'let go') {
            const [chosen] = held.splice(choice % Math.max(1, held.length), 1)
            if (chosen === undefined) continue
            const released = model.get(chosen.id)
            if (!isHeld(chosen.id)) {
              if (released !== undefined) use(chosen.id, released)
              trim()
            }
            chosen.letGo()
            chosen.letGo()
          } else {
            await clock.advance(choice)
          }
          expect(dropped).toEqual(expected)
        }
      }),
    )
  })
})
