/** A bug in a flow is reported with the line of the flow's author, whichever expectation meets it. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Flow, LogicStep, reply, Step, type Turn, tool } from '../../../src/index.js'
import { ExpectationError } from '../../index.js'
import { retryAs } from '../client.js'
import { Conversation } from '../conversation.js'
import type { ConversationOptions } from '../conversation-options.js'

/** The last place at which an error was made, as a failure shows it. */
let place = ''

/** Notes the line of its caller. */
function here(): void {
  const [, , line = ''] = (new Error('here').stack ?? '').split('\n')
  place = /\/[^ ]*testing\/conversation\/behaviour\/author-lines\.test\.ts:\d+/.exec(line)?.[0] ?? 'not found'
}

function priceOf(order: string): number {
  here()
  if (order !== 'A-1') throw new Error('no such order')
  return 1
}

const bugs: Record<string, (turn: Turn) => unknown> = {
  throws: () => priceOf('A-2'),
  'is wrong': (turn) => (turn as unknown as { price: { cents: number } }).price.cents,
  caused: () => {
    throw new Error('The price is missing.', { cause: new Error('no such order') })
  },
  text: () => {
    throw 'out of paper'
  },
  'calls the engine wrongly': (turn) => turn.once('', () => 1),
}

class Act extends LogicStep {
  static override readonly id = 'Act'
  override async run(turn: Turn) {
    await bugs[turn.message]?.(turn)
    return reply('Done.')
  }
}
class Acting extends Flow {
  static override readonly id = 'Acting'
  override steps() {
    return [Act]
  }
}

class Sell extends Step {
  static override readonly id = 'Sell'
  override prompt() {
    return 'Sell.'
  }
  override tools() {
    return [
      tool({
        name: 'price',
        description: 'The price.',
        input: z.object({ order: z.string() }),
        execute: async ({ order }) => {
          await Promise.resolve()
          return priceOf(order)
        },
      }),
    ]
  }
}
class Selling extends Flow {
  static override readonly id = 'Selling'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps() {
    return [Sell]
  }
}

async function failureOf(conversation: Conversation, act: () => unknown): Promise<ExpectationError> {
  const failure = await (async () => act())().catch((error: unknown) => error)
  await conversation.close()
  if (!ExpectationError.isInstance(failure)) throw new Error('No expectation failed.')
  return failure
}

/** The failure without the transcript, and with the lines of this file left out. */
function textOf({ message }: Error): string {
  return message
    .slice(0, message.indexOf('\n\nThe conversation so far:'))
    .replaceAll(/\/[^ ]*\/(testing\/.*\.test\.ts):\d+:\d+/g, '$1')
}

async function acted(message: string): Promise<ExpectationError> {
  const conversation = new Conversation(Acting)
  await conversation.say(message)
  return failureOf(conversation, () => conversation.expectReply('Done.'))
}

