import { describe, expect, test } from 'vitest'
import { flowOf, gate, never } from '../../../testing/contract/engine-harness.js'
import { FakeSessionStore, VirtualClock } from '../../../testing/index.js'
import { Flow, FlowEngine, type ModelResponse, reply, Step, tool } from '../../index.js'

const sentence = "The engine's clock failed: its setTimer threw an error, so no deadline can be set."

/** A clock that throws when it is asked for a timer, from the `first` time on, for `times` times. */
class BrokenClock extends VirtualClock {
  asked = 0
  first = Number.POSITIVE_INFINITY
  times = 1

  override setTimer(callback: () => void, ms: number): () => void {
    const asked = this.asked++
    if (asked >= this.first && asked < this.first + this.times) throw new Error('no timers today')
    return super.setTimer(callback, ms)
  }
}

async function scene() {
  const clock = new BrokenClock()
  const store = new FakeSessionStore({ clock })
  const held = gate()
  const flow = flowOf('Talk', async (turn) => {
    if (turn.message === 'wait') await held.opened
    return reply(turn.message)
  })
  const engine = new FlowEngine({ flows: [flow], clock, sessionStore: store })
  const { session } = await engine.run({ flowName: 'Talk', userMessage: 'start' })
  const say = (userMessage: string) => engine.execute({ flowName: 'Talk', userMessage, sessionId: session })
  clock.asked = 0
  return { clock, store, engine, session, held, say }
}

describe('a clock whose setTimer throws', () => {
  test('fails the turn with an error that says so, and leaves the session as it was', async () => {
    const { clock, store, engine, session, say } = await scene()
    const before = await engine.getSession(session)
    clock.first = 0
    clock.times = Number.POSITIVE_INFINITY
    store.delayNext('load', 0)
    const { response, error } = await say('hello')
    expect(response).toMatchObject({ success: false, session, message: sentence })
    expect(error).toMatchObject({ code: 'FLOW_ERROR', cause: new Error('no timers today') })
    clock.first = Number.POSITIVE_INFINITY
    expect(await engine.getSession(session)).toEqual(before)
    expect((await say('hello')).response.success).toBe(true)
    await engine.close()
  })

  test('fails a request that would have to wait, and keeps it in no queue', async () => {
    const { clock, engine, session, held, say } = await scene()
    const holding = engine.getFlowSession().withSessionLock(session, () => held.opened)
    clock.first = clock.asked
    // Once for each wait, and once for the load that asks for the state of the session.
    clock.times = 3
    const failed = [await say('hello'), await engine.executeDelete(session)]
    expect(failed.map(({ error }) => error?.message)).toEqual([sentence, sentence])
    held.open()
    await holding
    expect(engine.getFlowSession().locked).toBe(0)
    await engine.close()
  })

  // Every place that sets a timer: deadlines, waits, and the store.
  test.each(Array.from({ length: 14 }, (_, first) => [first]))(
    'leaks nothing when it throws at call %i',
    async (first) => {
      for (const times of [1, 2, Number.POSITIVE_INFINITY]) {
        const { clock, store, engine, session, held, say } = await scene()
        store.delayNext('save', 5, { times: Number.POSITIVE_INFINITY })
        store.delayNext('load', 5, { times: Number.POSITIVE_INFINITY })
        clock.first = first
        clock.times = times
        const all = Promise.allSettled([
          say('wait'),
          say('second'),
          engine.executeDelete(session),
          say('third'),
          engine.execute({ flowName: 'Talk', userMessage: 'new' }),
          engine.getFlowSession().withSessionLock(session, () => 'work'),
        ])
        await clock.advance(50)
        held.open()
        // The clock of the store's delays is the same one: what it delays for ever ends with the deadlines.
        clock.first = Number.POSITIVE_INFINITY
        await clock.runUntil(all)
        await clock.settle()
        expect(engine.getFlowSession().locked).toBe(0)
        expect((await clock.runUntil(say('after'))).response.success).toBe(true)
        const begun = clock.now()
        await clock.runUntil(engine.close())
        expect([clock.now() - begun, clock.pending]).toEqual([0, 0])
      }
    },
  )
})

describe('a clock that cannot set the timer of', () => {
  /** A clock that throws when it is asked for a timer of `ms`. */
  class PartlyBrokenClock extends VirtualClock {
    readonly ms: number
    constructor(ms: number) {
      super()
      this.ms = ms
    }
    override setTimer(callback: () => void, ms: number): () => void {
      if (ms === this.ms) throw new Error('no timers today')
      return super.setTimer(callback, ms)
    }
  }

  /** A turn of a flow with a model, and a tool `act` that never ends. */
  async function turnWith(ms: number, generate: () => Promise<ModelResponse>) {
    class Talk extends Step {
      static override readonly id = 'Talk'
      override tools() {
        return [tool({ name: 'act', description: 'Acts.', execute: () => never() })]
      }
    }
    class Talking extends Flow {
      static override readonly id = 'Talk'
      override model() {
        return { provider: 'own', name: 'small' }
      }
      override steps() {
        return [Talk]
      }
    }
    const clock = new PartlyBrokenClock(ms)
    const engine = new FlowEngine({
      flows: [Talking],
      clock,
      sessionStore: new FakeSessionStore({ clock }),
      limits: { toolTimeoutMs: 1_001, modelTimeoutMs: 1_002 },
      modelRetry: { maxAttempts: 2, baseDelayMs: 1_004, maxDelayMs: 1_004 },
      providers: [{ provider: 'own', resolve: ({ name }) => ({ provider: 'own', name, generate }) }],
      random: () => 0.999_999,
    })
    const { response, error } = await clock.runUntil(engine.execute({ flowName: 'Talk', userMessage: 'hello' }))
    await clock.settle()
    expect([clock.pending, engine.getFlowSession().locked]).toEqual([0, 0])
    return { message: response.message, error }
  }

  const usage = { inputTokens: 1, outputTokens: 1 }

  test.each<[string, number, () => Promise<ModelResponse>]>([
    [
      'a tool',
      1_001,
      async () => ({ parts: [{ type: 'tool-call', toolCallId: '1', toolName: 'act', input: {} }], usage }),
    ],
    ['an attempt at a model', 1_002, () => never()],
    [
      'the delay before the next attempt',
      1_003,
      () => Promise.reject(Object.assign(new Error('Down.'), { isRetryable: true })),
    ],
  ])('%s is the reason of the failure', async (_what, ms, generate) => {
    const { message, error } = await turnWith(ms, generate)
    expect(message).toBe(sentence)
    expect(error).toMatchObject({ code: 'FLOW_ERROR', cause: new Error('no timers today') })
  })
})
