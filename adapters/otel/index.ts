/**
 * The entry point `turnkeeper/otel`: spans and metrics of an engine through the API of OpenTelemetry. `spans.ts` makes
 * the spans, `metrics.ts` the metrics, `content.ts` the texts; `names.ts` has the names. The module only listens to the
 * engine's events. If a tracer or an exporter throws, the engine's `onListenerError` receives the error; no turn fails
 * or waits because of it.
 *
 * @module turnkeeper/otel
 */
import { type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api'
import type { EngineEventMap, FlowEngine } from '../../src/index.js'
import { checkMethods, checkOptionNames, invalidInput, notAnEngine, type OptionNames } from '../../src/util/options.js'
import { metricListeners } from './metrics.js'
import { EngineSpans } from './spans.js'

/** Options of {@link instrumentEngine}. */
export interface InstrumentOptions {
  /**
   * Makes the spans; `false` for none. Default: the globally registered provider; if there is none, no spans are made.
   */
  readonly tracerProvider?: TracerProvider | false | undefined
  /**
   * Makes the metrics; `false` for none. Default: the globally registered provider; if there is none, no metrics are
   * made.
   */
  readonly meterProvider?: MeterProvider | false | undefined
  /**
   * Whether the span of a failed turn has the text of its error, which may contain words of a user, a model or a tool.
   * The engine's `mask` applies, if there is one. Default `false`: only the error code.
   */
  readonly errorText?: boolean | undefined
  /**
   * Whether spans contain the conversation. Spans of stored turns then have the message and the reply as stored. Spans
   * of model attempts have the prompt, the messages and the answer, including tool calls and results; if the engine has
   * a `mask`, they have no texts. Default `false`.
   */
  readonly content?: boolean | undefined
}

const optionNames: OptionNames<InstrumentOptions> = {
  tracerProvider: true,
  meterProvider: true,
  errorText: true,
  content: true,
}

/** The name of the instrumentation scope. */
const scope = 'turnkeeper'

/**
 * Makes spans and metrics of an engine's turns. Register your SDK first, or pass its providers. Call it once per
 * engine: a second call makes everything twice, unless one call makes only spans and the other only metrics.
 *
 * @returns a function that stops the instrumentation and ends the open spans
 * @throws `InvalidInputError` for a wrong or unknown option, and if the first argument is not an engine
 * @example
 * ```ts
 * import { FlowEngine } from 'turnkeeper'
 * import { instrumentEngine } from 'turnkeeper/otel'
 *
 * const engine = await FlowEngine.create({ flows: [Onboarding] })
 * instrumentEngine(engine)
 * ```
 */
export function instrumentEngine(engine: Pick<FlowEngine, 'on' | 'off'>, options: InstrumentOptions = {}): () => void {
  if (typeof engine?.on !== 'function') throw notAnEngine(engine, 'instrumentEngine')
  checkOptionNames('instrumentEngine', options, optionNames)
  const { tracerProvider, meterProvider, errorText = false, content = false } = options
  if (typeof errorText !== 'boolean') throw invalidInput('instrumentEngine: errorText must be true or false.')
  if (typeof content !== 'boolean') throw invalidInput('instrumentEngine: content must be true or false.')
  checkProvider('tracerProvider', tracerProvider, 'getTracer')
  checkProvider('meterProvider', meterProvider, 'getMeter')
  const stops: (() => void)[] = []
  if (meterProvider !== false) {
    const meter = (meterProvider ?? metrics).getMeter(scope)
    stops.push(listen(engine, metricListeners(meter)))
  }
  if (tracerProvider !== false) {
    const spans = new EngineSpans((tracerProvider ?? trace).getTracer(scope), errorText)
    stops.push(listen(engine, spans.listeners))
    if (content) stops.push(listen(engine, spans.contentListeners))
    stops.push(() => spans.end())
  }
  return () => {
    for (const stop of stops) stop()
  }
}

function checkProvider(name: string, provider: unknown, method: string): void {
  if (provider !== false) checkMethods('instrumentEngine', name, provider, [method])
}

/** Adds listeners by event name. @returns a function that removes them */
function listen(engine: Pick<FlowEngine, 'on' | 'off'>, listeners: object): () => void {
  const all = Object.entries(listeners) as [keyof EngineEventMap, () => void][]
  for (const [name, listener] of all) engine.on(name, listener)
  return () => {
    for (const [name, listener] of all) engine.off(name, listener)
  }
}
