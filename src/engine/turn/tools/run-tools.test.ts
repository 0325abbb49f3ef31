// Calls of one answer: at the same time if every tool sets `parallel`, otherwise one after the other.
import { describe, expect, test } from 'vitest'
import { gate, never } from '../../../../testing/contract/engine-harness.js'
import { flowOf, lines, place, upTo } from '../../../../testing/contract/test-flows.js'
import { Conversation, type ConversationOptions, VirtualClock } from '../../../../testing/index.js'
import { finish, go, Step, stay, type Tool, type ToolCall, ToolError, type ToolOptions, tool } from '../../../index.js'

type Does = (call: ToolCall) => unknown

/** A parallel tool that does this, unless `options` say otherwise. */
function act(name: string, does: Does, options: Partial<ToolOptions> = {}): Tool {
  const execute: ToolOptions['execute'] = (_args, _turn, call) => does(call)
  return tool({ name, description: `Does ${name}.`, parallel: true, ...options, execute: execute as never })
}

/** A conversation whose model calls each tool once, in this order, and says `Done.` when it may go on. */
function calling(tools: readonly Tool[], options: ConversationOptions = {}): Conversation {
  class Desk extends Step {
    static override readonly id = 'Desk'
    override tools() {
      return tools
    }
  }
  const toolCalls = tools.map(({ name }) => ({ name }))
  return new Conversation(flowOf(Desk, place('Next'), place('Other')), {
    ...options,
    script: upTo({ toolCalls }, 'Done.'),
  })
}

/** The results in memory. */
async function resultsOf(conversation: Conversation): Promise<string[]> {
  const { memory } = (await conversation.document()).flow
  return lines(memory.Desk?.messages).filter((line) => line.startsWith('tool: '))
}

/** A tool whose calls note when they begin, and end when their gate opens. */
function gated(name: string, told: string[], result: () => unknown = () => name, options?: Partial<ToolOptions>) {
  const { opened, open } = gate()
  const does: Does = async () => {
    told.push(`${name} begins`)
    await opened
    told.push(`${name} ends`)
    return result()
  }
  return { tool: act(name, does, options), open }
}

describe('calls of one answer', () => {
  test('run together where every tool says so, and their results are in the order of the calls', async () => {
    const told: string[] = []
    const [a, b] = [gated('a', told), gated('b', told)]
    await using conversation = calling([a.tool, b.tool])
    const saying = conversation.say('Hi')
    await conversation.clock.settle()
    expect(told).toEqual(['a begins', 'b begins'])
    b.open()
    await conversation.clock.settle()
    a.open()
    await saying
    conversation.expectReply('Done.')
    expect(told.slice(2)).toEqual(['b ends', 'a ends'])
    expect(await resultsOf(conversation)).toEqual(['tool: a = "a"', 'tool: b = "b"'])
  })

  test.each([{ parallel: false }, {}])(
    'run one after the other where one tool does not say so: %j',
    async (options) => {
      const told: string[] = []
      const a = gated('a', told)
      const other = tool({ name: 'b', description: 'Does b.', ...options, execute: () => void told.push('b') })
      await using conversation = calling([a.tool, other])
      const saying = conversation.say('Hi')
      await conversation.clock.settle()
      expect(told).toEqual(['a begins'])
      a.open()
      await saying
      expect(told).toEqual(['a begins', 'a ends', 'b'])
    },
  )

  test('that mix parallel tools and a move run in order up to the move, and the rest is not run', async () => {
    const told: string[] = []
    const note = act('note', () => void told.push('note'))
    await using conversation = calling([
      note,
      act('move', () => go('Next'), { parallel: false }),
      act('late', () => told.push('late')),
    ])
    await conversation.say('Hi')
    conversation.expectReply('At Next.')
    expect(told).toEqual(['note'])
    expect(await resultsOf(conversation)).toEqual([
      'tool: note = "Done."',
      'tool: move = "Done."',
      'tool: late failed "Not run: an earlier call moved the conversation on."',
    ])
  })

  test('have events in pairs, by the ID of the call', async () => {
    const told: unknown[] = []
    const [a, b] = [gated('a', []), gated('b', [])]
    await using conversation = calling([a.tool, b.tool])
    await conversation.open()
    for (const name of ['tool:start', 'tool:end'] as const) {
      conversation.engine.on(name, ({ tool, toolCallId }) => told.push(`${name} ${tool} ${toolCallId}`))
    }
    const saying = conversation.say('Hi')
    await conversation.clock.settle()
    b.open()
    await conversation.clock.settle()
    a.open()
    await saying
    expect(told).toEqual(['tool:start a call-1', 'tool:start b call-2', 'tool:end b call-2', 'tool:end a call-1'])
  })

  test('fail alone with a ToolError, with wrong arguments, and with stay', async () => {
    const refuse: Does = () => {
      throw new ToolError('Not today.')
    }
    await using conversation = calling([act('a', refuse), act('b', () => stay('Which one?')), act('c', () => 3)])
    await conversation.say('Hi')
    conversation.expectReply('Done.')
    expect(await resultsOf(conversation)).toEqual([
      'tool: a failed "Not today."',
      'tool: b = "Which one?"',
      'tool: c = 3',
    ])
  })
})

