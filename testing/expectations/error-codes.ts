/** The codes with which a turn can fail, for messages about a code that does not exist. */
import type { FlowErrorCode } from '../../src/index.js'

/** Each code, so that the compiler finds a missing one. */
const codes: Readonly<Record<FlowErrorCode, true>> = {
  SESSION_CONFLICT: true,
  SESSION_FLOW_MISMATCH: true,
  SESSION_FLOW_INVARIANT: true,
  SESSION_STORE_ERROR: true,
  SESSION_NOT_FOUND: true,
  FLOW_NOT_FOUND: true,
  FLOW_REGISTRATION: true,
  FLOW_ERROR: true,
  INVALID_INPUT: true,
  LIMIT_EXCEEDED: true,
  BUDGET_EXCEEDED: true,
  MODEL_ERROR: true,
  MODEL_BLOCKED: true,
  TOOL_ERROR: true,
  TURN_TIMEOUT: true,
  TURN_ABORTED: true,
  TURN_SUPERSEDED: true,
  SESSION_BUSY: true,
  IDEMPOTENCY_MISMATCH: true,
  ENGINE_BUSY: true,
  ENGINE_CLOSED: true,
}

/** All codes. */
export const errorCodes: readonly FlowErrorCode[] = Object.keys(codes) as FlowErrorCode[]
