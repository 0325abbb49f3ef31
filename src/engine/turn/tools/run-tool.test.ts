import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { flowOf, lines, place, upTo } from '../../../../testing/contract/test-flows.js'
import {
  Conversation,
  type ConversationOptions,
  type ScriptedToolCall,
  VirtualClock,
} from '../../../../testing/index.js'
import { Deadlines } from '../../../config/deadlines.js'
import {
  finish,
  go,
  ModelError,
  reply,
  SessionConflictError,
  Step,
  stay,
  type Tool,
  type ToolCall,
  ToolError,
  type ToolOptions,
  tool,
} from '../../../index.js'

/** A conversation in which the model makes these calls at once, and says `Done.` when it may go on. */
function calling(
  tools: readonly Tool[],
  toolCalls: readonly ScriptedToolCall[],
  options: ConversationOptions = {},
): Conversation {
  class Desk extends Step {
    static override readonly id = 'Desk'
    override tools() {
      return tools
    }
  }
  return new Conversation(flowOf(Desk, place('Next')), {
    ...options,
    script: upTo({ toolCalls }, 'Done.'),
  })
}

/** The results of the calls, as the model reads them. */
async function resultsOf(conversation: Conversation): Promise<string[]> {
  const { memory } = (await conversation.document()).flow
  return lines(memory.Desk?.messages).filter((line) => line.startsWith('tool: '))
}

/** A tool `act` that does this. */
function act(execute: ToolOptions['execute']): Tool {
  return tool({ name: 'act', description: 'Acts.', execute: execute as never })
}

describe('the arguments of a tool', () => {
  test('that has no schema are passed on, and the log says so; a call without any is not mentioned', async () => {
    const taken: unknown[] = []
    const warn = vi.fn(() => {
      throw new Error('The log is full.')
    })
    const logger = { debug() {}, info() {}, warn, error() {} }
    const look = act((args) => void taken.push(args))
    const calls = [{ name: 'act', input: { city: 'Bonn' } }, { name: 'act' }]
    const conversation = calling([look], calls, { logger })
    await conversation.say('Go.')
    expect(taken).toEqual([{ city: 'Bonn' }, {}])
    expect(warn.mock.calls).toEqual([
      [
        "Tool 'act' was called with arguments, but it has no schema that describes and checks them. Pass input.",
        { step: 'Desk', toolCallId: expect.any(String) },
      ],
    ])
  })

  const schemas = {
    Zod: z.object({ guests: z.number(), names: z.array(z.string()).optional() }),
    Valibot: toStandardJsonSchema(v.object({ guests: v.number(), names: v.optional(v.array(v.string())) })),
    ArkType: type({ guests: 'number', 'names?': 'string[]' }),
  }
  const book = (input: NonNullable<ToolOptions['input']>, taken: unknown[]): Tool =>
    tool({ name: 'book', description: 'Books a table.', input, execute: (args) => void taken.push(args) })

  test.each(Object.entries(schemas))('are validated before execute: %s', async (_library, schema) => {
    const taken: unknown[] = []
    await using conversation = calling([book(schema, taken)], [{ name: 'book', input: { guests: 4 } }])
    await conversation.say('Four of us')
    conversation.expectReply('Done.')
    expect(taken).toEqual([{ guests: 4 }])
  })

  test.each([
    ['Zod', schemas.Zod, 'names.1: Invalid input: expected string, received number'],
    ['Valibot', schemas.Valibot, 'names.1: Invalid type: Expected string but received 2'],
    ['ArkType', schemas.ArkType, 'names.1: names[1] must be a string (was a number)'],
  ])('that are wrong go back to the model, with path and reason: %s', async (_library, schema, reason) => {
    const taken: unknown[] = []
    await using conversation = calling(
      [book(schema, taken)],
      [{ name: 'book', input: { guests: 4, names: ['Ada', 2] } }],
    )
    await conversation.say('Four of us')
    conversation.expectReply('Done.')
    expect(taken).toEqual([])
    expect(await resultsOf(conversation)).toEqual([`tool: book failed "Invalid arguments: ${reason}"`])
  })

  test('that are wrong in several ways go back with every reason', async () => {
    const input = z.object({ guests: z.number(), day: z.string().refine((day) => day !== 'Monday', 'closed') })
    await using conversation = calling([book(input, [])], [{ name: 'book', input: { day: 'Monday' } }])
    await conversation.say('Hi')
    expect(await resultsOf(conversation)).toEqual([
      'tool: book failed "Invalid arguments: guests: Invalid input: expected number, received undefined; day: closed"',
    ])
  })

  test('that are wrong as a whole go back without a path', async () => {
    await using conversation = calling(
      [
        book(
          z.object({}).refine(() => false, 'closed on Mondays'),
          [],
        ),
      ],
      [{ name: 'book' }],
    )
    await conversation.say('Hi')
    expect(await resultsOf(conversation)).toEqual(['tool: book failed "Invalid arguments: closed on Mondays"'])
  })

  test('are what the schema makes of them, and may be validated asynchronously', async () => {
    const taken: unknown[] = []
    const input = z.object({ guests: z.number(), table: z.string().default('window') }).refine(async () => true)
    await calling([book(input, taken)], [{ name: 'book', input: { guests: 2 } }]).say('Hi')
    expect(taken).toEqual([{ guests: 2, table: 'window' }])
  })

  test('are as the model wrote them where the tool has no schema', async () => {
    const taken: unknown[] = []
    await using conversation = calling(
      [act((args) => void taken.push(args))],
      [{ name: 'act', input: { anything: ['goes'] } }],
    )
    await conversation.say('Hi')
    expect(taken).toEqual([{ anything: ['goes'] }])
  })

  test('fail the turn where the schema itself throws', async () => {
    const input = z.object({}).refine(() => {
      throw new Error('no calendar')
    })
    await using conversation = calling([book(input, [])], [{ name: 'book' }])
    await conversation.say('Hi')
    conversation.expectError('TOOL_ERROR', 'no calendar')
  })
})