describe('a move of a call that runs with others', () => {
  test('is made when all have run: the results of all are stored', async () => {
    const told: string[] = []
    const slow = gated('slow', told)
    await using conversation = calling([act('move', () => go('Next').withFeedback('Moved.')), slow.tool])
    const saying = conversation.say('Hi')
    await conversation.clock.settle()
    slow.open()
    await saying
    conversation.expectReply('At Next.')
    expect(told).toEqual(['slow begins', 'slow ends'])
    expect(await resultsOf(conversation)).toEqual(['tool: move = "Moved."', 'tool: slow = "slow"'])
  })

  test('is the first one in the order of the calls, whichever ended first, and the result of the other says so', async () => {
    const first = gated('first', [], () => go('Next'))
    await using conversation = calling([first.tool, act('second', () => finish('Bye.')), act('third', () => 3)])
    const saying = conversation.say('Hi')
    await conversation.clock.settle()
    first.open()
    await saying
    conversation.expectReply('At Next.')
    expect(await resultsOf(conversation)).toEqual([
      'tool: first = "Done."',
      'tool: second failed "The tool ran, but its transition was ignored: an earlier call already changed the step."',
      'tool: third = 3',
    ])
  })
})

describe('a call that fails the turn', () => {
  /** The signal of a tool that never ends. */
  function hanging(): { readonly tool: Tool; signal?: AbortSignal } {
    const made: { tool: Tool; signal?: AbortSignal } = {
      tool: act('hang', ({ signal }) => {
        made.signal = signal
        return never()
      }),
    }
    return made
  }

  test('aborts the others, and nothing of the turn is committed', async () => {
    const clock = new VirtualClock()
    const hang = hanging()
    const fail = gated('fail', [], () => {
      throw new Error('out of stock')
    })
    await using conversation = calling([hang.tool, fail.tool], { clock })
    const ended: unknown[] = []
    await conversation.open()
    conversation.engine.on('tool:end', ({ tool, success }) => ended.push([tool, success]))
    const saying = conversation.say('Hi')
    await clock.settle()
    expect(hang.signal?.aborted).toBe(false)
    fail.open()
    const { error } = await saying
    conversation.expectError('TOOL_ERROR', 'out of stock')
    expect(hang.signal?.reason).toBe(error)
    expect(ended).toEqual([
      ['fail', false],
      ['hang', false],
    ])
    expect(clock.pending).toBe(0)
    expect((await conversation.document()).flow.memory).toEqual({})
  })

  test('is the first that failed, not the first of the calls', async () => {
    const thrower = (name: string) => () => {
      throw new Error(name)
    }
    const slow = gated('slow', [], thrower('slow'))
    await using conversation = calling([slow.tool, act('quick', thrower('quick'))])
    await conversation.say('Hi')
    conversation.expectError('TOOL_ERROR', 'quick')
    slow.open()
  })

  test('may be one that took too long', async () => {
    const clock = new VirtualClock()
    const hang = hanging()
    const short = act('short', () => never(), { toolTimeoutMs: 500 })
    await using conversation = calling([hang.tool, short], { clock })
    const saying = conversation.say('Hi')
    await conversation.advance(500)
    await saying
    conversation.expectError('LIMIT_EXCEEDED', /^The time of tool 'short'/)
    expect(hang.signal?.aborted).toBe(true)
    expect(clock.pending).toBe(0)
  })

  test('keeps another from being run whose arguments are validated meanwhile', async () => {
    const validated = gate()
    const told: string[] = []
    const checking = {
      '~standard': {
        version: 1 as const,
        vendor: 'own',
        validate: async (value: unknown) => {
          await validated.opened
          return { value }
        },
      },
    }
    const late = act('late', () => void told.push('late'), { input: checking, inputJsonSchema: { type: 'object' } })
    const fail = act('fail', () => Promise.reject(new Error('out of stock')))
    await using conversation = calling([late, fail])
    await conversation.say('Hi')
    conversation.expectError('TOOL_ERROR', 'out of stock')
    validated.open()
    await conversation.clock.settle()
    expect(told).toEqual([])
  })
})

test('an abort of the turn aborts all calls, and leaves no timer', async () => {
  const clock = new VirtualClock()
  const controller = new AbortController()
  const signals: AbortSignal[] = []
  const hang = (name: string): Tool =>
    act(name, ({ signal }) => {
      signals.push(signal)
      return never()
    })
  await using conversation = calling([hang('a'), hang('b')], { clock })
  await conversation.open()
  const saying = conversation.say('Hi', { signal: controller.signal })
  await clock.settle()
  controller.abort()
  await saying
  conversation.expectError('TURN_ABORTED')
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
  expect(clock.pending).toBe(0)
})

test('a stream has the start and the end of each call', async () => {
  const [a, b] = [gated('a', []), gated('b', [])]
  await using conversation = calling([a.tool, b.tool])
  await conversation.open()
  const pieces: unknown[] = []
  const stream = conversation.engine.stream({ flowName: 'Test', userMessage: 'Hi' })
  for await (const piece of stream) {
    if ('toolCallId' in piece) pieces.push(`${piece.type} ${piece.toolCallId}`)
    if (pieces.length === 2) b.open()
    if (pieces.length === 3) a.open()
  }
  expect(pieces).toEqual(['tool-start call-1', 'tool-start call-2', 'tool-end call-2', 'tool-end call-1'])
})
