/**
 * Which fault applies to which call of a store, and which faults were never used. The store does what the fault says:
 * `fake-session-store/fake-session-store.ts`.
 */
import type { SessionDocument } from '../../src/index.js'
import type { FakeStoreCall, FakeStoreEffect, FakeStoreOperation } from './journal.js'

/** Which calls a fault applies to. @inline */
export interface FakeStoreMatch {
  /** The first matching call that it applies to, counted from now. Default 1: the next one. */
  readonly nth?: number
  /** To how many calls in a row it applies; `Infinity` until the store is healed. Default 1. */
  readonly times?: number
  /** Only calls for this session. Default: any. */
  readonly sessionId?: string
  /** Only calls for which it returns `true`. Default: any. */
  readonly when?: (call: FakeStoreCall) => boolean
}

/** A fault as data: the methods of `FakeSessionStore` make one, and so can a generated test. @inline */
export interface FakeStoreFault extends FakeStoreMatch {
  /** Default: any of them but `close`. */
  readonly operation?: FakeStoreOperation
  readonly effect: FakeStoreEffect
  /** What is thrown. Default: an `Error` that says it was injected. */
  readonly error?: unknown
  /** Milliseconds on the store's clock before the call continues. Default 0. */
  readonly latencyMs?: number
  /** For a rival's write: makes its document from the stored one. Default: the same document under another revision. */
  readonly change?: (stored: SessionDocument) => SessionDocument
  /** Of `answer`: what the call answers. */
  readonly answer?: unknown
}

interface Prepared {
  readonly fault: FakeStoreFault
  /** How many matching calls still pass before it applies. */
  skip: number
  left: number
  /** How many matching calls there were, and to how many it applied. */
  seen: number
  struck: number
  healed: boolean
}

/** The faults of one store. */
export class FaultList {
  readonly #prepared: Prepared[] = []

  add(fault: FakeStoreFault): void {
    const { nth = 1, times = 1 } = fault
    this.#prepared.push({ fault, skip: nth - 1, left: times, seen: 0, struck: 0, healed: false })
  }

  /** Ends every fault. {@link unused} still reports one that never applied. */
  heal(): void {
    for (const prepared of this.#prepared) prepared.healed = true
  }

  /** The fault that applies to this call, if there is one: the first that was prepared. */
  strike(call: FakeStoreCall): FakeStoreFault | undefined {
    let striking: Prepared | undefined
    for (const prepared of this.#prepared) {
      if (prepared.healed || prepared.left <= 0 || !matches(prepared.fault, call)) continue
      prepared.seen++
      // Each fault counts its calls, also those to which another fault applied.
      if (prepared.skip > 0) prepared.skip--
      else striking ??= prepared
    }
    if (striking === undefined) return undefined
    striking.left--
    striking.struck++
    return striking.fault
  }

  /** A line for each fault that did not apply as often as it was meant to. */
  unused(): string[] {
    return this.#prepared.filter(isUnused).map(({ fault, seen, struck }) => {
      const calls = seen === 1 ? '1 call matched' : `${seen} calls matched`
      return `${describeFault(fault)} (${calls}, ${struck} struck)`
    })
  }
}

function isUnused({ struck, left, healed }: Prepared): boolean {
  return struck === 0 || (!healed && Number.isFinite(left) && left > 0)
}

function matches(fault: FakeStoreFault, call: FakeStoreCall): boolean {
  const { operation, sessionId = call.sessionId, when } = fault
  if (operation === undefined ? call.operation === 'close' : call.operation !== operation) return false
  return sessionId === call.sessionId && (when === undefined || when(call))
}

const textsOfFaults: Readonly<Record<FakeStoreEffect, (operation: string, fault: FakeStoreFault) => string>> = {
  'fail-before': (operation) => `${operation} fails before it takes effect`,
  'fail-after': (operation) => `${operation} fails after it took effect`,
  throw: (operation) => `${operation} throws instead of rejecting`,
  'hang-before': (operation) => `${operation} never answers and takes no effect`,
  'hang-after': (operation) => `${operation} takes effect and never answers`,
  latency: (operation, { latencyMs = 0 }) => `${operation} takes ${latencyMs} ms`,
  'rival-write': (operation) => `a rival writes just before ${operation}`,
  'rival-delete': (operation) => `a rival deletes just before ${operation}`,
  'stale-read': (operation) => `${operation} answers an older document`,
  answer: (operation, { answer }) => `${operation} answers ${JSON.stringify(answer)}`,
}

/** A fault in words: `save fails before it takes effect, from call 2 on, 3 times, for session 's-1'`. */
export function describeFault(fault: FakeStoreFault): string {
  const { operation = 'any operation', effect, nth = 1, times = 1, sessionId, when } = fault
  const words = [textsOfFaults[effect](operation, fault)]
  if (nth > 1) words.push(`from call ${nth} on`)
  if (times !== 1) words.push(times === Number.POSITIVE_INFINITY ? 'until healed' : `${times} times`)
  if (sessionId !== undefined) words.push(`for session '${sessionId}'`)
  if (when !== undefined) words.push('where its predicate says so')
  return words.join(', ')
}
