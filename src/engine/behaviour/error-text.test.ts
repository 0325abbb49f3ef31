import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { recordEvents } from '../../../testing/contract/event-recorder.js'
import { calls, chatOf, fails, hello, modelHarness, toolThat } from '../../../testing/contract/model-harness.js'
import { modelStep, readAll } from '../../../testing/contract/stream-harness.js'
import { FlowCodeError, ToolExecutionError } from '../../errors/engine-errors.js'
import {
  FlowEngine,
  type FlowEngineOptions,
  FlowError,
  type FlowLogger,
  go,
  InvalidInputError,
  reply,
  type Transition,
} from '../../index.js'
import { promptTemplate } from '../../prompt/index.js'
import { thrownText } from '../core/error-text.js'

afterEach(expectNothingLeft)

/** What was logged as an error. */
function recordingLogger(): FlowLogger & { readonly lines: [string, Readonly<Record<string, unknown>> | undefined][] } {
  const lines: [string, Readonly<Record<string, unknown>> | undefined][] = []
  const nothing = (): void => undefined
  return {
    lines,
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: (text, fields) => void lines.push([text, fields]),
  }
}

const turnId = 'turn-of-this-test'
const fixed = `Something went wrong. Reference: ${turnId}.`
const generateId = (kind: string): string => (kind === 'turn' ? turnId : crypto.randomUUID())

/** An engine whose flow `Talk` does what `thrown` says at the message `fail`. */
function texts(errorText: FlowEngineOptions['errorText'], thrown: () => unknown, options: FlowEngineOptions = {}) {
  const logger = recordingLogger()
  const flow = flowOf('Talk', (turn) => (turn.message === 'start' ? reply('hello') : (thrown() as Transition)))
  const option = errorText === undefined ? {} : { errorText }
  const made = harness({ flows: [flow], logger, generateId, ...option, ...options })
  const say = (userMessage = 'fail', sessionId?: string) =>
    made.engine.execute({ flowName: 'Talk', userMessage, ...(sessionId === undefined ? {} : { sessionId }) })
  return { ...made, logger, say }
}

const throwing = (error: unknown) => () => {
  throw error
}

describe('full, the default', () => {
  test.each([undefined, 'full'] as const)('%s: the message of the error', async (errorText) => {
    const { say, document, logger } = texts(errorText, throwing(new Error('It broke.')))
    const { response } = await say()
    expect(response.message).toBe('It broke.')
    expect((await document(response.session)).error).toEqual(['It broke.'])
    expect(logger.lines).toEqual([])
  })

  test('of a limit: its name and its value; how to raise it is in the details and in the log', async () => {
    const { say, logger, document } = texts('full', () => go('Only'), { limits: { maxTransitionsPerTurn: 2 } })
    const { response, error } = await say()
    const message =
      "The number of moves in one turn (the last one from 'Only' to 'Only') exceeds the limit maxTransitionsPerTurn (2)."
    const details = 'Raise it with the engine option limits: { maxTransitionsPerTurn: ... }.'
    expect([response.message, error?.details]).toEqual([message, details])
    expect((await document(response.session)).error).toEqual([message])
    expect(logger.lines).toEqual([
      [
        message,
        {
          turnId,
          sessionId: response.session,
          flowName: 'Talk',
          code: 'LIMIT_EXCEEDED',
          details,
          cause: undefined,
        },
      ],
    ])
  })
})

