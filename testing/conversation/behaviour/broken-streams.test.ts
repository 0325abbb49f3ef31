/** The failures of a stream that breaks its promise, or is read wrongly: always with the transcript so far. */
import { expect, test } from 'vitest'
import { FlowCodeError } from '../../../src/errors/engine-errors.js'
import type { FlowStreamEvent, RunResponseType } from '../../../src/index.js'
import { capture, Onboarding } from '../../contract/onboarding.js'
import { Conversation } from '../conversation.js'

const response: RunResponseType = {
  success: true,
  completed: false,
  message: 'Hello.',
  session: 'session-1',
  contentType: 'text/plain',
}
const session: FlowStreamEvent = { type: 'session', session: 'session-1' }
const result: FlowStreamEvent = { type: 'result', response, sessionState: 'running' }
const text = (part: string): FlowStreamEvent => ({ type: 'text-delta', text: part })

/** How often a stream was left, or read to its end. */
let left = 0

/** A conversation over an engine whose streams have these pieces. */
function conversationOf(...events: FlowStreamEvent[]): Conversation {
  left = 0
  return new Conversation(Onboarding, {
    onEngine(engine) {
      async function* pieces(): AsyncGenerator<FlowStreamEvent, undefined, void> {
        try {
          yield* events
        } finally {
          left++
        }
        return undefined
      }
      engine.stream = () => {
        const stream = pieces()
        return Object.assign(stream, { lastEventId: '', return: stream.return.bind(stream, undefined) })
      }
    },
  })
}

/** What `act` fails with; the conversation has come to its failure, so closing it adds nothing. */
async function failureOf(conversation: Conversation, act: () => unknown): Promise<string> {
  let message = 'nothing failed'
  try {
    await act()
  } catch (error) {
    message = `${(error as Error).name}: ${(error as Error).message}`
  }
  await conversation.close()
  return message
}

test('text that is not the message is reported with the transcript so far', async () => {
  const conversation = conversationOf(session, text('Hell'), text('o!'), result)
  expect(await failureOf(conversation, () => conversation.stream('Hi').reply())).toMatchInlineSnapshot(`
    "ExpectationError: The texts of the stream since its last reset, joined, are not the message of its result:
      "Hello!"
      "Hello."
    Where: flow 'Onboarding', turn 1

    The conversation so far:

    # Onboarding

    ## Turn 1

    User: Hi

    Streamed so far: Hello!
    "
  `)
})

const events: Record<string, readonly [string, ...FlowStreamEvent[]]> = {
  'no end': [
    'The stream ended without result and error. Its events: session, 2 text-delta.',
    session,
    text('a'),
    text('b'),
  ],
  'no piece at all': ['The stream ended without result and error. Its events: none.'],
  'two ends': ["The stream went on after 'result', with 'result'.", session, result, result],
  'a text after the end': ["The stream went on after 'result', with 'text-delta'.", session, result, text('a')],
  'a session in the middle': [
    'The session was not the first event of the stream: step, session.',
    { type: 'step', step: 'A' },
    session,
  ],
  'a session that comes a second time': [
    'The session was not the first event of the stream: 2 session.',
    session,
    session,
  ],
  'the session of another request that comes a second time': [
    'The session was not the first event of the stream: 2 session.',
    { type: 'session', session: 'session-1', replayed: true },
    { type: 'session', session: 'session-1', replayed: true },
  ],
  'another session': [
    'The stream is of session "session-2", but its result is of session "session-1".',
    { type: 'session', session: 'session-2' },
    result,
  ],
  'no session': ['The stream is of session "", but its result is of session "session-1".', result],
  'a text that a reset took back': [
    'The texts of the stream since its last reset, joined, are not the message of its result:\n  "o."\n  "Hello."',
    session,
    text('Hell'),
    { type: 'reset', reason: 'retry' },
    text('o.'),
    result,
  ],
}

test.each(Object.entries(events))('%s', async (_name, [problem, ...pieces]) => {
  const conversation = conversationOf(...pieces)
  const failure = await failureOf(conversation, () => conversation.stream('Hi').reply())
  expect(failure).toContain(
    `ExpectationError: ${problem}\nWhere: flow 'Onboarding', turn 1\n\nThe conversation so far:\n\n# Onboarding\n\n## Turn 1\n\nUser: Hi\n`,
  )
  expect(left).toBe(1)
})

test('a turn that runs anew, after the one that its request had joined, opens its session again', async () => {
  const joined: FlowStreamEvent = { type: 'session', session: 'session-1', replayed: true }
  await using conversation = conversationOf(joined, text('a'), session, { type: 'reset', reason: 'resume' }, result)
  expect((await conversation.stream('Hi').reply()).message).toBe('Hello.')
})

