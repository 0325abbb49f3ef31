/**
 * Decides that the verdict on repeats sees what is wrong: each forged journal is one that a broken engine could leave.
 */
import { describe, expect, test } from 'vitest'
import type { SessionDocument } from '../../../src/index.js'
import { sessionOf } from '../storm/stored-session.js'
import { messageOf } from '../storm/turn-record.js'
import type { KeyedAnswer, KeyedTurn } from './keyed-turn.js'
import { judgeRetries, type RetryViolationKind } from './retry-verdict.js'

const [first, second] = [1, 2].map((count) => messageOf('slot-1', 'c1', count, 'plain')) as [string, string]
const failing = messageOf('slot-1', 'c1', 3, 'failing')

/** The reply of a turn, and what makes another of it. */
function answerTo(message: string, number: number, more: Partial<KeyedAnswer> = {}): KeyedAnswer {
  const [contentType, session, state] = ['application/json', 's', 'running']
  const body = JSON.stringify({ message: `${number}: ${message}` })
  return { at: number * 10 + 1, status: 200, contentType, session, state, code: '', isReplayed: false, body, ...more }
}

function turnOf(message: string, number: number, ...answers: readonly KeyedAnswer[]): KeyedTurn {
  const asked = number === 1 ? '' : 's'
  return { message, slot: 'slot-1', asked, sentAt: number * 10, answers: [...answers], sent: answers.length + 1 }
}

function failure(code: string, state = 'running', text = 'It failed.'): KeyedAnswer {
  return answerTo(first, 1, { status: 500, code, state, body: JSON.stringify({ message: text }) })
}

function repeatedFailure(text?: string): KeyedAnswer {
  return { ...failure('FLOW_ERROR', 'aborted', text), isReplayed: true }
}

const replay = (message: string, number: number, more: Partial<KeyedAnswer> = {}): KeyedAnswer =>
  answerTo(message, number, { at: 90, isReplayed: true, ...more })

function kindsOf(turns: readonly KeyedTurn[], ...sessions: readonly SessionDocument[]): RetryViolationKind[] {
  const { violations } = judgeRetries(turns, new Map(sessions.map((session) => [session.id, session])))
  return [...new Set(violations.map(({ kind }) => kind))].sort()
}

const once = turnOf(first, 1, answerTo(first, 1))
const twice = turnOf(
  second,
  2,
  failure('SESSION_STORE_ERROR'),
  replay(second, 2),
  replay(second, 2, { state: 'completed' }),
)
const stored = sessionOf([first, second])

describe('nothing is wrong', () => {
  test('with messages that are stored once, whose replies are the same; and it is counted', () => {
    const { violations, figures } = judgeRetries([once, twice], new Map([['s', stored]]))
    expect(violations).toEqual([])
    expect(figures).toMatchObject({
      turns: 2,
      repeats: 4,
      'replies that were lost': 2,
      replays: 2,
      'turns with several replies that were compared': 1,
      'failures of the store': 1,
      sessions: 1,
    })
  })

  test('with a failure that aborted the session, and its repeat', () => {
    const aborted = turnOf(failing, 2, failure('FLOW_ERROR', 'aborted'), repeatedFailure())
    expect(kindsOf([once, aborted], sessionOf([first], 's', { runStatus: 'aborted' }))).toEqual([])
  })

  test('with a message that failed, was rolled back, and then was answered', () => {
    const retried = turnOf(failing, 2, failure('FLOW_ERROR'), answerTo(failing, 2))
    expect(kindsOf([once, retried], sessionOf([first, failing]))).toEqual([])
  })
})

describe('what is wrong is seen', () => {
  test('a message that is stored twice: in one session, or in a second one of which nobody knows', () => {
    expect(kindsOf([once, twice], sessionOf([first, second, second]))).toEqual(['doubled'])
    expect(kindsOf([once, twice], stored, sessionOf([first], 't'))).toEqual(['doubled', 'unknown session'])
  })

  test('a message that was answered and is not stored', () => {
    expect(kindsOf([once, twice], sessionOf([first]))).toEqual(['lost'])
  })

  test('replies to one message that are not the same, in whatever', () => {
    const others: readonly Partial<KeyedAnswer>[] = [
      { body: JSON.stringify({ message: `2:  ${first}` }) },
      { contentType: 'text/html' },
      { session: 't' },
      { status: 400, code: 'FLOW_ERROR', state: 'aborted' },
    ]
    for (const other of others) {
      const turn = turnOf(first, 1, answerTo(first, 1), replay(first, 1, other))
      expect(kindsOf([turn], sessionOf([first]))).toContain('unequal')
    }
    const texts = [failure('FLOW_ERROR', 'aborted'), repeatedFailure('It failed again.')]
    expect(kindsOf([once, turnOf(failing, 2, ...texts)], sessionOf([first]))).toEqual(['unequal'])
  })

  test('two replies of which neither says that it is a repeat', () => {
    expect(kindsOf([turnOf(first, 1, answerTo(first, 1), answerTo(first, 1))], sessionOf([first]))).toEqual([
      'answered twice',
    ])
  })

  test('a message that was never answered', () => {
    expect(kindsOf([once, turnOf(second, 2, failure('SESSION_CONFLICT'))], sessionOf([first]))).toEqual(['unanswered'])
  })

  test('a session whose ID no client has, also an empty one', () => {
    expect(kindsOf([once], sessionOf([first]), sessionOf([], 't'))).toEqual(['unknown session'])
  })

  test('an answer that no fault explains', () => {
    const answers = [failure('IDEMPOTENCY_MISMATCH'), answerTo(first, 1)]
    expect(kindsOf([turnOf(first, 1, ...answers)], sessionOf([first]))).toEqual(['unexpected'])
    expect(kindsOf([turnOf(first, 1, failure('FLOW_ERROR'), answerTo(first, 1))], sessionOf([first]))).toEqual([
      'unexpected',
    ])
  })
})
