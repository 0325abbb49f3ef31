/**
 * Decides that the verdict on a storm sees what is wrong: each forged history is one that a broken store could leave.
 */
import { describe, expect, test } from 'vitest'
import type { SessionDocument } from '../../../src/index.js'
import { sessionOf } from './stored-session.js'
import { stepId } from './talk.js'
import { messageOf, photoOf, replyTo, type TurnRecord } from './turn-record.js'
import { countOf, judge, type ViolationKind } from './verdict.js'

/** A turn that was sent at `sentAt` and acknowledged one later, as the turn with this number of session `s`. */
function turnOf(message: string, number: number, more: Partial<TurnRecord> = {}): TurnRecord {
  const sentAt = number * 10
  const answer = { at: sentAt + 1, outcome: 'acknowledged', session: 's', reply: replyTo(message, number) }
  return { message, slot: 'slot-1', asked: number === 1 ? '' : 's', sentAt, answer, ...more }
}

/** The same session after its lists were cut: the last turns only, and their photos. */
function cutTo(count: number, session: SessionDocument): SessionDocument {
  const { flow, history, turns } = session
  const messages = flow.memory[stepId]?.messages.filter(({ turn }) => turn > turns - count) ?? []
  const attachments = history.slice(-1).map(({ turn, message }) => ({ id: `${turn}-0`, turn, data: photoOf(message) }))
  return {
    ...session,
    history: history.slice(-count),
    attachments,
    flow: { ...flow, memory: { [stepId]: { messages } } },
  }
}

function kindsOf(turns: readonly TurnRecord[], ...sessions: readonly SessionDocument[]): ViolationKind[] {
  const { violations } = judge(turns, new Map(sessions.map((session) => [session.id, session])))
  return [...new Set(violations.map(({ kind }) => kind))].sort()
}

const three = ['a', 'b', 'c']
const threeTurns: readonly TurnRecord[] = three.map((message, index) => turnOf(message, index + 1))
const refused = { at: 99, outcome: 'SESSION_CONFLICT', session: 's', reply: 'Refused.' }
const failed = { at: 99, outcome: 'SESSION_STORE_ERROR', session: 's', reply: 'Failed.' }

describe('nothing is wrong', () => {
  test('with what was acknowledged, once each, in order; and it is counted', () => {
    const unknown = { ...turnOf('d', 4), answer: failed }
    const { answer: _, ...killed } = turnOf('e', 5)
    const turns = [...threeTurns, unknown, killed, { ...turnOf('f', 6), answer: refused }]
    const session = sessionOf([...three, 'd'])
    const verdict = judge(turns, new Map([['s', session]]))
    expect(verdict).toEqual({
      violations: [],
      acknowledged: 3,
      conflicts: 1,
      failed: 0,
      unknown: 2,
      unknownButStored: 1,
      stored: 4,
      cut: 0,
    })
  })

  test('if two turns ran at once, in either order', () => {
    const late = turnOf('b', 2, { sentAt: 0, answer: { ...refused, at: 50, outcome: 'acknowledged', reply: '2: b' } })
    expect(kindsOf([turnOf('a', 1), late], sessionOf(['a', 'b']))).toEqual([])
    const first = { ...late, asked: '', answer: { ...late.answer, reply: '1: b' } } as TurnRecord
    const second = turnOf('a', 2, { sentAt: 10, asked: 's' })
    expect(kindsOf([second, first], sessionOf(['b', 'a']))).toEqual([])
  })

  test('with a new session in the place of one that has ended', () => {
    const next = turnOf('d', 1, {
      asked: 's',
      sentAt: 40,
      answer: { ...refused, outcome: 'acknowledged', session: 't' },
    })
    const answered = { ...next, answer: { ...next.answer, reply: '1: d' } } as TurnRecord
    for (const runStatus of ['aborted', 'completed'] as const) {
      expect(kindsOf([...threeTurns, answered], sessionOf(three, 's', { runStatus }), sessionOf(['d'], 't'))).toEqual(
        [],
      )
    }
    expect(kindsOf([...threeTurns, answered], sessionOf(three), sessionOf(['d'], 't'))).toEqual(['replaced'])
  })
})