test('text that was taken back, and a failure after some text, break nothing', async () => {
  const error = new FlowCodeError({ message: 'no' })
  await using conversation = conversationOf(session, text('a'), { type: 'reset', reason: 'reply' }, result)
  expect((await conversation.stream('Hi').reply()).message).toBe('Hello.')
  await using failing = conversationOf(session, text('a'), {
    type: 'error',
    response: { ...response, success: false },
    sessionState: 'aborted',
    error,
  })
  expect((await failing.stream('Hi').reply()).error).toBe(error)
  failing.expectError('FLOW_ERROR')
})

test('a missing event is reported with the events that came', async () => {
  const conversation = new Conversation(Onboarding, { script: ['What is your name?'] })
  expect(await failureOf(conversation, () => conversation.stream('Hi').until('tool-end'))).toMatchInlineSnapshot(`
    "ExpectationError: Expected an event 'tool-end' in the stream of "Hi", but the stream ended without another one. Its events: session, step, 4 text-delta, result.
    Where: flow 'Onboarding', step 'AskName', turn 1

    The conversation so far:

    # Onboarding

    ## Turn 1

    User: Hi

    - enters AskName

    Reply: What is your name?

    Now at AskName.
    "
  `)
})

test('a missing event is reported with the failure of the turn', async () => {
  const conversation = new Conversation(Onboarding, { script: [new Error('overloaded')] })
  expect(await failureOf(conversation, () => conversation.stream('Hi').until('text-delta'))).toContain(
    `Its events: session, step, error.\nThe turn failed with MODEL_ERROR: Model 'gpt-5-mini' of provider 'openai' failed.\n`,
  )
})

test('a script that does not fit is reported with the last event', async () => {
  const conversation = new Conversation(Onboarding, { script: [{ toolCalls: [{ name: 'capture' }] }] })
  const stream = conversation.stream('Hi')
  expect(await failureOf(conversation, () => stream.reply())).toContain(
    "The script calls a tool that the step does not offer: 'capture'",
  )
  expect(stream.events.at(-1)?.type).toBe('error')
})

test('a turn that failed unexpectedly is reported before the next one, and at the end', async () => {
  const conversation = new Conversation(Onboarding, { script: () => new Error('overloaded') })
  await conversation.stream('Hi').reply()
  expect(() => conversation.stream('Hi?')).toThrow("conversation.expectError('MODEL_ERROR')")
})

test('two pieces at once are one too many', async () => {
  const conversation = new Conversation(Onboarding, { script: ['Hello.'] })
  const stream = conversation.stream('Hi')
  const first = stream.next()
  expect(await failureOf(conversation, () => stream.next())).toContain(
    'next() was called before the last call of next() resolved: await each call.',
  )
  expect(await first).toBeUndefined()
})

test('what looks at a turn, or begins another one, waits for the end of the stream', async () => {
  const conversation = new Conversation(Onboarding, { script: ['What is your name?'] })
  const stream = conversation.stream('Hello')
  await stream.until('text-delta')
  expect(() => conversation.expectReply('What')).toThrowErrorMatchingInlineSnapshot(`
    [ExpectationError: expectReply() was called while stream("Hello") is under way: read it to its end with reply(), or stop() it.
    Where: flow 'Onboarding', step 'AskName', turn 1

    The conversation so far:

    # Onboarding

    ## Turn 1

    User: Hello

    - enters AskName

    Streamed so far: What
    ]
  `)
  expect(() => conversation.stream('Hello?')).toThrow('stream() was called while stream("Hello") is under way')
  await expect(conversation.say('Hello?')).rejects.toThrow('say() was called while stream("Hello") is under way')
  await stream.reply()
  conversation.expectReply('What is your name?')
  await conversation.close()
})

test('a stream that was not read to its end is stopped at the end, and leaves nothing', async () => {
  const conversation = new Conversation(Onboarding, { script: [{ ...capture('Ada'), text: 'One moment.' }] })
  const stream = conversation.stream('Hello')
  await stream.until('text-delta')
  await conversation.close()
  expect(conversation.transcript()).toContain('Stopped after: One\n')
  expect(conversation.clock.pending).toBe(0)
})

test('a stream that was never read is reported at the end', async () => {
  const conversation = new Conversation(Onboarding, { script: ['What is your name?'] })
  conversation.stream('Hello')
  await expect(conversation.close()).rejects.toThrow(
    'close() was called while stream("Hello") is under way: read it to its end with reply(), or stop() it.',
  )
})

test('an engine that cannot be made fails the first piece, and the conversation is free', async () => {
  const conversation = new Conversation(Onboarding, {
    createStore: () => {
      throw new Error('no database')
    },
  })
  const stream = conversation.stream('Hello')
  await expect(stream.next()).rejects.toThrow('no database')
  expect(await stream.next()).toBeUndefined()
  await expect(conversation.stream('Hello').next()).rejects.toThrow('no database')
})
