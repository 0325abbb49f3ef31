/**
 * Plans of several things that happen at once: turns, deletes, an outsider's writes, the passing of time and a wall
 * clock that is set, on two sessions and two engines. `schedules.ts` plays them.
 */
import fc from 'fast-check'
import { defaultRules } from './model-lists.js'
import type { FlowName, Rules, Verb } from './model-types.js'
import { type Fault, turnTimeoutMs } from './reference-model.js'
import { rules } from './rules.js'
import type { SeatIndex } from './world.js'

/**
 * One of the two sessions that exist at the start; a new one; or the session of the last earlier streamed turn that
 * starts a new one: its reader learns the ID while the turn runs.
 */
export type Place = 0 | 1 | 'new' | 'learnt'

/** The turn has no reader while it runs; or a reader reads its stream to the end, or stops after that many events. */
type Reader = 'none' | 'to the end' | number

/**
 * The sessions at the start have no owner. For an awaited stranger, turns of the session wait in the middle of their
 * flow code.
 */
type Caller = 'owner' | 'stranger' | 'awaited stranger'

/** A turn whose request the runtime drops at one of its moments. */
interface Drop {
  readonly atMoment: number
  /** Whether its work goes on, once another request took the lock. */
  readonly comesBack: boolean
}

export interface TurnAction {
  readonly kind: 'turn'
  readonly seat: SeatIndex
  readonly place: Place
  readonly by: Caller
  readonly verb: Verb
  readonly hasPhoto: boolean
  readonly reader: Reader
  /** It has the message and the photo of the turn before it, which goes to the other engine. */
  readonly isTwin?: boolean
  readonly drop?: Drop | undefined
}

interface DeleteAction {
  readonly kind: 'delete'
  readonly seat: SeatIndex
  readonly place: 0 | 1 | 'learnt'
  readonly by: Caller
}

export type Action =
  | TurnAction
  | DeleteAction
  | { readonly kind: 'write'; readonly place: 0 | 1 }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'set clock'; readonly ms: number }

export interface Plan {
  readonly rules: Rules
  readonly flow: FlowName
  readonly actions: readonly Action[]
  readonly faults: readonly (Fault & { readonly seat: SeatIndex })[]
}

/** The owner that a caller names. */
export function ownerNamedBy({ by }: { readonly by: Caller }): string | undefined {
  return by === 'owner' ? undefined : 'stranger'
}

/** Whether a caller other than its owner asks for a session. */
export function isForeign(action: Action | undefined): boolean {
  return action !== undefined && 'by' in action && action.place !== 'new' && action.by !== 'owner'
}

/**
 * Where an action works: the place of a session that is there at the start, or the number of the
 * turn that starts it, from 2.
 */
export function siteOf({ actions }: Plan, index: number): number | undefined {
  const action = actions[index]
  if (action === undefined || !('place' in action)) return undefined
  if (action.place === 'new') return index + 2
  return action.place === 'learnt' ? startOf(actions, index) + 2 : action.place
}

/** The turn whose reader learns the ID that an action uses. */
function startOf(actions: readonly Action[], index: number): number {
  return actions
    .slice(0, index)
    .findLastIndex((one) => one.kind === 'turn' && one.place === 'new' && one.reader !== 'none')
}

const hour = 3_600_000

const seat: fc.Arbitrary<SeatIndex> = fc.constantFrom<SeatIndex>(0, 1)
const place: fc.Arbitrary<0 | 1> = fc.constantFrom<0 | 1>(0, 0, 1)
const by: fc.Arbitrary<Caller> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Caller>('owner') },
  { weight: 2, arbitrary: fc.constantFrom<Caller>('stranger', 'awaited stranger') },
)

const turn: fc.Arbitrary<TurnAction> = fc.record({
  kind: fc.constant('turn' as const),
  seat,
  place: fc.oneof({ weight: 8, arbitrary: place }, { weight: 1, arbitrary: fc.constant('new' as const) }),
  by,
  verb: fc.constantFrom<Verb>('say', 'say', 'say', 'csv', 'sheet', 'move', 'end', 'boom'),
  hasPhoto: fc.constantFrom(false, false, true),
  reader: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<Reader>('none', 'to the end') },
    { weight: 1, arbitrary: fc.nat({ max: 5 }) },
  ),
})

