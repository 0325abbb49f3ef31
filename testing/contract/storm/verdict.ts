/**
 * Compares what clients know of their turns with what is stored in the end. It reads nothing and runs nothing, so that
 * tests can pass it made-up histories.
 */
import type { SessionDocument } from '../../../src/index.js'
import { stepId } from './talk.js'
import { kindOf, replyTo, type TurnRecord } from './turn-record.js'

/** What can be wrong with stored sessions. */
export type ViolationKind =
  /** A turn that was acknowledged is not in the history of the session that it was acknowledged for. */
  | 'lost'
  /** A turn is stored more than once. */
  | 'doubled'
  /** A turn stands before one that was acknowledged before it was sent. */
  | 'misordered'
  /** A turn stands in a session that it was not meant for, or was never sent. */
  | 'mixed'
  /** The numbers of a history are not 1, 2, 3 and so on. */
  | 'misnumbered'
  /** The parts of a session do not contain the same turns. */
  | 'torn'
  /** A turn was refused as a conflict, or failed in its flow, and is stored. */
  | 'contradicted'
  /** A session that had not ended was replaced by a new one, because it seemed to be missing. */
  | 'replaced'

/** One thing that is wrong. */
export interface Violation {
  readonly kind: ViolationKind
  readonly text: string
}

/** What is wrong, and how many turns there were. */
export interface Verdict {
  readonly violations: readonly Violation[]
  readonly acknowledged: number
  readonly conflicts: number
  /** Those whose flow failed on purpose. */
  readonly failed: number
  /** The rest: their clients cannot know. */
  readonly unknown: number
  /** Of the unknown ones, those that are stored. */
  readonly unknownButStored: number
  /** Entries of all histories. */
  readonly stored: number
}

/**
 * Judges.
 *
 * @param turns - All that were sent, by all clients.
 * @param sessions - All that are stored, by ID.
 */
export function judge(turns: readonly TurnRecord[], sessions: ReadonlyMap<string, SessionDocument>): Verdict {
  const violations: Violation[] = []
  const sent = new Map(turns.map((turn) => [turn.message, turn]))
  const placeOf = new Map<string, string>()
  for (const session of sessions.values()) {
    for (const { message } of session.history) {
      const earlier = placeOf.get(message)
      if (earlier !== undefined) violations.push(violation('doubled', `${message} in ${earlier} and ${session.id}`))
      placeOf.set(message, session.id)
    }
    violations.push(...partsOf(session), ...membersOf(session, sent), ...orderOf(session, sent))
  }
  for (const turn of turns) violations.push(...answerOf(turn, placeOf, sessions))
  const unknown = turns.filter((turn) => outcomeOf(turn) === 'unknown')
  return {
    violations,
    acknowledged: turns.filter((turn) => outcomeOf(turn) === 'acknowledged').length,
    conflicts: turns.filter((turn) => outcomeOf(turn) === 'conflict').length,
    failed: turns.filter((turn) => outcomeOf(turn) === 'failed').length,
    unknown: unknown.length,
    unknownButStored: unknown.filter(({ message }) => placeOf.has(message)).length,
    stored: [...sessions.values()].reduce((sum, { history }) => sum + history.length, 0),
  }
}

/** How many violations there are of a kind. */
export function countOf(verdict: Verdict, kind: ViolationKind): number {
  return verdict.violations.filter((found) => found.kind === kind).length
}

function violation(kind: ViolationKind, text: string): Violation {
  return { kind, text }
}

function outcomeOf({ message, answer }: TurnRecord): 'acknowledged' | 'conflict' | 'failed' | 'unknown' {
  if (answer?.outcome === 'acknowledged') return 'acknowledged'
  if (answer?.outcome === 'SESSION_CONFLICT') return 'conflict'
  return kindOf(message) === 'failing' ? 'failed' : 'unknown'
}

/** Whether the numbers, the replies, the state and the memory of a session agree with its history. */
function partsOf({ id, history, flow }: SessionDocument): Violation[] {
  const found: Violation[] = []
  for (const [index, { turn, message, reply }] of history.entries()) {
    if (turn !== index + 1) found.push(violation('misnumbered', `${id}: turn ${turn} at place ${index + 1}`))
    if (reply !== replyTo(message, index + 1)) found.push(violation('torn', `${id}: '${reply}' answers ${message}`))
  }
  const counted = Number(flow.steps[stepId]?.state.turns ?? 0)
  if (counted !== history.length) {
    found.push(violation('torn', `${id}: its state counts ${counted} turns, its history ${history.length}`))
  }
  const remembered = (flow.memory[stepId]?.messages ?? [])
    .filter(({ role }) => role === 'user')
    .flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : part.type)))
  if (remembered.join('\n') !== history.map(({ message }) => message).join('\n')) {
    found.push(violation('torn', `${id}: its memory does not contain the messages of its history`))
  }
  return found
}

/** Whether each turn of a session was meant for it. A turn that was meant for another can only have begun it. */
function membersOf({ id, history }: SessionDocument, sent: ReadonlyMap<string, TurnRecord>): Violation[] {
  const slot = sent.get(history[0]?.message ?? '')?.slot
  const isMember = (turn: TurnRecord | undefined, index: number): boolean =>
    turn !== undefined && turn.slot === slot && (turn.asked === id || index === 0)
  return history
    .filter(({ message }, index) => !isMember(sent.get(message), index))
    .map(({ message }) => violation('mixed', `${message} in ${id}, a session of ${slot ?? 'nobody'}`))
}

/** What was acknowledged before another turn was sent must stand before it. */
function orderOf({ id, history }: SessionDocument, sent: ReadonlyMap<string, TurnRecord>): Violation[] {
  const found: Violation[] = []
  let firstAcknowledged = Number.POSITIVE_INFINITY
  for (const { message } of history.toReversed()) {
    const turn = sent.get(message)
    if (turn === undefined) continue
    if (firstAcknowledged < turn.sentAt) {
      found.push(violation('misordered', `${message} in ${id}, before a turn acknowledged earlier`))
    }
    if (outcomeOf(turn) === 'acknowledged') {
      firstAcknowledged = Math.min(firstAcknowledged, turn.answer?.at ?? Number.POSITIVE_INFINITY)
    }
  }
  return found
}

/** Whether what is stored agrees with what the client received. */
function answerOf(
  turn: TurnRecord,
  placeOf: ReadonlyMap<string, string>,
  sessions: ReadonlyMap<string, SessionDocument>,
): Violation[] {
  const { message, asked, answer } = turn
  const outcome = outcomeOf(turn)
  if ((outcome === 'conflict' || outcome === 'failed') && placeOf.has(message)) {
    return [violation('contradicted', `${message} did not happen, and is in ${placeOf.get(message)}`)]
  }
  if (answer === undefined || outcome !== 'acknowledged') return []
  const entry = sessions.get(answer.session)?.history.find((candidate) => candidate.message === message)
  if (entry === undefined) {
    const where = sessions.has(answer.session) ? answer.session : `${answer.session}, which is gone`
    return [violation('lost', `${message} of ${where}`)]
  }
  const found: Violation[] = []
  if (entry.reply !== answer.reply) found.push(violation('torn', `${message} was answered '${answer.reply}'`))
  if (asked !== '' && asked !== answer.session && sessions.get(asked)?.runStatus === 'running') {
    found.push(violation('replaced', `${asked} goes on, and ${message} was answered in ${answer.session}`))
  }
  return found
}
