/** In one engine, the turns of one session run in the order in which they were requested, and never two at once. */
import { expect } from 'vitest'
import { committedAction, mayTimeOut, type PlayedPlan, sessionOf, spanOf } from './played-plan.js'
import type { Span } from './timeline.js'

interface RanTurn {
  readonly index: number
  readonly span: Span
}

export function checkOrder(played: PlayedPlan): void {
  for (const seat of [0, 1]) {
    for (const sessionId of played.sessions.values()) {
      const queue = turnsOf(played, seat, sessionId)
      for (const [position, turn] of queue.slice(1).entries()) checkPair(played, queue[position] as RanTurn, turn)
    }
  }
}

function checkPair(played: PlayedPlan, previous: RanTurn, { span }: RanTurn): void {
  const { turns, left, taken, dropped } = played
  expect(previous.span.launched, 'first in, first out').toBeLessThan(span.launched)
  const { response, error } = turns.get(previous.index) ?? {}
  // An aborted turn may still run on; its result is ignored.
  if (error?.code === 'TURN_TIMEOUT' || taken.has(previous.index) || dropped.has(previous.index)) return
  const wasLeft = left.has(previous.index)
  const committedAt = commitOf(played, previous.index)
  if (wasLeft && (mayTimeOut(played) || committedAt === Number.POSITIVE_INFINITY)) return
  expect(wasLeft || response?.success ? committedAt : previous.span.left, 'two turns at once').toBeLessThan(
    span.entered[0] ?? 0,
  )
}

function commitOf(played: PlayedPlan, index: number): number {
  const found = played.timeline.effects.find((effect) => committedAction(played, effect) === index)
  return found?.tick ?? Number.POSITIVE_INFINITY
}

/**
 * The turns of one session in one engine, in the order in which they ran, the first one of a new session included. One
 * that could not continue the requested session has a new one, with a separate lock.
 */
function turnsOf(played: PlayedPlan, seat: number, sessionId: string): RanTurn[] {
  return played.plan.actions
    .map((action, index) => ({ action, index, span: spanOf(played, index) }))
    .filter(
      ({ action, index, span }) =>
        action.kind === 'turn' &&
        action.seat === seat &&
        span.sessionId === sessionId &&
        sessionOf(played, index) === sessionId,
    )
    .sort((one, other) => (one.span.entered[0] ?? 0) - (other.span.entered[0] ?? 0))
}
