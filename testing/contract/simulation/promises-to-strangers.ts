/** A caller who is not the owner of a session learns nothing about it, and changes nothing in it. */
import { expect } from 'vitest'
import type { ExecuteDeleteResult, ExecuteResult } from '../../../src/index.js'
import { askedFor, type PlayedPlan, spanOf } from './played-plan.js'

/**
 * Checks that they are answered as for an unknown ID. In `schedules.ts`, turns of the session wait for some of
 * them: none waits for a turn.
 */
export function checkStranger(played: PlayedPlan, index: number): void {
  const answer = played.turns.get(index)
  const deleted = played.deletes.get(index)
  const { sessionId } = spanOf(played, index)
  if (sessionId !== undefined) expect(sessionId, 'a stranger in the session').not.toBe(askedFor(played, index))
  if (deleted !== undefined) checkDeleted(deleted)
  if (answer === undefined) return
  checkTurn(played, index, answer)
  for (const [other, message] of played.messages.entries()) {
    if (other === index || message === '' || message === played.messages[index]) continue
    const token = new RegExp(`\\b${message.split(' ')[1]}\\b`)
    expect(JSON.stringify(answer.response), 'what another caller said').not.toMatch(token)
  }
}

function checkDeleted({ result, error }: ExecuteDeleteResult): void {
  if (!result.success) expect(['SESSION_STORE_ERROR', 'TURN_TIMEOUT']).toContain(error?.code)
}

function checkTurn(
  played: PlayedPlan,
  index: number,
  { response, error, sessionState, restarted }: ExecuteResult,
): void {
  // Only the stranger knows a stranger's new session.
  if (!played.taken.has(index)) expect(error?.code, 'a stranger in a conflict').not.toBe('SESSION_CONFLICT')
  if (response.session === askedFor(played, index)) {
    expect({ success: response.success, restarted }).toEqual({ success: false, restarted: undefined })
    expect(['none', 'unknown']).toContain(sessionState)
  } else if (response.session !== '') expect(restarted).toBe('unknown')
}
