/** Whether sending an event again would change nothing. */
import type { ExecuteResult } from 'turnkeeper'

/**
 * If it is not final, a webhook answers 503, so that its sender tries again. That includes an event that nothing takes
 * while the session is running: the turn that asks for it may not be stored yet.
 */
export function isFinal({ error, sessionState }: ExecuteResult): boolean {
  if (error?.code === 'EVENT_NOT_TAKEN') return sessionState !== 'running'
  return error === undefined || ['INVALID_INPUT', 'IDEMPOTENCY_MISMATCH'].includes(error.code)
}
