// Calls that a model or its provider got wrong: the turn goes on, and what is stored is right.
import { describe, expect, test } from 'vitest'
import { chatOf, hello, modelHarness, Talk, toolThat } from '../../../testing/contract/model-harness.js'
import { lines } from '../../../testing/contract/test-flows.js'
import type { Message, MessagePart, ModelResponse } from '../../index.js'
import type { ResolvedModel } from '../../model/model-registry.js'
import { partsOf } from './answer-parts.js'

const taken: unknown[] = []

class Acting extends Talk {
  override tools() {
    taken.length = 0
    return [toolThat('act', (...[args]: unknown[]) => void taken.push(args))]
  }
}

/** Conversations whose model makes these calls, one list for each turn, and then says `Done.`. */
async function calling(...turns: readonly (readonly object[])[]) {
  const acts = turns.flatMap((calls) => [
    () => ({
      parts: calls.map((call) => ({ type: 'tool-call', toolName: 'act', toolCallId: 'a', input: {}, ...call })),
    }),
    'Done.',
  ])
  const { engine, asked } = modelHarness({ 'own/small': acts }, { flows: [chatOf(Acting)] })
  let sessionId = ''
  for (const _turn of turns) {
    const { session, message } = await engine.run({ ...hello, sessionId })
    expect(message).toBe('Done.')
    sessionId = session
  }
  const messages = (await engine.getSession(sessionId))?.flow.memory.Talk?.messages ?? []
  return { messages, asked }
}

describe('arguments that cannot be read', () => {
  let deep: unknown = 'core'
  for (let level = 0; level < 65; level++) deep = { deep }
  const circle: Record<string, unknown> = {}
  circle.own = circle

  test.each<[string, object, string]>([
    [
      'not valid JSON',
      { invalidInput: 'They are not valid JSON: {"order": A-1' },
      'They are not valid JSON: {"order": A-1',
    ],
    [
      'an own __proto__',
      { input: JSON.parse('{"a":{"__proto__":{}}}') },
      'input.a has a key named __proto__, which is reserved',
    ],
    ['a number', { input: 5 }, 'They are not a JSON object.'],
    ['a list', { input: ['A-1'] }, 'They are not a JSON object.'],
    ['too deep', { input: deep }, 'They are nested deeper than 64 levels.'],
    ['a circle', { input: circle }, 'input.own is part of itself'],
    [
      'a Date',
      { input: { when: new Date(0) } },
      'input.when is an instance of Date, which JSON cannot carry: use date.toISOString()',
    ],
  ])('go back to the model, and the tool is not run: %s', async (_what, call, problem) => {
    const { messages, asked } = await calling([call])
    expect(taken).toEqual([])
    expect(lines(asked[1]?.request.messages).at(-1)).toBe(
      `tool: act failed ${JSON.stringify(`Invalid arguments: ${problem}`)}`,
    )
    expect(messages[1]?.parts).toEqual([
      { type: 'tool-call', toolCallId: 'a', toolName: 'act', input: {}, invalidInput: problem },
    ])
  })

  test('are stored with 300 characters of what the model wrote', async () => {
    const { messages } = await calling([{ invalidInput: 'x'.repeat(5_000) }])
    expect(messages[1]?.parts[0]).toHaveProperty('invalidInput', 'x'.repeat(300))
    expect(messages[2]?.parts[0]).toHaveProperty('output', `Invalid arguments: ${'x'.repeat(300)}`)
  })

  test('are reported by the events of a tool, as wrong types are', async () => {
    const { engine, events } = modelHarness(
      {
        'own/small': [
          () => ({ parts: [{ type: 'tool-call', toolCallId: 'a', toolName: 'act', invalidInput: 'No.' }] }),
          'Done.',
        ],
      },
      { flows: [chatOf(Acting)] },
    )
    await engine.run(hello)
    expect(events.filter(([name]) => name.startsWith('tool:'))).toMatchObject([
      ['tool:start', { toolCallId: 'a' }],
      ['tool:end', { toolCallId: 'a', success: false }],
    ])
  })
})

describe('the ID of a call', () => {
  /** The IDs of the calls and those of the results, which must be the same. */
  async function idsOf(...turns: readonly (readonly object[])[]): Promise<(string | undefined)[]> {
    const { messages } = await calling(...turns)
    const parts = messages.flatMap(({ parts }) => parts as readonly MessagePart[])
    const ids = parts.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
    expect(parts.flatMap((part) => (part.type === 'tool-result' ? [part.toolCallId] : []))).toEqual(ids)
    return ids
  }

  test('is that of the model if no other call has it', async () => {
    expect(await idsOf([{ toolCallId: 'functions.act:0' }, { toolCallId: 'b' }])).toEqual(['functions.act:0', 'b'])
  })

  test('is a new one if another call of the answer has it', async () => {
    expect(await idsOf([{}, {}, { toolCallId: 'b' }, {}])).toEqual(['a', 'call_1_1_1', 'b', 'call_1_1_2'])
  })

  test.each([undefined, null, '', 7])('is a new one if it is missing: %j', async (toolCallId) => {
    expect(await idsOf([{ toolCallId }, { toolCallId }])).toEqual(['call_1_1_1', 'call_1_1_2'])
  })

  test('is a new one if a call of an earlier turn has it, also one that the engine named', async () => {
    expect(await idsOf([{}, {}], [{}, { toolCallId: 'call_1_1_1' }, { toolCallId: 'call_2_1_3' }, {}])).toEqual([
      'a',
      'call_1_1_1',
      'call_2_1_1',
      'call_2_1_2',
      'call_2_1_3',
      'call_2_1_4',
    ])
  })
})

test('arguments that are cut end with a whole character', async () => {
  const { messages } = await calling([{ invalidInput: `${'x'.repeat(299)}😀` }])
  expect(messages[1]?.parts[0]).toHaveProperty('invalidInput', 'x'.repeat(299))
})

test.each([
  ['look up', 'look_up'],
  ['', '_'],
  ['x'.repeat(70_000), 'x'.repeat(64)],
])(
  'the name of a tool that none can have is stored as one that providers accept, and no tool runs',
  async (name, stored) => {
    const { messages, asked } = await calling([{ toolName: name, input: {} }])
    expect(taken).toEqual([])
    expect(messages[1]?.parts[0]).toMatchObject({ toolName: stored, input: {} })
    expect(lines(asked[1]?.request.messages).at(-1)).toContain(`There is no tool '${stored}'.`)
  },
)

test('the memory is read at most twice, however many calls an answer has', () => {
  let reads = 0
  const message = {
    role: 'assistant',
    turn: 1,
    get parts() {
      reads++
      return []
    },
  } as unknown as Message
  const resolved = { selection: { provider: 'own', name: 'small' } } as unknown as ResolvedModel
  const context = { resolved, maxJsonDepth: 64, messages: [message], newIdPrefix: 'call' }
  const parts = Array.from({ length: 2_000 }, (_, index) => ({
    type: 'tool-call',
    toolName: 'act',
    toolCallId: `id-${index}`,
    input: {},
  }))
  partsOf({ parts, finishReason: 'tool-calls' } as unknown as ModelResponse, context)
  expect(reads).toBeLessThanOrEqual(2)
})
