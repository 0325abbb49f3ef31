import { describe, expect, test } from 'vitest'
import { VirtualClock } from './virtual-clock.js'

describe('VirtualClock', () => {
  test('stands still until it is moved', async () => {
    const clock = new VirtualClock()
    expect(clock.now()).toBe(1_767_225_600_000)
    await clock.settle()
    expect(clock.now()).toBe(1_767_225_600_000)
    await clock.advance(250)
    expect(clock.now()).toBe(1_767_225_600_250)
  })

  test('starts at the given time', () => {
    expect(new VirtualClock(42).now()).toBe(42)
    expect(new VirtualClock(0).now()).toBe(0)
  })

  test.each<[string, () => unknown]>([
    [
      "VirtualClock: now must be a finite number of milliseconds; got the text 'x'.",
      () => new VirtualClock('x' as never),
    ],
    ['VirtualClock: now must be a finite number of milliseconds; got NaN.', () => new VirtualClock(Date.parse('x'))],
    [
      'VirtualClock.shiftWallTime: ms must be a finite number of milliseconds; got undefined.',
      () => new VirtualClock().shiftWallTime(undefined as never),
    ],
    [
      'VirtualClock.jump: ms must be a finite number of milliseconds; got Infinity.',
      () => new VirtualClock().jump(Number.POSITIVE_INFINITY),
    ],
    [
      "VirtualClock.runUntil: there is no option 'within'. The options are withinMs.",
      () => new VirtualClock().runUntil(Promise.resolve(), { within: 5 } as never),
    ],
  ])('refuses what is not a time: %s', async (text, act) => {
    await expect((async () => act())()).rejects.toThrow(text)
  })

  test('rings a timer once, at its time and not before', async () => {
    const clock = new VirtualClock(0)
    const rung: number[] = []
    clock.setTimer(() => rung.push(clock.now()), 100)
    await clock.advance(99)
    expect(rung).toEqual([])
    await clock.advance(1)
    expect(rung).toEqual([100])
    await clock.advance(1_000)
    expect(rung).toEqual([100])
  })

  test('rings timers in the order of their times, and those of one time in the order they were set', async () => {
    const clock = new VirtualClock(0)
    const rung: string[] = []
    const ring = (name: string) => () => rung.push(`${name} at ${clock.now()}`)
    clock.setTimer(ring('late'), 30)
    clock.setTimer(ring('first of two'), 20)
    clock.setTimer(ring('second of two'), 20)
    clock.setTimer(ring('early'), 10)
    await clock.advance(100)
    expect(rung).toEqual(['early at 10', 'first of two at 20', 'second of two at 20', 'late at 30'])
    expect(clock.now()).toBe(100)
  })

  test('rings what was set on the way, if its time comes within the move', async () => {
    const clock = new VirtualClock(0)
    const rung: number[] = []
    const again = (): void => {
      rung.push(clock.now())
      clock.setTimer(again, 40)
    }
    clock.setTimer(again, 40)
    await clock.advance(100)
    expect(rung).toEqual([40, 80])
    expect(clock.pending).toBe(1)
  })

  test('lets the work of a timer run before the next timer', async () => {
    const clock = new VirtualClock(0)
    const log: string[] = []
    const chain = async (name: string): Promise<void> => {
      for (let count = 0; count < 20; count++) await Promise.resolve()
      log.push(name)
    }
    clock.setTimer(() => void chain('set off by the first'), 10)
    clock.setTimer(() => void log.push('the second'), 20)
    await clock.advance(20)
    expect(log).toEqual(['set off by the first', 'the second'])
  })

  test('a timer that was taken back never rings; doing it twice or late does nothing', async () => {
    const clock = new VirtualClock(0)
    const rung: string[] = []
    const cancel = clock.setTimer(() => rung.push('cancelled'), 10)
    const late = clock.setTimer(() => rung.push('kept'), 10)
    expect(clock.pending).toBe(2)
    cancel()
    cancel()
    expect(clock.pending).toBe(1)
    await clock.advance(10)
    late()
    expect(rung).toEqual(['kept'])
    expect(clock.pending).toBe(0)
  })

  test('a timer can take back another one of the same time', async () => {
    const clock = new VirtualClock(0)
    const rung: string[] = []
    let cancel = (): void => undefined
    clock.setTimer(() => cancel(), 10)
    cancel = clock.setTimer(() => rung.push('cancelled'), 10)
    await clock.advance(100)
    expect(rung).toEqual([])
  })

  test('a timer without a delay waits for the next move, even one of no length', async () => {
    const clock = new VirtualClock(0)
    const rung: number[] = []
    clock.setTimer(() => rung.push(clock.now()), 0)
    clock.setTimer(() => rung.push(clock.now()), -5)
    await clock.settle()
    expect(rung).toEqual([])
    await clock.advance(0)
    expect(rung).toEqual([0, 0])
  })

  test('a timer that never ends stays', async () => {
    const clock = new VirtualClock(0)
    clock.setTimer(() => undefined, Number.POSITIVE_INFINITY)
    await clock.advance(10 ** 12)
    expect(clock.pending).toBe(1)
  })

  test('settling lets every promise run that waits for no timer', async () => {
    const clock = new VirtualClock(0)
    let done = false
    void (async () => {
      for (let count = 0; count < 1_000; count++) await Promise.resolve()
      done = true
    })()
    await clock.settle()
    expect(done).toBe(true)
  })

  test('runs pending work before it moves', async () => {
    const clock = new VirtualClock(0)
    const rung: number[] = []
    void Promise.resolve().then(() => clock.setTimer(() => rung.push(clock.now()), 10))
    await clock.advance(10)
    expect(rung).toEqual([10])
  })
})

