/**
 * Decides that a storm also fails for problems other than stored sessions, and that its schedule and
 * journals can be trusted.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openJournal, readJournals } from './journal.js'
import { type Fault, stormSchedule } from './schedule.js'
import type { StormRemains } from './storm.js'
import { resultOf } from './storm-figures.js'
import { longestTurnMs } from './talk.js'
import type { TurnAnswer, TurnRecord } from './turn-record.js'

const sent: TurnRecord = { message: 'slot-1 w1.0#1', slot: 'slot-1', asked: '', sentAt: 10 }
const failed: TurnAnswer = { at: 11, outcome: 'SESSION_STORE_ERROR', session: '', reply: 'It failed.' }

function remainsOf(more: Partial<StormRemains>): StormRemains {
  return {
    turns: [],
    sessions: [],
    lostReplies: 0,
    unserved: [],
    unhandled: [],
    stored: new Map(),
    troubles: [],
    faults: { 'kill-worker': 0, cut: 0, 'pause-server': 0, 'kill-server': 0 },
    calmSince: 0,
    ...more,
  }
}

describe('the result of a storm', () => {
  test('is fine with failures of the store, and counts from the calm on', () => {
    const turns = [
      { ...sent, answer: failed },
      { ...sent, message: 'other', answer: { ...failed, at: 510, outcome: 'TURN_TIMEOUT' } },
    ]
    const { wrong, figures } = resultOf(remainsOf({ turns, calmSince: 500 }))
    expect(wrong).toEqual([])
    expect(figures).toContain('500 ms of the longest turn,')
    expect(figures).toContain('10 ms of the longest turn after the faults, 10 ms until the last failure')
  })

  test.each<[string, Partial<StormRemains>]>([
    ['another answer', { turns: [{ ...sent, answer: { ...failed, outcome: 'SESSION_FLOW_INVARIANT' } }] }],
    ['a failure that nobody asked for', { turns: [{ ...sent, answer: { ...failed, outcome: 'FLOW_ERROR' } }] }],
    ['a turn over its time', { turns: [{ ...sent, answer: { ...failed, at: 11 + longestTurnMs } }] }],
    ['a rejection that nobody handled', { unhandled: ['Error: nobody'] }],
    ['a slot that is not served', { unserved: ['slot-1'] }],
    ['a worker that ended by itself', { troubles: ['worker 1 ended with 1'] }],
    ['a lost turn', { turns: [{ ...sent, answer: { ...failed, outcome: 'acknowledged' } }] }],
  ])('is wrong with %s', (_, remains) => {
    expect(resultOf(remainsOf(remains)).wrong).toHaveLength(1)
  })
})

test('a schedule follows from its seed, in order, with each kind of fault', () => {
  const faults = stormSchedule(7, 20, 4)
  expect(faults).toEqual(stormSchedule(7, 20, 4))
  expect(faults).not.toEqual(stormSchedule(8, 20, 4))
  expect(faults.map(({ at }) => at)).toEqual(faults.map(({ at }) => at).toSorted((one, other) => one - other))
  expect(Math.max(...faults.map(({ at }) => at))).toBeLessThan(20_000)
  const kinds: Fault['kind'][] = ['cut', 'kill-server', 'kill-worker', 'pause-server']
  expect([...new Set(stormSchedule(7, 1, 4).map(({ kind }) => kind))].sort()).toEqual(kinds)
})

test('journals contain everything that was written, except a last line that is not complete', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeeper-journal-'))
  try {
    const [whole, cut] = [join(folder, 'whole'), join(folder, 'cut')]
    const journal = openJournal(whole)
    journal.write({ kind: 'made', session: 's' })
    journal.write({ kind: 'sent', turn: sent })
    journal.write({ kind: 'answered', message: sent.message, answer: failed })
    journal.write({ kind: 'lost-reply' })
    journal.write({ kind: 'unserved', slot: 'slot-1' })
    journal.write({ kind: 'unhandled', text: 'nobody' })
    const killed = { ...sent, message: 'slot-1 w2.0#1' }
    await writeFile(cut, `${JSON.stringify({ kind: 'sent', turn: killed })}\n{"kind":"answered","mess`)
    expect(readJournals([whole, cut])).toEqual({
      turns: [{ ...sent, answer: failed }, killed],
      sessions: ['s'],
      lostReplies: 1,
      unserved: ['slot-1'],
      unhandled: ['nobody'],
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
