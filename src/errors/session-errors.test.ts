import { describe, expect, test } from 'vitest'
import { EngineClosedError } from './engine-errors.js'
import { FlowError } from './flow-error.js'
import {
  isSessionConflict,
  SessionConflictError,
  SessionFlowInvariantError,
  SessionFlowMismatchError,
  SessionNotFoundError,
  SessionStoreError,
} from './session-errors.js'

const cause = new Error('redis://user:secret@db.internal refused')

/** Each class with its name, its code, its intended status, its sentence and its facts. The cause is in no sentence. */
const rows: [string, FlowError, string, number, string, Record<string, unknown>][] = [
  [
    'SessionConflictError',
    new SessionConflictError({ sessionId: 's-1', cause }),
    'SESSION_CONFLICT',
    409,
    "Session 's-1' was changed or deleted by another request.",
    { sessionId: 's-1' },
  ],
  [
    'SessionFlowMismatchError',
    new SessionFlowMismatchError({ sessionId: 's-1', boundFlow: 'Booking', requestedFlow: 'Support', cause }),
    'SESSION_FLOW_MISMATCH',
    409,
    "Session 's-1' belongs to flow 'Booking' and cannot run flow 'Support'.",
    { sessionId: 's-1', boundFlow: 'Booking', requestedFlow: 'Support' },
  ],
  [
    'SessionFlowInvariantError',
    new SessionFlowInvariantError({ sessionId: 's-1', problem: 'flow.name is empty', cause }),
    'SESSION_FLOW_INVARIANT',
    409,
    "Session 's-1' is malformed: flow.name is empty.",
    { sessionId: 's-1' },
  ],
  [
    'SessionStoreError',
    new SessionStoreError({ operation: 'load', sessionId: 's-1', cause }),
    'SESSION_STORE_ERROR',
    500,
    "Session store failed to load session 's-1'.",
    { operation: 'load', sessionId: 's-1' },
  ],
  [
    'SessionStoreError',
    new SessionStoreError({ operation: 'save', sessionId: 's-1', detail: 'Nobody knows.', cause }),
    'SESSION_STORE_ERROR',
    500,
    "Session store failed to save session 's-1'. Nobody knows.",
    { operation: 'save', sessionId: 's-1' },
  ],
  [
    'SessionStoreError',
    new SessionStoreError({ operation: 'close', cause }),
    'SESSION_STORE_ERROR',
    500,
    'Session store failed to close.',
    { operation: 'close', sessionId: undefined },
  ],
  [
    'SessionNotFoundError',
    new SessionNotFoundError({ sessionId: 's-1', cause }),
    'SESSION_NOT_FOUND',
    400,
    "Session 's-1' does not exist or has ended. Leave the session ID out to start a new one.",
    { sessionId: 's-1' },
  ],
]

describe('errors of a session', () => {
  test.each(rows)(
    '%s has its name, code, status, sentence and facts',
    (name, error, code, statusCode, message, facts) => {
      expect({ name: error.name, code: error.code, statusCode: error.statusCode, message: error.message }).toEqual({
        name,
        code,
        statusCode,
        message,
      })
      expect(error).toMatchObject(facts)
      expect(error.cause).toBe(cause)
      expect(FlowError.isInstance(error)).toBe(true)
      expect(error.stack).toContain(`${name}: ${message}`)
    },
  )
})

describe('isSessionConflict', () => {
  test.each(rows)('of %s', (_name, error, _code, statusCode) => {
    expect(isSessionConflict(error)).toBe(statusCode === 409)
  })

  test.each<[string, unknown]>([
    ['another error of the engine', new EngineClosedError()],
    ["an error that is not the engine's", Object.assign(new Error('x'), { code: 'SESSION_CONFLICT', statusCode: 409 })],
    ['undefined', undefined],
    ['a text', 'SESSION_CONFLICT'],
  ])('is false of %s', (_name, value) => {
    expect(isSessionConflict(value)).toBe(false)
  })
})