describe('a failed turn shows the lines of the flow', () => {
  test('where a step throws, innermost first', async () => {
    const failure = await acted('throws')
    expect(textOf(failure)).toMatchInlineSnapshot(`
      "Expected the reply "Done.", but the turn failed.
      The turn "throws" failed with FLOW_ERROR: no such order
        at priceOf (testing/conversation/behaviour/author-lines.test.ts)
        at Object.throws (testing/conversation/behaviour/author-lines.test.ts)
        at Act.run (testing/conversation/behaviour/author-lines.test.ts)
      Where: flow 'Acting', step 'Act', turn 1"
    `)
    const [file = '', line = ''] = place.split(':')
    // The call of `here` stands one line above the one that throws.
    expect(failure.message).toContain(`at priceOf (${file}:${Number(line) + 1}:`)
    expect((failure.cause as Error).message).toBe('no such order')
  })

  test('where a step has a mistake', async () => {
    expect(textOf(await acted('is wrong'))).toMatchInlineSnapshot(`
      "Expected the reply "Done.", but the turn failed.
      The turn "is wrong" failed with FLOW_ERROR: Cannot read properties of undefined (reading 'cents')
        at Object.is wrong (testing/conversation/behaviour/author-lines.test.ts)
        at Act.run (testing/conversation/behaviour/author-lines.test.ts)
      Where: flow 'Acting', step 'Act', turn 1"
    `)
  })

  test('of each cause', async () => {
    expect(textOf(await acted('caused'))).toMatchInlineSnapshot(`
      "Expected the reply "Done.", but the turn failed.
      The turn "caused" failed with FLOW_ERROR: The price is missing.
        at Object.caused (testing/conversation/behaviour/author-lines.test.ts)
        at Act.run (testing/conversation/behaviour/author-lines.test.ts)
        cause: Error: no such order
          at Object.caused (testing/conversation/behaviour/author-lines.test.ts)
          at Act.run (testing/conversation/behaviour/author-lines.test.ts)
      Where: flow 'Acting', step 'Act', turn 1"
    `)
  })

  test('where it calls the engine wrongly', async () => {
    expect(textOf(await acted('calls the engine wrongly'))).toMatchInlineSnapshot(`
      "Expected the reply "Done.", but the turn failed.
      The turn "calls the engine wrongly" failed with FLOW_ERROR: The name for turn.once or turn.forget must be 1 to 200 characters; got 0.
        at Object.calls the engine wrongly (testing/conversation/behaviour/author-lines.test.ts)
        at Act.run (testing/conversation/behaviour/author-lines.test.ts)
      Where: flow 'Acting', step 'Act', turn 1"
    `)
  })

  test('and what was thrown in place of an error', async () => {
    expect(textOf(await acted('text'))).toMatchInlineSnapshot(`
      "Expected the reply "Done.", but the turn failed.
      The turn "text" failed with FLOW_ERROR: out of paper
      Where: flow 'Acting', step 'Act', turn 1"
    `)
  })

  test('where a tool throws', async () => {
    const conversation = new Conversation(Selling, {
      script: [{ toolCalls: [{ name: 'price', input: { order: 'A-2' } }] }],
    })
    await conversation.say('How much?')
    const failure = await failureOf(conversation, () => conversation.expectToolCalls([]))
    expect(textOf(failure)).toMatchInlineSnapshot(`
      "The tool calls of the turn are not what was expected:
        expected 0 calls, got 1
      The calls:
        1. price {"order":"A-2"}
      The turn "How much?" failed with TOOL_ERROR: no such order
        at priceOf (testing/conversation/behaviour/author-lines.test.ts)
        at Object.execute (testing/conversation/behaviour/author-lines.test.ts)
      Where: flow 'Selling', step 'Sell', turn 1"
    `)
    expect((failure.cause as Error).message).toBe('no such order')
  })
})