describe('a call of a tool that there is not', () => {
  test('goes back to the model with the names there are', async () => {
    const other = tool({ name: 'other', description: 'Other.', execute: () => 1 })
    await using conversation = calling([act(() => 1), other], [{ name: 'delete_everything', offered: false }])
    await conversation.say('Hi')
    conversation.expectReply('Done.')
    expect(await resultsOf(conversation)).toEqual([
      `tool: delete_everything failed "There is no tool 'delete_everything'. Tools: act, other."`,
    ])
  })

  test('says so where the step has none', async () => {
    await using conversation = calling([], [{ name: 'act', offered: false }])
    await conversation.say('Hi')
    expect(await resultsOf(conversation)).toEqual([`tool: act failed "There is no tool 'act'. Tools: none."`])
  })
})

describe('the result of a tool', () => {
  test.each([
    ['a text', 'Booked.', '"Booked."'],
    ['an object', { table: 4, seats: [1, 2] }, '{"table":4,"seats":[1,2]}'],
    ['a promise', Promise.resolve([1]), '[1]'],
    ['null', null, 'null'],
    ['an empty text', '', '""'],
    ['false', false, 'false'],
    ['nothing', undefined, '"Done."'],
    ['stay()', stay(), '"Done."'],
    ['stay(text)', stay('Which table?'), '"Which table?"'],
    ['stay().withFeedback(text)', stay().withFeedback('Which table?'), '"Which table?"'],
  ])('is what it returned: %s', async (_what, returned, result) => {
    await using conversation = calling([act(() => returned)], [{ name: 'act' }])
    await conversation.say('Hi')
    conversation.expectReply('Done.')
    expect(await resultsOf(conversation)).toEqual([`tool: act = ${result}`])
  })

  test('is a copy: what the tool changes later does not reach the memory', async () => {
    const returned = { seats: [1] }
    await using conversation = calling([act(() => returned)], [{ name: 'act' }])
    await conversation.say('Hi')
    returned.seats.push(2)
    expect(await resultsOf(conversation)).toEqual(['tool: act = {"seats":[1]}'])
  })

  test('is frozen in the memory, all the way down', async () => {
    await using conversation = calling([act(() => ({ tables: [{ seats: [1] }] }))], [{ name: 'act' }])
    await conversation.say('Hi')
    const [part] = (await conversation.document()).flow.memory.Desk?.messages[2]?.parts ?? []
    const { tables } = (part as unknown as { output: { tables: [{ seats: number[] }] } }).output
    expect([tables, tables[0], tables[0].seats].map(Object.isFrozen)).toEqual([true, true, true])
  })

  test.each([
    [
      'a Date',
      { when: new Date(0) },
      'result.when is an instance of Date, which JSON cannot carry: use date.toISOString().',
    ],
    ['a function', () => 1, 'result is a function, which JSON cannot carry.'],
    ['an own __proto__', JSON.parse('{"__proto__":{}}'), 'result has a key named __proto__, which is reserved.'],
  ])('that JSON cannot carry fails the turn, and the path is named: %s', async (_what, returned, problem) => {
    await using conversation = calling([act(() => returned)], [{ name: 'act' }])
    await conversation.say('Hi')
    conversation.expectError('TOOL_ERROR', `Tool 'act' returned what cannot be stored: ${problem}`)
    expect(conversation.reply.error).toMatchObject({ tool: 'act' })
  })

  test('fails the turn with what its own getter throws', async () => {
    const returned = Object.defineProperty({}, 'total', {
      enumerable: true,
      get() {
        throw new Error('no total')
      },
    })
    await using conversation = calling([act(() => returned)], [{ name: 'act' }])
    await conversation.say('Hi')
    conversation.expectError('FLOW_ERROR', 'no total')
  })

  test('may not be nested deeper than maxJsonDepth', async () => {
    await using conversation = calling([act(() => [[['too deep']]])], [{ name: 'act' }], {
      limits: { maxJsonDepth: 2 },
    })
    await conversation.say('Hi')
    conversation.expectError(
      'LIMIT_EXCEEDED',
      /^The nesting of result\[0\]\[0\] of tool 'act' exceeds the limit maxJsonDepth \(2\)\./,
    )
  })
})

