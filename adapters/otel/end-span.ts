/** Ends spans, even if the tracer throws. */
import { type Span, SpanStatusCode } from '@opentelemetry/api'
import { attribute } from './names.js'

/**
 * Ends a span, even if the tracer throws while its attributes are set.
 *
 * @param code - The error code, if it failed.
 * @param text - The error's text. Default: none, because it may contain texts of the conversation.
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
 * Ends every span, even if another one fails to end.
 *
 * @param code - The error code, if they failed.
 * @throws The first error, after all have ended.
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
