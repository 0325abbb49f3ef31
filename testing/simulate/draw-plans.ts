/**
 * How plans are drawn at random, and how they are shortened. Only this file uses fast-check, and no public type refers
 * to it, so that it is needed only for simulations.
 */
import type { Plan, PlannedAction, PlannedFault, PlannedSpeech } from './plan.js'

/** What may happen, besides messages. */
export interface PlanOptions {
  readonly maxActions: number
  readonly faults: boolean
  readonly restarts: boolean
  readonly together: boolean
  /** Which events the flow takes; `'forms'`: only what pages send for its forms. */
  readonly events: 'none' | 'forms' | 'any'
  /** Whether the flow has a form: its end is many messages away, so that fewer of them meet a fault. */
  readonly hasForm: boolean
}

type FastCheck = typeof import('fast-check')
type Arbitrary<T> = import('fast-check').Arbitrary<T>

/** Draws plans. */
export function plansOf(fc: FastCheck, options: PlanOptions): Arbitrary<Plan> {
  const numbers = (length: number): Arbitrary<number[]> =>
    fc.array(fc.nat(999), { minLength: length, maxLength: length })
  // Each turn has its own random numbers, so that a shortened conversation keeps the other turns unchanged.
  const drawn = fc.record({ actor: fc.nat(999), picks: numbers(2), modelPicks: numbers(4) })
  // In a long conversation, other answers would be tried for each question again and again.
  const speech: Arbitrary<PlannedSpeech> = options.hasForm ? fc.noShrink(drawn) : drawn
  const times = fc.constantFrom(1, 3)
  const fault: Arbitrary<PlannedFault> = fc.oneof(
    fc.record({
      operation: fc.constantFrom('save' as const, 'load' as const, 'create' as const),
      effect: fc.constantFrom('fail-before' as const, 'fail-after' as const),
      times,
    }),
    fc.record({
      operation: fc.constant('save' as const),
      effect: fc.constantFrom('rival-write' as const, 'rival-delete' as const),
      times: fc.constant(1),
    }),
  )
  const noFault = fc.constant(undefined)
  const rareFault = fc.oneof({ weight: 9, arbitrary: noFault }, { weight: 1, arbitrary: fault })
  const someFault = options.hasForm ? rareFault : fc.option(fault, { nil: undefined, freq: 4 })
  const say: Arbitrary<PlannedAction> = fc.record({
    kind: fc.constant('say' as const),
    speech,
    fault: options.faults ? someFault : noFault,
  })
  const event: Arbitrary<PlannedAction> = fc.record({
    kind: fc.constant('event' as const),
    choice: fc.nat(999),
    speech,
    fault: options.faults ? someFault : noFault,
  })
  const hour = 3_600_000
  const time: Arbitrary<PlannedAction> = fc.record({
    kind: fc.constant('time' as const),
    jump: fc.constantFrom('timer' as const, hour, 24 * hour, 7 * 24 * hour),
    speech,
  })
  const restart: Arbitrary<PlannedAction> = fc.constant({ kind: 'restart' })
  const delay = fc.constantFrom(0, 10, 20)
  const together: Arbitrary<PlannedAction> = fc.record({
    kind: fc.constant('together' as const),
    speeches: fc.tuple(speech, speech),
    elsewhere: fc.boolean(),
    delays: fc.array(delay, { minLength: 4, maxLength: 4 }),
  })
  const action = fc.oneof(
    { withCrossShrink: true },
    { weight: 8, arbitrary: say },
    ...(options.events === 'forms' ? [{ weight: 1, arbitrary: event }] : []),
    ...(options.events === 'any'
      ? [
          { weight: 7, arbitrary: event },
          { weight: 4, arbitrary: time },
        ]
      : []),
    ...(options.restarts ? [{ weight: 1, arbitrary: restart }] : []),
    ...(options.together ? [{ weight: 1, arbitrary: together }] : []),
  )
  const actions = fc.array(action, { minLength: 1, maxLength: options.maxActions, size: 'max' })
  // With fast-check's bias to small values, conversations would end before an event, and the last ones would be rare.
  return fc.record({ actions: options.events === 'none' ? actions : fc.noBias(actions) })
}