describe('a tool that moves the conversation', () => {
  test.each([
    ['go(Next)', go('Next'), 'At Next.', '"Done."'],
    ['go(Next).withReply(text)', go('Next').withReply('Booked.'), 'Booked.', '"Done."'],
    ['go(Next).withFeedback(text)', go('Next').withFeedback('Saved.'), 'At Next.', '"Saved."'],
    ['reply(text)', reply('Booked.'), 'Booked.', '"Done."'],
    ['reply(text).withFeedback(text)', reply('Booked.').withFeedback('Saved.'), 'Booked.', '"Saved."'],
    ['finish(text)', finish('Bye.'), 'Bye.', '"Done."'],
    ['finish(text).withFeedback(text)', finish('Bye.').withFeedback('Closed.'), 'Bye.', '"Closed."'],
  ])('has a result in memory all the same: %s', async (_what, transition, text, result) => {
    await using conversation = calling([act(() => transition)], [{ name: 'act' }])
    await conversation.say('Hi')
    conversation.expectReply(text)
    expect((await resultsOf(conversation))[0]).toBe(`tool: act = ${result}`)
    expect(conversation.model.requests).toHaveLength(1)
  })

  test('is the last one run: the calls after it are answered, not run', async () => {
    const ran: string[] = []
    const tools = ['first', 'second', 'third'].map((name) =>
      tool({
        name,
        description: name,
        execute: () => {
          ran.push(name)
          return name === 'second' ? go('Next') : 'ok'
        },
      }),
    )
    await using conversation = calling(tools, [
      { name: 'first' },
      { name: 'second' },
      { name: 'third' },
      { name: 'unknown', offered: false },
    ])
    await conversation.say('Hi')
    conversation.expectReply('At Next.')
    expect(ran).toEqual(['first', 'second'])
    expect(await resultsOf(conversation)).toEqual([
      'tool: first = "ok"',
      'tool: second = "Done."',
      'tool: third failed "Not run: an earlier call moved the conversation on."',
      'tool: unknown failed "Not run: an earlier call moved the conversation on."',
    ])
  })
})

