import { describe, expect, test, vi } from 'vitest'
import { flowOf, harness } from '../../testing/contract/engine-harness.js'
import { VirtualClock } from '../../testing/index.js'
import { reply } from '../index.js'
import { type EngineEventMap, EngineEvents } from './core/engine-events.js'
import { LoopMonitor } from './loop-monitor.js'

type Blocked = EngineEventMap['loop:blocked']

function monitor() {
  const clock = new VirtualClock(1_000)
  const events = new EngineEvents(() => undefined)
  const turns = new Set<string>()
  const blocked: Blocked[] = []
  return {
    clock,
    events,
    turns,
    blocked,
    made: new LoopMonitor(clock, events, turns),
    listen: () => events.on('loop:blocked', (event) => blocked.push(event)),
  }
}

describe('the monitor of the event loop', () => {
  test('sets no timer where nobody listens', () => {
    const { made, clock } = monitor()
    made.watch()
    expect(clock.pending).toBe(0)
  })

  test('fails no turn where the clock cannot set its timer', () => {
    const { made, clock, listen } = monitor()
    listen()
    const timer = vi.spyOn(clock, 'setTimer').mockImplementationOnce(() => {
      throw new Error('no timers')
    })
    made.watch()
    made.watch()
    expect([timer.mock.calls.length, clock.pending]).toEqual([2, 1])
    made.stop()
  })

  test('reports how late its timer was called, and when', () => {
    const { made, clock, blocked, listen } = monitor()
    listen()
    made.watch()
    clock.jump(520)
    expect(blocked).toEqual([{ blockedMs: 500, at: 1_520 }])
    expect(clock.pending).toBe(0)
  })

  test.each([
    [69, []],
    [70, [{ blockedMs: 50, at: 1_070 }]],
  ])('reports a timer of 20 ms that is called after %i ms only where it is 50 ms late', (ms, expected) => {
    const { made, clock, blocked, listen } = monitor()
    listen()
    made.watch()
    clock.jump(ms)
    expect(blocked).toEqual(expected)
  })

  test('leaves no timer when it is stopped', () => {
    const { made, clock, turns, listen } = monitor()
    listen()
    turns.add('one')
    made.watch()
    made.stop()
    expect(clock.pending).toBe(0)
  })

  test('goes on while turns run, with one timer for all of them, and stops after the last', async () => {
    const { made, clock, turns, blocked, listen } = monitor()
    listen()
    for (const turn of ['one', 'two']) {
      turns.add(turn)
      made.watch()
    }
    expect(clock.pending).toBe(1)
    await clock.advance(1_000)
    expect([clock.pending, blocked]).toEqual([1, []])
    clock.jump(200)
    turns.clear()
    await clock.advance(20)
    expect(clock.pending).toBe(0)
    expect(blocked).toHaveLength(1)
    made.watch()
    expect(clock.pending).toBe(1)
  })

  test('stops when nobody listens any more', async () => {
    const { made, clock, turns, events } = monitor()
    const listener = (): void => undefined
    events.on('loop:blocked', listener)
    turns.add('one')
    made.watch()
    events.off('loop:blocked', listener)
    await clock.advance(20)
    expect(clock.pending).toBe(0)
  })
})

test('an engine reports a step that computes for a second', async () => {
  const clock = new VirtualClock()
  const compute = flowOf('Compute', () => {
    clock.jump(1_000)
    return reply('Done.')
  })
  const { engine } = harness({ flows: [compute], clock })
  const blocked: Blocked[] = []
  engine.on('loop:blocked', (event) => blocked.push(event))
  expect(await engine.run({ flowName: 'Compute', userMessage: 'Hello' })).toMatchObject({ message: 'Done.' })
  expect(blocked).toEqual([{ blockedMs: 980, at: clock.now() }])
})
