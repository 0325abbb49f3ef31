import { describe, expect, test, vi } from 'vitest'
import { VirtualClock } from '../../testing/index.js'
import { Deadlines } from './deadlines.js'

function made() {
  const clock = new VirtualClock()
  const deadlines = new Deadlines(clock)
  const ended: string[] = []
  return {
    clock,
    ended,
    set: (ms: number, name: string) => deadlines.set(ms, () => ended.push(name)),
    deadlines,
  }
}

test('the own limit of a step or tool keeps no list, so that any number of durations may come', async () => {
  const { clock, deadlines, ended } = made()
  const kept = vi.spyOn(Map.prototype, 'set')
  for (let ms = 1; ms <= 50; ms++) deadlines.set(ms, () => ended.push(`${ms}`), true)
  const lists = kept.mock.calls.filter(([key]) => typeof key === 'number' && key <= 50).length
  kept.mockRestore()
  expect(lists).toBe(0)
  await clock.advance(50)
  expect([ended.length, clock.pending]).toEqual([50, 0])
})

describe('a deadline', () => {
  test('calls back once, at its time', async () => {
    const { clock, ended, set } = made()
    set(100, 'a')
    await clock.advance(99)
    expect(ended).toEqual([])
    await clock.advance(1)
    expect(ended).toEqual(['a'])
    await clock.advance(1000)
    expect([ended, clock.pending]).toEqual([['a'], 0])
  })

  test('of Infinity never ends and sets no timer', async () => {
    const { clock, set } = made()
    expect(set(Number.POSITIVE_INFINITY, 'never')).toBeUndefined()
    await clock.settle()
    expect(clock.pending).toBe(0)
  })

  test('does not call back once it is cancelled; cancelling it twice or late does nothing', async () => {
    const { clock, ended, set } = made()
    const cancelled = set(100, 'cancelled')
    const late = set(100, 'late')
    cancelled?.cancel()
    cancelled?.cancel()
    await clock.advance(100)
    late?.cancel()
    set(100, 'next')
    late?.cancel()
    await clock.advance(100)
    expect([ended, clock.pending]).toEqual([['late', 'next'], 0])
  })
})

test('a deadline that is cancelled at once costs no timer', async () => {
  const { clock, ended, set } = made()
  const timers = vi.spyOn(clock, 'setTimer')
  for (const name of ['a', 'b']) {
    const work = Promise.resolve().then(() => deadline?.cancel())
    const deadline = set(100, name)
    await work
  }
  await clock.advance(100)
  expect([timers.mock.calls.length, ended]).toEqual([0, []])
})

describe('many deadlines', () => {
  test('of one duration share one timer, and end each at its own time', async () => {
    const { clock, ended, set } = made()
    for (const name of ['a', 'b', 'c']) {
      set(100, name)
      await clock.advance(10)
    }
    expect(clock.pending).toBe(1)
    await clock.advance(70)
    expect(ended).toEqual(['a'])
    await clock.advance(9)
    expect(ended).toEqual(['a'])
    await clock.advance(1)
    expect(ended).toEqual(['a', 'b'])
    await clock.advance(10)
    expect([ended, clock.pending]).toEqual([['a', 'b', 'c'], 0])
  })

  test('share no timer where a timer ends with the request that set it', async () => {
    const clock = Object.assign(new VirtualClock(), { timersEndWithRequest: true })
    const deadlines = new Deadlines(clock)
    const ended: string[] = []
    const first = deadlines.set(100, () => ended.push('a'))
    await clock.advance(10)
    deadlines.set(100, () => ended.push('b'))
    await clock.settle()
    expect(clock.pending).toBe(2)
    first?.cancel()
    expect(clock.pending).toBe(1)
    await clock.advance(100)
    expect([ended, clock.pending]).toEqual([['b'], 0])
  })

  test('of several durations have a timer for each', async () => {
    const { clock, ended, set } = made()
    set(200, 'long')
    set(100, 'short')
    await clock.settle()
    expect(clock.pending).toBe(2)
    await clock.advance(200)
    expect([ended, clock.pending]).toEqual([['short', 'long'], 0])
  })

  test('leave no timer when the last one is cancelled, whichever that is', async () => {
    const { clock, set } = made()
    const [first, second, third] = [set(100, 'a'), set(100, 'b'), set(100, 'c')]
    await clock.settle()
    second?.cancel()
    first?.cancel()
    expect(clock.pending).toBe(1)
    third?.cancel()
    expect(clock.pending).toBe(0)
  })

  test('the first of which was cancelled end no earlier and no later', async () => {
    const { clock, ended, set } = made()
    const first = set(100, 'first')
    await clock.advance(50)
    set(100, 'second')
    first?.cancel()
    await clock.advance(99)
    expect(ended).toEqual([])
    await clock.advance(1)
    expect(ended).toEqual(['second'])
  })
})