describe('what is wrong is seen', () => {
  test('a turn that is lost: at the end, in the middle, with its session', () => {
    expect(kindsOf(threeTurns, sessionOf(['a', 'b']))).toEqual(['lost'])
    expect(kindsOf(threeTurns, sessionOf(['a', 'c']))).toContain('lost')
    expect(countOf(judge(threeTurns, new Map()), 'lost')).toBe(3)
  })

  test('a turn that is doubled, acknowledged or not, also in another session', () => {
    const doubled = [turnOf('a', 1), turnOf('b', 2)]
    expect(kindsOf(doubled, sessionOf(['a', 'b', 'b']))).toEqual(['doubled'])
    const { answer: _, ...killed } = turnOf('b', 2)
    expect(kindsOf([turnOf('a', 1), killed], sessionOf(['a', 'b', 'b']))).toEqual(['doubled'])
    expect(kindsOf([turnOf('a', 1)], sessionOf(['a']), sessionOf(['a'], 't'))).toEqual(['doubled'])
  })

  test('turns out of order, of one client or of two, acknowledged or not', () => {
    const swapped = [turnOf('a', 1), turnOf('c', 3), turnOf('b', 2)]
    const reordered = swapped.map((turn) => ({
      ...turn,
      answer: { ...turn.answer, reply: replyTo(turn.message, ['a', 'c', 'b'].indexOf(turn.message) + 1) },
    })) as TurnRecord[]
    expect(kindsOf(reordered, sessionOf(['a', 'c', 'b']))).toEqual(['misordered'])
    const unknown = { ...turnOf('c', 3), answer: failed }
    expect(kindsOf([turnOf('a', 1), unknown, reordered[2] as TurnRecord], sessionOf(['a', 'c', 'b']))).toEqual([
      'misordered',
    ])
  })

  test('a turn in a session that it was not meant for', () => {
    const other = turnOf('b', 2, { slot: 'slot-2' })
    expect(kindsOf([turnOf('a', 1), other], sessionOf(['a', 'b']))).toEqual(['mixed'])
    const misplaced = turnOf('b', 2, { asked: 't' })
    expect(kindsOf([turnOf('a', 1), misplaced], sessionOf(['a', 'b']))).toEqual(['mixed'])
    expect(kindsOf([turnOf('a', 1)], sessionOf(['a', 'never sent']))).toEqual(['mixed'])
    // Both waited behind the turn that ended their session.
    const [before, behind] = [turnOf('a', 1, { asked: 't' }), turnOf('b', 2, { asked: 't' })]
    expect(kindsOf([before, behind], sessionOf(['a', 'b']))).toEqual([])
    const moved = turnOf('b', 1, { asked: '', answer: { ...refused, outcome: 'acknowledged', reply: '1: b' } })
    expect(kindsOf([turnOf('a', 1), moved], sessionOf(['a']), sessionOf(['b'], 't'))).toEqual(['lost'])
  })

  test('numbers with a gap', () => {
    const session = sessionOf(three)
    const history = session.history.map((entry, index) => (index === 2 ? { ...entry, turn: 4 } : entry))
    expect(kindsOf(threeTurns, { ...session, history })).toEqual(['misnumbered'])
  })

  test('half a turn: in the state, in the memory, in the history, in the reply', () => {
    const session = sessionOf(three)
    const { flow } = session
    const state = { ...flow, steps: { [stepId]: { state: { turns: 4 } } } }
    const memory = { ...flow, memory: sessionOf(['a', 'b']).flow.memory }
    expect(kindsOf(threeTurns, { ...session, flow: state })).toEqual(['torn'])
    expect(kindsOf(threeTurns, { ...session, flow: memory })).toEqual(['torn'])
    expect(kindsOf(threeTurns, { ...sessionOf(['a', 'b']), flow })).toEqual(['lost', 'torn'])
    const unsure = { ...turnOf('c', 3), answer: failed }
    const history = session.history.map((entry) => ({ ...entry, reply: entry.reply.replace('3: c', '2: c') }))
    expect(kindsOf([turnOf('a', 1), turnOf('b', 2), unsure], { ...session, history })).toEqual(['torn'])
    const answered = { ...refused, outcome: 'acknowledged', reply: '2: c' }
    expect(kindsOf([turnOf('a', 1), turnOf('b', 2), { ...turnOf('c', 3), answer: answered }], session)).toEqual([
      'torn',
    ])
  })

  test('a turn that was refused as a conflict or failed in its flow, and is stored', () => {
    const turns = [turnOf('a', 1), { ...turnOf('b', 2), answer: refused }]
    expect(kindsOf(turns, sessionOf(['a', 'b']))).toEqual(['contradicted'])
    const failing = messageOf('slot-1', 'w1.0', 2, 'failing')
    const { answer: _, ...killed } = turnOf(failing, 2)
    for (const turn of [killed, { ...killed, answer: { ...failed, outcome: 'FLOW_ERROR' } }]) {
      expect(kindsOf([turnOf('a', 1), turn], sessionOf(['a', failing]))).toEqual(['contradicted'])
      expect(kindsOf([turnOf('a', 1), turn], sessionOf(['a'], 's', { runStatus: 'aborted' }))).toEqual([])
    }
  })
})