describe('the calls of one answer', () => {
  test('run one after another, in order, and each result names its call', async () => {
    const running: string[] = []
    const slow = tool({
      name: 'slow',
      description: 'Slow.',
      execute: async (_args, _turn, call) => {
        running.push(`${call.id} starts`)
        await Promise.resolve()
        running.push(`${call.id} ends`)
        return stay(`${call.name} ${call.id}`)
      },
    })
    await using conversation = calling([slow], [{ name: 'slow' }, { name: 'slow' }])
    await conversation.say('Hi')
    conversation.expectReply('Done.')
    expect(running).toEqual(['call-1 starts', 'call-1 ends', 'call-2 starts', 'call-2 ends'])
    const parts = (await conversation.document()).flow.memory.Desk?.messages.flatMap((message) => message.parts) ?? []
    expect(parts.filter((part) => part.type === 'tool-result')).toEqual([
      { type: 'tool-result', toolCallId: 'call-1', toolName: 'slow', output: 'slow call-1' },
      { type: 'tool-result', toolCallId: 'call-2', toolName: 'slow', output: 'slow call-2' },
    ])
  })

  test('see the turn', async () => {
    const seen: unknown[] = []
    await using conversation = calling(
      [act((_args, turn) => void seen.push(turn.message, turn.number))],
      [{ name: 'act' }],
    )
    await conversation.say('Hi')
    expect(seen).toEqual(['Hi', 1])
  })
})

describe('a tool that throws', () => {
  test('a ToolError is returned to the model, and the turn goes on', async () => {
    await using conversation = calling(
      [
        act(() => {
          throw new ToolError('There is no such order. Ask for the number again.')
        }),
      ],
      [{ name: 'act' }, { name: 'act' }],
    )
    await conversation.say('Hi')
    conversation.expectReply('Done.')
    expect(await resultsOf(conversation)).toEqual([
      'tool: act failed "There is no such order. Ask for the number again."',
      'tool: act failed "There is no such order. Ask for the number again."',
    ])
  })

  test('a ToolError it rejects with does the same', async () => {
    await using conversation = calling([act(() => Promise.reject(new ToolError('Try later.')))], [{ name: 'act' }])
    await conversation.say('Hi')
    expect(await resultsOf(conversation)).toEqual(['tool: act failed "Try later."'])
  })

  test.each([
    ['an error', new RangeError('out of stock'), 'out of stock'],
    ['a text', 'out of stock', 'out of stock'],
    ['nothing', undefined, 'Something without a message was thrown: undefined.'],
  ])('[7.2-5] %s fails the turn with its own text', async (_what, thrown, message) => {
    await using conversation = calling(
      [
        act(() => {
          throw thrown
        }),
      ],
      [{ name: 'act' }],
    )
    const { error, ...response } = await conversation.say('Hi')
    conversation.expectError('TOOL_ERROR', message)
    expect(error).toMatchObject({ statusCode: 400, message, tool: 'act' })
    expect(error?.cause).toBe(thrown)
    expect(response).toMatchObject({ success: false, message })
    expect((await conversation.document()).flow.memory).toEqual({})
  })

  test('an error of the package passes as it is', async () => {
    const thrown = new ModelError({ provider: 'p', model: 'm' })
    await using conversation = calling([act(() => Promise.reject(thrown))], [{ name: 'act' }])
    const { error } = await conversation.say('Hi')
    conversation.expectError('MODEL_ERROR')
    expect(error).toBe(thrown)
  })

  test('an error about another session or turn is its own, with the same text', async () => {
    const thrown = new SessionConflictError({ sessionId: 'elsewhere' })
    await using conversation = calling([act(() => Promise.reject(thrown))], [{ name: 'act' }])
    const { error } = await conversation.say('Hi')
    conversation.expectError('TOOL_ERROR', thrown.message)
    expect(error).toMatchObject({ tool: 'act', cause: thrown })
  })
})

