import { describe, expect, test } from 'vitest'
import { flowOf, gate } from '../../testing/contract/engine-harness.js'
import { FakeSessionStore, VirtualClock } from '../../testing/index.js'
import { FlowEngine, reply } from '../index.js'

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
  engine.on('loop:blocked', () => undefined)
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

  // Every place where a timer is set: of deadlines, of waits, of the store, of the monitor.
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