describe('sessions whose lists were cut', () => {
  const all = Array.from({ length: 30 }, (_, index) => `slot-1 w1.0#${index + 1} plain`)
  const turns = all.map((message, index) => turnOf(message, index + 1))
  const cut = cutTo(20, sessionOf(all))

  test('nothing is wrong with one that has its last turns', () => {
    const verdict = judge(turns, new Map([['s', cut]]))
    expect(verdict.violations).toEqual([])
    expect([verdict.stored, verdict.cut]).toEqual([30, 10])
  })

  test('a turn that is lost: from the end, or replaced by another whose turn is cut as well', () => {
    expect(kindsOf([...turns, turnOf('slot-1 w2.0#1 plain', 31)], cut)).toEqual(['lost'])
    expect(kindsOf([...turns, turnOf('slot-1 w2.0#1 plain', 4)], cut)).toEqual(['lost'])
    expect(kindsOf(turns, { ...cut, turns: 29 })).toContain('misnumbered')
  })

  test('a turn that came twice, which only the state knows', () => {
    const state = { turns: 30, senders: {}, repeated: all.slice(2, 3) }
    expect(kindsOf(turns, { ...cut, flow: { ...cut.flow, steps: { [stepId]: { state } } } })).toEqual(['doubled'])
  })

  test('lists that were cut too far, that have a gap, or that do not belong together', () => {
    expect(kindsOf(turns, { ...cut, history: cut.history.slice(-5) })).toEqual(['torn'])
    const messages = cut.flow.memory[stepId]?.messages ?? []
    for (const wrong of [messages.slice(0, -2), [...messages.slice(0, 6), ...messages.slice(8)], []]) {
      const memory = { [stepId]: { messages: wrong } }
      expect(kindsOf(turns, { ...cut, flow: { ...cut.flow, memory } })).toEqual(['torn'])
    }
    const [photo] = cut.attachments ?? []
    if (photo === undefined) throw new Error('There is no photo.')
    expect(kindsOf(turns, { ...cut, attachments: [{ ...photo, data: photoOf('another') }] })).toEqual(['torn'])
    expect(kindsOf(turns, { ...cut, attachments: [{ ...photo, turn: 28, data: photoOf(all[27] ?? '') }] })).toEqual([
      'torn',
    ])
  })
})
