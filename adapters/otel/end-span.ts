/** How spans end, whatever the tracer throws. */
import { type Span, SpanStatusCode } from '@opentelemetry/api'
import { attribute } from './names.js'

/**
 * Ends a span, also where the tracer refuses to take what is set before.
 *
 * @param code - What ended it, where it was a failure.
 * @param text - Of the error. Default: none, for it may hold what was said.
 * @param describe - Sets further attributes.
 */
export function endSpan(span: Span, code?: string, text?: string, describe?: () => void): void {
  try {
    describe?.()
    if (code !== undefined) {
      span.setAttribute(attribute.errorType, code)
      span.setStatus(
        text === undefined ? { code: SpanStatusCode.ERROR } : { code: SpanStatusCode.ERROR, message: text },
      )
    }
  } finally {
    span.end()
  }
}

/**
 * Ends each of them, whatever becomes of the others.
 *
 * @param code - What ended them, where it was a failure.
 * @throws What the first one threw, once all were ended.
 */
export function endAll(spans: readonly Span[], code?: string): void {
  const failures: unknown[] = []
  for (const span of spans) {
    try {
      endSpan(span, code)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}