describe('advance', () => {
  test.each([-1, Number.NaN])('refuses %d', async (ms) => {
    await expect(new VirtualClock(0).advance(ms)).rejects.toThrow(
      `VirtualClock.advance: ms must be a number of at least 0; got ${ms}.`,
    )
  })
})

describe('iso', () => {
  test('is the time as a text', async () => {
    const clock = new VirtualClock()
    expect(clock.iso).toBe('2026-01-01T00:00:00.000Z')
    await clock.advance(61_500)
    expect(clock.iso).toBe('2026-01-01T00:01:01.500Z')
  })
})

describe('runUntil', () => {
  const waiting = (clock: VirtualClock, ms: number): Promise<number> =>
    new Promise((resolve) => clock.setTimer(() => resolve(clock.now()), ms))

  test('moves the time as far as the promise needs, and no further', async () => {
    const clock = new VirtualClock(0)
    const rung: string[] = []
    clock.setTimer(() => rung.push('later'), 61)
    const chain = waiting(clock, 20).then(() => waiting(clock, 40))
    expect(await clock.runUntil(chain)).toBe(60)
    expect([clock.now(), rung, clock.pending]).toEqual([60, [], 1])
  })

  test('moves nothing for a promise that needs no time', async () => {
    const clock = new VirtualClock(0)
    clock.setTimer(() => undefined, 1)
    expect(await clock.runUntil(Promise.resolve('done'))).toBe('done')
    await expect(clock.runUntil(Promise.reject(new Error('broke')))).rejects.toThrow('broke')
    expect(clock.now()).toBe(0)
  })

  test('goes on to the bound, and not beyond', async () => {
    const clock = new VirtualClock(0)
    expect(await clock.runUntil(waiting(clock, 50), { withinMs: 50 })).toBe(50)
    await expect(clock.runUntil(waiting(clock, 51), { withinMs: 50 })).rejects.toThrow('within 50 ms')
    expect(clock.now()).toBe(50)
  })

  test('lists the timers if the time is not enough', async () => {
    const clock = new VirtualClock()
    const slow = waiting(clock, 86_400_001)
    clock.setTimer(() => undefined, Number.POSITIVE_INFINITY)
    clock.setTimer(() => undefined, 250)
    await expect(clock.runUntil(slow)).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The promise did not settle within 86400000 ms. It is 2026-01-01T00:00:00.250Z now; pending timers:
        - in 86399751 ms (2026-01-02T00:00:00.001Z)
        - never
      Give it more time with { withinMs }, or look for what it waits for.]
    `)
    for (let count = 0; count < 12; count++) clock.setTimer(() => undefined, 1_000)
    await expect(clock.runUntil(slow, { withinMs: 10 })).rejects.toThrow('\n  - and 4 more\n')
  })

  test('says so if no time would help', async () => {
    const clock = new VirtualClock()
    await expect(clock.runUntil(new Promise(() => undefined))).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The promise did not settle, and no timer is pending on this clock: no time would settle it.
      It waits for something else (a gate, a reply that never comes) or for another clock. Is this one the engine's, the store's and the model's?]
    `)
  })
})

describe('jump', () => {
  test('runs the timers that ended on the way, in order, all at the end', () => {
    const clock = new VirtualClock(0)
    const rung: string[] = []
    const ring = (name: string) => () => rung.push(`${name} at ${clock.now()}`)
    clock.setTimer(ring('second'), 20)
    clock.setTimer(ring('first'), 10)
    clock.setTimer(ring('not yet'), 101)
    clock.jump(100)
    expect(rung).toEqual(['first at 100', 'second at 100'])
    expect(clock.pending).toBe(1)
  })

  test('leaves alone what was taken back, or set, while it rings', () => {
    const clock = new VirtualClock(0)
    const rung: string[] = []
    let cancel = (): void => undefined
    clock.setTimer(() => {
      cancel()
      clock.setTimer(() => rung.push('set'), 0)
    }, 10)
    cancel = clock.setTimer(() => rung.push('taken back'), 20)
    clock.jump(100)
    expect(rung).toEqual([])
  })

  test('backwards sets the wall time back, and a timer keeps its distance', async () => {
    const clock = new VirtualClock(1_000)
    const rung: number[] = []
    clock.setTimer(() => rung.push(clock.now()), 10)
    clock.jump(-500)
    await clock.advance(9)
    expect(rung).toEqual([])
    await clock.advance(1)
    expect(rung).toEqual([510])
  })
})

describe('shiftWallTime', () => {
  test.each([-500, 500])('sets the wall time by %i ms, and no timer or duration', async (ms) => {
    const clock = new VirtualClock(1_000)
    const rung: number[] = []
    clock.setTimer(() => rung.push(clock.monotonic()), 10)
    await clock.advance(4)
    clock.shiftWallTime(ms)
    expect([clock.now(), clock.iso]).toEqual([1_004 + ms, new Date(1_004 + ms).toISOString()])
    expect([clock.monotonic(), clock.pending]).toEqual([4, 1])
    await clock.advance(5)
    expect(rung).toEqual([])
    await clock.advance(1)
    expect(rung).toEqual([10])
    expect(clock.now()).toBe(1_010 + ms)
  })

  test('shows in the list of pending timers', async () => {
    const clock = new VirtualClock()
    clock.shiftWallTime(60_000)
    const slow = new Promise<void>((resolve) => void clock.setTimer(resolve, 250))
    await expect(clock.runUntil(slow, { withinMs: 10 })).rejects.toThrow('in 250 ms (2026-01-01T00:01:00.250Z)')
  })
})
