/**
 * The codes of errors, for tests that are not checked by TypeScript: a misspelt one would only say that another one
 * came.
 */
import type { FlowErrorCode } from '../../src/index.js'
import { hintAt } from '../../src/util/options.js'
import { show } from './expectation-error.js'

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

/** What is wrong with a code that a test expects; `undefined` if there is such a code. */
export function unknownCodeText(code: unknown): string | undefined {
  if (typeof code === 'string' && Object.hasOwn(codes, code)) return undefined
  const names = Object.keys(codes)
  const hint = typeof code === 'string' ? hintAt(code, names) : ''
  return `there is no error code ${show(code)}. The codes are ${names.join(', ')}.${hint}`
}