describe('a failure that is noticed later shows where the test', () => {
  /** The lines that name a place of the test. */
  const placesOf = (failure: unknown): readonly string[] =>
    (failure as Error).message.split('\n').filter((line) => /^ {2}(?:said|the conversation was made) at /.test(line))
  const isAt = (line: string, what: string): void => {
    const [, file = '', number = ''] = /(\/[^ ]*author-lines\.test\.ts):(\d+):\d+/.exec(line) ?? []
    expect(readFileSync(file, 'utf8').split('\n')[Number(number) - 1]).toContain(`// ${what}`)
  }

  type Run = (act: (conversation: Conversation) => Promise<unknown>, options?: ConversationOptions) => Promise<unknown>
  const ends: Readonly<Record<string, Run>> = {
    use: (act, options) => new Conversation(Acting, options).use((conversation) => act(conversation)), // made
    'await using': async (act, options) => {
      await using conversation = new Conversation(Acting, options) // made
      await act(conversation)
    },
  }
  const acts: Readonly<Record<string, (conversation: Conversation) => Promise<unknown>>> = {
    'sent a message': async (conversation) => {
      await conversation.say('throws') // said
    },
    'sent a message at the same time as another': async (conversation) => {
      await conversation.atOnce(['throws', 'throws']) // said
    },
    'began a stream': async (conversation) => {
      await conversation.stream('throws').reply() // said
    },
    'began a stream that it did not read': async (conversation) => {
      conversation.stream('Hello') // said
    },
  }
  for (const [end, run] of Object.entries(ends)) {
    test.each(Object.keys(acts))(`%s, under ${end}`, async (name) => {
      const failure = await run(acts[name] as (typeof acts)[string]).catch((error: unknown) => error)
      const [line = '', ...others] = placesOf(failure)
      isAt(line, 'said')
      expect(others).toEqual([])
    })

    test.each(['script', 'fault', 'death'])(`made the conversation, under ${end}: %s`, async (what) => {
      const failure = await run(
        async (conversation) => {
          await conversation.open()
          if (what === 'fault') conversation.store.failNext('save')
          if (what === 'death') conversation.dieAfterEffect('print')
        },
        what === 'script' ? { script: ['Never said.'] } : {},
      ).catch((error: unknown) => error)
      const [line = '', ...others] = placesOf(failure)
      isAt(line, 'made')
      expect(others).toEqual([])
    })
  }

  test('sent a message, for a mistake that the engine finds', async () => {
    class Lost extends LogicStep {
      static override readonly id = 'Act'
      override run() {
        return undefined as never
      }
    }
    class Losing extends Acting {
      override steps() {
        return [Lost] as unknown as (typeof Act)[]
      }
    }
    const conversation = new Conversation(Losing)
    await conversation.say('Hello') // said
    isAt(placesOf(await conversation.close().catch((error: unknown) => error))[0] ?? '', 'said')
  })
})

describe('the line is in each failure after it', () => {
  const fails: Readonly<Record<string, (conversation: Conversation) => unknown>> = {
    expectStep: (conversation) => conversation.expectStep(Act),
    expectState: (conversation) => conversation.expectState(Act, {}),
    expectCompleted: (conversation) => conversation.expectCompleted(),
    expectAsked: (conversation) => conversation.expectAsked({ user: 'Hello' }),
    expectReplayed: (conversation) => conversation.expectReplayed(),
    expectRanOnce: (conversation) => conversation.expectRanOnce('payment'),
    expectError: (conversation) => conversation.expectError('TOOL_ERROR'),
    say: (conversation) => conversation.say('Hello?'),
  }

  test.each(Object.keys(fails))('%s', async (name) => {
    const conversation = new Conversation(Acting)
    await conversation.say('throws')
    const failure = await failureOf(conversation, () => fails[name]?.(conversation))
    expect(failure.message.match(/no such order\n {2}at priceOf \(\/.*author-lines/g)).toHaveLength(1)
    expect((failure.cause as Error).message).toBe('no such order')
  })

  test('close', async () => {
    const conversation = new Conversation(Acting)
    await conversation.say('throws')
    await expect(conversation.close()).rejects.toThrow(/no such order\n {2}at priceOf \(\/.*author-lines/)
  })

  test('a repeat of the message with the same key', async () => {
    const conversation = new Conversation(Acting)
    await conversation.say('throws', { key: 'act', fault: retryAs('same-key') })
    await expect(conversation.close()).rejects.toThrow(/no such order\n {2}at priceOf \(\/.*author-lines/)
  })

  test('atOnce', async () => {
    const conversation = new Conversation(Acting)
    await conversation.atOnce(['throws', 'nothing'])
    const failure = await failureOf(conversation, () => conversation.expectReplies(['Done.', 'Done.']))
    expect(failure.message).toMatch(
      /^Message 1, "throws": Expected .*\n.*no such order\n {2}at priceOf \(\/.*author-lines/,
    )
  })

  test('but not after an expectation that named the failure', async () => {
    const conversation = new Conversation(Acting)
    await conversation.say('throws')
    conversation.expectError('FLOW_ERROR')
    const failure = await failureOf(conversation, () => conversation.expectStep('Elsewhere'))
    expect(failure.message).not.toContain('priceOf')
  })
})
