/**
 * What happens to two engines over one store: messages, first ones too, that are sent again, and how far their turns
 * get.
 */
import fc from 'fast-check'
import type { Policy } from '../busy-talk.js'

/** One of two processes. */
export type Side = 0 | 1

export type ScheduleEvent =
  /** A message. It continues the session of the message with the number `follows`, if the client knows that session. */
  | { readonly kind: 'message'; readonly side: Side; readonly isKeyed: boolean; readonly follows: number | undefined }
  /** One of the messages with a key is sent again: with the first ID again, or with the ID of its session. */
  | { readonly kind: 'repeat'; readonly side: Side; readonly of: number; readonly namesItsSession: boolean }
  /** `engine.cancel` for the session of a message. */
  | { readonly kind: 'cancel'; readonly side: Side; readonly of: number }
  /** Operations of the store under way end; steps under way end, or throw. */
  | { readonly kind: 'claimed' | 'loaded' | 'saved' | 'replied' | 'failed'; readonly side: Side }

/** A list of groups; the events of one group happen at once. */
export interface RepeatSchedule {
  readonly busy: Policy
  readonly groups: readonly (readonly ScheduleEvent[])[]
}

// Most of a schedule is one process.
const side = fc.constantFrom<Side>(0, 0, 0, 1)
const number = fc.nat({ max: 7 })
const message = fc.record({
  kind: fc.constant('message' as const),
  side,
  isKeyed: fc.constantFrom(true, true, true, false),
  follows: fc.option(number, { nil: undefined, freq: 4 }),
})
const repeat = fc.record({ kind: fc.constant('repeat' as const), side, of: number, namesItsSession: fc.boolean() })
const cancel = fc.record({ kind: fc.constant('cancel' as const), side, of: number })
const sent = fc.array(
  fc.oneof({ arbitrary: message, weight: 5 }, { arbitrary: repeat, weight: 5 }, { arbitrary: cancel, weight: 1 }),
  { minLength: 1, maxLength: 4 },
)
const progress = fc
  .record({
    kind: fc.constantFrom('claimed', 'claimed', 'loaded', 'loaded', 'replied', 'replied', 'failed', 'saved', 'saved'),
    side,
  })
  .map((one) => [one as ScheduleEvent])

export const repeatSchedules: fc.Arbitrary<RepeatSchedule> = fc.record({
  busy: fc.constantFrom<Policy>('queue', 'reject', 'interrupt', 'interrupt', 'interrupt'),
  groups: fc.array(fc.oneof({ arbitrary: sent, weight: 2 }, { arbitrary: progress, weight: 3 }), {
    minLength: 1,
    maxLength: 24,
  }),
})
