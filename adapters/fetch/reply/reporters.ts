/** Where errors and refusals are reported. Neither report can fail a request. */
import type { ServedEngine } from '../core/served-engine.js'

/** Passes an error to `onError`, or to the console. Never throws. */
export type Report = (error: unknown) => void

/** Makes what passes errors to the option `onError`. */
export function createReporter(onError: Report | undefined): Report {
  return function report(error) {
    try {
      if (onError === undefined) console.error(error)
      else onError(error)
    } catch {
      // A reporter that fails must not fail the request as well.
    }
  }
}

/** Reports a caller that was refused to the engine. */
export type ReportRefused = NonNullable<ServedEngine['reportRefused']>

/** Makes what passes refusals to an engine, or to an object in front of one, which need not take them. */
export function createRefusedReporter(engine: Pick<ServedEngine, 'reportRefused'>, report: Report): ReportRefused {
  return function reportRefused(refusal) {
    try {
      engine.reportRefused?.(refusal)
    } catch (error) {
      report(error)
    }
  }
}
