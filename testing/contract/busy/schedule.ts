/**
 * What happens in a schedule: messages, other work and cancellations for one session of Ada's, and how far its turns
 * get.
 */
import fc from 'fast-check'
import type { Policy } from '../busy-talk.js'

/** The flow of the session, and one that it does not belong to. */
export type FlowName = 'Talk' | 'Other'

/** Bob is a stranger to the session. */
export type Owner = 'ada' | 'bob'

/** One thing that happens. */
export type ScheduleEvent =
  /** A message: a turn begins, waits or is refused. */
  | { readonly kind: 'message'; readonly flow: FlowName; readonly owner: Owner; readonly isKeyed: boolean }
  /**
   * A message is sent again with its key: number `of` of those that are {@link isRepeatable}, 0 being the one that made
   * the session. That one may be sent as it was at first, without the ID of its session.
   */
  | { readonly kind: 'repeat'; readonly of: number; readonly namesSession: boolean }
  /** The application asks for the lock. */
  | { readonly kind: 'work' }
  /** `engine.cancel`, with this owner or as the application. */
  | { readonly kind: 'cancel'; readonly owner: Owner | undefined }
  /** Loads under way end, one after the other. */
  | { readonly kind: 'loaded'; readonly newestFirst: boolean }
  /** The step under way ends, or throws; a save under way ends; the work of the application ends. */
  | { readonly kind: 'replied' | 'failed' | 'saved' | 'worked' }

/**
 * A list of groups. The events of one group happen at once: no work that they start goes on before the last of them.
 */
export interface Schedule {
  /** The engine's policy, which is that of `Talk`. */
  readonly busy: Policy
  /** The policy of `Other`. */
  readonly busyOfOther: Policy
  readonly groups: readonly (readonly ScheduleEvent[])[]
}

/** Whether a message is sent again. Bob's are not: each made a new session, which it does not name. */
export function isRepeatable({ isKeyed, owner }: ScheduleEvent & { readonly kind: 'message' }): boolean {
  return isKeyed && owner === 'ada'
}

const policies = ['queue', 'reject', 'interrupt'] as const

const message = fc.record({
  kind: fc.constant('message' as const),
  flow: fc.constantFrom<FlowName>('Talk', 'Talk', 'Talk', 'Talk', 'Other'),
  owner: fc.constantFrom<Owner>('ada', 'ada', 'ada', 'bob'),
  isKeyed: fc.boolean(),
})
const repeat = fc.record({
  kind: fc.constant('repeat' as const),
  of: fc.nat({ max: 11 }),
  namesSession: fc.boolean(),
})
const cancel = fc.record({
  kind: fc.constant('cancel' as const),
  owner: fc.constantFrom<Owner | undefined>('ada', 'ada', 'bob', undefined),
})
const work = fc.record({ kind: fc.constant('work' as const) })
const atOnce = fc.array(
  fc.oneof(
    { arbitrary: message, weight: 6 },
    { arbitrary: repeat, weight: 3 },
    { arbitrary: cancel, weight: 1 },
    { arbitrary: work, weight: 1 },
  ),
  { minLength: 1, maxLength: 4 },
)
const progress = fc
  .constantFrom<ScheduleEvent>(
    { kind: 'loaded', newestFirst: false },
    { kind: 'loaded', newestFirst: true },
    { kind: 'replied' },
    { kind: 'failed' },
    { kind: 'saved' },
    { kind: 'saved' },
    { kind: 'worked' },
  )
  .map((one) => [one])

/** Every schedule. */
export const schedules: fc.Arbitrary<Schedule> = fc.record({
  busy: fc.constantFrom<Policy>(...policies, 'interrupt'),
  busyOfOther: fc.constantFrom<Policy>(...policies),
  groups: fc.array(fc.oneof({ arbitrary: atOnce, weight: 2 }, { arbitrary: progress, weight: 3 }), {
    minLength: 1,
    maxLength: 20,
  }),
})

/** Ends all that is left, however much that is. */
export const untilTheEnd: readonly ScheduleEvent[] = Array.from({ length: 60 }, () => [
  { kind: 'loaded', newestFirst: false } as const,
  { kind: 'replied' } as const,
  { kind: 'saved' } as const,
  { kind: 'worked' } as const,
]).flat()
