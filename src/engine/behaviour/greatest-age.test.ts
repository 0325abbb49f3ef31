import { expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/virtual-clock/virtual-clock.js'
import { Flow, FlowEngine, LogicStep, MemorySessionStore, reply, type Turn } from '../../index.js'

test('a turn that begins before the end and ends after it fails, and the next one has a new session', async () => {
  const clock = new VirtualClock()
  const store = new MemorySessionStore({ absoluteTtlMs: 1_000, clock })
  class Slow extends LogicStep {
    static override readonly id = 'Slow'
    override async run({ message }: Turn) {
      if (message === 'slowly') await clock.advance(600)
      return reply('Done.')
    }
  }
  class Talk extends Flow {
    static override readonly id = 'Talk'
    override steps() {
      return [Slow]
    }
  }
  const engine = new FlowEngine({ flows: [Talk], sessionStore: store, clock })
  const { session } = await engine.run({ flowName: 'Talk', userMessage: 'Hello' })
  await clock.advance(600)
  const input = { flowName: 'Talk', sessionId: session }
  const late = await engine.execute({ ...input, userMessage: 'slowly' })
  expect(late).toMatchObject({ error: { code: 'SESSION_CONFLICT' }, sessionState: 'none' })
  expect(await engine.getSession(session)).toBeUndefined()
  await engine.run({ ...input, userMessage: 'Hello again' })
  await engine.close()
})
