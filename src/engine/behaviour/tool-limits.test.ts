import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, harness } from '../../../testing/contract/engine-harness.js'
import { recordEvents } from '../../../testing/contract/event-recorder.js'
import { Chat, modelHarness } from '../../../testing/contract/model-harness.js'
import { flowOf, place } from '../../../testing/contract/test-flows.js'
import { scriptedProvider } from '../../../testing/index.js'
import {
  type EngineLimits,
  type ExecuteResult,
  go,
  Step,
  type StoredMessage,
  stay,
  type Tool,
  ToolError,
  tool,
} from '../../index.js'

afterEach(expectNothingLeft)

const off = Number.POSITIVE_INFINITY

/** An engine whose model calls `name` so many times in each of its answers, and then says `Done.`, again and again. */
function looking(calls: readonly number[], execute: () => unknown, limits: Partial<EngineLimits>, parallel = false) {
  class Desk extends Step {
    static override readonly id = 'Desk'
    override tools(): readonly Tool[] {
      return [tool({ name: 'look', description: 'Looks.', parallel, execute })]
    }
  }
  const answers = calls.map((count) => ({ toolCalls: Array.from({ length: count }, () => ({ name: 'look' })) }))
  const script = [...answers, 'Done.']
  const provider = scriptedProvider(({ origin }) => script[origin.callNumber - 1] ?? 'Called once too often.')
  const made = harness({ flows: [flowOf(Desk, place('Next'))], providers: [provider], limits })
  const events = recordEvents(made.engine)
  const say = (sessionId = ''): Promise<ExecuteResult> =>
    made.engine.execute({ flowName: 'Test', userMessage: 'hello', sessionId })
  return { ...made, provider, events, say }
}

function callOfNone(number: number) {
  return { type: 'tool-call', toolCallId: `call-${number}`, toolName: 'none', input: {} }
}

describe('maxToolCallsPerTurn', () => {
  const sentence = "The number of tool calls in step 'Desk' exceeds the limit maxToolCallsPerTurn (3)."

  test.each([false, true])('runs no call of an answer that asks for too many; parallel: %j', async (parallel) => {
    let ran = 0
    const { say, document } = looking([4], () => ran++, { maxToolCallsPerTurn: 3 }, parallel)
    const { response, error } = await say()
    expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'maxToolCallsPerTurn', value: 3 })
    expect([response.message, ran]).toEqual([sentence, 0])
    expect(await document(response.session)).toMatchObject({
      runStatus: 'aborted',
      error: [sentence],
      usage: { modelCalls: 1 },
      flow: { memory: {} },
    })
  })

  test.each<[readonly number[], number, boolean]>([
    [[3], 3, true],
    [[2, 1], 3, true],
    [[2, 2], 2, false],
  ])('counts those of all answers of the turn: %j', async (calls, runs, success) => {
    let ran = 0
    const { response } = await looking(calls, () => ran++, { maxToolCallsPerTurn: 3 }).say()
    expect([ran, response.success]).toEqual([runs, success])
  })

  test('begins anew with each turn', async () => {
    const { say } = looking([3], () => 'seen', { maxToolCallsPerTurn: 3 })
    const first = await say()
    expect((await say(first.response.session)).response).toEqual(first.response)
    expect(first.response.message).toBe('Done.')
  })

  test('counts calls of tools that there are not', async () => {
    const { engine } = modelHarness(
      { 'own/small': [() => ({ parts: [1, 2, 3, 4].map(callOfNone) })] },
      {
        flows: [Chat],
        limits: { maxToolCallsPerTurn: 3 },
      },
    )
    const { message } = await engine.run({ flowName: 'Chat', userMessage: 'hello' })
    expect(message).toBe(sentence.replace('Desk', 'Talk'))
  })

  test('64 unless said otherwise; Infinity switches it off', async () => {
    let ran = 0
    expect((await looking([65], () => ran++, {}).say()).response.success).toBe(false)
    expect(ran).toBe(0)
    expect((await looking([64], () => ran++, {}).say()).response.success).toBe(true)
    expect((await looking([65], () => ran++, { maxToolCallsPerTurn: off }).say()).response.success).toBe(true)
    expect(ran).toBe(129)
  })
})