describe('the time of a tool', () => {
  test('is bounded by toolTimeoutMs: the turn fails, and the signal of the call fires', async () => {
    const clock = new VirtualClock()
    let signal: AbortSignal | undefined
    const hanging = act((_args, _turn, call) => {
      signal = call.signal
      return new Promise(() => undefined)
    })
    await using conversation = calling([hanging], [{ name: 'act' }], { clock, limits: { toolTimeoutMs: 1000 } })
    const saying = conversation.say('Hi')
    await conversation.advance(999)
    expect(signal?.aborted).toBe(false)
    await conversation.advance(1)
    const { error } = await saying
    conversation.expectError('LIMIT_EXCEEDED', "The time of tool 'act' exceeds the limit toolTimeoutMs (1000).")
    expect(signal?.aborted).toBe(true)
    expect(signal?.reason).toBe(error)
    expect(clock.pending).toBe(0)
  })

  test.each<[string, object, object, number, string]>([
    [
      "the tool's",
      { toolTimeoutMs: 500 },
      { toolTimeoutMs: 2_000 },
      500,
      "The time of tool 'act' exceeds the limit toolTimeoutMs of tool 'act' (500).",
    ],
    [
      "the step's",
      {},
      { toolTimeoutMs: 2_000 },
      2_000,
      "The time of tool 'act' exceeds the limit toolTimeoutMs of step 'Desk' (2000).",
    ],
  ])('is %s own, where it has one', async (_whose, ofTool, ofStep, ms, message) => {
    const clock = new VirtualClock()
    const slow = tool({ name: 'act', description: 'Acts.', ...ofTool, execute: () => new Promise(() => undefined) })
    class Desk extends Step {
      static override readonly id = 'Desk'
      override readonly toolTimeoutMs = (ofStep as { toolTimeoutMs: number }).toolTimeoutMs
      override tools() {
        return [slow]
      }
    }
    await using conversation = new Conversation(flowOf(Desk), {
      clock,
      limits: { toolTimeoutMs: 1_000 },
      script: upTo({ toolCalls: [{ name: 'act' }] }),
    })
    const saying = conversation.say('Hi')
    await conversation.advance(ms - 1)
    expect(clock.pending).toBeGreaterThan(0)
    await conversation.advance(1)
    const { error } = await saying
    conversation.expectError('LIMIT_EXCEEDED', message)
    expect(error).toMatchObject({ limit: 'toolTimeoutMs', value: ms })
  })

  test("adds no list of deadlines to the engine where it is the tool's own", async () => {
    const set = vi.spyOn(Deadlines.prototype, 'set')
    const own = tool({ name: 'act', description: 'Acts.', toolTimeoutMs: 501, execute: () => 'ok' })
    const other = tool({ name: 'other', description: 'Acts.', execute: () => 'ok' })
    await using conversation = calling([own, other], [{ name: 'act' }, { name: 'other' }], {
      limits: { toolTimeoutMs: 1_001 },
    })
    await conversation.say('Hi')
    const own501 = set.mock.calls.filter(([ms]) => ms === 501).map(([, , isOwn]) => isOwn)
    const shared = set.mock.calls.filter(([ms]) => ms === 1_001).map(([, , isOwn]) => isOwn)
    set.mockRestore()
    expect([own501, shared]).toEqual([[true], [false]])
  })

  test('of Infinity is that of the turn', async () => {
    const clock = new VirtualClock()
    const slow = tool({
      name: 'act',
      description: 'Acts.',
      toolTimeoutMs: Number.POSITIVE_INFINITY,
      execute: () => new Promise(() => undefined),
    })
    await using conversation = calling([slow], [{ name: 'act' }], { clock })
    const saying = conversation.say('Hi')
    await conversation.advance(120_000)
    await saying
    conversation.expectError('TURN_TIMEOUT')
  })

  test('ends also for a tool that never looked at its signal', async () => {
    const clock = new VirtualClock()
    await using conversation = calling([act(() => new Promise(() => undefined))], [{ name: 'act' }], { clock })
    const saying = conversation.say('Hi')
    await conversation.advance(30_000)
    await saying
    conversation.expectError('LIMIT_EXCEEDED')
    expect(conversation.reply.error).toMatchObject({ limit: 'toolTimeoutMs', value: 30_000 })
  })

  test('has passed also for a tool that first looks at its signal later, and each look finds the same signal', async () => {
    const clock = new VirtualClock()
    let call: ToolCall | undefined
    const hanging = act((_args, _turn, given) => {
      call = given
      return new Promise(() => undefined)
    })
    await using conversation = calling([hanging], [{ name: 'act' }], { clock })
    const saying = conversation.say('Hi')
    await conversation.advance(30_000)
    await saying
    conversation.expectError('LIMIT_EXCEEDED')
    expect(call?.signal.aborted).toBe(true)
    expect(call?.signal).toBe(call?.signal)
  })

  test('is counted for each call alone', async () => {
    const clock = new VirtualClock()
    const slow = act(() => new Promise((resolve) => clock.setTimer(() => resolve('ok'), 900)))
    await using conversation = calling([slow], [{ name: 'act' }, { name: 'act' }], {
      clock,
      limits: { toolTimeoutMs: 1000 },
    })
    const saying = conversation.say('Hi')
    await conversation.advance(1800)
    await saying
    conversation.expectReply('Done.')
    expect(clock.pending).toBe(0)
  })

  test('ends with the turn: what the tool returns later goes nowhere', async () => {
    const clock = new VirtualClock()
    const controller = new AbortController()
    let signal: AbortSignal | undefined
    let finishLate: (value: unknown) => void = () => undefined
    const hanging = act((_args, _turn, call) => {
      signal = call.signal
      return new Promise((resolve) => {
        finishLate = resolve
      })
    })
    await using conversation = calling([hanging], [{ name: 'act' }], { clock })
    const ended: string[] = []
    await conversation.open()
    conversation.engine.on('tool:end', () => ended.push('tool:end'))
    const saying = conversation.say('Hi', { signal: controller.signal })
    await clock.settle()
    controller.abort()
    await saying
    conversation.expectError('TURN_ABORTED')
    expect(signal?.aborted).toBe(true)
    finishLate(go('Next'))
    await clock.settle()
    expect(ended).toEqual([])
    expect(conversation.store.operations).toEqual([])
    expect(clock.pending).toBe(0)
  })
})