describe('flow', () => {
  const own = [
    new FlowCodeError({ message: 'The shop is closed.' }),
    new FlowError({ code: 'FLOW_ERROR', message: 'The shop is closed.' }),
    new FlowError({ code: 'TOOL_ERROR', message: 'The shop is closed.' }),
    new ToolExecutionError({ tool: 'till', message: 'The shop is closed.' }),
    new InvalidInputError({ message: 'The shop is closed.' }),
  ]
  test.each(own.map((error) => [error.name, error.code, error] as const))(
    'the message of a %s (%s) that flow code threw',
    async (_name, _code, error) => {
      const { say, logger, document } = texts('flow', throwing(error))
      const { response } = await say()
      expect(response.message).toBe('The shop is closed.')
      expect((await document(response.session)).error).toEqual(['The shop is closed.'])
      expect(logger.lines).toEqual([])
    },
  )

  test.each<[string, () => unknown, string]>([
    ['an Error', throwing(new Error('postgres://admin')), 'FLOW_ERROR'],
    ['a text', throwing('postgres'), 'FLOW_ERROR'],
    ['nothing returned', () => undefined, 'FLOW_ERROR'],
    ['a step that does not exist', () => go('nowhere'), 'FLOW_ERROR'],
    ['a builder that is used wrongly', () => reply('x').withContentType('nonsense'), 'FLOW_ERROR'],
    ['a prompt that is used wrongly', () => promptTemplate('{{'), 'FLOW_ERROR'],
    ['a limit', () => go('Only'), 'LIMIT_EXCEEDED'],
    [
      'an error of another session',
      throwing(new FlowError({ code: 'SESSION_NOT_FOUND', message: 'Gone.' })),
      'FLOW_ERROR',
    ],
  ])('a fixed sentence with the ID of the turn for %s', async (_what, thrown, code) => {
    const { say, logger, document } = texts('flow', thrown)
    const { response, error } = await say()
    expect([response.message, error?.code]).toEqual([fixed, code])
    expect((await document(response.session)).error).toEqual([fixed])
    // The error itself is what `execute` has, and what is logged.
    expect(error?.message).not.toBe(fixed)
    expect(logger.lines).toMatchObject([
      [
        error?.message,
        { turnId, sessionId: response.session, flowName: 'Talk', code, cause: error?.cause && thrownText(error.cause) },
      ],
    ])
  })

  /** A chat whose model and tool fail. */
  const chat = (act: Parameters<typeof fails>[0], tool: unknown) =>
    modelHarness(
      { 'own/small': [act === undefined ? calls('pay') : fails(act)] },
      {
        flows: [chatOf(modelStep({ tools: () => [toolThat('pay', throwing(tool))] }))],
        errorText: 'flow',
        logger: recordingLogger(),
        generateId,
        modelRetry: { maxAttempts: 1 },
      },
    )

  test.each<[string, unknown, unknown, string]>([
    ['a model', new Error('key sk-1'), undefined, fixed],
    ['an Error of a tool', undefined, new Error('the till is jammed'), fixed],
    [
      'a FlowError of a tool',
      undefined,
      new FlowError({ code: 'TOOL_ERROR', message: 'Please pay in cash.' }),
      'Please pay in cash.',
    ],
  ])('%s', async (_what, model, tool, message) => {
    expect((await chat(model, tool).engine.run(hello)).message).toBe(message)
  })

  test('a model that is not registered, which is nothing that the user sent', async () => {
    const { engine } = harness({
      flows: [chatOf(modelStep())],
      errorText: 'flow',
      logger: recordingLogger(),
      generateId,
    })
    const { response, error } = await engine.execute(hello)
    expect([response.message, error?.code]).toEqual([fixed, 'INVALID_INPUT'])
  })

  test('the message of refused input', async () => {
    const { engine, logger } = texts('flow', () => reply('never'))
    const refused = [
      [{ flowName: '', userMessage: '' }, 'flowName must be a string that is not empty.'],
      [
        { flowName: 'Talk', userMessage: '', sessionId: 'a,b' },
        'sessionId must be 1 to 256 visible ASCII characters without a comma.',
      ],
      [{ flowName: 'Talk', userMessage: 1 }, 'userMessage must be a string.'],
    ] as const
    for (const [input, message] of refused) expect((await engine.run(input as never)).message).toBe(message)
    expect(logger.lines).toEqual([])
  })

  test('a fixed sentence without an ID where there was no turn', async () => {
    const { engine, say, logger } = texts('flow', () => reply('never'), { limits: { maxMessageBytes: 4 } })
    expect((await say('too long')).response.message).toBe('Something went wrong.')
    await engine.close()
    expect((await say('hi')).response.message).toBe('Something went wrong.')
    expect(logger.lines).toMatchObject([
      [
        'The user message exceeds the limit maxMessageBytes (4).',
        { sessionId: '', flowName: 'Talk', details: expect.stringContaining('Raise it') },
      ],
      ['The engine is closed.', { sessionId: '', flowName: 'Talk', code: 'ENGINE_CLOSED' }],
    ])
  })

  test('a delete that fails', async () => {
    const { engine, store, logger, start } = texts('flow', () => reply('never'))
    const session = await start('Talk')
    store.failNext('load', { times: 3 })
    const { result, error } = await engine.executeDelete(session)
    expect(result).toEqual({ success: false, session, message: 'Something went wrong.' })
    expect(error).toMatchObject({
      code: 'SESSION_STORE_ERROR',
      message: `Session store failed to load session '${session}'.`,
    })
    expect(logger.lines).toMatchObject([
      [error?.message, { sessionId: session, flowName: '', code: 'SESSION_STORE_ERROR' }],
    ])
    expect((await engine.deleteSession('a,b')).message).toBe(
      'sessionId must be 1 to 256 visible ASCII characters without a comma.',
    )
  })

  test('a failed save after it: one sentence, and both in the log', async () => {
    const { start, say, store, logger } = texts('flow', throwing(new Error('It broke.')))
    const session = await start('Talk')
    store.failNext('save', { times: 3 })
    expect((await say('fail', session)).response.message).toBe(fixed)
    expect(logger.lines.map(([text]) => text)).toEqual([
      'It broke.',
      `Session store failed to save session '${session}'.`,
    ])
  })

  test('events and streams keep the error', async () => {
    const { engine } = texts('flow', throwing(new Error('It broke.')))
    const events = recordEvents(engine)
    const last = (await readAll(engine.stream({ flowName: 'Talk', userMessage: 'fail' }))).at(-1)
    expect(last).toMatchObject({ type: 'error', response: { message: fixed }, error: { message: 'It broke.' } })
    expect(events.find(([name]) => name === 'turn:error')?.[1]).toMatchObject({ turnId, code: 'FLOW_ERROR' })
  })
})

