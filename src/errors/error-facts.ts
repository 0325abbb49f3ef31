/**
 * The error codes and their facts, for the engine, the adapters, the client and tests. A missing code or fact does not
 * compile.
 */

/** The literal code of each error class; `switch (error.code)` narrows over it. */
export type FlowErrorCode =
  | 'SESSION_CONFLICT'
  | 'SESSION_FLOW_MISMATCH'
  | 'SESSION_FLOW_INVARIANT'
  | 'SESSION_STORE_ERROR'
  | 'SESSION_NOT_FOUND'
  | 'SESSION_ENDED'
  | 'EVENT_NOT_TAKEN'
  | 'SCHEDULE_ERROR'
  | 'FLOW_NOT_FOUND'
  | 'FLOW_REGISTRATION'
  | 'FLOW_ERROR'
  | 'INVALID_INPUT'
  | 'LIMIT_EXCEEDED'
  | 'BUDGET_EXCEEDED'
  | 'MODEL_ERROR'
  | 'MODEL_BLOCKED'
  | 'TOOL_ERROR'
  | 'TURN_TIMEOUT'
  | 'TURN_ABORTED'
  | 'TURN_SUPERSEDED'
  | 'SESSION_BUSY'
  | 'IDEMPOTENCY_MISMATCH'
  | 'ENGINE_BUSY'
  | 'ENGINE_CLOSED'

interface ErrorFacts {
  /** The HTTP status that the contract intends (7.2): `statusCode` of the error. */
  readonly status: 400 | 409 | 500
  /** The HTTP status with `statuses: 'precise'`. */
  readonly precise: number
  /**
   * What happens to the session of the failed turn (contract 7.3). `aborts`: it is aborted, or rolled back. `stays`: it
   * stays unchanged; effects are still stored. `conflict`: it stays, and effects are not stored either, because the
   * turn loaded another revision.
   */
  readonly session: 'aborts' | 'stays' | 'conflict'
  /** The state of a session that the turn did not load; `ask` if the store knows it. */
  readonly unseen: 'running' | 'unknown' | 'ask'
  /** Whether a client sends the same request again; `unsure`: only if the state of the session is `unknown`. */
  readonly repeat: 'yes' | 'no' | 'unsure'
}

/** The facts of each code. */
export const errorFacts: Readonly<Record<FlowErrorCode, ErrorFacts>> = {
  INVALID_INPUT: { status: 400, precise: 400, session: 'aborts', unseen: 'ask', repeat: 'no' },
  FLOW_NOT_FOUND: { status: 400, precise: 404, session: 'aborts', unseen: 'ask', repeat: 'unsure' },
  SESSION_NOT_FOUND: { status: 400, precise: 404, session: 'aborts', unseen: 'ask', repeat: 'unsure' },
  SESSION_CONFLICT: { status: 409, precise: 409, session: 'conflict', unseen: 'ask', repeat: 'yes' },
  SESSION_FLOW_MISMATCH: { status: 409, precise: 409, session: 'conflict', unseen: 'ask', repeat: 'unsure' },
  SESSION_FLOW_INVARIANT: { status: 409, precise: 409, session: 'conflict', unseen: 'unknown', repeat: 'unsure' },
  SESSION_ENDED: { status: 409, precise: 409, session: 'stays', unseen: 'ask', repeat: 'unsure' },
  EVENT_NOT_TAKEN: { status: 409, precise: 409, session: 'stays', unseen: 'ask', repeat: 'unsure' },
  SESSION_BUSY: { status: 409, precise: 409, session: 'stays', unseen: 'running', repeat: 'yes' },
  TURN_SUPERSEDED: { status: 409, precise: 409, session: 'stays', unseen: 'running', repeat: 'no' },
  IDEMPOTENCY_MISMATCH: { status: 400, precise: 422, session: 'stays', unseen: 'ask', repeat: 'no' },
  LIMIT_EXCEEDED: { status: 400, precise: 422, session: 'aborts', unseen: 'ask', repeat: 'no' },
  BUDGET_EXCEEDED: { status: 400, precise: 422, session: 'aborts', unseen: 'ask', repeat: 'unsure' },
  TURN_ABORTED: { status: 400, precise: 499, session: 'stays', unseen: 'unknown', repeat: 'no' },
  FLOW_ERROR: { status: 400, precise: 500, session: 'aborts', unseen: 'ask', repeat: 'unsure' },
  TOOL_ERROR: { status: 400, precise: 500, session: 'aborts', unseen: 'ask', repeat: 'unsure' },
  FLOW_REGISTRATION: { status: 400, precise: 500, session: 'aborts', unseen: 'ask', repeat: 'unsure' },
  SESSION_STORE_ERROR: { status: 500, precise: 500, session: 'aborts', unseen: 'unknown', repeat: 'yes' },
  SCHEDULE_ERROR: { status: 500, precise: 500, session: 'aborts', unseen: 'ask', repeat: 'unsure' },
  MODEL_ERROR: { status: 400, precise: 502, session: 'aborts', unseen: 'ask', repeat: 'unsure' },
  MODEL_BLOCKED: { status: 400, precise: 502, session: 'aborts', unseen: 'ask', repeat: 'unsure' },
  ENGINE_BUSY: { status: 400, precise: 503, session: 'stays', unseen: 'unknown', repeat: 'yes' },
  ENGINE_CLOSED: { status: 400, precise: 503, session: 'stays', unseen: 'unknown', repeat: 'yes' },
  TURN_TIMEOUT: { status: 400, precise: 504, session: 'aborts', unseen: 'unknown', repeat: 'unsure' },
}

/** The limits that a request may keep if it is sent again soon. */
export const passingLimits: readonly (string | undefined)[] = ['maxQueuedTurnsPerSession', 'maxConcurrentTurnsPerOwner']

/** The facts of a code. An unknown code, of a later release or an engine wrapper, counts as `FLOW_ERROR`. */
export function factsOf(code: string): ErrorFacts {
  return Object.hasOwn(errorFacts, code) ? errorFacts[code as FlowErrorCode] : errorFacts.FLOW_ERROR
}
