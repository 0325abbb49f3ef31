/**
 * Compares what clients with keys got with what is stored in the end: on top of the verdict on storms, each message is
 * answered, each of its replies is the same, and no session is left that no client knows. It reads
 * nothing and runs nothing.
 */
import type { SessionDocument } from '../../../src/index.js'
import { stepId } from '../storm/talk.js'
import { kindOf } from '../storm/turn-record.js'
import { judge, type Verdict, type ViolationKind } from '../storm/verdict.js'
import { isOutcome, isSuccess, type KeyedTurn, recordOf, textOf } from './keyed-turn.js'

/** What can be wrong. */
export type RetryViolationKind =
  | ViolationKind
  /** Two outcomes of one message are not the same, byte for byte. */
  | 'unequal'
  /** Two replies to one message say that they are its first. */
  | 'answered twice'
  /** A message never had an outcome, though the faults were over. */
  | 'unanswered'
  /** A session is stored whose ID no client has. */
  | 'unknown session'
  /** A reply that no fault explains. */
  | 'unexpected'

/** What is wrong, and the figures. */
export interface RetryVerdict extends Pick<Verdict, 'acknowledged' | 'stored' | 'cut'> {
  readonly violations: readonly { readonly kind: RetryViolationKind; readonly text: string }[]
  readonly figures: Readonly<Record<string, number>>
}

/** What a message may be answered with while there are faults. */
const expectedCodes: ReadonlySet<string> = new Set([
  'SESSION_CONFLICT',
  'SESSION_STORE_ERROR',
  'TURN_SUPERSEDED',
  'TURN_TIMEOUT',
])

/** Judges. @param sessions - All that are stored, by ID. */
export function judgeRetries(
  turns: readonly KeyedTurn[],
  sessions: ReadonlyMap<string, SessionDocument>,
): RetryVerdict {
  const verdict = judge(turns.map(recordOf), sessions)
  const violations: { kind: RetryViolationKind; text: string }[] = [...verdict.violations]
  for (const turn of turns) violations.push(...repliesTo(turn))
  const known = new Set(turns.flatMap(({ answers }) => answers.filter(isOutcome).map(({ session }) => session)))
  for (const id of sessions.keys()) {
    if (!known.has(id)) violations.push({ kind: 'unknown session', text: `${id} is stored, and no client has its ID` })
  }
  const answers = turns.flatMap((turn) => turn.answers)
  const count = (kind: RetryViolationKind): number => violations.filter((found) => found.kind === kind).length
  const repeated = turns.filter((turn) => turn.answers.filter(isOutcome).length > 1)
  const sent = turns.reduce((sum, turn) => sum + turn.sent, 0)
  const figures = {
    turns: turns.length,
    repeats: sent - turns.length,
    'replies that were lost': sent - answers.length,
    replays: answers.filter(({ isReplayed }) => isReplayed).length,
    'turns with several replies that were compared': repeated.length,
    conflicts: answers.filter(({ code }) => code === 'SESSION_CONFLICT').length,
    'failures of the store': answers.filter(({ code }) => code === 'SESSION_STORE_ERROR').length,
    interrupted: answers.filter(({ code }) => code === 'TURN_SUPERSEDED').length,
    summarized: [...sessions.values()].filter(isSummarized).length,
    timeouts: answers.filter(({ code }) => code === 'TURN_TIMEOUT').length,
    'failures of the flow': answers.filter(({ code }) => code === 'FLOW_ERROR').length,
    sessions: sessions.size,
    'turns cut from a history': verdict.cut,
    doubled: count('doubled'),
    lost: count('lost'),
    unequal: count('unequal'),
    'other violations': violations.length - count('doubled') - count('lost') - count('unequal'),
  }
  return { violations, figures, acknowledged: verdict.acknowledged, stored: verdict.stored, cut: verdict.cut }
}

function isSummarized({ flow }: SessionDocument): boolean {
  return flow.memory[stepId]?.messages[0]?.summary === true
}

function repliesTo(turn: KeyedTurn): { kind: RetryViolationKind; text: string }[] {
  const { message, answers } = turn
  const found: { kind: RetryViolationKind; text: string }[] = []
  const add = (kind: RetryViolationKind, text: string): number => found.push({ kind, text: `${message}: ${text}` })
  if (!answers.some(isOutcome)) {
    const { code, state, session, body } = answers.at(-1) ?? { code: 'nothing', state: '', session: '', body: '' }
    add(
      'unanswered',
      `sent ${turn.sent} times to '${turn.asked}', the last reply was ${code} ${state} ${session} ${body}`,
    )
  }
  const texts = new Set(answers.filter(isOutcome).map(textOf))
  if (texts.size > 1) add('unequal', [...texts].join(' and '))
  if (answers.filter((answer) => isSuccess(answer) && !answer.isReplayed).length > 1) {
    add('answered twice', `more than one reply is without Chat-Replayed`)
  }
  for (const answer of answers) {
    const isExpected = expectedCodes.has(answer.code) || (answer.code === 'FLOW_ERROR' && kindOf(message) === 'failing')
    if (!isSuccess(answer) && !isExpected) add('unexpected', `${answer.status} ${answer.code} ${answer.body}`)
  }
  return found
}
