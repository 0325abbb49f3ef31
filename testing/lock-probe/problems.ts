/** What is wrong with the order in which an engine's locks let their visitors in. Each says so in words, or nothing. */
import { isInside, isWaiting, nameOf, type Visit, type Visits } from './visits.js'

/** Two visitors inside the lock of one session at a time. */
export function serialProblem(visits: Visits, sessionId: string | undefined): string | undefined {
  const entered = inOrderOfEntry(visits.of(sessionId))
  for (const [index, visit] of entered.entries()) {
    const other = entered
      .slice(0, index)
      .find((earlier) => earlier.sessionId === visit.sessionId && overlap(earlier, visit))
    if (other === undefined) continue
    return [
      `Two holders had the lock of session '${visit.sessionId}': ${nameOf(visit)} entered before ${nameOf(other)} left.`,
      visits.record(visit.sessionId),
    ].join('\n')
  }
  const visited = sessionsOf(entered)
  if (visited.some((id) => entered.filter((visit) => visit.sessionId === id).length > 1)) return undefined
  return tooLittle(
    visits,
    sessionId,
    'fewer than two visitors entered the lock of a session',
    'Let two turns of one session run at the same time',
  )
}

/** A visitor let in before one that had asked earlier. */
export function orderProblem(visits: Visits, sessionId: string | undefined): string | undefined {
  const entered = inOrderOfEntry(visits.of(sessionId))
  let hadChoice = false
  for (const visit of entered) {
    const waiting = entered.filter((other) => other !== visit && waitedWhen(other, visit))
    hadChoice ||= waiting.length > 0
    const first = waiting.find(({ asked }) => asked < visit.asked)
    if (first === undefined) continue
    return [
      `The lock of session '${visit.sessionId}' let ${nameOf(visit)} in before ${nameOf(first)}, which had asked earlier.`,
      visits.record(visit.sessionId),
    ].join('\n')
  }
  if (hadChoice) return undefined
  return tooLittle(
    visits,
    sessionId,
    'there were never two waiting at the same time',
    'Keep the lock with a gate, start two turns or more, then open the gate',
  )
}

/** Two sessions of which one waited for the other. */
export function overlapProblem(visits: Visits, one: string, other: string): string | undefined {
  const [ones, others] = [visits.of(one), visits.of(other)]
  if (ones.some((visit) => others.some((another) => overlap(visit, another)))) return undefined
  return [
    `Sessions '${one}' and '${other}' were never inside their locks at the same time. Different sessions must not wait for each other.`,
    visits.record(one, other),
    `If the test itself ran one after the other: keep one session inside with a gate while the other one runs.`,
  ].join('\n')
}

/** Somebody still inside the lock of a session, or in line. */
export function heldProblem(visits: Visits, sessionId: string): string | undefined {
  const inside = visits.of(sessionId).filter(isInside)
  const waiting = visits.of(sessionId).filter(isWaiting)
  if (inside.length === 0 && waiting.length === 0) return undefined
  return [
    `The lock of session '${sessionId}' is not free.`,
    ...inside.map((visit) => `  inside   ${whereabouts(visit)}`),
    ...waiting.map((visit) => `  waiting  ${nameOf(visit)}`),
    'Await what was started before this assertion, and open the gates.',
  ].join('\n')
}

/** A lock that keeps a newcomer out though everybody left. */
export function leakProblem(visits: Visits, sessionId: string): string {
  const last = visits
    .of(sessionId)
    .filter(({ left }) => left !== undefined)
    .at(-1)
  const whose = last === undefined ? 'nobody that this probe saw had it' : `${nameOf(last)} left last`
  return [
    `The lock of session '${sessionId}' was not given back: ${whose}, and still a newcomer does not get in.`,
    visits.record(sessionId),
  ].join('\n')
}

/** A session whose lock makes no progress. */
export function stuckProblem(visits: Visits, sessionId: string, now: number, closedGates: number): string {
  const all = visits.of(sessionId)
  const inside = all.filter(isInside)
  const waiting = all.filter(isWaiting)
  const since = Math.max(...all.map(({ movedAt }) => movedAt))
  const lines = [`The lock of session '${sessionId}' made no progress for ${now - since} ms.`]
  for (const visit of inside) lines.push(`  inside   ${whereabouts(visit)}, for ${now - visit.movedAt} ms`)
  if (inside.length === 0) lines.push('  inside   nobody: the lock was not passed on')
  for (const visit of waiting) lines.push(`  waiting  ${nameOf(visit)}, for ${now - visit.askedAt} ms`)
  if (closedGates > 0) lines.push('A gate of this session is closed: open it, and the lock goes on.')
  else if (inside.length > 0) {
    lines.push(
      'If the one inside waits for one of those waiting, it waits for itself: flow code that runs the engine on its own',
      'session and awaits it, or work under withSessionLock that does. Do that after the turn, or on another session.',
    )
  }
  return lines.join('\n')
}

function whereabouts(visit: Visit): string {
  return [nameOf(visit), ...visit.places].join(', in ')
}

function overlap(one: Visit, other: Visit): boolean {
  if (one.entered === undefined || other.entered === undefined) return false
  return (
    one.entered < (other.left ?? Number.POSITIVE_INFINITY) && other.entered < (one.left ?? Number.POSITIVE_INFINITY)
  )
}

/** Whether `other` stood in the line of the same session when `visit` got in. */
function waitedWhen(other: Visit, visit: Visit): boolean {
  const at = visit.entered ?? 0
  return other.sessionId === visit.sessionId && other.asked < at && at < (other.entered ?? 0)
}

function inOrderOfEntry(visits: readonly Visit[]): Visit[] {
  return visits
    .filter(({ entered }) => entered !== undefined)
    .sort((one, other) => (one.entered ?? 0) - (other.entered ?? 0))
}

function sessionsOf(visits: readonly Visit[]): string[] {
  return [...new Set(visits.map(({ sessionId }) => sessionId))]
}

/** An assertion that would pass over any lock proves nothing. */
function tooLittle(visits: Visits, sessionId: string | undefined, what: string, advice: string): string {
  const sessionIds = sessionId === undefined ? visits.sessions() : [sessionId]
  return [`There is nothing to judge by: ${what}.`, visits.record(...sessionIds), `${advice}.`].join('\n')
}
