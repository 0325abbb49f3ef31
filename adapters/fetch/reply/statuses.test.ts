import { describe, expect, test } from 'vitest'
import { LimitExceededError } from '../../../src/errors/engine-errors.js'
import { FlowError } from '../../../src/index.js'
import { statusOf } from './statuses.js'

const errorOf = (code: FlowError['code']): FlowError => new FlowError({ code, message: 'x' })

const codes = [
  ['INVALID_INPUT', 400],
  ['FLOW_NOT_FOUND', 404],
  ['SESSION_NOT_FOUND', 404],
  ['SESSION_CONFLICT', 409],
  ['SESSION_FLOW_MISMATCH', 409],
  ['SESSION_FLOW_INVARIANT', 409],
  ['LIMIT_EXCEEDED', 422],
  ['TURN_ABORTED', 499],
  ['SESSION_STORE_ERROR', 500],
  ['FLOW_REGISTRATION', 500],
  ['FLOW_ERROR', 500],
  ['TOOL_ERROR', 500],
  ['MODEL_ERROR', 502],
  ['MODEL_BLOCKED', 502],
  ['ENGINE_BUSY', 503],
  ['ENGINE_CLOSED', 503],
  ['TURN_TIMEOUT', 504],
] as const

describe('statusOf', () => {
  test.each(codes)('%s is %i when asked to be precise', (code, status) => {
    expect(statusOf(errorOf(code), 'precise')).toBe(status)
  })

  test.each(codes)('[7.3-1] %s is 400 by the contract', (code) => {
    expect(statusOf(errorOf(code), 'contract')).toBe(400)
  })

  test('a full queue and an owner with too many turns are 429, unlike any other limit', () => {
    const passed = (limit: string): number =>
      statusOf(new LimitExceededError({ limit, value: 1, problem: 'x' }), 'precise')
    expect(passed('maxQueuedTurnsPerSession')).toBe(429)
    expect(passed('maxConcurrentTurnsPerOwner')).toBe(429)
    expect(passed('maxMessageBytes')).toBe(422)
  })

  test('a failure without an error, or with an unknown code, is 500', () => {
    expect([statusOf(undefined, 'precise'), statusOf(errorOf('toString' as never), 'precise')]).toEqual([500, 500])
    expect(statusOf(undefined, 'contract')).toBe(400)
  })
})
