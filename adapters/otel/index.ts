/**
 * The entry point `turnkeeper/otel`: spans and metrics of an engine through the API of OpenTelemetry. `spans.ts`
 * decides which spans there are, `metrics.ts` which metrics, `content.ts` which texts, `names.ts` what they are called.
 * It only listens to the engine's events: what a tracer or an exporter throws is passed to the engine's
 * `onListenerError`, and no turn fails or waits because of it.
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
   * Makes the spans; `false`: there are none. Default: the one that is registered globally; without one there are no
   * spans.
   */
  readonly tracerProvider?: TracerProvider | false | undefined
  /**
   * Makes the metrics; `false`: there are none. Default: the one that is registered globally; without one there are no
   * metrics.
   */
  readonly meterProvider?: MeterProvider | false | undefined
  /**
   * Whether the span of a failed turn has the text of its error, which may hold what a user, a model or a tool wrote.
   * It is masked where the engine has `mask`. Default `false`: its code alone.
   */
  readonly errorText?: boolean | undefined
  /**
   * Whether spans have what was said: those of stored turns the message and the reply as they are stored, those of
   * attempts at a model its prompt, its messages and its answer, tool calls and results among them. With the engine's
   * `mask`, spans of models have no texts. Default `false`.
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
 * Makes spans and metrics of an engine's turns. Register your SDK before, or pass its providers. Call it once for an
 * engine: a second call makes everything twice, unless one of the two makes spans alone and the other one metrics.
 *
 * @returns A function that stops it, and ends the spans that are open.
 * @throws `InvalidInputError` for an option that is wrong or unknown, and if the first argument is not an engine.
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

/** Adds listeners by the names of their events. @returns A function that removes them. */
function listen(engine: Pick<FlowEngine, 'on' | 'off'>, listeners: object): () => void {
  const all = Object.entries(listeners) as [keyof EngineEventMap, () => void][]
  for (const [name, listener] of all) engine.on(name, listener)
  return () => {
    for (const [name, listener] of all) engine.off(name, listener)
  }
}
