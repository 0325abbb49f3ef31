/**
 * Compares what clients know of their turns with what is stored in the end. It reads nothing and runs nothing, so that
 * tests can pass it made-up histories.
 */
import type { SessionDocument } from '../../../src/index.js'
import { attachmentTurns, type Counts, leastHistory, stepId } from './talk.js'
import { kindOf, photoOf, replyTo, type TurnAnswer, type TurnRecord, turnOf } from './turn-record.js'

/** What can be wrong with stored sessions. */
export type ViolationKind =
  /** A turn that was acknowledged is not in the history of the session that it was acknowledged for. */
  | 'lost'
  /** A turn is stored more than once. */
  | 'doubled'
  /** A turn stands before one that was acknowledged before it was sent. */
  | 'misordered'
  /** A turn is in a session that it was not meant for, or was never sent. */
  | 'mixed'
  /** The numbers of a history are not consecutive up to the last turn. */
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
  /** The stored ones among the unknown. */
  readonly unknownButStored: number
  /** The turns of all sessions, also those that their histories have lost because they were too long. */
  readonly stored: number
  /** How many of those the histories have lost. */
  readonly cut: number
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
  violations.push(...sameNumbers(turns, sessions))
  const unknown = turns.filter((turn) => outcomeOf(turn) === 'unknown')
  return {
    violations,
    acknowledged: turns.filter((turn) => outcomeOf(turn) === 'acknowledged').length,
    conflicts: turns.filter((turn) => outcomeOf(turn) === 'conflict').length,
    failed: turns.filter((turn) => outcomeOf(turn) === 'failed').length,
    unknown: unknown.length,
    unknownButStored: unknown.filter(({ message }) => placeOf.has(message)).length,
    stored: sumOf(sessions, ({ turns: count }) => count),
    cut: sumOf(sessions, ({ turns: count, history }) => count - history.length),
  }
}

function sumOf(sessions: ReadonlyMap<string, SessionDocument>, countIn: (session: SessionDocument) => number): number {
  return [...sessions.values()].reduce((sum, session) => sum + countIn(session), 0)
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

/** Whether the numbers, the replies, the state, the memory and the attachments of a session agree with its history. */
function partsOf(session: SessionDocument): Violation[] {
  const { id, history, turns, flow } = session
  const found: Violation[] = []
  const first = firstKept(session)
  for (const [index, { turn, message, reply }] of history.entries()) {
    const number = first + index
    if (turn !== number) found.push(violation('misnumbered', `${id}: turn ${turn} in the place of turn ${number}`))
    if (reply !== replyTo(message, number)) found.push(violation('torn', `${id}: '${reply}' answers ${message}`))
  }
  if (history.length < Math.min(turns, leastHistory)) {
    found.push(violation('torn', `${id}: its history has ${history.length} of ${turns} turns`))
  }
  const counts = flow.steps[stepId]?.state as Partial<Counts> | undefined
  if ((counts?.turns ?? 0) !== turns) {
    found.push(violation('torn', `${id}: its state counts ${counts?.turns} turns, and it had ${turns}`))
  }
  for (const message of counts?.repeated ?? []) found.push(violation('doubled', `${message} came to ${id} again`))
  return [...found, ...memoryOf(session), ...attachmentsOf(session)]
}

/** The number of the first turn in the history. */
function firstKept({ history, turns }: SessionDocument): number {
  return turns - history.length + 1
}

/** Whether the memory contains what the user said in the last turns, without a gap. */
function memoryOf({ id, history, turns, flow }: SessionDocument): Violation[] {
  const remembered = (flow.memory[stepId]?.messages ?? []).filter(({ role, summary }) => role === 'user' && !summary)
  const texts = new Map(history.map(({ turn, message }) => [turn, message]))
  const isWrong = remembered.some(({ parts, turn }, index) => {
    const [part] = parts
    const text = part?.type === 'text' ? part.text : ''
    return turn !== turns - remembered.length + 1 + index || text !== (texts.get(turn) ?? text)
  })
  if (!isWrong && remembered.length >= Math.min(1, turns)) return []
  return [violation('torn', `${id}: its memory does not contain the messages of its last turns`)]
}

/** Whether the bytes are those that came with the last turns. */
function attachmentsOf({ id, history, turns, attachments = [] }: SessionDocument): Violation[] {
  return attachments
    .filter(({ turn, data }) => {
      const entry = history.find((candidate) => candidate.turn === turn)
      return turn <= turns - attachmentTurns || entry === undefined || data !== photoOf(entry.message)
    })
    .map(({ turn }) => violation('torn', `${id}: an attachment of turn ${turn} is not the one of its message`))
}

/**
 * Whether each turn of a session was meant for it. A turn that was meant for another can only have begun it, or have
 * waited with that turn behind the one that ended their session.
 */
function membersOf({ id, history }: SessionDocument, sent: ReadonlyMap<string, TurnRecord>): Violation[] {
  const first = sent.get(history[0]?.message ?? '')
  const slot = first?.slot
  const isMember = (turn: TurnRecord | undefined, number: number): boolean =>
    turn !== undefined &&
    turn.slot === slot &&
    (turn.asked === id || number === 1 || (turn.asked !== '' && turn.asked === first?.asked))
  return history
    .filter(({ message, turn }) => !isMember(sent.get(message), turn))
    .map(({ message }) => violation('mixed', `${message} in ${id}, a session of ${slot ?? 'no owner'}`))
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
  const { message, answer } = turn
  const outcome = outcomeOf(turn)
  if ((outcome === 'conflict' || outcome === 'failed') && placeOf.has(message)) {
    return [violation('contradicted', `${message} did not happen, and is in ${placeOf.get(message)}`)]
  }
  return answer === undefined || outcome !== 'acknowledged' ? [] : acknowledged(turn, answer, sessions)
}

function acknowledged(
  { message, asked }: TurnRecord,
  answer: TurnAnswer,
  sessions: ReadonlyMap<string, SessionDocument>,
): Violation[] {
  const session = sessions.get(answer.session)
  if (session !== undefined && isCut(session, answer)) return []
  const entry = session?.history.find((candidate) => candidate.message === message)
  if (entry === undefined) {
    const where = session === undefined ? `${answer.session}, which is gone` : answer.session
    return [violation('lost', `${message} of ${where}`)]
  }
  const found: Violation[] = []
  if (entry.reply !== answer.reply) found.push(violation('torn', `${message} was answered '${answer.reply}'`))
  if (asked !== '' && asked !== answer.session && sessions.get(asked)?.runStatus === 'running') {
    found.push(violation('replaced', `${asked} goes on, and ${message} was answered in ${answer.session}`))
  }
  return found
}

/** Whether the history has lost the turn with this answer, because it was too long. */
function isCut(session: SessionDocument, { reply }: TurnAnswer): boolean {
  return turnOf(reply) < firstKept(session)
}

/**
 * If two acknowledged turns in one session have the same number, one has replaced the other, even if both were cut.
 */
function sameNumbers(turns: readonly TurnRecord[], sessions: ReadonlyMap<string, SessionDocument>): Violation[] {
  const found: Violation[] = []
  const messages = new Map<string, string>()
  for (const { message, answer } of turns) {
    const session = sessions.get(answer?.session ?? '')
    if (answer?.outcome !== 'acknowledged' || session === undefined || !isCut(session, answer)) continue
    const place = `turn ${turnOf(answer.reply)} of ${answer.session}`
    const other = messages.get(place)
    if (other !== undefined) found.push(violation('lost', `${message} or ${other}: both were ${place}`))
    messages.set(place, message)
  }
  return found
}
