import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../testing/virtual-clock.js'
import { Deadlines } from './deadlines.js'

describe('Deadlines', () => {
  test('each ends its own length of time after it was set', async () => {
    const clock = new VirtualClock()
    const deadlines = new Deadlines(clock, 100)
    const ended: string[] = []
    deadlines.set(() => ended.push('first'))
    await clock.advance(60)
    deadlines.set(() => ended.push('second'))
    await clock.advance(39)
    expect(ended).toEqual([])
    await clock.advance(1)
    expect(ended).toEqual(['first'])
    await clock.advance(59)
    expect(ended).toEqual(['first'])
    await clock.advance(1)
    expect(ended).toEqual(['first', 'second'])
    expect(clock.pending).toBe(0)
  })

  test('a thousand of them take one timer', () => {
    const clock = new VirtualClock()
    const deadlines = new Deadlines(clock, 100)
    for (let count = 0; count < 1_000; count++) deadlines.set(() => undefined)
    expect(clock.pending).toBe(1)
  })

  test('one that was taken back never ends, and the last one takes the timer with it', async () => {
    const clock = new VirtualClock()
    const deadlines = new Deadlines(clock, 100)
    const ended: string[] = []
    const first = deadlines.set(() => ended.push('first'))
    const second = deadlines.set(() => ended.push('second'))
    first.cancel()
    expect(clock.pending).toBe(1)
    second.cancel()
    expect(clock.pending).toBe(0)
    await clock.advance(1_000)
    expect(ended).toEqual([])
  })

  test('taking one back twice leaves the others alone', async () => {
    const clock = new VirtualClock()
    const deadlines = new Deadlines(clock, 100)
    const ended: string[] = []
    const first = deadlines.set(() => ended.push('first'))
    first.cancel()
    deadlines.set(() => ended.push('second'))
    first.cancel()
    await clock.advance(100)
    expect(ended).toEqual(['second'])
  })

  test('taking one back after it ended does nothing', async () => {
    const clock = new VirtualClock()
    const deadlines = new Deadlines(clock, 100)
    const ended: string[] = []
    const first = deadlines.set(() => ended.push('first'))
    await clock.advance(50)
    deadlines.set(() => ended.push('second'))
    await clock.advance(50)
    first.cancel()
    await clock.advance(50)
    expect(ended).toEqual(['first', 'second'])
  })

  test('a callback may set the next deadline', async () => {
    const clock = new VirtualClock()
    const deadlines = new Deadlines(clock, 100)
    const ended: number[] = []
    const again = (): void => {
      ended.push(clock.now())
      if (ended.length < 3) deadlines.set(again)
    }
    const startedAt = clock.now()
    deadlines.set(again)
    await clock.advance(1_000)
    expect(ended.map((at) => at - startedAt)).toEqual([100, 200, 300])
    expect(clock.pending).toBe(0)
  })

  test('a timer that rings too early ends nothing and is set again', async () => {
    const clock = new VirtualClock()
    let rings = 0
    const early = {
      now: () => clock.now(),
      setTimer: (callback: () => void, ms: number) => clock.setTimer(callback, rings++ === 0 ? ms - 3 : ms),
    }
    const deadlines = new Deadlines(early, 100)
    const startedAt = clock.now()
    const ended: number[] = []
    deadlines.set(() => ended.push(clock.now() - startedAt))
    await clock.advance(97)
    expect(ended).toEqual([])
    await clock.advance(3)
    expect(ended).toEqual([100])
    expect(clock.pending).toBe(0)
  })

  test('a clock that is set back by an hour does not put a deadline off by an hour', () => {
    // Timers go by what passes; only the time of day is changed.
    let passed = 0
    let timer: { at: number; callback: () => void } | undefined
    let setBack = 0
    const deadlines = new Deadlines(
      {
        now: () => passed - setBack,
        setTimer(callback, ms) {
          timer = { at: passed + ms, callback }
          return () => {
            timer = undefined
          }
        },
      },
      1_000,
    )
    let endedAt: number | undefined
    deadlines.set(() => {
      endedAt = passed
    })
    setBack = 3_600_000
    while (timer !== undefined) {
      const { at, callback }: { at: number; callback: () => void } = timer
      timer = undefined
      passed = at
      callback()
    }
    expect(endedAt).toBeGreaterThanOrEqual(1_000)
    expect(endedAt).toBeLessThanOrEqual(2_000)
  })

  test('Infinity sets none', async () => {
    const clock = new VirtualClock()
    const deadline = new Deadlines(clock, Number.POSITIVE_INFINITY).set(() => {
      throw new Error('This one never ends.')
    })
    expect(clock.pending).toBe(0)
    await clock.advance(10 ** 9)
    expect(() => deadline.cancel()).not.toThrow()
  })

  test('whatever is set and taken back when, exactly those left end, at their time and in their order', async () => {
    const command = fc.record({
      action: fc.constantFrom('set', 'cancel', 'wait'),
      choice: fc.nat(20),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 20 }), async (commands) => {
        // Time moved without the event loop: the queue needs none of it.
        let now = 0
        let timer: { at: number; callback: () => void } | undefined
        const deadlines = new Deadlines(
          {
            now: () => now,
            setTimer(callback, ms) {
              expect(timer).toBeUndefined()
              timer = { at: now + ms, callback }
              return () => {
                timer = undefined
              }
            },
          },
          10,
        )
        const set: { id: number; at: number; cancel: () => void; cancelled: boolean }[] = []
        const ended: { id: number; at: number }[] = []
        const moveTo = (target: number): void => {
          while (timer !== undefined && timer.at <= target) {
            const { at, callback } = timer
            timer = undefined
            now = at
            callback()
          }
          now = target
        }
        for (const { action, choice } of commands) {
          if (action === 'wait') moveTo(now + choice)
          else if (action === 'set') {
            const id = set.length
            const { cancel } = deadlines.set(() => ended.push({ id, at: now }))
            set.push({ id, at: now + 10, cancel, cancelled: false })
          } else {
            const chosen = set[choice % Math.max(1, set.length)]
            if (chosen !== undefined && chosen.at > now) chosen.cancelled = true
            chosen?.cancel()
          }
        }
        moveTo(now + 100)
        expect(ended).toEqual(set.filter(({ cancelled }) => !cancelled).map(({ id, at }) => ({ id, at })))
        expect(timer).toBeUndefined()
      }),
    )
  })
})
