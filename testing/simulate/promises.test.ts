/** Decides that the promises also hold for a session whose history has lost its oldest turns. */
import { expect, test } from 'vitest'
import type { SessionDocument } from '../../src/index.js'
import { documentOf, historyEntry } from '../contract/session-bench.js'
import { Promises, type Violation } from './promises.js'
import type { SimulatedTurn } from './simulated-turn.js'

const transcript: readonly SimulatedTurn[] = Array.from({ length: 5 }, (_, index) => ({
  said: 'Hello',
  turnId: `turn-${index + 1}`,
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

test('a turn that stores two entries, or an entry of no message, is a violation', () => {
  const twice = afterFive([4, 5])
  const history = twice.history.map((entry) => ({ ...entry, id: 'turn-5' }))
  expect(check(new Promises([]), { ...twice, history })?.text).toBe(
    'The turn "Hello" is in the history of session \'s-1\' twice: as turn 4, and as turn 5.',
  )
  expect(check(new Promises([]), afterFive([5, 6], 6))?.text).toBe(
    'Turn 6 of session \'s-1\', "Hello", is stored, and no such message was sent.',
  )
})

test('a completed session that lost turns is still the same; one that had another turn is not', () => {
  const promises = new Promises([])
  expect(check(promises, afterFive([4, 5]))).toBeUndefined()
  expect(promises.check(transcript, [], new Map([['s-1', afterFive([5])]]))).toBeUndefined()
  const lost: SimulatedTurn = { ...(transcript[4] as SimulatedTurn), turnId: 'turn-6', success: false }
  expect(promises.check([...transcript, lost], [], new Map([['s-1', afterFive([5, 6], 6)]]))?.text).toBe(
    "Session 's-1' was completed in turn 5, and is stored as 'completed' with 6 turns.",
  )
})
