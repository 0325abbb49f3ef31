/** Reports errors and refusals. A report that fails does not fail the request. */
import type { ServedEngine } from '../core/served-engine.js'

/** Passes an error to `onError`, or to the console. Never throws. */
export type Report = (error: unknown) => void

/** Makes the function that passes errors to the option `onError`. */
export function createReporter(onError: Report | undefined): Report {
  return function report(error) {
    try {
      if (onError === undefined) console.error(error)
      else onError(error)
    } catch {
      // A failing reporter must not fail the request.
    }
  }
}

/** Reports a caller that was refused to the engine. */
export type ReportRefused = NonNullable<ServedEngine['reportRefused']>

/** Makes the function that passes refusals to an engine. A wrapper need not accept them. */
export function createRefusedReporter(engine: Pick<ServedEngine, 'reportRefused'>, report: Report): ReportRefused {
  return function reportRefused(refusal) {
    try {
      engine.reportRefused?.(refusal)
    } catch (error) {
      report(error)
    }
  }
}
