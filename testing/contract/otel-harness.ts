/** OpenTelemetry's own SDK with exporters in memory, and what they got in a form that a test can write down. */
import type { MeterProvider as MeterProviderApi, TracerProvider } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base'

/** An SDK that keeps what it is given. */
export interface Telemetry {
  /** Options of `instrumentEngine`. */
  readonly providers: { readonly tracerProvider: TracerProvider; readonly meterProvider: MeterProviderApi }
  /** Spans that have ended, in the order in which they did. */
  spans(): ReadableSpan[]
  span(name: string): ReadableSpan
  /** How many spans have started and not ended. */
  open(): number
  /**
   * The names, each indented below its parent, in the order in which they started; with `!` and the type of the error.
   */
  tree(): string[]
  /** Every metric point: name, attributes, and the sum of what was recorded. */
  points(): Promise<[string, object, number][]>
  /** All of it as one text. */
  text(): Promise<string>
}

/** @param more - Further processors of spans. */
export function telemetry(...more: SpanProcessor[]): Telemetry {
  const spanExporter = new InMemorySpanExporter()
  const started: string[] = []
  const watching: SpanProcessor = {
    onStart: (span) => void started.push(span.spanContext().spanId),
    onEnd: () => undefined,
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  }
  const spanProcessors = [watching, new SimpleSpanProcessor(spanExporter), ...more]
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 2 ** 30 })
  const spans = (): ReadableSpan[] => spanExporter.getFinishedSpans()
  const collected = async () => {
    metricExporter.reset()
    await reader.forceFlush()
    return metricExporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
  }
  return {
    providers: {
      tracerProvider: new BasicTracerProvider({ spanProcessors }),
      meterProvider: new MeterProvider({ readers: [reader] }),
    },
    spans,
    span(name) {
      const found = spans().find((span) => span.name === name)
      if (found === undefined) throw new Error(`There is no span '${name}'.`)
      return found
    },
    open: () => started.length - spans().length,
    tree: () => treeOf(spans(), started),
    async points() {
      const metrics = await collected()
      return metrics.flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }): [string, object, number] => [
          descriptor.name,
          attributes,
          typeof value === 'number' ? value : ((value as { readonly sum?: number }).sum ?? 0),
        ]),
      )
    },
    async text() {
      const all = spans().map(({ name, attributes, events, status, links }) => ({
        ...{ name, attributes, events, status, links },
      }))
      return JSON.stringify([all, await collected()])
    },
  }
}

function treeOf(spans: readonly ReadableSpan[], started: readonly string[]): string[] {
  const sorted = [...spans].sort(
    (one, other) => started.indexOf(one.spanContext().spanId) - started.indexOf(other.spanContext().spanId),
  )
  const ids = new Set(sorted.map((span) => span.spanContext().spanId))
  const below = (parent: string | undefined, indent: string): string[] =>
    sorted
      .filter(({ parentSpanContext }) => {
        const id = parentSpanContext?.spanId
        return parent === undefined ? id === undefined || !ids.has(id) : id === parent
      })
      .flatMap((span) => {
        const error = span.attributes['error.type']
        const line = `${indent}${span.name}${error === undefined ? '' : ` ! ${String(error)}`}`
        return [line, ...below(span.spanContext().spanId, `${indent}  `)]
      })
  return below(undefined, '')
}
