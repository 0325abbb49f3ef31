/**
 * Fifty failures of tests, provoked one by one. What an author reads is kept in `snapshots/`, one file for each, and
 * reviewed there. It names the flow, the turn, the step, what was expected, what came, and the author's line,
 * all above the transcript.
 */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { FlowConstructor } from '../../../src/index.js'
import { authorFrames } from '../../expectations/author-frames.js'
import { Conversation, type ConversationOptions, coverageOf, LockProbe, recordingOf, replay } from '../../index.js'
import { Judge } from '../../judge/index.js'
import { Booking, Confirm, Faulty, Find, Prompted, Summarized } from './flows.js'

interface Provoked {
  readonly flow?: FlowConstructor
  readonly options?: ConversationOptions
  /** Fails. */
  act(conversation: Conversation): unknown
  /** How its message names what was expected, and what came. */
  readonly expected?: string
  readonly came?: string
  /** What it cannot name, and why. */
  readonly without?: { readonly [Name in 'turn' | 'step' | 'expected' | 'came']?: string }
}

const find = { toolCalls: [{ name: 'find_table', input: { day: 'Friday' } }] }
const choose = { toolCalls: [{ name: 'choose', input: { guests: 4, names: ['Ada', 'Bob'] } }] }

/** The conversation after a table was found and chosen; it is at Confirm. */
async function chosen(conversation: Conversation): Promise<void> {
  await conversation.say('A table, please')
  await conversation.say('For four')
}
const choosing: ConversationOptions = { script: ['For how many?', choose] }

