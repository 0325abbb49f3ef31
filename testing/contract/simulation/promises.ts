/**
 * What must be true of any run, whatever was done at once and in whatever order: the promises of design 2 that time can
 * break. Each change of the store is compared with the reference model (`promises-of-changes.ts`), each
 * answer with the changes.
 */
import { expect } from 'vitest'
import type { ExecuteResult } from '../../../src/index.js'
import { isForeign } from './plans.js'
import { askedFor, committedAction, mayTimeOut, type PlayedPlan, sessionOf, spanOf } from './played-plan.js'
import { checkChange } from './promises-of-changes.js'
import { checkOrder } from './promises-of-order.js'
import { checkStranger } from './promises-to-strangers.js'
import type { Effect } from './timeline.js'

const nothing: readonly Effect[] = []

export function checkPromises(played: PlayedPlan): void {
  const { plan, world, timeline, turns, left, dropped, deletes, rejections } = played
  expect(rejections, 'nothing is rejected').toEqual([])
  for (const effect of timeline.effects) checkChange(played, effect)
  plan.actions.forEach((action, index) => {
    if (action.kind === 'turn') {
      const isSettled = turns.has(index) !== left.has(index) || (dropped.has(index) && !turns.has(index))
      expect(isSettled, `turn ${index} is answered, or its reader left`).toBe(true)
      checkTurn(played, index)
    }
    if (action.kind === 'delete') {
      expect(deletes.has(index), `delete ${index} is answered`).toBe(true)
      checkDelete(played, index)
    }
    if (isForeign(action)) checkStranger(played, index)
  })
  checkOrder(played)
  expect(world.clock.pending, 'timers left').toBe(0)
  for (const { engine } of world.seats) expect(engine.getFlowSession().locked, 'locks left').toBe(0)
}

function checkTurn(played: PlayedPlan, index: number): void {
  const { plan, timeline, turns } = played
  const { replied, entered } = spanOf(played, index)
  const asked = askedFor(played, index)
  const [committed, ...again] = timeline.effects.filter((effect) => committedAction(played, effect) === index)

  expect(entered.length, 'a turn is run once at most').toBeLessThanOrEqual(1)
  expect(
    again.filter((effect) => !isRepeatedCreate(effect, committed)),
    'a turn is committed once at most',
  ).toEqual(nothing)
  if (
    committed !== undefined &&
    committed.sessionId !== asked &&
    asked !== undefined &&
    !isForeign(plan.actions[index])
  ) {
    const wasGone = timeline.everBetween(
      missingFrom(played, index),
      replied,
      asked,
      (session) => session?.status !== 'running',
    )
    expect(wasGone, 'a new session in place of one that was there').toBe(true)
  }
  const answer = turns.get(index)
  if (answer !== undefined) checkState(played, index, answer)
  if (answer === undefined) {
    const settledAt = mayTimeOut(played) ? Number.POSITIVE_INFINITY : replied
    expect(committed?.tick ?? 0, 'a cancelled turn was answered before it was settled').toBeLessThan(settledAt)
  } else if (answer.response.success) checkSuccess(answer, committed, replied)
  else checkFailure(played, index, answer, committed)
}

/**
 * Whether a new session was stored again as it was before: the store's answer was lost, and another process deleted the
 * session before it was read back. It looks like a session that was never stored.
 */
function isRepeatedCreate({ before, after }: Effect, committed: Effect | undefined): boolean {
  return before === undefined && committed?.before === undefined && after?.revision === committed?.after?.revision
}

/**
 * From when on a turn may have found its session missing. In the engine that began the session: from its first document
 * on, because the first turn had the lock until then. In the other one: from when on requests were under way there,
 * because what one of them loads is the answer for those that wait behind it.
 */
function missingFrom(played: PlayedPlan, index: number): number {
  const { plan, timeline } = played
  const action = plan.actions[index]
  const { launched } = spanOf(played, index)
  if (action === undefined || !('by' in action) || action.place !== 'learnt') return launched
  const asked = askedFor(played, index)
  const begun = timeline.effects.find(({ before, sessionId }) => before === undefined && sessionId === asked)
  if (begun?.by === action.seat) return mayTimeOut(played) ? launched : Math.max(launched, begun.tick)
  const underWay = [...plan.actions.keys()].filter((other) => {
    const one = plan.actions[other]
    const isThere = one !== undefined && 'by' in one && one.seat === action.seat && askedFor(played, other) === asked
    return isThere && spanOf(played, other).replied > launched
  })
  return Math.min(...underWay.map((other) => spanOf(played, other).launched))
}

