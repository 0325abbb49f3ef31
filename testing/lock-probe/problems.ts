/**
 * What is wrong with the order in which an engine's locks were acquired. Each function returns a message, or nothing.
 */
import { list } from '../expectations/expectation-error.js'
import { isHolding, isWaiting, type LockRequest, type LockRequests, nameOf } from './lock-requests.js'

/** How many sessions a message names. */
const mostSessions = 5

/** Two requests that had the lock of one session at the same time. */
export function serialProblem(requests: LockRequests, sessionId: string | undefined): string | undefined {
  const acquired = inOrderOfHolding(requests.of(sessionId))
  for (const [index, request] of acquired.entries()) {
    const other = acquired
      .slice(0, index)
      .find((earlier) => earlier.sessionId === request.sessionId && overlap(earlier, request))
    if (other === undefined) continue
    return [
      `Two holders had the lock of session '${request.sessionId}': ${nameOf(request)} acquired it before ${nameOf(other)} released it.`,
      requests.record(request.sessionId),
    ].join('\n')
  }
  if (acquired.some((request) => acquired.some((other) => waitedFor(request, other)))) return undefined
  return tooLittle(
    requests,
    sessionId,
    'no request waited for the lock while another one held it',
    'Keep the lock with a gate, and start two turns of one session before you open it',
  )
}

/** A request that acquired the lock before an earlier one. */
export function orderProblem(requests: LockRequests, sessionId: string | undefined): string | undefined {
  const acquired = inOrderOfHolding(requests.of(sessionId))
  let hadChoice = false
  for (const request of acquired) {
    const waiting = acquired.filter((other) => other !== request && waitedWhen(other, request))
    hadChoice ||= waiting.length > 0
    const first = waiting.find(({ requested }) => requested < request.requested)
    if (first === undefined) continue
    return [
      `The lock of session '${request.sessionId}' went to ${nameOf(request)} before ${nameOf(first)}, which had requested it earlier.`,
      requests.record(request.sessionId),
    ].join('\n')
  }
  if (hadChoice) return undefined
  return tooLittle(
    requests,
    sessionId,
    'two requests never waited at the same time',
    'Keep the lock with a gate, start three turns or more, of which one has the lock and the others wait, then open the gate',
  )
}

/** Two sessions, one of which waited for the other. */
export function overlapProblem(requests: LockRequests, one: string, other: string): string | undefined {
  if (one === other) {
    return `assertOverlaps needs the IDs of two sessions; got '${one}' twice, and a lock always overlaps with itself.`
  }
  const [ones, others] = [requests.of(one), requests.of(other)]
  if (ones.some((request) => others.some((another) => overlap(request, another)))) return undefined
  return [
    `The locks of sessions '${one}' and '${other}' were never held at the same time. Different sessions must not wait for each other.`,
    requests.record(one, other),
    `If the test itself ran one after the other: keep the lock of one session with a gate while the other one runs.`,
  ].join('\n')
}

/** A request that still has the lock of a session, or waits for it. */
export function heldProblem(requests: LockRequests, sessionId: string): string | undefined {
  const holding = requests.of(sessionId).filter(isHolding)
  const waiting = requests.of(sessionId).filter(isWaiting)
  if (holding.length === 0 && waiting.length === 0) return undefined
  return [
    `The lock of session '${sessionId}' is not free.`,
    ...holding.map((request) => `  holding  ${whereabouts(request)}`),
    ...waiting.map((request) => `  waiting  ${nameOf(request)}`),
    'Await what was started before this assertion, and open the gates.',
  ].join('\n')
}

/** A lock that a new request cannot acquire, although no request seems to have it. */
export function leakProblem(requests: LockRequests, sessionId: string): string {
  const last = requests
    .of(sessionId)
    .filter(({ released }) => released !== undefined)
    .at(-1)
  const whose = last === undefined ? 'no request that this probe saw had it' : `${nameOf(last)} had it last`
  return [
    `The lock of session '${sessionId}' was not released: ${whose}, and a new request does not acquire it.`,
    requests.record(sessionId),
  ].join('\n')
}

