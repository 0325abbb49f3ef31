/** Names the turns of a conversation, running ones included, by the numbers that their sessions give them. */
import type { SessionDocument } from '../../../src/index.js'
import type { ConversationTurn, RunningTurn } from './conversation-turn.js'

/** The turns of a conversation. */
export interface TurnsSoFar {
  readonly turns: readonly ConversationTurn[]
  /** The messages that have no reply yet, in their order. */
  readonly running: readonly RunningTurn[]
  /** The session with which the conversation begins; absent if its first message begins one. */
  readonly start?: SessionDocument | undefined
}

/** The name of a turn. */
export interface TurnName {
  /**
   * `Turn 2`, by the number in the session; `Turn 2 again` for a repeat that got the recorded reply; `No turn` for a
   * message that became none.
   */
  readonly name: string
  /** Which of the conversation's sessions it is in, from 1; `undefined` if no session is known. */
  readonly session: number | undefined
  /** The session in words, if the turn before it is in another one. */
  readonly note: string | undefined
}

/** The names of all turns; running ones come last. */
export function namesOf(soFar: TurnsSoFar): readonly TurnName[] {
  const { turns, running } = soFar
  const names = [...endedNames(turns), ...running.map((one, index) => runningName(one, index, soFar))]
  const numbers = sessionNumbers([
    ...turns.map(({ reply }) => reply.session || undefined),
    ...running.map((one) => idOf(one, soFar)),
  ])
  return names.map((name, index) => {
    const session = numbers[index]
    const before = numbers.slice(0, index).filter((number) => number !== undefined)
    if (session === undefined || session === (before.at(-1) ?? session)) return { name, session, note: undefined }
    return { name, session, note: before.includes(session) ? `in session ${session}` : 'in a new session' }
  })
}

/** Numbers sessions in the order of their first occurrence. Each empty ID counts as a new session. */
function sessionNumbers(ids: readonly (string | undefined)[]): readonly (number | undefined)[] {
  const sessions: string[] = []
  return ids.map((id) => {
    if (id === undefined) return undefined
    if (id !== '' && sessions.includes(id)) return sessions.indexOf(id) + 1
    return sessions.push(id)
  })
}

/** The earlier state of the session that a running message continues; `undefined` if the message begins one. */
export function sessionBefore(running: Pick<RunningTurn, 'session'>, soFar: TurnsSoFar): SessionDocument | undefined {
  const known = knownSession(running, soFar)
  return known?.runStatus === 'running' ? known : undefined
}

/** The last known state of a session, ended or not; `undefined` if no turn has read it. */
export function knownSession(
  { session }: Pick<RunningTurn, 'session'>,
  { turns, start }: Pick<TurnsSoFar, 'turns' | 'start'>,
): SessionDocument | undefined {
  return lastRead(turns, session) ?? (start?.id === session ? start : undefined)
}

/** The last read state of a session; `undefined` if no turn has read it. */
export function lastRead(turns: readonly ConversationTurn[], session: string): SessionDocument | undefined {
  return turns.findLast(({ document }) => document?.id === session)?.document
}

/** The ID of the session; empty if the message begins one. */
function idOf(running: RunningTurn, soFar: TurnsSoFar): string {
  const hasEnded = knownSession(running, soFar) !== undefined && sessionBefore(running, soFar) === undefined
  return hasEnded ? '' : running.session
}

/** The first of the messages sent to one session has the turn. */
function runningName(one: RunningTurn, index: number, soFar: TurnsSoFar): string {
  const { running } = soFar
  const isWaiting = one.session !== '' && running.findIndex(({ session }) => session === one.session) < index
  return isWaiting ? 'No turn so far' : `Turn ${nextNumber(one, soFar)}`
}

/** The number of the next turn of a session, even if the session could not be read after the last one. */
export function nextNumber(running: Pick<RunningTurn, 'session'>, soFar: TurnsSoFar): number {
  const last = soFar.turns.findLast(({ reply }) => reply.success && reply.session === running.session)
  if (last?.unread !== undefined) return last.reply.completed ? 1 : (last.number ?? 0) + 1
  return (sessionBefore(running, soFar)?.turns ?? 0) + 1
}

function endedNames(turns: readonly ConversationTurn[]): readonly string[] {
  const byKey = new Map<string, string>()
  return turns.map((turn) => {
    const { key = '', isNoTurn, reply } = turn
    if (isNoTurn === true) return 'No turn'
    if (reply.replayed === true) return `${byKey.get(key) ?? 'A turn'} again`
    const name = `Turn ${turn.number ?? numberOfFailed(turn)}`
    byKey.set(key, name)
    return name
  })
}

/** The number that the turn had while it ran. */
function numberOfFailed({ document }: ConversationTurn): number {
  return (document?.turns ?? 0) + 1
}
