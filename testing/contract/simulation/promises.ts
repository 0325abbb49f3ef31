/**
 * What must be true of any run, whatever was done at once and in whatever order: the promises of design 2 that time can
 * break. Each change of the store is compared with the reference model, each answer with the changes.
 */
import { expect } from 'vitest'
import type { ExecuteResult } from '../../../src/index.js'
import { summarized } from './model-lists.js'
import { lastTurnOf, newSession, take } from './model-session.js'
import type { ModelSession } from './model-types.js'
import { type PlayedPlan, photoIn } from './schedules.js'
import { type Effect, hintProblem, type Span } from './timeline.js'

const nothing: readonly Effect[] = []

export function checkPromises(played: PlayedPlan): void {
  const { plan, world, timeline, turns, left, deletes, rejections } = played
  expect(rejections, 'nothing is rejected').toEqual([])
  for (const effect of timeline.effects) checkEffect(played, effect)
  plan.actions.forEach((action, index) => {
    if (action.kind === 'turn') {
      expect(turns.has(index) !== left.has(index), `turn ${index} is answered, or its reader left`).toBe(true)
      checkTurn(played, index)
    }
    if (action.kind === 'delete') {
      expect(deletes.has(index), `delete ${index} is answered`).toBe(true)
      checkDelete(played, index)
    }
  })
  checkLines(played)
  expect(world.clock.pending, 'timers left').toBe(0)
  for (const { engine } of world.seats) expect(engine.getFlowSession().locked, 'locks left').toBe(0)
}

/** The session that an action asked for. */
function askedFor({ plan, sessions }: PlayedPlan, index: number): string | undefined {
  const action = plan.actions[index]
  return action === undefined || action.kind === 'wait' || action.place === 'new' ? undefined : sessions[action.place]
}

function spanOf({ spans }: PlayedPlan, index: number): Span {
  return spans.get(index) as Span
}

/** The ID of the turn that this change commits. */
function committedTurn({ before, after }: Effect): string | undefined {
  if (after === undefined || after.session.count === (before?.session.count ?? 0)) return undefined
  return after.session.turns.at(-1)?.id
}

/** The action whose turn this change commits. */
function committedAction({ actionOf }: PlayedPlan, effect: Effect): number | undefined {
  return actionOf.get(committedTurn(effect) ?? '')
}

/** Every change of the store is one that the contract knows, on top of what was there. */
function checkEffect(played: PlayedPlan, effect: Effect): void {
  const { before, after, expectedRevision, by, sessionId } = effect
  expect(before?.revision, 'a document was replaced that the writer had not read').toBe(expectedRevision)
  if (after === undefined || by === 'outsider') return
  const { session } = after
  const base = before?.session ?? newSession(session.flow, undefined, undefined)
  if (before === undefined) expect(played.world.issued, 'a client chose an ID').toContain(sessionId)
  expect(hintProblem(effect), 'what a store may take over').toBeUndefined()
  if (committedTurn(effect) !== undefined) checkCommit(played, effect, base, session)
  else if (session.status === 'running') checkNoTurn(played, effect, base, session)
  else {
    expect(played.plan.rules.onTurnError, 'the rule under which a session is aborted').toBe('abort')
    checkFailed(base, session, 'aborted')
  }
}

function checkCommit(played: PlayedPlan, effect: Effect, base: ModelSession, session: ModelSession): void {
  const index = committedAction(played, effect)
  const action = played.plan.actions[index ?? -1]
  const turn = lastTurnOf(session)
  // The first turns of the two sessions belong to no action.
  if (index !== undefined) expect(turn.message, 'the message of a turn').toBe(played.messages[index])
  const photo = action?.kind === 'turn' && action.hasPhoto ? photoIn(turn.message).data : undefined
  const taken = take(base, { ...turn, photo }, played.plan.rules)
  expect(session, 'the committed turn').toEqual(taken.failed === undefined ? taken.after : 'nothing')
}

/** What a running session is stored as without a turn: a checkpoint, a summary or its cost, or the error of a turn that was too large. */
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

/** A summary replaces the messages that a committed turn of the same engine left, and keeps what came after them; or it only costs. */
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