describe('maxToolResultBytes', () => {
  const leftOut =
    'The tool ran, but its result is left out because it exceeds the limit maxToolResultBytes (10). Ask for less.'

  /** What becomes of a result, and what the model reads of it. */
  async function resultOf(execute: () => unknown, limits: Partial<EngineLimits> = { maxToolResultBytes: 10 }) {
    const { say, document, provider, events } = looking([1], execute, limits)
    const { response } = await say()
    const stored = await document(response.session)
    const messages: readonly StoredMessage[] = stored.flow.memory.Desk?.messages ?? []
    const kept = messages.find(({ role }) => role === 'tool')?.parts[0]
    const read = provider.requests[1]?.messages.at(-1)?.parts[0]
    return { response, kept, read, events, stored }
  }

  test.each<[string, unknown, unknown]>([
    ['a text', 'aaaaaaaaaa', 'aaaaaaaaaaa'],
    ['a text of two bytes each', 'ééééé', 'éééééa'],
    ['a list', [1, 2, 3, 4], [1, 2, 3, 4, 5]],
    ['an object', { a: 'xx' }, { a: 'xxx' }],
    ['a list of lists', [[], [], []], [[], [], [], []]],
    ['true and false', [true, 1, 1], [false, 1, 1]],
    ['null', [null, 111], [null, 1111]],
    ['an object without keys', [{}, {}, 11], [{}, {}, 111]],
    ['keys without a value', { a: 'xx', b: undefined }, { a: 'xx', b: null }],
    ['a number', 1_234_567_890, 12_345_678_901],
    ['feedback', stay('aaaaaaaaaa'), stay('aaaaaaaaaaa')],
  ])('of %s, which counts as the model would get it', async (_what, fits, tooLarge) => {
    expect((await resultOf(() => fits)).read).not.toHaveProperty('isError')
    const { response, read } = await resultOf(() => tooLarge)
    expect(read).toMatchObject({ output: leftOut, isError: true })
    expect(response).toMatchObject({ success: true, message: 'Done.' })
  })

  test('keeps a larger one out of memory and events, and the session goes on', async () => {
    const { stored, kept, events } = await resultOf(() => ({ text: 'secret'.repeat(100) }))
    expect(JSON.stringify([stored, events])).not.toContain('secret')
    expect(stored.runStatus).toBe('running')
    expect(kept).toMatchObject({ output: leftOut })
    expect(events.find(([name]) => name === 'tool:end')?.[1]).toMatchObject({ success: false })
  })

  test('holds for the message of a ToolError', async () => {
    const { read } = await resultOf(() => {
      throw new ToolError('a'.repeat(11))
    })
    expect(read).toMatchObject({ output: leftOut, isError: true })
  })

  test('a move is made whatever its feedback', async () => {
    const { response, kept } = await resultOf(() => go('Next').withFeedback('a'.repeat(11)))
    expect(response.message).toBe('At Next.')
    expect(kept).toMatchObject({ output: leftOut })
  })

  test('what is wrong with a value in another way still fails the turn', async () => {
    const { response } = await resultOf(() => [1n])
    expect(response.message).toBe(
      "Tool 'look' returned what cannot be stored: result[0] is a bigint, which JSON cannot carry.",
    )
    const broken = await resultOf(() => ({
      get text() {
        throw new Error('No text.')
      },
    }))
    expect(broken.response.message).toBe('No text.')
  })

  test('a larger value is not read to its end', async () => {
    let read = 0
    const entries = Array.from({ length: 1_000 }, () => ({
      get text() {
        read++
        return 'a'.repeat(10)
      },
    }))
    expect((await resultOf(() => entries, { maxToolResultBytes: 105 })).read).toMatchObject({ isError: true })
    expect(read).toBe(5)
  })

  test('256 KiB unless said otherwise; Infinity switches it off', async () => {
    const fits = 'a'.repeat(262_144)
    expect((await resultOf(() => fits, {})).read).toMatchObject({ output: fits })
    expect((await resultOf(() => `${fits}a`, {})).read).toMatchObject({ isError: true })
    const open = { maxToolResultBytes: off }
    expect((await resultOf(() => [fits, fits], open)).read).toMatchObject({ output: [fits, fits] })
  })
})
