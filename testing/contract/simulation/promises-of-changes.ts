/**
 * What must be true of each change of the store: it is one that the contract knows, as the reference model makes it.
 */
import { expect } from 'vitest'
import { movedOver, summarized } from './model-lists.js'
import { lastTurnOf, newSession, take } from './model-session.js'
import type { ModelSession } from './model-types.js'
import { isForeign, ownerNamedBy } from './plans.js'
import { askedFor, committedAction, committedTurn, mayTimeOut, type PlayedPlan, spanOf } from './played-plan.js'
import { photoIn } from './schedules.js'
import { type Effect, hintProblem } from './timeline.js'

/** Every change of the store is one that the contract knows, on top of what was there. */
export function checkChange(played: PlayedPlan, effect: Effect): void {
  const { before, after, expectedRevision, by, sessionId } = effect
  expect(before?.revision, 'a document was replaced that the writer had not read').toBe(expectedRevision)
  if (by === 'outsider') return
  if (after === undefined) {
    checkDeleted(played, effect)
    return
  }
  const { session } = after
  const base = before?.session ?? newSession(session.flow, session.owner, undefined)
  if (before === undefined) expect(played.world.issued, 'a client chose an ID').toContain(sessionId)
  expect(hintProblem(effect), 'what a store may take over').toBeUndefined()
  if (committedTurn(effect) !== undefined) checkCommit(played, effect, base, session)
  else if (session.status === 'running') checkNoTurn(played, effect, base, session)
  else {
    expect(played.plan.rules.onTurnError, 'the rule under which a session is aborted').toBe('abort')
    checkFailed(base, session, 'aborted')
  }
}

/** A permitted caller has asked for it. */
function checkDeleted(played: PlayedPlan, { sessionId, tick, by }: Effect): void {
  const mayBeDeleted = played.plan.actions.some(
    (action, index) =>
      action.kind === 'delete' &&
      action.seat === by &&
      !isForeign(action) &&
      askedFor(played, index) === sessionId &&
      spanOf(played, index).launched < tick,
  )
  expect(mayBeDeleted || tick > played.endedAt, 'a session was deleted without a permitted request').toBe(true)
}

function checkCommit(played: PlayedPlan, effect: Effect, base: ModelSession, session: ModelSession): void {
  const index = committedAction(played, effect)
  const action = played.plan.actions[index ?? -1]
  const turn = lastTurnOf(session)
  // The first turns of the two sessions belong to no action.
  if (index !== undefined) expect(turn.message, 'the message of a turn').toBe(played.messages[index])
  if (action?.kind === 'turn') expect(session.owner, 'the owner of the session').toBe(ownerNamedBy(action))
  const photo = action?.kind === 'turn' && action.hasPhoto ? photoIn(turn.message).data : undefined
  const possible = [base, ...beforeSummaries(played, effect, index)].map((read) => {
    const { after } = { after: undefined, ...take(read, { ...turn, photo }, played.plan.rules) }
    return after === undefined || read === base ? after : movedOver(base, read, after)
  })
  if (possible.length === 1) expect(session, 'the committed turn').toEqual(possible[0] ?? 'nothing')
  else expect(possible, 'the committed turn').toContainEqual(session)
}

/**
 * What a turn may have read, newest first, if the other engine stored summaries while it ran: within one engine a
 * summary waits for the turn. The summaries themselves are checked as changes.
 */
function beforeSummaries(
  played: PlayedPlan,
  { by, sessionId, tick }: Effect,
  index: number | undefined,
): ModelSession[] {
  if (index === undefined) return []
  const { launched } = spanOf(played, index)
  const during = played.timeline.effects.filter(
    (effect) => effect.sessionId === sessionId && effect.tick > launched && effect.tick < tick,
  )
  const isOther = (effect: Effect): boolean => effect.by !== by || mayTimeOut(played)
  const firstSummary = during.findLastIndex((effect) => !isOther(effect) || !isOfSummary(effect)) + 1
  return during
    .slice(firstSummary)
    .flatMap(({ before }) => before?.session ?? [])
    .reverse()
}

/** Whether a change is a summary, or the cost of one. */
function isOfSummary({ by, before, after }: Effect): boolean {
  if (by === 'outsider' || before === undefined || after?.session.flow !== 'Talk') return false
  const { status, count, errors } = after.session
  const { session } = before
  return status === 'running' && count === session.count && errors.length === session.errors.length
}

/**
 * What a running session is stored as without a turn: a checkpoint, a summary or its cost, or the error of a
 * turn that was too large.
 */
function checkNoTurn(played: PlayedPlan, effect: Effect, base: ModelSession, session: ModelSession): void {
  if (session.errors.length > base.errors.length) {
    checkFailed(base, session, 'running')
    if (played.plan.rules.onTurnError === 'abort') {
      expect(session.errors.at(-1), 'a failed turn after which the session goes on').toContain('maxSessionBytes')
    }
  } else if (session.flow === 'Talk') {
    checkSummary(played, effect, base, session)
  } else {
    expect(session, 'a checkpoint is the state before the turn').toEqual({ ...base, saves: base.saves + 1 })
  }
}

/**
 * A summary replaces the messages that a committed turn of the same engine left, and keeps what came
 * after them; or it only costs.
 */
function checkSummary(
  { plan, timeline }: PlayedPlan,
  { by, sessionId, tick }: Effect,
  base: ModelSession,
  session: ModelSession,
): void {
  const { usage } = base
  expect(session.usage.modelCalls, 'a summary is a call of a model').toBe(usage.modelCalls + 1)
  if (session.memory.length === base.memory.length) {
    const isAborted = session.usage.outputTokens === usage.outputTokens
    const tokens = isAborted ? 0 : 1
    const { inputTokens, outputTokens, modelCalls } = usage
    const cost = {
      inputTokens: inputTokens + tokens,
      outputTokens: outputTokens + tokens,
      modelCalls: modelCalls + 1,
    }
    expect(session, 'the cost of a summary').toEqual({ ...base, usage: cost, saves: base.saves + 1 })
    return
  }
  const policy = plan.rules.compaction ?? { kind: 'summary', above: Number.POSITIVE_INFINITY, keep: 1 }
  const summaries = timeline.effects
    .filter((effect) => effect.by === by && effect.sessionId === sessionId && effect.tick < tick)
    .filter((effect) => committedTurn(effect) !== undefined)
    .map(({ after }) => summarized(base, policy, (after as NonNullable<Effect['after']>).session))
  expect(summaries, 'a summary').toContainEqual(session)
}

/** A turn that fails leaves only this. */
function checkFailed(base: ModelSession, session: ModelSession, status: 'aborted' | 'running'): void {
  const { errors, usage } = session
  expect(session, 'after a failed turn').toEqual({ ...base, status, errors, usage, saves: base.saves + 1 })
  expect(errors.slice(0, -1)).toEqual(base.errors)
  expect(errors.at(-1), 'aborted after a conflict').not.toContain('was changed or deleted by another request')
  expect(errors.at(-1), 'aborted after an outcome that is unknown').not.toContain('Whether it took effect is unknown')
  expect(usage.modelCalls).toBeGreaterThanOrEqual(base.usage.modelCalls)
}