test('the events of a tool tell how long it took, also of one that throws', async () => {
  const clock = new VirtualClock()
  const failing = act(async () => {
    await new Promise<void>((resolve) => clock.setTimer(resolve, 40))
    throw new Error('out of stock')
  })
  await using conversation = calling([failing], [{ name: 'act' }], { clock })
  const told: unknown[] = []
  await conversation.open()
  conversation.engine.on('tool:end', ({ success, durationMs }) => told.push([success, durationMs]))
  const saying = conversation.say('Hi')
  await conversation.advance(40)
  await saying
  conversation.expectError('TOOL_ERROR', 'out of stock')
  expect(told).toEqual([[false, 40]])
})

test('the events of a tool tell its name, its call and whether it worked', async () => {
  const told: unknown[] = []
  const picky = tool({
    name: 'picky',
    description: 'Picky.',
    input: z.object({ ok: z.literal(true) }),
    execute: () => 'ok',
  })
  await using conversation = calling(
    [picky],
    [{ name: 'picky', input: { ok: true } }, { name: 'picky' }, { name: 'unknown', offered: false }],
  )
  await conversation.open()
  conversation.engine.on('tool:start', ({ step, tool: name, toolCallId }) =>
    told.push(['start', step, name, toolCallId]),
  )
  conversation.engine.on('tool:end', ({ tool: name, toolCallId, success }) =>
    told.push(['end', name, toolCallId, success]),
  )
  await conversation.say('Hi')
  expect(told).toEqual([
    ['start', 'Desk', 'picky', 'call-1'],
    ['end', 'picky', 'call-1', true],
    ['start', 'Desk', 'picky', 'call-2'],
    ['end', 'picky', 'call-2', false],
  ])
})

test('a tool that no step offers is an event, with its name cut, and told to the model', async () => {
  const name = 'look_up_'.repeat(10)
  await using conversation = calling([act(() => 'ok')], [{ name, offered: false }])
  const told: unknown[] = []
  await conversation.open()
  for (const event of ['tool:start', 'tool:end', 'tool:unknown'] as const) {
    conversation.engine.on(event, ({ step, tool: cut, toolCallId }) => told.push([event, step, cut, toolCallId]))
  }
  await conversation.say('Hi')
  conversation.expectReply('Done.')
  expect(told).toEqual([['tool:unknown', 'Desk', 'look_up_'.repeat(8), 'call-1']])
  // No tool has a longer name, and a provider would refuse to read one again.
  const cut = 'look_up_'.repeat(8)
  expect(await resultsOf(conversation)).toEqual([`tool: ${cut} failed "There is no tool '${cut}'. Tools: act."`])
})
