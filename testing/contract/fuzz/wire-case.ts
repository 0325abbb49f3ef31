/** One case on a socket: the bytes, and what has to come back. */
import type { SeededRandom } from '../seeded-random.js'
import type { RequestPlan } from './plan.js'

/** What one reply has to be. */
export interface DueReply {
  readonly method: string
  readonly route: RequestPlan['route']
  readonly expects: RequestPlan['expects']
}

/**
 * How a case ends.
 *
 * - `answered`: each reply is due, unless one before it closes the connection; the connection is used again.
 * - `maybe`: whether anything is due is not certain, but not more replies than `due` names. The client closes its side
 *   when it is quiet, and the server has to close the other.
 * - `cut`: the client goes away as soon as it has written.
 * - `cut reply`: it goes away as soon as a reply begins.
 */
export type Ending = 'answered' | 'maybe' | 'cut' | 'cut reply'

/** One case. */
export interface WireCase {
  readonly pieces: readonly string[]
  /** Milliseconds between two pieces. */
  readonly pauseMs: number
  readonly ending: Ending
  readonly due: readonly DueReply[]
  readonly opener?: string
}

/** Makes the cases of one class. */
export type MakeWire = (random: SeededRandom) => WireCase

/** A plan as bytes, with the headers that make it a request. */
export function encodePlan(
  plan: RequestPlan,
  framing: readonly (readonly [string, string])[] = framingOf(plan),
): string {
  const host = plan.headers.some(([name]) => name.toLowerCase() === 'host') ? [] : [['Host', 'chat.example'] as const]
  const lines = [...host, ...plan.headers, ...framing].map(([name, value]) => `${name}: ${value}`)
  return `${[`${plan.method} ${plan.target} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n${plan.body ?? ''}`
}

function framingOf({ body }: RequestPlan): [string, string][] {
  return body === undefined ? [] : [['Content-Length', String(body.length)]]
}

/** What is due for a plan. */
export function dueFor({ method, route, expects }: RequestPlan): DueReply {
  return { method, route, expects }
}

/** A plan that is sent as it is, in one piece. */
export function wireOf(plan: RequestPlan, changes: Partial<WireCase> = {}): WireCase {
  const { opener } = plan
  return {
    pieces: [encodePlan(plan)],
    pauseMs: 0,
    ending: 'answered',
    due: [dueFor(plan)],
    ...(opener === undefined ? {} : { opener }),
    ...changes,
  }
}

/** Bytes that may or may not be a request. */
export function perhaps(bytes: string, plan: RequestPlan): WireCase {
  // Which route they reach is not certain either.
  return wireOf(plan, {
    pieces: [bytes],
    ending: 'maybe',
    due: [{ method: 'POST', route: undefined, expects: undefined }],
  })
}

/** A text in pieces, cut anywhere. */
export function inPieces(random: SeededRandom, text: string, most: number): string[] {
  const cuts = Array.from({ length: 1 + random.below(most - 1) }, () => random.below(text.length)).sort((a, b) => a - b)
  return [...cuts, text.length]
    .map((end, index) => text.slice(cuts[index - 1] ?? 0, end))
    .filter((piece) => piece !== '')
}