describe('a callback', () => {
  test('may set another deadline of the same duration, which does not delay those that were set before', async () => {
    const { clock, ended, set, deadlines } = made()
    deadlines.set(100, () => set(100, 'third'))
    await clock.advance(10)
    set(100, 'second')
    await clock.advance(100)
    expect([ended, clock.pending]).toEqual([['second'], 1])
    await clock.advance(90)
    expect([ended, clock.pending]).toEqual([['second', 'third'], 0])
  })

  test('may cancel the last of the others, and set one again', async () => {
    const { clock, ended, set, deadlines } = made()
    deadlines.set(100, () => {
      other?.cancel()
      set(100, 'again')
    })
    const other = set(100, 'other')
    await clock.advance(100)
    expect([ended, clock.pending]).toEqual([[], 1])
    await clock.advance(100)
    expect([ended, clock.pending]).toEqual([['again'], 0])
  })
})

describe('a clock that is set', () => {
  test('back, ends the deadline of the timer all the same, and delays no other by more than its duration', async () => {
    let [now, ring] = [1000, (): void => undefined]
    const timers: number[] = []
    const deadlines = new Deadlines({
      now: () => now,
      setTimer(callback, ms) {
        timers.push(ms)
        ring = callback
        return () => undefined
      },
    })
    const ended: string[] = []
    deadlines.set(100, () => ended.push('first'))
    await undefined
    now = 1050
    deadlines.set(100, () => ended.push('second'))
    now = 0
    ring()
    expect([ended, timers]).toEqual([['first'], [100, 100]])
    ring()
    expect(ended).toEqual(['first', 'second'])
  })

  test('forward, ends all that are over at once', async () => {
    const { clock, ended, set } = made()
    for (const name of ['a', 'b']) set(100, name)
    await clock.settle()
    clock.jump(1000)
    expect([ended, clock.pending]).toEqual([['a', 'b'], 0])
  })
})

describe('a clock with monotonic time', () => {
  function setting() {
    const clock = new VirtualClock()
    const wall = { ahead: 0 }
    const deadlines = new Deadlines({
      now: () => clock.now() + wall.ahead,
      monotonic: () => clock.now(),
      setTimer: (callback, ms) => clock.setTimer(callback, ms),
    })
    const ended: string[] = []
    return { clock, wall, ended, set: (name: string) => deadlines.set(100, () => ended.push(`${name} ${clock.now()}`)) }
  }

  test.each([-3_600_000, 3_600_000])(
    'ends each deadline at its own time where the time of day is set by %i ms',
    async (ms) => {
      const { clock, wall, ended, set } = setting()
      const start = clock.now()
      set('a')
      await clock.advance(30)
      set('b')
      wall.ahead = ms
      await clock.advance(30)
      set('c')
      await clock.advance(1_000)
      expect(ended).toEqual([`a ${start + 100}`, `b ${start + 130}`, `c ${start + 160}`])
      expect(clock.pending).toBe(0)
    },
  )
})

test('a callback that throws stops no later deadline', async () => {
  const timers: (() => void)[] = []
  const time = { now: 0 }
  const deadlines = new Deadlines({
    now: () => time.now,
    setTimer(callback) {
      timers.push(callback)
      return () => undefined
    },
  })
  const ended: string[] = []
  deadlines.set(100, () => {
    throw new Error('bad')
  })
  time.now = 50
  deadlines.set(100, () => ended.push('later'))
  await Promise.resolve()
  time.now = 100
  expect(() => timers[0]?.()).toThrow('bad')
  time.now = 150
  timers[1]?.()
  expect(ended).toEqual(['later'])
})

describe('a clock whose setTimer throws', () => {
  test('ends all deadlines of the list, with the error; the next one has a timer again', async () => {
    const clock = new VirtualClock()
    const deadlines = new Deadlines(clock)
    const ended: unknown[] = []
    vi.spyOn(clock, 'setTimer').mockImplementationOnce(() => {
      throw new Error('no timers')
    })
    for (const name of ['a', 'b']) deadlines.set(100, (failure) => ended.push([name, failure?.message]))
    await clock.settle()
    const message = "The engine's clock failed: its setTimer threw an error, so no deadline can be set."
    expect(ended.splice(0)).toEqual([
      ['a', message],
      ['b', message],
    ])
    deadlines.set(100, (failure) => ended.push(failure))
    await clock.advance(100)
    expect([ended, clock.pending]).toEqual([[undefined], 0])
  })

  test('when a timer ends does the same with those that are left', async () => {
    const clock = new VirtualClock()
    const deadlines = new Deadlines(clock)
    const ended: unknown[] = []
    deadlines.set(100, (failure) => ended.push(['a', failure === undefined]))
    await clock.advance(50)
    deadlines.set(100, (failure) => ended.push(['b', failure === undefined]))
    vi.spyOn(clock, 'setTimer').mockImplementationOnce(() => {
      throw new Error('no timers')
    })
    await clock.advance(50)
    expect([ended, clock.pending]).toEqual([
      [
        ['a', true],
        ['b', false],
      ],
      0,
    ])
  })
})
