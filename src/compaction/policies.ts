/**
 * Creates the policies that keep memories short, and checks them when a flow is registered. `policy-compactor.ts`
 * applies them.
 */
import type { Compactor } from '../engine/turn/compactor.js'
import { type InvalidInputError, invalidInput } from '../errors/engine-errors.js'
import {
  type CompactionBounds,
  type CompactionPolicy,
  compactorFactory,
  type FlowCompaction,
  type RollingSummary,
  type RollingSummaryOptions,
  type SlidingWindow,
} from '../flow/compaction.js'
import { isPlainObject } from '../util/json.js'
import { PolicyCompactor } from './policy-compactor.js'

/**
 * Removes the oldest messages of a memory when the turn that made it too long commits.
 *
 * @example
 * ```ts
 * class Desk extends Flow {
 *   static override readonly compaction = { Ask: slidingWindow({ above: 60, keep: 40 }) }
 * }
 * ```
 */
export function slidingWindow(bounds: CompactionBounds): SlidingWindow {
  return withFactory({ ...bounds, kind: 'window' })
}

/**
 * Has a model write a summary that replaces the oldest messages of a memory. This happens after the reply of the turn
 * that made the memory too long; the next turn does not wait for it. Storing the summary takes the lock of the session.
 * The next summary covers this one and the messages after it.
 *
 * @example
 * ```ts
 * class Desk extends Flow {
 *   static override readonly compaction = {
 *     Ask: rollingSummary({ above: 60, keep: 20, model: { provider: 'openai', name: 'gpt-5-nano' } }),
 *   }
 * }
 * ```
 */
export function rollingSummary(options: RollingSummaryOptions): RollingSummary {
  return withFactory({ ...options, kind: 'summary' })
}

/** Adds the compactor factory to a policy. A spread copy of the policy keeps it. */
function withFactory<Policy extends CompactionPolicy>(policy: Policy): Policy {
  const factory = (flowName: string, compaction: FlowCompaction): Compactor => {
    const refuse: RefuseCompaction = (where, expected) =>
      invalidInput(`Flow '${flowName}': compaction${where} must be ${expected}.`)
    return new PolicyCompactor(flowName, checkPolicies(compaction, refuse))
  }
  return { ...policy, [compactorFactory]: factory }
}

/** Creates the error for a property of a flow's `compaction`. */
type RefuseCompaction = (where: string, expected: string) => InvalidInputError

interface PolicyOption {
  readonly accepts: (value: unknown) => boolean
  /** What is accepted, for error messages. */
  readonly expected: string
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0

const isSelection = (value: unknown): boolean =>
  isPlainObject(value) &&
  typeof value.provider === 'string' &&
  typeof value.name === 'string' &&
  (value.params === undefined || isPlainObject(value.params))

const isSelectionOrList = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 && value.every(isSelection) : isSelection(value)

const isPositiveNumber = (value: unknown): boolean => typeof value === 'number' && value > 0

const optional =
  (accepts: PolicyOption['accepts']): PolicyOption['accepts'] =>
  (value) =>
    value === undefined || accepts(value)

const windowOptions: Readonly<Record<string, PolicyOption>> = {
  keep: { accepts: isCount, expected: 'a whole number above 0' },
  above: { accepts: isCount, expected: 'a whole number above keep' },
}

const summaryOptions: Readonly<Record<string, PolicyOption>> = {
  ...windowOptions,
  model: {
    accepts: isSelectionOrList,
    expected: '{ provider, name, params? } with two strings, or an array of these',
  },
  prompt: { accepts: optional((value) => typeof value === 'string'), expected: 'a string' },
  timeoutMs: { accepts: optional(isPositiveNumber), expected: 'a number above 0' },
  maxSummaryCharacters: { accepts: optional(isCount), expected: 'a whole number above 0' },
}

/** Checks the policies of a flow and returns frozen copies by namespace. */
export function checkPolicies(
  compaction: FlowCompaction,
  refuse: RefuseCompaction,
): ReadonlyMap<string, CompactionPolicy> {
  const policies = new Map<string, CompactionPolicy>()
  for (const [namespace, policy] of Object.entries(compaction)) {
    const where = `['${namespace}']`
    if (namespace === '' || namespace === '__proto__') throw refuse(where, 'the name of a memory namespace')
    policies.set(namespace, checkPolicy(policy, where, refuse))
  }
  return policies
}

function checkPolicy(given: unknown, where: string, refuse: RefuseCompaction): CompactionPolicy {
  const policy: Record<PropertyKey, unknown> = isPlainObject(given) ? { ...given } : {}
  const options = compactorFactory in policy ? optionsOfKind(policy.kind) : undefined
  if (options === undefined) throw refuse(where, 'slidingWindow({ ... }) or rollingSummary({ ... })')
  for (const key of Object.keys(policy)) {
    if (key === 'kind' || Object.hasOwn(options, key)) continue
    throw refuse(where, `an object with only ${Object.keys(options).join(', ')}; got '${key}'`)
  }
  for (const [key, { accepts, expected }] of Object.entries(options)) {
    if (!accepts(policy[key])) throw refuse(`${where}.${key}`, expected)
  }
  if ((policy.above as number) <= (policy.keep as number)) throw refuse(`${where}.above`, 'a whole number above keep')
  return Object.freeze(policy) as unknown as CompactionPolicy
}

function optionsOfKind(kind: unknown): Readonly<Record<string, PolicyOption>> | undefined {
  switch (kind) {
    case 'window':
      return windowOptions
    case 'summary':
      return summaryOptions
    default:
      return undefined
  }
}
