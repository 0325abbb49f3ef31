/** What came of a plan, and what its promises ask of that. */
import type { ExecuteDeleteResult, ExecuteResult } from '../../../src/index.js'
import { isForeign, type Plan, siteOf } from './plans.js'
import type { Effect, Span, Timeline } from './timeline.js'
import type { World } from './world.js'

/** The result of a plan. */
export interface PlayedPlan {
  readonly plan: Plan
  readonly world: World
  readonly timeline: Timeline
  /**
   * The IDs of the two sessions that are there at the start, and, by {@link siteOf}, of new ones that readers
   * learnt while they began.
   */
  readonly sessions: ReadonlyMap<number, string>
  /** By action: the message of a turn, its moments, and the answer. Absent: it was not answered. */
  readonly messages: readonly string[]
  /** By ID of a turn: its action. */
  readonly actionOf: ReadonlyMap<string, number>
  readonly spans: ReadonlyMap<number, Span>
  readonly turns: ReadonlyMap<number, ExecuteResult>
  /** The turns whose readers stopped. */
  readonly left: ReadonlySet<number>
  /** The turns whose requests the runtime dropped. */
  readonly dropped: ReadonlySet<number>
  /** The turns whose locks were taken away. */
  readonly taken: ReadonlySet<number>
  readonly deletes: ReadonlyMap<number, ExecuteDeleteResult>
  /** From here on sessions are deleted that no action of the plan deletes. */
  readonly endedAt: number
  /** The calls that rejected, which none may do, and other things that may not happen. */
  readonly rejections: readonly unknown[]
}

/** In place of an ID that no reader has learnt. */
export const unheardOf = 'unheard-of'

/** The session that an action requested. */
export function askedFor({ plan, sessions }: Pick<PlayedPlan, 'plan' | 'sessions'>, index: number): string | undefined {
  const action = plan.actions[index]
  const site = siteOf(plan, index)
  if (action === undefined || site === undefined) return undefined
  return 'place' in action && action.place === 'new' ? undefined : (sessions.get(site) ?? unheardOf)
}

/** The session that an action requested, or that it began and others could find out about. */
export function sessionOf({ plan, sessions }: PlayedPlan, index: number): string | undefined {
  return sessions.get(siteOf(plan, index) ?? -1)
}

export function spanOf({ spans }: PlayedPlan, index: number): Span {
  return spans.get(index) as Span
}

/** The ID of the turn that this change commits. */
export function committedTurn({ before, after }: Effect): string | undefined {
  if (after === undefined || after.session.count === (before?.session.count ?? 0)) return undefined
  return after.session.turns.at(-1)?.id
}

/** The action whose turn this change commits. */
export function committedAction({ actionOf }: PlayedPlan, effect: Effect): number | undefined {
  return actionOf.get(committedTurn(effect) ?? '')
}

/**
 * Whether a write may take effect after its time was over. A client that stays gets that error;
 * one that left gets none.
 */
export function mayTimeOut({ plan, dropped, taken }: PlayedPlan): boolean {
  return dropped.size > 0 || taken.size > 0 || plan.actions.some(({ kind }) => kind === 'wait')
}

/** What was done of what few plans ask for. A large simulation does it all. */
export function rareOutcomes(played: PlayedPlan): string[] {
  const { plan, turns, deletes } = played
  const isAnswered = (index: number): boolean => turns.get(index)?.response.success === true
  const isContinued = (index: number): boolean =>
    isAnswered(index) && turns.get(index)?.response.session === askedFor(played, index)
  const isDeleted = (index: number): boolean =>
    deletes.get(index)?.result.success === true && wasDeleted(played, askedFor(played, index))
  const own = [...plan.actions.keys()].filter((index) => isEarly(played, index) && !isForeign(plan.actions[index]))
  return [
    ...own.filter(isContinued).map(() => 'continued early'),
    ...own.filter(isDeleted).map(() => 'deleted early'),
    ...[...turns.keys()]
      .filter((index) => isForeign(plan.actions[index]) && isAnswered(index))
      .map(() => 'stranger answered'),
  ]
}

/** Whether the turn that started a session had no answer yet when an action requested that session. */
function isEarly({ plan, spans }: PlayedPlan, index: number): boolean {
  const action = plan.actions[index]
  if (action === undefined || !('place' in action) || action.place !== 'learnt') return false
  const first = spans.get((siteOf(plan, index) ?? 0) - 2)
  return (spans.get(index)?.launched ?? 0) < (first?.replied ?? 0)
}

function wasDeleted({ timeline }: PlayedPlan, sessionId: string | undefined): boolean {
  return timeline.effects.some((effect) => effect.sessionId === sessionId && effect.after === undefined)
}
