import { expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/index.js'
import { EngineEvents } from '../core/engine-events.js'
import { resolveLimits } from '../core/engine-limits.js'
import { successEnvelope } from '../core/run-envelope.js'
import { checkTurnInput } from '../input/check-input.js'
import { KeyedTurns } from './keyed-turns.js'
import { requestKeyOf } from './request-key.js'

const limits = resolveLimits({ turnTimeoutMs: 1_000, storeTimeoutMs: 100 })
const events = new EngineEvents(() => undefined)
const reply = { text: 'Hello.', contentType: 'text/plain', encoding: undefined }
const outcome = successEnvelope('session-1', reply, false)
const control = {
  turnId: 'turn-1',
  flowName: 'Talk',
  isCancelled: false,
  outcome: new Promise<never>(() => undefined),
  readFrom: () => undefined,
}

function inputOf(sessionId: string | undefined) {
  const input = checkTurnInput({ flowName: 'Talk', userMessage: 'Hello', sessionId }, limits)
  return { ...input, idempotency: requestKeyOf('a-key-of-sixteen', input, 'Talk') }
}

test('a repeat runs by itself where the turn that it joined never settles: the runtime dropped it', async () => {
  const clock = new VirtualClock()
  const turns = new KeyedTurns({ clock, limits, events })
  const turn = { ...control, input: inputOf('session-1') }
  void turns.run(turn, () => new Promise(() => undefined))
  let runs = 0
  const repeat = turns.run(turn, async () => {
    runs++
    return outcome
  })
  await clock.advance(3_399)
  expect(runs).toBe(0)
  await clock.advance(1)
  expect(await repeat).toBe(outcome)
  expect(runs).toBe(1)
  expect(clock.pending).toBe(0)
})

test('a turn that has ended is joined no more', async () => {
  const turns = new KeyedTurns({ clock: new VirtualClock(), limits, events })
  const turn = { ...control, input: inputOf(undefined) }
  turns.addSession(turn, 'session-2')
  for (const expected of [1, 2]) {
    let runs = expected - 1
    await turns.run(turn, async () => {
      turns.addSession(turn, 'session-1')
      runs++
      return outcome
    })
    expect(runs).toBe(expected)
  }
})
