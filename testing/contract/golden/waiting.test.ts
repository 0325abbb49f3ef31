// A session that waits, as the first release with outside events stored it, goes on in this one.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  event,
  Flow,
  FlowEngine,
  finish,
  go,
  LogicStep,
  MemorySessionStore,
  reply,
  type SessionDocument,
} from '../../../src/index.js'
import { VirtualClock } from '../../index.js'

class Ask extends LogicStep {
  static override readonly id = 'Ask'
  override run() {
    return go(Wait)
  }
}

class Wait extends LogicStep {
  static override readonly id = 'Wait'
  override events() {
    return [
      event({ name: 'decision', execute: (_, turn) => finish(`Decided by ${turn.event?.by}.`) }),
      event({ name: 'remind', after: 60_000, execute: () => reply('Do not forget.') }),
      event({ name: 'silent', silence: 120_000, execute: () => reply('Are you there?') }),
      event({ name: 'note', execute: () => undefined }),
    ]
  }
  override run() {
    return reply('Waiting.')
  }
}

class Refund extends Flow {
  static override readonly id = 'Refund'
  override steps() {
    return [Ask, Wait]
  }
}

const text = readFileSync(new URL('document-3.json', import.meta.url), 'utf8')
const stored = JSON.parse(text) as SessionDocument

test('a document of version 3 is read, and its events and timers are taken', async () => {
  const clock = new VirtualClock(Date.parse(stored.savedAt))
  const sessionStore = new MemorySessionStore({ clock })
  await sessionStore.create(JSON.parse(text))
  const schedule = () => undefined
  const engine = new FlowEngine({ flows: [Refund], clock, sessionStore, schedule })
  expect(stored.version).toBe(3)
  expect(await engine.getSession(stored.id)).toEqual(stored)
  const note = { sessionId: stored.id, event: 'note', by: 'Ada', byId: 'emp-17', payload: { seen: true } }
  // The receipt of the event that was taken before the file was made.
  expect((await engine.sendEvent({ ...note, idempotencyKey: 'the-golden-webhook-1' })).replayed).toBe(true)
  await clock.advance(180_000)
  const { results } = await engine.wake({ sessionId: stored.id })
  expect(results.map(({ response }) => response.message)).toEqual(['Do not forget.', 'Are you there?'])
  const decided = await engine.sendEvent({ sessionId: stored.id, event: 'decision', by: 'Ada' })
  expect([decided.response.message, decided.sessionState]).toEqual(['Decided by Ada.', 'completed'])
})
