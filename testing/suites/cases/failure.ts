/** How a case fails: with a sentence, and never with an assertion library. */
import { FlowError } from '../../../src/index.js'
import { inShort } from './same-json.js'

/** Fails the case. */
export function fail(expected: string, got: string): never {
  throw new Error(`Expected ${expected}; got ${got}.`)
}

/** Fails the case unless `holds`. */
export function ensure(holds: boolean, expected: string, got: unknown): void {
  if (!holds) fail(expected, typeof got === 'string' ? got : inShort(got))
}

/** The outcome of an operation. */
export type Outcome =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'conflict' | 'invariant' | 'trouble'; readonly error: unknown }

/** Waits for an operation, whatever its outcome, also if the store throws before it returns a promise. */
export async function outcomeOf(operation: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { kind: 'done', value: await operation() }
  } catch (error) {
    // Checks the marker and the code, not the class: the store may use another copy of the package.
    const code = FlowError.isInstance(error) ? error.code : undefined
    const kind = code === 'SESSION_CONFLICT' ? 'conflict' : code === 'SESSION_FLOW_INVARIANT' ? 'invariant' : 'trouble'
    return { kind, error }
  }
}

/** An outcome in words. */
export function describeOutcome(outcome: Outcome): string {
  if (outcome.kind === 'done') return outcome.value === undefined ? 'success' : `success with ${inShort(outcome.value)}`
  const { error } = outcome
  if (FlowError.isInstance(error)) return `a rejection with the code ${error.code} (${error.message})`
  return `a rejection with ${error instanceof Object ? String(error) : inShort(error)}`
}

/**
 * Runs `work`. Fails, and names the call that hung, after `deadlineMs` in which no call has settled. While its calls
 * settle, the work is not hanging, no matter how long it takes on a busy machine.
 */
export async function withDeadline<T>(
  work: Promise<T>,
  deadlineMs: number,
  calls: { readonly settled: number; readonly hanging: string },
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const hung = new Promise<never>((_resolve, reject) => {
    const watch = (): void => {
      const before = calls.settled
      timer = setTimeout(() => {
        if (calls.settled !== before) return watch()
        reject(new Error(`Expected ${calls.hanging} to settle; it hung for ${deadlineMs} ms.`))
      }, deadlineMs)
    }
    watch()
  })
  try {
    return await Promise.race([work, hung])
  } finally {
    clearTimeout(timer)
  }
}