/** Whether a write may take effect after its time was over. A client that stays gets that error; one that left gets none. */
function mayTimeOut({ plan }: PlayedPlan): boolean {
  return plan.actions.some(({ kind }) => kind === 'wait')
}

function checkTurn(played: PlayedPlan, index: number): void {
  const { timeline, turns } = played
  const { launched, replied, entered } = spanOf(played, index)
  const asked = askedFor(played, index)
  const [committed, ...again] = timeline.effects.filter((effect) => committedAction(played, effect) === index)

  expect(entered.length, 'a turn is run once at most').toBeLessThanOrEqual(1)
  expect(again, 'a turn is committed once at most').toEqual(nothing)
  if (committed !== undefined && committed.sessionId !== asked && asked !== undefined) {
    const wasGone = timeline.everBetween(launched, replied, asked, (session) => session?.status !== 'running')
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

/** What a caller reads of its session was true while the turn ran. */
function checkState(played: PlayedPlan, index: number, { response, sessionState }: ExecuteResult): void {
  const { launched, replied } = spanOf(played, index)
  const id = response.session === '' ? (askedFor(played, index) ?? '') : response.session
  if (response.success) expect(sessionState).toBe(response.completed ? 'completed' : 'running')
  else if (id === '') expect(sessionState).toBe('none')
  if (response.success || id === '' || sessionState === 'unknown') return
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
  const asked = askedFor(played, index)
  expect(response).toEqual({ ...response, completed: true, contentType: 'text/plain' })
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
    const own = actions.some(({ kind }) => kind === 'wait') ? undefined : actions[index]
    const rivals = others.filter((effect) => effect !== committed && !(own?.kind === 'turn' && effect.by === own.seat))
    expect(rivals.length, 'a conflict with nobody').toBeGreaterThan(0)
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
  const { timeline, deletes } = played
  const { result } = deletes.get(index) as NonNullable<ReturnType<typeof deletes.get>>
  const { launched, replied } = spanOf(played, index)
  if (!result.success) return
  const isGone = timeline.everBetween(launched, replied, result.session, (session) => session === undefined)
  expect(isGone, 'told that it was deleted').toBe(true)
}

/** In one engine, the turns of one session run in the order in which they were requested, and never two at once. */
function checkLines(played: PlayedPlan): void {
  const { timeline, turns, left } = played
  const committedAt = (index: number): number =>
    timeline.effects.find((effect) => committedAction(played, effect) === index)?.tick ?? Number.POSITIVE_INFINITY
  const checkPair = (previous: RanTurn, { span }: RanTurn): void => {
    expect(previous.span.launched, 'first in, first out').toBeLessThan(span.launched)
    const { response, error } = turns.get(previous.index) ?? {}
    // An aborted turn may still run on; its result is ignored.
    if (error?.code === 'TURN_TIMEOUT') return
    const wasLeft = left.has(previous.index)
    if (wasLeft && (mayTimeOut(played) || committedAt(previous.index) === Number.POSITIVE_INFINITY)) return
    expect(
      wasLeft || response?.success ? committedAt(previous.index) : previous.span.left,
      'two turns at once',
    ).toBeLessThan(span.entered[0] ?? 0)
  }
  for (const [seat, place] of [
    [0, 0],
    [0, 1],
    [1, 0],
    [1, 1],
  ]) {
    const line = lineOf(played, seat, place)
    line.slice(1).forEach((turn, position) => {
      checkPair(line[position] as RanTurn, turn)
    })
  }
}

interface RanTurn {
  readonly index: number
  readonly span: Span
}

/**
 * The turns of one session in one engine, in the order in which they ran. One that could not go on with the session it asked for
 * has a new session, with a lock of its own.
 */
function lineOf(played: PlayedPlan, seat: number | undefined, place: number | undefined): RanTurn[] {
  return played.plan.actions
    .map((action, index) => ({ action, index, span: spanOf(played, index) }))
    .filter(
      ({ action, index, span }) =>
        action.kind === 'turn' &&
        action.seat === seat &&
        action.place === place &&
        span.sessionId !== undefined &&
        span.sessionId === askedFor(played, index),
    )
    .sort((one, other) => (one.span.entered[0] ?? 0) - (other.span.entered[0] ?? 0))
}
