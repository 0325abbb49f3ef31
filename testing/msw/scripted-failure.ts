/** The errors that a script names by their code: each with the message that the engine would give it. */

import {
  EngineBusyError,
  EngineClosedError,
  FlowCodeError,
  FlowNotFoundError,
  FlowRegistrationError,
  IdempotencyMismatchError,
  LimitExceededError,
  SessionBusyError,
  ToolExecutionError,
  TurnAbortedError,
  TurnSupersededError,
  TurnTimeoutError,
} from '../../src/errors/engine-errors.js'
import { factsOf } from '../../src/errors/error-facts.js'
import { EventNotTakenError, SessionNotFoundError } from '../../src/errors/session-errors.js'
import {
  BudgetExceededError,
  FlowError,
  type FlowErrorCode,
  InvalidInputError,
  ModelBlockedError,
  ModelError,
  SessionConflictError,
  SessionFlowInvariantError,
  SessionFlowMismatchError,
  SessionStoreError,
} from '../../src/index.js'
import type { FailedServiceTurn, FlowServiceRun } from './service-turn.js'

const model = { provider: 'scripted', model: 'scripted' }

const errors: Readonly<Record<FlowErrorCode, (run: FlowServiceRun) => FlowError>> = {
  SESSION_CONFLICT: ({ sessionId }) => new SessionConflictError({ sessionId }),
  SESSION_FLOW_MISMATCH: ({ sessionId, flowName }) =>
    new SessionFlowMismatchError({ sessionId, boundFlow: 'Another', requestedFlow: flowName }),
  SESSION_FLOW_INVARIANT: ({ sessionId }) => new SessionFlowInvariantError({ sessionId, problem: 'a script says so' }),
  SESSION_STORE_ERROR: ({ sessionId }) => new SessionStoreError({ operation: 'load', sessionId }),
  SESSION_NOT_FOUND: ({ sessionId }) => new SessionNotFoundError({ sessionId }),
  SESSION_ENDED: ({ sessionId }) =>
    scripted('SESSION_ENDED', `Session '${sessionId}' has ended. Leave the session ID out to start a new one.`),
  EVENT_NOT_TAKEN: ({ sessionId }) => new EventNotTakenError({ sessionId, event: 'scripted' }),
  SCHEDULE_ERROR: () => scripted('SCHEDULE_ERROR', 'The engine option schedule failed.'),
  FLOW_NOT_FOUND: ({ flowName }) => new FlowNotFoundError({ flowName }),
  FLOW_REGISTRATION: () => new FlowRegistrationError({ message: 'The flow is not registered as it should be.' }),
  FLOW_ERROR: () => new FlowCodeError({ message: 'The flow failed.' }),
  INVALID_INPUT: () => new InvalidInputError({ message: 'The input was refused.' }),
  LIMIT_EXCEEDED: () => new LimitExceededError({ limit: 'maxMessageBytes', value: 256 * 1024, problem: 'The message' }),
  BUDGET_EXCEEDED: () => new BudgetExceededError({ scope: 'turn', amount: 'modelCalls', value: 5, spent: 5 }),
  MODEL_ERROR: () => new ModelError(model),
  MODEL_BLOCKED: () => new ModelBlockedError(model),
  TOOL_ERROR: () => new ToolExecutionError({ tool: 'scripted', message: 'The tool failed.' }),
  TURN_TIMEOUT: () => new TurnTimeoutError({ timeoutMs: 120_000, phase: 'turn' }),
  TURN_ABORTED: () => new TurnAbortedError(),
  TURN_SUPERSEDED: () => new TurnSupersededError(),
  SESSION_BUSY: () => new SessionBusyError(),
  IDEMPOTENCY_MISMATCH: () => new IdempotencyMismatchError(),
  ENGINE_BUSY: () => new EngineBusyError({ value: 10_000 }),
  ENGINE_CLOSED: () => new EngineClosedError(),
}

function scripted(code: FlowErrorCode, message: string): FlowError {
  return new FlowError({ code, message })
}

/** After these the engine keeps the session as aborted. */
const aborting: ReadonlySet<FlowErrorCode> = new Set([
  'FLOW_ERROR',
  'BUDGET_EXCEEDED',
  'MODEL_ERROR',
  'MODEL_BLOCKED',
  'TOOL_ERROR',
  'TURN_TIMEOUT',
])

/** The error of a failed turn. */
export function errorOf({ failure, message }: FailedServiceTurn, run: FlowServiceRun): FlowError {
  const error = typeof failure === 'string' ? errors[failure](run) : failure
  if (message === undefined) return error
  return new FlowError({ code: error.code, message })
}

/** The state of a session after a failure that changes it; `undefined` if it stays. */
export function stateAfter({ code }: FlowError): FailedServiceTurn['sessionState'] {
  if (aborting.has(code)) return 'aborted'
  if (code === 'SESSION_NOT_FOUND') return 'none'
  if (code === 'SESSION_ENDED') return 'completed'
  // A turn that was cancelled had begun.
  return factsOf(code).unseen === 'unknown' && code !== 'TURN_ABORTED' ? 'unknown' : undefined
}

/** Whether the session was open when this failed, so that a stream had begun. */
export function comesInTheTurn(error: FlowError): boolean {
  return aborting.has(error.code) || error.code === 'SESSION_CONFLICT' || error.code === 'SCHEDULE_ERROR'
}