describe('a function', () => {
  test('gets the error and the turn, and its text is what client and document get', async () => {
    const received: unknown[] = []
    const { say, document, start } = texts(
      (error, turn) => {
        received.push([error.code, turn])
        return `Sorry (${error.code}).`
      },
      throwing(new Error('It broke.')),
      { onTurnError: 'rollback' },
    )
    const session = await start('Talk')
    const { response } = await say('fail', session)
    expect(response.message).toBe('Sorry (FLOW_ERROR).')
    expect(received).toEqual([['FLOW_ERROR', { turnId, sessionId: session, flowName: 'Talk' }]])
    expect((await document(session)).error).toEqual(['Sorry (FLOW_ERROR).'])
  })

  test('of a failure before the turn, and of a delete, gets no turn', async () => {
    const received: unknown[] = []
    const { engine } = texts(
      (_error, turn) => String(received.push(turn)),
      () => reply('never'),
    )
    expect((await engine.run({ flowName: 'Talk', userMessage: 1 as never })).message).toBe('1')
    expect((await engine.run(undefined as never)).message).toBe('2')
    expect((await engine.deleteSession('a,b')).message).toBe('3')
    expect(received).toEqual([
      { sessionId: '', flowName: 'Talk' },
      { sessionId: '', flowName: '' },
      { sessionId: '', flowName: '' },
    ])
  })

  test.each<[string, () => unknown]>([
    ['throws', throwing(new Error('no'))],
    ['returns nothing', () => undefined],
    ['returns a number', () => 7],
    ['returns a promise', async () => 'later'],
    ['returns a promise that rejects', () => Promise.reject(new Error('no'))],
    ['returns what cannot be read', () => Object.defineProperty({}, 'then', { get: throwing(new Error('no')) })],
  ])('that %s gives the fixed sentence', async (_what, errorText) => {
    const { say, document } = texts(errorText as never, throwing(new Error('It broke.')))
    const { response } = await say()
    expect(response.message).toBe(fixed)
    expect((await document(response.session)).error).toEqual([fixed])
  })

  test('that returns a promise: its rejection is handled, and ends no process', async () => {
    const handlers: unknown[] = []
    const promise = Object.defineProperty({}, 'then', { value: (...given: unknown[]) => handlers.push(...given) })
    const { say } = texts((() => promise) as never, throwing(new Error('It broke.')))
    expect((await say()).response.message).toBe(fixed)
    expect(handlers).toEqual([expect.any(Function), expect.any(Function)])
  })

  test('may give the message itself, which is then not logged', async () => {
    const { say, logger } = texts(({ message }) => message, throwing(new Error('It broke.')))
    expect([(await say()).response.message, logger.lines]).toEqual(['It broke.', []])
  })
})

test.each<[string, () => unknown]>([
  ['throws', throwing(new Error('no disk'))],
  ['rejects', () => Promise.reject(new Error('no disk'))],
])('a logger that %s changes no reply', async (_what, error) => {
  const logger = { ...recordingLogger(), error: error as () => void }
  const { say } = texts('flow', throwing(new Error('It broke.')), { logger })
  expect((await say()).response.message).toBe(fixed)
})

test.each(['none', true, null, {}])('an option that is neither is refused: %s', (errorText) => {
  expect(() => new FlowEngine({ errorText: errorText as never })).toThrow(
    expect.objectContaining({
      code: 'INVALID_INPUT',
      message: "FlowEngine: errorText must be 'full', 'flow' or a function.",
    }),
  )
})
