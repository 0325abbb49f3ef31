/**
 * What a flow says of the length of its memory: policies by namespace, and the check of them when the flow is registered.
 * What they do is decided in the engine.
 */
import { FlowRegistrationError } from '../errors/engine-errors.js'
import { isPlainObject } from '../json.js'
import type { ModelSelection } from '../model/model-provider.js'

/** When a memory is cut down, and how far. */
export interface CompactionBounds {
  /** Messages beyond which the memory is cut down, after a turn that passed it. A whole number above `keep`. */
  readonly above: number
  /**
   * The newest messages, which stay: at least so many, and as many more as it takes to begin with what the user said at
   * the beginning of a turn. A whole number above 0. The further below `above`, the rarer it happens.
   */
  readonly keep: number
}

/** What {@link rollingSummary} takes. */
export interface RollingSummaryOptions extends CompactionBounds {
  /** The model that writes the summary. */
  readonly model: ModelSelection
  /** The system prompt of its call; the transcript is its one message. Default: the engine's own. */
  readonly prompt?: string
  /** Milliseconds for the call; the next turn of the session waits for it. Default 30 000. `Infinity`: as long as it takes. */
  readonly timeoutMs?: number
  /** Characters (UTF-16 units) of a summary; a longer one is refused. Default 8 000. */
  readonly maxSummaryCharacters?: number
}

/** A policy made by {@link slidingWindow}. */
export interface SlidingWindow extends CompactionBounds {
  readonly kind: 'window'
}

/** A policy made by {@link rollingSummary}. */
export interface RollingSummary extends RollingSummaryOptions {
  readonly kind: 'summary'
}

/** How the memory of a namespace is kept short. */
export type CompactionPolicy = SlidingWindow | RollingSummary

/** Policies by memory namespace. */
export type FlowCompaction = Readonly<Record<string, CompactionPolicy>>

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
  return { ...bounds, kind: 'window' }
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
  return { ...options, kind: 'summary' }
}

type Test = (value: unknown) => boolean

const isString: Test = (value) => typeof value === 'string'
const isCount: Test = (value) => Number.isSafeInteger(value) && (value as number) > 0
const orAbsent =
  (test: Test): Test =>
  (value) =>
    value === undefined || test(value)

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
      (model) =>
        isPlainObject(model) &&
        isString(model.provider) &&
        isString(model.name) &&
        orAbsent(isPlainObject)(model.params),
      '{ provider, name, params? } with two strings',
    ],
    prompt: [orAbsent(isString), 'a string'],
    timeoutMs: [orAbsent((value) => typeof value === 'number' && value > 0), 'a number above 0'],
    maxSummaryCharacters: [orAbsent(isCount), 'a whole number above 0'],
  },
}

/**
 * The policies of a flow, read once.
 *
 * @throws {@link FlowRegistrationError} that names the flow, the namespace, what is wrong and what was expected.
 */
export function checkCompaction(flowName: string, compaction: unknown): ReadonlyMap<string, CompactionPolicy> {
  const policies = new Map<string, CompactionPolicy>()
  const refuse = (what: string, expected: string): never => {
    throw new FlowRegistrationError({ message: `Flow '${flowName}': compaction${what} must be ${expected}.` })
  }
  if (!isPlainObject(compaction)) return refuse('', 'an object: a policy for each memory namespace')
  for (const [namespace, given] of Object.entries(compaction)) {
    const where = `['${namespace}']`
    if (namespace === '' || namespace === '__proto__') refuse(where, 'named like a memory namespace')
    const policy: Record<string, unknown> = isPlainObject(given) ? { ...given } : {}
    const kind = String(policy.kind)
    const tests = Object.hasOwn(ofKind, kind) ? ofKind[kind] : undefined
    if (tests === undefined) return refuse(where, 'slidingWindow({ ... }) or rollingSummary({ ... })')
    for (const key of Object.keys(policy)) {
      if (!Object.hasOwn(tests, key)) refuse(where, `made of ${Object.keys(tests).slice(1).join(', ')}; got '${key}'`)
    }
    for (const [key, [test, expected]] of Object.entries(tests)) {
      if (!test(policy[key])) refuse(`${where}.${key}`, expected)
    }
    if ((policy.above as number) <= (policy.keep as number)) refuse(`${where}.above`, 'a whole number above keep')
    policies.set(namespace, Object.freeze(policy) as unknown as CompactionPolicy)
  }
  return policies
}
