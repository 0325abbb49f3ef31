import { describe, expectTypeOf, test } from 'vitest'
import { FlowEngine, type FlowSession, type RunResponseType } from '../../src/index.js'
import { type LockGate, LockProbe, VirtualClock } from '../index.js'

describe('LockProbe', () => {
  const probe = new LockProbe({ clock: new VirtualClock(), stuckAfterMs: 5_000 })
  const engine = new FlowEngine()

  test('hands back the engine it observes, and what a watched promise gives', () => {
    expectTypeOf(probe.observe(engine)).toEqualTypeOf<FlowEngine>()
    expectTypeOf(probe.watch(engine.run({ flowName: 'A', userMessage: '' }))).toEqualTypeOf<Promise<RunResponseType>>()
    expectTypeOf(probe.gate('a')).toEqualTypeOf<LockGate>()
    // @ts-expect-error locks belong to an engine
    probe.observe({} as FlowSession)
  })

  test('compares two sessions, and no more or fewer', () => {
    probe.assertOverlaps('a', 'b')
    // @ts-expect-error a session overlaps with another one
    probe.assertOverlaps('a')
  })
})

test('a clock gives what a promise gives', () => {
  const clock = new VirtualClock()
  expectTypeOf(clock.runUntil(Promise.resolve(7), { withinMs: 5 })).toEqualTypeOf<Promise<number>>()
  // @ts-expect-error no such option
  void clock.runUntil(Promise.resolve(7), { within: 5 })
})
