import { afterEach, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, type Harness, harness } from '../../../testing/contract/engine-harness.js'
import { namesOf, type RecordedEvent, recordEvents } from '../../../testing/contract/event-recorder.js'

afterEach(expectNothingLeft)

const long = 'a'.repeat(700)

function recordedTalk(): Harness & { readonly events: RecordedEvent[] } {
  const made = harness({ flows: [flowOf('Talk')], limits: { maxSessionBytes: 600 } })
  return { ...made, events: recordEvents(made.engine) }
}

test('a turn that is too large for its session is reported as an error and a save, not as an abort', async () => {
  const { engine, events, start } = recordedTalk()
  const sessionId = await start('Talk')
  events.length = 0
  expect((await engine.run({ flowName: 'Talk', userMessage: long, sessionId })).success).toBe(false)
  expect(namesOf(events).filter((name) => !name.startsWith('step:'))).toEqual([
    'turn:start',
    'session:restored',
    'turn:error',
    'session:saved',
    'turn:rolled-back',
    'turn:end',
  ])
})

test('a first turn that is too large creates its session', async () => {
  const { engine, events } = recordedTalk()
  const { session, success } = await engine.run({ flowName: 'Talk', userMessage: long })
  expect(success).toBe(false)
  expect(await engine.getSession(session)).toMatchObject({ runStatus: 'running', turns: 0, history: [] })
  expect(namesOf(events).filter((name) => name.startsWith('session:'))).toEqual(['session:created'])
})