const provoked: Readonly<Record<string, Provoked>> = {
  // What a test expects of a turn.
  'another reply': {
    expected: 'the reply "How many are you?"',
    came: 'it was "For how many?"',
    options: { script: ['For how many?'] },
    async act(conversation) {
      await conversation.say('A table, please')
      conversation.expectReply('How many are you?')
    },
  },
  'a reply without a part': {
    expected: 'a reply that matches /when/i',
    came: 'it was "For how many?"',
    options: { script: ['For how many?'] },
    async act(conversation) {
      await conversation.say('A table, please')
      conversation.expectReply(/when/i)
    },
  },
  'a reply that is not JSON': {
    expected: 'Expected a JSON reply',
    came: 'it was "For how many?"',
    options: { script: ['For how many?'] },
    async act(conversation) {
      await conversation.say('A table, please')
      conversation.expectReply(z.object({ guests: z.number() }))
    },
  },
  'a reply that does not fit a schema': {
    expected: 'guests: Invalid input: expected number',
    came: 'it was "{\\"guests\\":\\"four\\",\\"day\\":{\\"name\\":7}}"',
    options: { script: ['{"guests":"four","day":{"name":7}}'] },
    async act(conversation) {
      await conversation.say('A table, please')
      conversation.expectReply(z.object({ guests: z.number(), day: z.object({ name: z.string() }) }))
    },
  },
  'another step': {
    expected: "Expected the conversation to be at step 'Confirm'",
    came: "it is at 'Find'",
    options: { script: ['For how many?'] },
    async act(conversation) {
      await conversation.say('A table, please')
      conversation.expectStep(Confirm)
    },
  },
  'a step that the flow does not have': {
    expected: "Expected the conversation to be at step 'Pay'",
    came: "it is at 'Find'",
    options: { script: ['For how many?'] },
    async act(conversation) {
      await conversation.say('A table, please')
      conversation.expectStep('Pay')
    },
  },
  'another state': {
    expected: 'guests: expected 5',
    came: 'got 4',
    options: choosing,
    async act(conversation) {
      await chosen(conversation)
      conversation.expectState(Find, { guests: 5 })
    },
  },
  'another entry of a list in the state': {
    expected: 'names[1]: expected "Eve"',
    came: 'got "Bob"',
    options: choosing,
    async act(conversation) {
      await chosen(conversation)
      conversation.expectState(Find, { names: ['Ada', 'Eve'] })
    },
  },
  'a state that should not be there': {
    expected: 'guests: expected nothing',
    came: 'got 4',
    options: choosing,
    async act(conversation) {
      await chosen(conversation)
      conversation.expectState(Find, { guests: undefined })
    },
  },
  'the state of a step that was never entered': {
    expected: "Expected state of step 'Confirm'",
    came: 'none is stored. Steps with state: Find',
    options: { script: ['For how many?'] },
    async act(conversation) {
      await conversation.say('A table, please')
      conversation.expectState(Confirm, {})
    },
  },
  'a state that a double did not write': {
    expected: 'guests: expected 4',
    came: 'got nothing',
    options: { script: [choose, 'Good.'], tools: { choose: { ok: true } } },
    async act(conversation) {
      await conversation.say('A table for four')
      conversation.expectState(Find, { guests: 4 })
    },
  },
  'a conversation that goes on': {
    expected: 'Expected the conversation to be completed',
    came: "stored as 'running' at step 'Confirm'",
    options: choosing,
    async act(conversation) {
      await chosen(conversation)
      conversation.expectCompleted()
    },
  },
  'another tool': {
    expected: 'call 1: expected choose',
    came: 'got find_table',
    options: { script: [find, 'There is one.'] },
    async act(conversation) {
      await conversation.say('A table on Friday')
      conversation.expectToolCalls(['choose'])
    },
  },
  'other arguments of a tool': {
    expected: 'call 1, input.day: expected "Saturday"',
    came: 'got "Friday"',
    options: { script: [find, 'There is one.'] },
    async act(conversation) {
      await conversation.say('A table on Friday')
      conversation.expectToolCalls([{ name: 'find_table', input: { day: 'Saturday' } }])
    },
  },
  'another result of a tool': {
    expected: 'call 1, output.free: expected 0',
    came: 'got 2',
    options: { script: [find, 'There is one.'] },
    async act(conversation) {
      await conversation.say('A table on Friday')
      conversation.expectToolCalls([{ name: 'find_table', output: { free: 0 } }])
    },
  },
  'a tool that was not called': {
    expected: 'missing: find_table, call 1 of the expected ones',
    came: 'The calls: none',
    options: { script: ['There is one.'] },
    async act(conversation) {
      await conversation.say('A table on Friday')
      conversation.expectToolCalls(['find_table'])
    },
  },
  'a tool call that should be refused': {
    expected: 'call 1, isError: expected true',
    came: 'got false',
    options: { script: [find, 'There is one.'] },
    async act(conversation) {
      await conversation.say('A table on Friday')
      conversation.expectToolCalls([{ name: 'find_table', isError: true }])
    },
  },
  'another prompt': {
    expected: 'system: expected /politely/',
    came: 'got "Find a table with find_table, then call choose."',
    options: { script: ['For how many?'] },
    async act(conversation) {
      await conversation.say('A table, please')
      conversation.expectAsked({ system: /politely/, tools: ['find_table'], user: 'A table' })
    },
  },
  'a model that was not asked so often': {
    expected: 'Expected the model to be asked 2 times',
    came: 'it was asked 1 time',
    options: { script: ['For how many?'] },
    async act(conversation) {
      await conversation.say('A table, please')
      conversation.expectAsked({ call: 2, user: 'A table, please' })
    },
  },
  'an effect that did not run': {
    expected: "Expected 'payment' to run exactly once",
    came: 'it did not run. What ran: choose',
    options: choosing,
    async act(conversation) {
      await chosen(conversation)
      conversation.expectRanOnce('payment')
    },
  },
  'a tool that ran twice': {
    expected: "Expected 'find_table' to run exactly once",
    came: 'it ran 2 times',
    options: { script: [find, find, 'There is one.'] },
    async act(conversation) {
      await conversation.say('A table on Friday')
      conversation.expectRanOnce('find_table')
    },
  },
  'a message that ran again': {
    expected: 'Expected "A table, please" to get the reply of an earlier turn',
    came: 'it was run',
    options: { script: ['For how many?', 'For how many?'] },
    async act(conversation) {
      await conversation.say('A table, please')
      await conversation.say('A table, please')
      conversation.expectReplayed()
    },
  },
  'a judge whose model never answers': {
    expected: 'whether this is true of the reply: "It asks for a name."',
    came: 'any/judge-1, has not answered',
    options: {
      script: ['For how many?'],
      judge: new Judge({
        recordings: new URL('./none.meanings.json', import.meta.url),
        record: true,
        hangAfterMs: 40,
        model: () => ({ provider: 'any', name: 'judge-1', generate: () => new Promise(() => undefined) }),
      }),
    },
    async act(conversation) {
      await conversation.say('A table, please')
      await conversation.expectMeaning('It asks for a name.')
    },
  },
  'a judge that throws': {
    expected: 'whether this is true of the reply: "It asks for a name."',
    came: 'threw Error: no dictionary for 19 characters',
    options: {
      script: ['For how many?'],
      judge: {
        problemOf: async ({ meaning }) => {
          throw new Error(`no dictionary for ${meaning.length} characters`)
        },
      },
    },
    async act(conversation) {
      await conversation.say('A table, please')
      await conversation.expectMeaning('It asks for a name.')
    },
  },
  // Turns that fail.
  'a turn that should fail': {
    expected: 'to fail with MODEL_ERROR',
    came: 'it succeeded',
    options: { script: ['For how many?'] },
    async act(conversation) {
      await conversation.say('A table, please')
      conversation.expectError('MODEL_ERROR')
    },
  },
  'another failure': {
    expected: 'Expected the turn to fail with TOOL_ERROR',
    came: 'it failed with FLOW_ERROR: no such table: 7',
    flow: Faulty,
    async act(conversation) {
      await conversation.say('throws')
      conversation.expectError('TOOL_ERROR')
    },
  },
  'a failure with another text': {
    expected: 'this text: /no such guest/',
    came: 'but "no such table: 7"',
    flow: Faulty,
    async act(conversation) {
      await conversation.say('throws')
      conversation.expectError('FLOW_ERROR', /no such guest/)
    },
  },
  'a step that throws': {
    expected: 'Expected the reply "Done."',
    came: 'failed with FLOW_ERROR: no such table: 7',
    flow: Faulty,
    async act(conversation) {
      await conversation.say('Hello')
      await conversation.say('throws')
      conversation.expectReply('Done.')
    },
  },
  'a step that throws because of something': {
    expected: 'Expected the reply "Done."',
    came: 'cause: Error: plan.json is empty',
    flow: Faulty,
    async act(conversation) {
      await conversation.say('caused')
      conversation.expectReply('Done.')
    },
  },
  'a step that throws a text': {
    expected: 'Expected the reply "Done."',
    came: 'failed with FLOW_ERROR: out of paper',
    flow: Faulty,
    async act(conversation) {
      await conversation.say('text')
      conversation.expectReply('Done.')
    },
  },
  'a step that returns nothing': {
    expected: 'Expected the reply "Done."',
    came: "Step 'Act' returned nothing from run()",
    flow: Faulty,
    async act(conversation) {
      await conversation.say('nothing')
      conversation.expectReply('Done.')
    },
  },
  'a state that is not JSON': {
    expected: 'Expected the reply "Done."',
    came: 'Act.state.at is an instance of Date',
    flow: Faulty,
    async act(conversation) {
      await conversation.say('a date')
      conversation.expectReply('Done.')
    },
  },
  'a step that goes to one that there is not': {
    expected: 'Expected the reply "Done."',
    came: "Flow 'Faulty' has no step 'Nowhere'",
    flow: Faulty,
    async act(conversation) {
      await conversation.say('away')
      conversation.expectReply('Done.')
    },
  },
  'a step that goes round for ever': {
    expected: 'Expected the reply "Done."',
    came: 'failed with LIMIT_EXCEEDED',
    flow: Faulty,
    async act(conversation) {
      await conversation.say('round')
      conversation.expectReply('Done.')
    },
  },
  'a step that calls the engine wrongly': {
    expected: 'Expected the reply "Done."',
    came: 'must be 1 to 200 characters; got 0',
    flow: Faulty,
    async act(conversation) {
      await conversation.say('no name')
      conversation.expectReply('Done.')
    },
  },
  'a prompt that throws': {
    expected: 'Expected the reply "Hm?"',
    came: 'failed with FLOW_ERROR: no such table: 9',
    flow: Prompted,
    options: { script: ['Hm?'] },
    async act(conversation) {
      await conversation.say('Hello')
      await conversation.say('crash')
      conversation.expectReply('Hm?')
    },
  },
  'a tool that throws': {
    expected: 'Expected the reply "We are closed on Mondays."',
    came: 'failed with TOOL_ERROR: We are closed on Mondays.',
    options: { script: [{ toolCalls: [{ name: 'find_table', input: { day: 'Monday' } }] }] },
    async act(conversation) {
      await conversation.say('A table on Monday')
      conversation.expectReply('We are closed on Mondays.')
    },
  },
  'a model that fails': {
    expected: 'Expected the reply "For how many?"',
    came: 'cause: Error: The key is invalid.',
    options: { script: [{ failure: { statusCode: 401, message: 'The key is invalid.' } }] },
    async act(conversation) {
      await conversation.say('A table, please')
      conversation.expectReply('For how many?')
    },
  },
  'a failure that nobody expected, before the next message': {
    came: 'failed with FLOW_ERROR: no such table: 7',
    without: { expected: 'Nothing was expected of the turn.' },
    flow: Faulty,
    async act(conversation) {
      await conversation.say('throws')
      await conversation.say('Hello')
    },
  },
  'a failure that nobody expected, at the end': {
    came: 'failed with FLOW_ERROR: no such table: 7',
    without: { expected: 'Nothing was expected of the turn.' },
    flow: Faulty,
    async act(conversation) {
      await conversation.say('throws')
      await conversation.close()
    },
  },
  // Scripts and doubles.
  'a script that is used up': {
    expected: 'script: 1. "For how many?" (used)',
    came: 'asked: user "For four"',
    options: { script: ['For how many?'] },
    async act(conversation) {
      await conversation.say('A table, please')
      await conversation.say('For four')
    },
  },
  'a script that is not used up': {
    expected: '2. "When?"',
    came: '2 replies of 3 left',
    options: { script: ['For how many?', 'When?', choose] },
    async act(conversation) {
      await conversation.say('A table, please')
      await conversation.close()
    },
  },
  'a step without a rule in the script': {
    expected: 'rules for: Confirm',
    came: 'asked: user "A table, please"',
    options: { script: { Confirm: ['Sure?'] } },
    async act(conversation) {
      await conversation.say('A table, please')
    },
  },
  'a tool in the script that no step offers': {
    expected: 'tools offered: find_table, choose',
    came: "'book_table'",
    options: { script: ['For how many?', { toolCalls: [{ name: 'book_table' }] }] },
    async act(conversation) {
      await conversation.say('A table, please')
      await conversation.say('For four')
    },
  },
  'an invalid reply in the script': {
    expected: 'A reply is a text, an Error, or an object',
    came: '{"txt":"For how many?"}',
    options: { script: [{ txt: 'For how many?' } as never] },
    async act(conversation) {
      await conversation.say('A table, please')
    },
  },
  'JSON in the script of a step that asks for none': {
    expected: 'the step asks for none',
    came: 'The script answers with output',
    options: { script: [{ output: { guests: 4 } }] },
    async act(conversation) {
      await conversation.say('A table, please')
    },
  },
  'a function of the script that throws': {
    expected: "to be 'Take a table.'",
    came: "expected 'Find a table with find_table",
    options: {
      script: [
        'For how many?',
        ({ system }) => {
          expect(system).toBe('Take a table.')
          return 'When?'
        },
      ],
    },
    async act(conversation) {
      await conversation.say('A table, please')
      await conversation.say('For four')
    },
  },
  'a double that throws': {
    expected: 'Expected the reply "There is one."',
    came: 'failed with TOOL_ERROR: no double for Friday',
    options: {
      script: [find],
      tools: {
        find_table: ({ day }) => {
          throw new Error(`no double for ${day}`)
        },
      },
    },
    async act(conversation) {
      await conversation.say('A table on Friday')
      conversation.expectReply('There is one.')
    },
  },
  'a double without a result': {
    expected: 'results: {"free":1}',
    came: 'once more than it has results: turn 1, with {"day":"Friday"}',
    options: { script: [find, find], tools: { find_table: [{ free: 1 }] } },
    async act(conversation) {
      await conversation.say('A table on Friday')
    },
  },
  'a double of a tool that no step offers': {
    expected: 'name of a double: find_tables',
    came: 'tools offered: find_table, choose',
    options: { script: ['For how many?'], tools: { find_tables: { free: 1 } } },
    async act(conversation) {
      await conversation.say('A table, please')
      await conversation.close()
    },
  },
  // Stores, locks, and messages at once.
  'other calls of the store': {
    expected: 'Expected: create, save, save',
    came: 'Got:      create\n',
    options: { script: ['For how many?'] },
    async act(conversation) {
      await conversation.say('A table, please')
      conversation.store.expectJournal(['create', 'save', 'save'])
    },
  },
  'a fault that the store never met': {
    expected: 'delete fails before it takes effect',
    came: '0 calls matched, 0 struck',
    options: { script: ['For how many?'] },
    async act(conversation) {
      await conversation.say('A table, please')
      conversation.store.failNext('delete')
      await conversation.close()
    },
  },
  'another outcome of a message at once': {
    expected: 'Message 2, "throws": Expected the reply "Done."',
    came: 'failed with FLOW_ERROR: no such table: 7',
    flow: Faulty,
    async act(conversation) {
      await conversation.atOnce(['Hello', 'throws', 'Bye'])
      conversation.expectReplies(['Done.', 'Done.', 'Done.'])
    },
  },
  'a turn that hangs': {
    came: "under way, in step 'Act'",
    without: { expected: 'Nothing is expected of the turn but its end.' },
    flow: Faulty,
    options: { hangAfterMs: 40 },
    async act(conversation) {
      await conversation.say('Hello')
      await conversation.say('wait')
    },
  },
  'one of several messages at once that hangs': {
    came: 'turn 3',
    without: { expected: 'Nothing is expected of the turn but its end.' },
    flow: Faulty,
    options: { hangAfterMs: 40 },
    async act(conversation) {
      await conversation.say('Hello')
      await conversation.atOnce(['Hello again', 'wait', 'Bye'])
    },
  },
  'a summary that hangs': {
    came: "the summary of memory 'Find' has not settled",
    without: { expected: 'Nothing is expected of the summary but its end.' },
    flow: Summarized,
    options: {
      hangAfterMs: 40,
      script: { Find: ['For how many?', 'When?'], 'memory:Find': () => new Promise(() => undefined) },
    },
    async act(conversation) {
      await conversation.say('A table, please')
      await conversation.say('For four')
      await conversation.say('Now')
    },
  },
  'a gate that is never reached': {
    expected: 'No code came to the gate of every session',
    came: "#1 turn of flow 'Faulty' releases it",
    without: { step: 'No turn is under way, so that no step is.' },
    flow: Faulty,
    async act(conversation) {
      const probe = new LockProbe({ hangAfterMs: 40 })
      await conversation.open()
      probe.observe(conversation.engine)
      const gate = probe.gate()
      await conversation.say('Hello')
      await gate.reached
    },
  },
  'a stream without the event': {
    expected: "Expected an event 'tool-call'",
    came: 'Its events: session, step, 3 text-delta, result',
    options: { script: ['For how many?'] },
    async act(conversation) {
      await conversation.stream('A table, please').until('tool-call' as 'error')
    },
  },
  // The order of a test.
  'an expectation before the first turn': {
    without: {
      turn: 'Nothing was said yet.',
      step: 'Nothing was said yet.',
      expected: 'What was expected comes after the mistake in the order.',
      came: 'Nothing was said yet.',
    },
    async act(conversation) {
      conversation.expectReply('For how many?')
    },
  },
  'an expectation while a turn is under way': {
    came: 'say("wait") is under way',
    without: { expected: 'What was expected comes after the mistake in the order.' },
    flow: Faulty,
    options: { hangAfterMs: 40 },
    async act(conversation) {
      await conversation.say('Hello')
      conversation.say('wait').catch(() => undefined)
      conversation.expectReply('Done.')
    },
  },
  'a message after the end': {
    came: 'say() was called after close()',
    without: { expected: 'Nothing is expected of a message that is not sent.' },
    options: { script: ['For how many?'] },
    async act(conversation) {
      await conversation.say('A table, please')
      await conversation.close()
      await conversation.say('Hello?')
    },
  },
  // Whole sessions.
  'steps and tools that no conversation reached': {
    expected: 'step Confirm: never reached',
    came: 'steps       1 of 2',
    without: { turn: 'It is about all conversations, and about none of their turns.' },
    async act() {
      const coverage = coverageOf(Booking)
      const conversation = new Conversation(Booking, { script: ['For how many?'], onEngine: coverage.watch })
      await conversation.say('A table, please')
      await conversation.close()
      coverage.expectFull()
    },
  },
  'a recorded session that goes another way': {
    expected: '- Shall I book it?',
    came: '+ Which one then?',
    options: { script: ['For how many?', choose] },
    async act(conversation) {
      await chosen(conversation)
      const recording = recordingOf(await conversation.document())
      class Louder extends Confirm {
        override async run() {
          return (await super.run({ entered: false, message: 'no' } as never)) as never
        }
      }
      class Changed extends Booking {
        override steps() {
          return [Find, Louder]
        }
      }
      await replay(Changed, recording)
    },
  },
}

