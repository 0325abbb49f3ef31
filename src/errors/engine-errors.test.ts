import { describe, expect, test } from 'vitest'
import {
  EngineClosedError,
  FlowCodeError,
  FlowNotFoundError,
  FlowRegistrationError,
  InvalidInputError,
  LimitExceededError,
  ModelBlockedError,
  ModelError,
  ToolExecutionError,
  TurnAbortedError,
  TurnTimeoutError,
} from './engine-errors.js'
import { FlowError } from './flow-error.js'

const cause = new Error('the reason')

/** Each class with its name, its code, its sentence and its facts, as others see them. */
const rows: [string, FlowError, string, string, Record<string, unknown>][] = [
  [
    'FlowNotFoundError',
    new FlowNotFoundError({ flowName: 'Booking', cause }),
    'FLOW_NOT_FOUND',
    "Flow class 'Booking' not registered.",
    { flowName: 'Booking' },
  ],
  [
    'FlowRegistrationError',
    new FlowRegistrationError({ message: "Flow 'Booking' is already registered.", cause }),
    'FLOW_REGISTRATION',
    "Flow 'Booking' is already registered.",
    {},
  ],
  [
    'InvalidInputError',
    new InvalidInputError({ message: 'userMessage must be a string.', cause }),
    'INVALID_INPUT',
    'userMessage must be a string.',
    {},
  ],
  [
    'LimitExceededError',
    new LimitExceededError({ limit: 'maxMessageBytes', value: 10, problem: 'The message', cause }),
    'LIMIT_EXCEEDED',
    'The message exceeds the limit maxMessageBytes (10).',
    {
      limit: 'maxMessageBytes',
      value: 10,
      details: 'Raise it with the engine option limits: { maxMessageBytes: ... }.',
    },
  ],
  [
    'ModelError',
    new ModelError({ provider: 'local', model: 'tiny', cause }),
    'MODEL_ERROR',
    "Model 'tiny' of provider 'local' failed.",
    { provider: 'local', model: 'tiny' },
  ],
  [
    'ModelError',
    new ModelError({ provider: 'local', model: 'tiny', detail: 'Its answer is empty.', cause }),
    'MODEL_ERROR',
    "Model 'tiny' of provider 'local' failed. Its answer is empty.",
    { provider: 'local', model: 'tiny' },
  ],
  [
    'ModelBlockedError',
    new ModelBlockedError({ provider: 'local', model: 'tiny', cause }),
    'MODEL_BLOCKED',
    "Model 'tiny' of provider 'local' blocked its answer.",
    { provider: 'local', model: 'tiny' },
  ],
  [
    'ToolExecutionError',
    new ToolExecutionError({ tool: 'book', message: 'No seat left.', cause }),
    'TOOL_ERROR',
    'No seat left.',
    { tool: 'book' },
  ],
  ['FlowCodeError', new FlowCodeError({ message: 'onEnter failed.', cause }), 'FLOW_ERROR', 'onEnter failed.', {}],
  [
    'TurnTimeoutError',
    new TurnTimeoutError({ timeoutMs: 120_000, phase: 'turn', cause }),
    'TURN_TIMEOUT',
    'The turn took longer than the limit turnTimeoutMs (120000 ms).',
    { timeoutMs: 120_000, details: 'Raise it with the engine option limits: { turnTimeoutMs: ... }.' },
  ],
  [
    'TurnTimeoutError',
    new TurnTimeoutError({ timeoutMs: 5, phase: 'lock', cause }),
    'TURN_TIMEOUT',
    "The wait for the session's earlier turns took longer than the limit turnTimeoutMs (5 ms). A turn that is started within a turn of the same session, and awaited there, waits for itself and ends like this.",
    { timeoutMs: 5 },
  ],
  ['TurnAbortedError', new TurnAbortedError({ cause }), 'TURN_ABORTED', 'The turn was cancelled by its caller.', {}],
  ['EngineClosedError', new EngineClosedError({ cause }), 'ENGINE_CLOSED', 'The engine is closed.', {}],
]

describe('errors of the engine', () => {
  test.each(rows)('%s has its name, code, sentence and facts', (name, error, code, message, facts) => {
    expect({ name: error.name, code: error.code, message: error.message, statusCode: error.statusCode }).toEqual({
      name,
      code,
      message,
      statusCode: 400,
    })
    expect(error).toMatchObject(facts)
    expect(error.cause).toBe(cause)
    expect(FlowError.isInstance(error)).toBe(true)
    expect(error.stack).toContain(`${name}: ${message}`)
  })

  test('[7.1-3] an unregistered flow is named in the sentence that the contract shows', () => {
    expect(new FlowNotFoundError({ flowName: '<name>' }).message).toBe("Flow class '<name>' not registered.")
  })

  test('those without facts take no options', () => {
    expect(new TurnAbortedError().message).toBe('The turn was cancelled by its caller.')
    expect(new EngineClosedError().message).toBe('The engine is closed.')
  })
})
