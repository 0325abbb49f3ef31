/** Decides that the promises also hold for a session whose history has lost its oldest turns. */
import { expect, test } from 'vitest'
import type { SessionDocument } from '../../src/index.js'
import { documentOf, historyEntry } from '../contract/session-bench.js'
import { Promises, type Violation } from './promises.js'
import type { SimulatedTurn } from './simulated-turn.js'

const transcript: readonly SimulatedTurn[] = Array.from({ length: 5 }, (_, index) => ({
  said: 'Hello',
  to: 's-1',
  success: true,
  completed: index === 4,
  reply: `reply ${index + 1}`,
  session: 's-1',
  disturbed: false,
  together: false,
}))

/** The session after its fifth turn, which was its last, with these turns in its history. */
function afterFive(kept: readonly number[], turns = 5): SessionDocument {
  const history = kept.map((turn) => historyEntry(turn, `reply ${turn}`))
  return documentOf('s-1', '5-a', { turns, history, runStatus: 'completed' })
}

function check(promises: Promises, document: SessionDocument): Violation | undefined {
  return promises.check(transcript, transcript.slice(-1), new Map([['s-1', document]]))
}

test('a history may begin later than with turn 1', () => {
  expect(check(new Promises([]), afterFive([4, 5]))).toBeUndefined()
})

test('a history with a gap, or with a turn twice, is a violation', () => {
  expect(check(new Promises([]), afterFive([3, 5]))?.promise).toBe('no turn is stored twice')
  expect(check(new Promises([]), afterFive([4, 4, 5]))?.text).toBe(
    'Entry 2 of the history of session \'s-1\' is turn 4: "Hello".',
  )
})

test('a completed session that lost turns is still the same; one that had another turn is not', () => {
  const promises = new Promises([])
  expect(check(promises, afterFive([4, 5]))).toBeUndefined()
  expect(promises.check(transcript, [], new Map([['s-1', afterFive([5])]]))).toBeUndefined()
  expect(promises.check(transcript, [], new Map([['s-1', afterFive([5, 6], 6)]]))?.text).toBe(
    "Session 's-1' was completed in turn 5, and is stored as 'completed' with 6 turns.",
  )
})
