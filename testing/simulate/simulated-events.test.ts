/** Events and time in a simulation: what is right passes, and what goes wrong is found, made short, and repeated. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  event,
  Flow,
  finish,
  LogicStep,
  reply,
  type SessionDocument,
  type StepConstructor,
  type Turn,
} from '../../src/index.js'
import { Conversation } from '../conversation/conversation.js'
import { simulate } from './simulate.js'
import type { SimulateOptions } from './simulate-options.js'

const day = 86_400_000

class Approval extends LogicStep<{ reminded: number; answered?: boolean }> {
  static override readonly id: string = 'Approval'
  override initialState() {
    return { reminded: 0 }
  }
  override events() {
    return [
      event({
        name: 'decision',
        input: z.object({ approved: z.boolean() }),
        execute: ({ approved }) => {
          this.state.answered = approved
          return approved ? finish('Paid.') : reply('Not yet.')
        },
      }),
      event({ name: 'remind', after: day, execute: (_, turn) => this.remind(turn) }),
    ]
  }
  remind(turn: Turn) {
    this.state.reminded++
    if (this.state.reminded < 3) turn.setTimer('remind', day)
  }
  override run(turn: Turn) {
    return reply(turn.entered ? 'I have asked.' : 'Still waiting.')
  }
}
class Refund extends Flow {
  static override readonly id: string = 'Refund'
  override steps(): StepConstructor[] {
    return [Approval]
  }
  override events() {
    return [event({ name: 'shipped', execute: () => reply('On its way.') })]
  }
}

const payloads: SimulateOptions['payloads'] = { decision: (pick) => ({ approved: pick([true, false]) }) }

describe('a flow with events', () => {
  test('passes, and takes them in the same way for the same seeds', async () => {
    const traceOf = async (seeds: SimulateOptions['seeds']): Promise<string> => {
      const trace: unknown[] = []
      const invariants = {
        trace: (document: SessionDocument, transcript: readonly unknown[]) => void trace.push([document, transcript]),
      }
      const result = await simulate(Refund, { payloads, seeds: seeds ?? 1, invariants })
      return JSON.stringify([result, trace])
    }
    const result = await simulate(Refund, { payloads, seeds: 80 })
    expect(result.events).toBeGreaterThan(40)
    expect(result.completed).toBeGreaterThan(5)
    const first = await traceOf([3, 1, 4])
    for (const name of ['decision', 'remind', 'shipped']) expect(first).toContain(`"event":"${name}"`)
    expect(await traceOf([3, 1, 4])).toBe(first)
  })

  test('needs payloads for events with an input', async () => {
    await expect(simulate(Refund, { seeds: 20 })).rejects.toThrow(
      "The simulation never sent these events, because they have an input: decision.\nMake their payloads: simulate(..., { payloads: { 'decision': (pick) => ... } }).",
    )
  })

  test('fails if the clock makes it wrong, and the code that is printed does what it says', async () => {
    class Forgetful extends Approval {
      static override readonly id = 'Approval'
      override remind(turn: Turn) {
        if (this.state.answered === false) throw new Error('nobody to remind')
        return super.remind(turn)
      }
    }
    class Wrong extends Refund {
      static override readonly id = 'Refund'
      override steps() {
        return [Forgetful]
      }
    }
    const error = await simulate(Wrong, { payloads }).then(
      () => new Error('nothing was found'),
      (thrown: Error) => thrown,
    )
    expect(error.message).toMatchInlineSnapshot(`
      "A conversation with flow 'Refund' breaks a promise: a turn fails only because of a fault.
        The turn of event 'remind' failed with FLOW_ERROR without a fault of the store: nobody to remind
        If that is meant: simulate(..., { mayFail: ['FLOW_ERROR'] }).

      Seed 6, shortened 29 times. To repeat it alone: simulate(Wrong, { ..., seeds: [6] })

      The shortest conversation found, as a test:

      const conversation = new Conversation(Wrong)
      await conversation.say('Hello')
      await conversation.sendEvent('decision', { approved: false })
      await conversation.advance(86400000)
      // Here it breaks: a turn fails only because of a fault. The turn of event 'remind' failed with FLOW_ERROR without a fault of the store: nobody to remind
      // If that is meant: simulate(..., { mayFail: ['FLOW_ERROR'] })."
    `)
    const code = error.message.slice(error.message.indexOf('const conversation'))
    const run = new Function('Conversation', 'Wrong', `return (async () => {\n${code}\nreturn conversation\n})()`)
    const conversation: Conversation = await run(Conversation, Wrong)
    conversation.expectError('FLOW_ERROR', 'nobody to remind')
    await conversation.close()
  })
})