/** What a caller reads of its session was true while the turn ran. */
function checkState(played: PlayedPlan, index: number, { response, sessionState }: ExecuteResult): void {
  const { launched, replied } = spanOf(played, index)
  const id = response.session === '' ? (askedFor(played, index) ?? '') : response.session
  if (response.success) expect(sessionState).toBe(response.completed ? 'completed' : 'running')
  else if (id === '') expect(sessionState).toBe('none')
  const isHidden = isForeign(played.plan.actions[index]) && id === askedFor(played, index)
  if (response.success || id === '' || sessionState === 'unknown' || isHidden) return
  const wasTrue = played.timeline.everBetween(
    launched,
    replied,
    id,
    (session) => (session?.status ?? 'none') === sessionState,
  )
  expect(wasTrue, `the state ${sessionState} of '${id}' after: ${response.message}`).toBe(true)
}

function checkSuccess({ response }: ExecuteResult, committed: Effect | undefined, replied: number): void {
  const last = committed?.after?.session.turns.at(-1)
  expect(committed?.tick ?? Number.POSITIVE_INFINITY, 'the reply left before its turn was stored').toBeLessThan(replied)
  expect(response).toEqual({
    success: true,
    completed: last?.step === 'Done',
    message: last?.reply,
    session: committed?.sessionId,
    contentType: last?.contentType,
  })
}

function checkFailure(
  played: PlayedPlan,
  index: number,
  { response, error }: ExecuteResult,
  committed: Effect | undefined,
): void {
  const { timeline, messages } = played
  const message = messages[index] as string
  const { launched, replied } = spanOf(played, index)
  const asked = sessionOf(played, index)
  expect(response).toEqual({ ...response, completed: true, contentType: 'text/plain' })
  // What it sent before its lock was taken counts, and it saves nothing afterwards.
  if (played.taken.has(index)) return
  const others = timeline.effects.filter(
    ({ sessionId, tick }) => sessionId === asked && tick > launched && tick < replied,
  )
  // If a save took effect, its answer was lost, and the session was deleted before it was read back, that is reported.
  const wasDeleted =
    error?.code === 'SESSION_CONFLICT' &&
    others.some(({ after, tick }) => after === undefined && tick > (committed?.tick ?? Number.POSITIVE_INFINITY))
  const isInDoubt = wasDeleted || response.message.includes('Whether it took effect is unknown.')
  if (!isInDoubt) expect(committed, `the turn failed (${response.message}) and was stored`).toBeUndefined()
  if (error?.code === 'SESSION_CONFLICT') {
    // Within one engine the lock keeps conflicts away, unless time ran out on an operation that took effect later.
    const { actions } = played.plan
    const own = mayTimeOut(played) ? undefined : actions[index]
    const rivals = others.filter((effect) => effect !== committed && !(own?.kind === 'turn' && effect.by === own.seat))
    const marks = timeline.marks.filter(({ tick }) => tick > launched && tick < replied)
    expect(rivals.length + marks.length, 'a conflict without a rival').toBeGreaterThan(0)
  }
  if (error?.code === 'FLOW_ERROR') {
    expect(response.message.startsWith(message), response.message).toBe(true)
    const isStored = timeline.effects.some(
      ({ after, tick }) => after?.session.errors.at(-1) === message && tick < replied,
    )
    const isTold = / Saving the (aborted )?session failed: /.test(response.message)
    expect(isStored || isTold, 'a failed turn left no trace').toBe(true)
  }
}

function checkDelete(played: PlayedPlan, index: number): void {
  const { plan, timeline, deletes } = played
  const action = plan.actions[index]
  const { result } = deletes.get(index) as NonNullable<ReturnType<typeof deletes.get>>
  const { launched, replied } = spanOf(played, index)
  if (!result.success || isForeign(action)) return
  const isGone = timeline.everBetween(launched, replied, result.session, (session) => session === undefined)
  expect(isGone, 'told that it was deleted').toBe(true)
  if (mayTimeOut(played)) return
  const isUndone = timeline.effects.some(
    ({ tick, by, before, sessionId }) =>
      tick > replied &&
      before === undefined &&
      sessionId === result.session &&
      action?.kind === 'delete' &&
      by === action.seat,
  )
  expect(isUndone, 'a delete was undone by the turn that began the session').toBe(false)
}
