// The stream of a turn, from its first piece to its last, with a model that says when it goes on.
import { describe, expect, test } from 'vitest'
import { Flow, FlowEngine, type FlowStreamEvent, type ModelRequest, type ModelStreamPart, Step } from '../index.js'
import { MemorySessionStore } from '../stores/memory-store.js'

class Talk extends Step {
  static override readonly id = 'Talk'
}

class Chat extends Flow {
  static override readonly id = 'Chat'
  override model() {
    return { provider: 'own', name: 'small' }
  }
  override steps() {
    return [Talk]
  }
}

const finish = (text: string): ModelStreamPart => ({ type: 'finish', response: { parts: [{ type: 'text', text }] } })
const delta = (text: string): ModelStreamPart => ({ type: 'text-delta', text })

function engineOf(stream: (request: ModelRequest) => AsyncIterable<ModelStreamPart>): FlowEngine {
  const model = { provider: 'own', name: 'small', generate: () => Promise.reject(new Error('not this way')), stream }
  const provider = { provider: 'own', resolve: () => model }
  return new FlowEngine({ flows: [Chat], providers: [provider], sessionStore: new MemorySessionStore() })
}

async function read(stream: AsyncIterable<FlowStreamEvent>): Promise<FlowStreamEvent[]> {
  const events: FlowStreamEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

describe('a streamed turn', () => {
  test('tells the session, the step, the text as it comes and the result', async () => {
    const engine = engineOf(async function* () {
      yield delta('Hel')
      yield delta('lo.')
      yield finish('Hello.')
    })
    const events = await read(engine.stream({ flowName: 'Chat', userMessage: 'Hi' }))
    const session = (events[0] as { session: string }).session
    expect(events).toEqual([
      { type: 'session', session },
      { type: 'step', step: 'Talk' },
      { type: 'text-delta', text: 'Hel' },
      { type: 'text-delta', text: 'lo.' },
      {
        type: 'result',
        response: { success: true, completed: false, message: 'Hello.', session, contentType: 'text/plain' },
      },
    ])
  })
})