/** A session, or all of them, without a request: its lock would be free in every test. */
export function unseenProblem(requests: LockRequests, sessionId: string | undefined): string | undefined {
  if (requests.of(sessionId).length > 0) return undefined
  const seen = requests.sessions()
  if (sessionId === undefined || seen.length === 0) {
    return 'The test shows nothing about the lock: no request for the lock of any session was seen. Let a turn run in the engine that this probe observes, before this assertion.'
  }
  const shown = seen.slice(0, mostSessions).map((id) => `'${id}'`)
  const others = seen.length > shown.length ? `, and ${seen.length - shown.length} more` : ''
  return [
    `The test shows nothing about the lock: no request for the lock of session '${sessionId}' was seen.`,
    `Sessions with requests: ${list(shown)}${others}.`,
    'Pass the ID of one of them, or let a turn of this session run before this assertion.',
  ].join('\n')
}

/** A session whose lock makes no progress. */
export function stuckProblem(requests: LockRequests, sessionId: string, now: number, closedGates: number): string {
  const all = requests.of(sessionId)
  const holding = all.filter(isHolding)
  const waiting = all.filter(isWaiting)
  const since = Math.max(...all.map(({ movedAt }) => movedAt))
  const lines = [`The lock of session '${sessionId}' made no progress for ${now - since} ms.`]
  for (const request of holding) lines.push(`  holding  ${whereabouts(request)}, for ${now - request.movedAt} ms`)
  if (holding.length === 0) lines.push('  holding  none: the lock was not passed on')
  for (const request of waiting) lines.push(`  waiting  ${nameOf(request)}, for ${now - request.requestedAt} ms`)
  if (closedGates > 0) lines.push('A gate of this session is closed: open it, and the lock makes progress.')
  else if (holding.length > 0) {
    lines.push(
      'If the holder waits for a waiting request, it waits for itself: for example flow code, or work under withSessionLock,',
      'that runs the engine on its own session and awaits it. Do that after the turn, or on another session.',
    )
  }
  return lines.join('\n')
}

/**
 * A gate to which no code came.
 *
 * @param afterMs - How long it was waited for. Default: it was not waited for.
 */
export function notReachedProblem(requests: LockRequests, sessionId: string | undefined, afterMs?: number): string {
  const whose = sessionId === undefined ? 'every session' : `session '${sessionId}'`
  const all = requests.of(sessionId)
  const within = afterMs === undefined ? ' while it was closed' : ` within ${afterMs} ms of real time`
  return [
    `No code came to the gate of ${whose}${within}.`,
    ...all.filter(isHolding).map((request) => `  holding  ${whereabouts(request)}`),
    ...all.filter(isWaiting).map((request) => `  waiting  ${nameOf(request)}`),
    requests.record(...(sessionId === undefined ? requests.sessions() : [sessionId])),
    'Start the turn before you wait for the gate, and let its step, tool or model call pass(sessionId) of this probe.',
  ].join('\n')
}

function whereabouts(request: LockRequest): string {
  return [nameOf(request), ...request.places].join(', in ')
}

function overlap(one: LockRequest, other: LockRequest): boolean {
  if (one.acquired === undefined || other.acquired === undefined) return false
  return (
    one.acquired < (other.released ?? Number.POSITIVE_INFINITY) &&
    other.acquired < (one.released ?? Number.POSITIVE_INFINITY)
  )
}

/** Whether `other` waited in the queue of the same session when `request` acquired the lock. */
function waitedWhen(other: LockRequest, request: LockRequest): boolean {
  const at = request.acquired ?? 0
  return other.sessionId === request.sessionId && other.requested < at && at < (other.acquired ?? 0)
}

/** Whether a request was made while another one of its session had the lock. */
function waitedFor({ sessionId, requested }: LockRequest, other: LockRequest): boolean {
  if (other.sessionId !== sessionId || other.acquired === undefined) return false
  return other.acquired < requested && requested < (other.released ?? Number.POSITIVE_INFINITY)
}

function inOrderOfHolding(requests: readonly LockRequest[]): LockRequest[] {
  return requests
    .filter(({ acquired }) => acquired !== undefined)
    .sort((one, other) => (one.acquired ?? 0) - (other.acquired ?? 0))
}

/** An assertion that would pass with any lock shows nothing. */
function tooLittle(requests: LockRequests, sessionId: string | undefined, what: string, advice: string): string {
  const sessionIds = sessionId === undefined ? requests.sessions() : [sessionId]
  return [`The test shows nothing about the lock: ${what}.`, requests.record(...sessionIds), `${advice}.`].join('\n')
}
