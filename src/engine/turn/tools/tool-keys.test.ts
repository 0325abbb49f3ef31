// The idempotency key of a tool's call: the same for a repeat, and another one for each call that is not a repeat.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, harness, never } from '../../../../testing/contract/engine-harness.js'
import { modelStep, modelsOf } from '../../../../testing/contract/stream-harness.js'
import { flowOf } from '../../../../testing/contract/test-flows.js'
import {
  type FlowEngineOptions,
  finish,
  go,
  type JsonObject,
  type ToolCall,
  type ToolOptions,
  tool,
} from '../../../index.js'

afterEach(expectNothingLeft)

interface Called {
  readonly name: string
  readonly input?: JsonObject
}

let made = 0

/** A desk whose model makes these calls in each turn, one list for each answer, and then says `Done.` */
function desk(does: (call: ToolCall, message: string) => unknown, options: FlowEngineOptions = {}) {
  const execute: ToolOptions['execute'] = (_args, turn, call) => does(call, turn.message)
  const toolOf = (name: string, parallel: boolean) =>
    tool({ name, description: `Does ${name}.`, parallel, execute: execute as never })
  const step = modelStep({ tools: () => [toolOf('pay', true), toolOf('mail', true), toolOf('slow', false)] })
  const answers: (readonly Called[])[] = []
  const generate = async () => {
    const calls = answers.shift()
    if (calls === undefined) return { parts: [{ type: 'text', text: 'Done.' }] } as const
    const parts = calls.map(({ name, input = {} }) => {
      return { type: 'tool-call', toolCallId: `call-${++made}`, toolName: name, input } as const
    })
    return { parts }
  }
  const talk = harness({
    flows: [flowOf(step)],
    providers: [modelsOf({ generate })],
    onTurnError: 'rollback',
    ...options,
  })
  return {
    ...talk,
    say: (userMessage: string, calls: readonly (readonly Called[])[], sessionId?: string, signal?: AbortSignal) => {
      answers.splice(0, answers.length, ...calls)
      return talk.engine.execute({
        flowName: 'Test',
        userMessage,
        ...(sessionId === undefined ? {} : { sessionId }),
        ...(signal === undefined ? {} : { signal }),
      })
    },
  }
}

const pay = (input: JsonObject = { amount: 10 }): Called => ({ name: 'pay', input })

describe('the idempotency key of a call', () => {
  test('is another one for each session, turn, tool, input, and equal call before it', async () => {
    const keys: string[] = []
    const { say } = desk((call) => void keys.push(call.idempotencyKey))
    const { session } = (
      await say('Hi', [
        [pay(), pay(), pay({ amount: 11 })],
        [{ ...pay(), name: 'mail' }, pay()],
      ])
    ).response
    await say('Hi', [[pay()]], session)
    await say('Hi', [[pay()]])
    expect(keys.length).toBe(7)
    expect(new Set(keys).size).toBe(7)
    expect(keys.filter((key) => !/^[\w-]{22}$/.test(key))).toEqual([])
  })

  test('is in a copy of the call, too', async () => {
    const keys: string[] = []
    const { say } = desk((call) => {
      const { idempotencyKey } = Object.assign({}, call)
      keys.push(idempotencyKey, call.idempotencyKey)
    })
    await say('Hi', [[pay()]])
    expect([keys.length, new Set(keys).size, keys[0]]).toEqual([2, 1, expect.stringMatching(/^[\w-]{22}$/)])
  })

  test('does not depend on the order of names in the input, nor on who reads it, nor how often', async () => {
    const keys: string[] = []
    let calls = 0
    const { say } = desk((call, message) => {
      if (message === 'all' || ++calls === 2) keys.push(call.idempotencyKey, call.idempotencyKey)
      if (message === 'all') throw new Error('It broke.')
    })
    const { session } = (await say('start', [])).response
    const [one, other] = [pay({ amount: 10, to: { b: 1, a: 2 } }), pay({ to: { a: 2, b: 1 }, amount: 10 })]
    for (const input of [one, other]) await say('all', [[input]], session)
    // The same turn once more: the first call does not read its key, and counts.
    await say('the second', [[other, one]], session)
    expect(new Set(keys.slice(0, 4)).size).toBe(1)
    expect(new Set(keys).size).toBe(2)
    expect(keys.length).toBe(6)
  })

  const failures: readonly (readonly [string, (cancel: AbortController) => unknown])[] = [
    [
      'a rollback',
      () => {
        throw new Error('It broke.')
      },
    ],
    [
      'a cancellation',
      (cancel) => {
        cancel.abort()
        return never()
      },
    ],
  ]
  test.each(failures)('is the same when the turn is repeated after %s', async (_title, fail) => {
    let keys: string[] = []
    const cancel = new AbortController()
    const { say } = desk((call, message) => {
      if (call.name === 'slow') return message === 'fail' ? fail(cancel) : 'slow'
      keys.push(call.idempotencyKey)
      return 'paid'
    })
    const { session } = (await say('start', [])).response
    const calls = [
      [pay(), pay()],
      [pay({ amount: 11 }), { name: 'slow' }],
    ]
    await say('fail', calls, session, cancel.signal)
    const before = keys
    keys = []
    await say('again', calls, session)
    expect(keys).toEqual(before)
    expect(new Set(keys).size).toBe(3)
  })

  test('goes by the order of the model where calls run together, whichever reads its key first', async () => {
    const byCall = async (order: readonly number[]) => {
      const keys = new Map<string, string>()
      const waiting: (() => void)[] = []
      const { say, clock } = desk(
        async (call) => {
          await new Promise<void>((resolve) => waiting.push(resolve))
          keys.set(call.id, call.idempotencyKey)
        },
        { generateId: (kind) => `${kind}-1` },
      )
      const saying = say('Hi', [[pay(), pay(), pay()]])
      await clock.settle()
      for (const index of order) {
        waiting[index]?.()
        await clock.settle()
      }
      await saying
      return [...keys].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, key]) => key)
    }
    made = 100
    const first = await byCall([0, 1, 2])
    made = 100
    expect(await byCall([2, 0, 1])).toEqual(first)
    expect(new Set(first).size).toBe(3)
  })

  test('counts anew in the part of a turn that answers for a failure: what failed was taken back', async () => {
    const keys: string[] = []
    const pays = tool({
      name: 'pay',
      description: 'Pays.',
      execute: (_args, turn, call) => {
        keys.push(call.idempotencyKey)
        if (turn.error === undefined) throw new Error('It broke.')
        return finish('Paid.')
      },
    })
    class Test extends flowOf(modelStep({ tools: () => [pays] })) {
      override onError() {
        return go('Talk')
      }
    }
    const call = { type: 'tool-call', toolCallId: 'a', toolName: 'pay', input: {} } as const
    const { engine } = harness({ flows: [Test], providers: [modelsOf({ generate: async () => ({ parts: [call] }) })] })
    const response = await engine.run({ flowName: 'Test', userMessage: 'Hi' })
    expect([response.message, keys.length, new Set(keys).size]).toEqual(['Paid.', 2, 1])
  })
})