/** The same message to both engines. As time stands still, the turns differ only in their IDs. */
const twins: fc.Arbitrary<Action[]> = turn.map((one) => [one, { ...one, seat: one.seat === 0 ? 1 : 0, isTwin: true }])

/**
 * A streamed turn that starts a session, and what its reader, or somebody who was given the ID, does with
 * that while the turn runs.
 */
const learntEarly: fc.Arbitrary<Action[]> = fc
  .tuple(
    turn,
    fc.oneof(
      { weight: 3, arbitrary: fc.constant<Reader>('to the end') },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 5 }) },
    ),
    fc.array(
      fc.oneof(
        { weight: 2, arbitrary: turn.map((one): TurnAction => ({ ...one, place: 'learnt' })) },
        {
          weight: 1,
          arbitrary: fc.record<DeleteAction>({ kind: fc.constant('delete'), seat, place: fc.constant('learnt'), by }),
        },
      ),
      { minLength: 1, maxLength: 3 },
    ),
    // Mostly in the same engine, whose lock knows the new session.
    fc.constantFrom(true, true, false),
  )
  .map(([first, reader, then, isOneSeat]) => [
    { ...first, place: 'new', by: 'owner', reader },
    ...then.map((one) => (isOneSeat ? { ...one, seat: first.seat } : one)),
  ])

export const setClock: fc.Arbitrary<Action> = fc.record({
  kind: fc.constant('set clock'),
  ms: fc.constantFrom(-24 * hour, -hour, -1_000, 1_000, hour, 24 * hour),
})

const other: fc.Arbitrary<Action> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete'), seat, place, by }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('write'), place }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait'), ms: fc.constantFrom(5_000, turnTimeoutMs) }) },
  { weight: 1, arbitrary: setClock },
)

/** One action, or a few. */
const someActions: fc.Arbitrary<readonly Action[]> = fc.oneof(
  { weight: 6, arbitrary: turn.map((one) => [one]) },
  { weight: 2, arbitrary: twins },
  { weight: 1, arbitrary: learntEarly },
  { weight: 4, arbitrary: other.map((one) => [one]) },
)

const fault: fc.Arbitrary<Plan['faults'][number]> = fc.record({
  seat,
  operation: fc.constantFrom('load', 'create', 'save', 'delete'),
  effect: fc.constantFrom('fail-before', 'fail-after'),
  nth: fc.constantFrom(1, 2, 3),
  times: fc.constantFrom(1, 2, 3),
})

const actions = fc.array(someActions, { minLength: 2, maxLength: 6, size: 'max' }).map((parts) => parts.flat())
const faults = fc.array(fault, { maxLength: 2 })
const flow = fc.constantFrom<FlowName>('Notes', 'Ledger', 'Talk')

/** Turns of one session, whose memory is soon too long: summaries are written beside them. */
const summarizedPlan: fc.Arbitrary<Plan> = fc.record({
  rules: fc.constantFrom(1, 2).map((keep) => ({ ...defaultRules, compaction: { kind: 'summary', above: 3, keep } })),
  flow: fc.constant('Talk'),
  actions: fc
    .tuple(fc.array(turn, { minLength: 2, maxLength: 4, size: 'max' }), actions)
    .map(([turns, more]) => [...turns.map((one): Action => ({ ...one, verb: 'say', place: 0, by: 'owner' })), ...more]),
  faults,
})

export const plan: fc.Arbitrary<Plan> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ rules, flow, actions, faults }) },
  { weight: 2, arbitrary: summarizedPlan },
)

const drop: fc.Arbitrary<Drop> = fc.record({ atMoment: fc.nat({ max: 5 }), comesBack: fc.boolean() })

/** Plans on a runtime that drops the requests of some turns. */
export const planWithDrops: fc.Arbitrary<Plan> = fc.record({
  rules,
  flow,
  actions: fc
    .tuple(actions, fc.array(fc.option(drop, { nil: undefined, freq: 2 }), { minLength: 12, maxLength: 12 }))
    .map(([list, drops]) => list.map((one, index) => (one.kind === 'turn' ? { ...one, drop: drops[index] } : one))),
  faults,
})
