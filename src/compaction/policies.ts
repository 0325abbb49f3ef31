/**
 * The policies that keep memories short, and the check of them when a flow is registered. What they do is decided next door.
 */

import type { Compactor } from '../engine/compactor.js'
import { type FlowRegistrationError, registrationError } from '../errors/engine-errors.js'
import {
  type CompactionBounds,
  type CompactionPolicy,
  type FlowCompaction,
  type KeeperOf,
  keeperOf,
  type RollingSummary,
  type RollingSummaryOptions,
  type SlidingWindow,
} from '../flow/compaction.js'
import { isPlainObject } from '../util/json.js'
import { PolicyKeeper } from './compact-memory.js'

/**
 * Forgets the oldest messages of a memory, in the commit of the turn that made it too long.
 *
 * @example
 * ```ts
 * class Desk extends Flow {
 *   static override readonly compaction = { Ask: slidingWindow({ above: 60, keep: 40 }) }
 * }
 * ```
 */
export function slidingWindow(bounds: CompactionBounds): SlidingWindow {
  return made({ ...bounds, kind: 'window' })
}

/**
 * Puts a summary, written by a model, in the place of the oldest messages of a memory: after the reply of the turn that
 * made it too long, under the session's lock. The next summary is made of this one and of what came after it.
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
  return made({ ...options, kind: 'summary' })
}

/** A policy with what the engine needs to follow it, which a copy of it has as well. */
function made<Policy extends CompactionPolicy>(policy: Policy): Policy {
  const keeper: KeeperOf<Compactor> = (flowName, compaction) => {
    const refuse: RefuseCompaction = (where, expected) =>
      registrationError(`Flow '${flowName}': compaction${where} must be ${expected}.`)
    return new PolicyKeeper(flowName, checkPolicies(compaction, refuse))
  }
  return { ...policy, [keeperOf]: keeper }
}

/** Makes the error for a part of a flow's `compaction`. */
type RefuseCompaction = (where: string, expected: string) => FlowRegistrationError

type Test = (value: unknown) => boolean

const isString: Test = (value) => typeof value === 'string'
const isCount: Test = (value) => Number.isSafeInteger(value) && (value as number) > 0
const orAbsent =
  (test: Test): Test =>
  (value) =>
    value === undefined || test(value)

const isSelection: Test = (model) =>
  isPlainObject(model) && isString(model.provider) && isString(model.name) && orAbsent(isPlainObject)(model.params)

/** What each member must be, in words. */
const bounds: Readonly<Record<string, readonly [Test, string]>> = {
  kind: [isString, ''],
  keep: [isCount, 'a whole number above 0'],
  above: [isCount, 'a whole number above keep'],
}
const ofKind: Readonly<Record<string, typeof bounds>> = {
  window: bounds,
  summary: {
    ...bounds,
    model: [
      (model) => (Array.isArray(model) ? model.length > 0 && model.every(isSelection) : isSelection(model)),
      '{ provider, name, params? } with two strings, or a list of such',
    ],
    prompt: [orAbsent(isString), 'a string'],
    timeoutMs: [orAbsent((value) => typeof value === 'number' && value > 0), 'a number above 0'],
    maxSummaryCharacters: [orAbsent(isCount), 'a whole number above 0'],
  },
}

/** The policies of a flow, read once. */
export function checkPolicies(
  compaction: FlowCompaction,
  refuse: RefuseCompaction,
): ReadonlyMap<string, CompactionPolicy> {
  const policies = new Map<string, CompactionPolicy>()
  for (const [namespace, given] of Object.entries(compaction)) {
    const where = `['${namespace}']`
    if (namespace === '' || namespace === '__proto__') throw refuse(where, 'named like a memory namespace')
    const policy: Record<PropertyKey, unknown> = isPlainObject(given) ? { ...given } : {}
    const kind = String(policy.kind)
    const tests = Object.hasOwn(ofKind, kind) && keeperOf in policy ? ofKind[kind] : undefined
    if (tests === undefined) throw refuse(where, 'slidingWindow({ ... }) or rollingSummary({ ... })')
    for (const key of Object.keys(policy)) {
      if (!Object.hasOwn(tests, key)) {
        throw refuse(where, `made of ${Object.keys(tests).slice(1).join(', ')}; got '${key}'`)
      }
    }
    for (const [key, [test, expected]] of Object.entries(tests)) {
      if (!test(policy[key])) throw refuse(`${where}.${key}`, expected)
    }
    if ((policy.above as number) <= (policy.keep as number)) throw refuse(`${where}.above`, 'a whole number above keep')
    policies.set(namespace, Object.freeze(policy) as unknown as CompactionPolicy)
  }
  return policies
}