const lines = new Map<string, readonly string[]>()

/**
 * Places in the author's files as the name of the file and the text of the line, which stay as they
 * are when lines are added.
 */
function withLines(text: string): string {
  return text.replaceAll(
    /\/[^ ()]*\/testing\/contract\/[^ ()]*?([^/ ()]+\.ts):(\d+):\d+/g,
    (place, file: string, line) => {
      const path = place.replace(/:\d+:\d+$/, '')
      if (!lines.has(path)) lines.set(path, readFileSync(path, 'utf8').split('\n'))
      return `${basename(file)}: ${lines.get(path)?.[Number(line) - 1]?.trim()}`
    },
  )
}

/** The message has lines of the flow, which are not where the test failed. */
function withoutMessage({ stack = '', message }: Error): Error {
  return Object.assign(new Error(), { stack: stack.slice(stack.indexOf(message) + message.length) })
}

async function failureOf({ flow = Booking, options = {}, act }: Provoked): Promise<Error> {
  const conversation = new Conversation(flow, options)
  const failure = await (async () => act(conversation))().then(
    () => new Error('Nothing failed.'),
    (error: Error) => error,
  )
  await conversation.close().catch(() => undefined)
  return failure
}

describe('a failure says all that its author needs', () => {
  test.each(Object.keys(provoked))('%s', async (title) => {
    const one = provoked[title] as Provoked
    const failure = await failureOf(one)
    const [line = 'no line'] = authorFrames(withoutMessage(failure))
    const output = `${failure.name}: ${failure.message.trimEnd()}\n\nThe line of the test:\n\n${line}`
    const name = title.toLowerCase().replaceAll(/[^a-z]+/g, '-')
    await expect(`${withLines(output)}\n`).toMatchFileSnapshot(`snapshots/${name}.txt`)
    expect(line).toContain('failure-messages.test.ts')
    const [head = ''] = failure.message.split('\n\nThe conversation so far:')
    for (const part of ['expected', 'came'] as const) {
      const { [part]: words, without: { [part]: reason } = {} } = one
      expect(
        [words, reason].filter((text) => text !== undefined),
        `${part}, or why not`,
      ).toHaveLength(1)
      expect(head, part).toContain(words ?? '')
    }
    const names = {
      flow: new RegExp(`\\b${(one.flow ?? Booking).id}\\b`),
      turn: /\bturn \d|#\d turn/,
      step: /\b(?:Find|Confirm|Act|Prompting)\b/,
    }
    for (const [part, pattern] of Object.entries(names)) {
      const reason = (one.without as Readonly<Record<string, string>> | undefined)?.[part]
      if (reason === undefined) expect(head, part).toMatch(pattern)
      else expect(head, reason).not.toMatch(pattern)
    }
  })

  test('of fifty kinds', () => {
    expect(Object.keys(provoked).length).toBeGreaterThanOrEqual(50)
  })
})
