/**
 * A request of the fuzzer, before it is bytes on a socket or a `Request`. Every text here is of bytes: one character,
 * from U+0000 to U+00FF, is one byte.
 */
import type { SeededRandom } from '../seeded-random.js'

export type FuzzRoute = 'run' | 'flows' | 'end' | 'cancel'

/** The expected reply, as far as it is certain. */
export type Expectation = 'success' | 'refusal'

/** One request. */
export interface RequestPlan {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: readonly Header[]
  readonly body?: string
  /** The route that answers; absent if that is uncertain, or if no route does. */
  readonly route?: FuzzRoute
  readonly expects?: Expectation
  /**
   * The caller that opens the session whose ID replaces {@link sessionMark}; absent if the request names no such
   * session.
   */
  readonly opener?: string
}

export type Header = readonly [name: string, value: string]

/** Makes the requests of one class. */
export type MakePlan = (random: SeededRandom) => RequestPlan

/** The classes of requests, by name. */
export type PlanClasses = Readonly<Record<string, MakePlan>>

/** Stands for the ID of a session that the driver opens first. It is as long as an ID. */
export const sessionMark = 'FuzzSessionFuzzSessionFuzzSessio'

/** Is in everything that could become a header of a reply. */
export const canary = 'fuzz-canary'

/** The bytes of a text in UTF-8. */
export function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** The header by which the application of served-app.ts knows its callers. */
export const userHeader = 'X-User'

/** A valid first message to the flow Talk, with some fields of the plan replaced. */
export function runPlan(fields: Record<string, unknown> = {}, changes: Partial<RequestPlan> = {}): RequestPlan {
  return {
    method: 'POST',
    target: '/ai/run',
    headers: [],
    body: bytesOf(JSON.stringify({ flowName: 'Talk', message: 'hi', ...fields })),
    route: 'run',
    ...changes,
  }
}

/** The same request with one header more. */
export function withHeader(plan: RequestPlan, name: string, value: string): RequestPlan {
  return { ...plan, headers: [...plan.headers, [name, value]] }
}

/** A text of visible ASCII characters. */
export function visibleText(random: SeededRandom, length: number): string {
  return Array.from({ length }, () => String.fromCharCode(0x21 + random.below(0x5e))).join('')
}

/** A text of any bytes. */
export function anyBytes(random: SeededRandom, length: number): string {
  return Array.from({ length }, () => String.fromCharCode(random.below(256))).join('')
}

/** The same text with a few bytes changed, added or removed. */
export function withByteEdits(random: SeededRandom, text: string): string {
  let edited = text
  for (let left = 1 + random.below(4); left > 0; left--) {
    const at = random.below(edited.length + 1)
    const removed = random.below(3)
    edited = edited.slice(0, at) + anyBytes(random, random.below(3)) + edited.slice(at + removed)
  }
  return edited
}
