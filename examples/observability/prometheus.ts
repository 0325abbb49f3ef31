/**
 * The metrics of an engine as a page for Prometheus, through OpenTelemetry's exporter: nothing
 * is counted a second time.
 */
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import type { FlowEngine } from 'turnkeeper'
import { instrumentEngine } from 'turnkeeper/otel'

/** A handler for `GET /metrics`. Mount it where only Prometheus can reach it: it does not authenticate callers. */
export function createMetricsHandler(engine: FlowEngine): () => Promise<Response> {
  const exporter = new PrometheusExporter({ preventServerStart: true })
  const serializer = new PrometheusSerializer()
  instrumentEngine(engine, { tracerProvider: false, meterProvider: new MeterProvider({ readers: [exporter] }) })
  return async () => {
    const { resourceMetrics, errors } = await exporter.collect()
    if (errors.length > 0) return new Response('The metrics could not be collected.', { status: 500 })
    const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }
    return new Response(serializer.serialize(resourceMetrics), { headers })
  }
}
