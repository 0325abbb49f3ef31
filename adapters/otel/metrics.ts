/**
 * Metrics from the events of an engine. No attribute has a value chosen by a client or a model, so there are few time
 * series.
 */
import type { Attributes, Meter } from '@opentelemetry/api'
import type { EngineEventMap } from '../../src/index.js'
import type { Listeners } from './listeners.js'
import { attribute, metric, operation } from './names.js'

type Listened =
  | 'turn:start'
  | 'turn:refused'
  | 'turn:error'
  | 'turn:end'
  | 'session:conflict'
  | 'model:end'
  | 'store:end'

/** In seconds, from a turn without a model to one that reaches its deadline. */
const seconds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 120]
/** The buckets that the conventions give for these two metrics. */
const modelSeconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const tokenCounts = Array.from({ length: 14 }, (_, power) => 4 ** power)

/** Makes the instruments, and the listeners that record into them. */
export function metricListeners(meter: Meter): Listeners<Listened> {
  const histogram = (name: string, description: string, unit: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { description, unit, advice: { explicitBucketBoundaries } })
  const turns = meter.createCounter(metric.turns, { description: 'Turns that ended, or were refused.', unit: '{turn}' })
  const failures = meter.createCounter(metric.failures, { description: 'Failed turns by code.', unit: '{turn}' })
  const conflicts = meter.createCounter(metric.conflicts, {
    description: 'Turns whose session another process changed first.',
    unit: '{turn}',
  })
  const cost = meter.createCounter(metric.cost, { description: 'What models cost, in the currency of their prices.' })
  const duration = histogram(metric.turnDuration, 'Time of a turn, without its wait for the lock.', 's', seconds)
  const wait = histogram(metric.turnWait, 'Wait for the lock, of turns that had to wait.', 's', seconds)
  const store = histogram(metric.storeDuration, 'Time of an operation of the session store.', 's', seconds)
  const model = histogram(metric.modelDuration, 'Time of an attempt at a call of a model.', 's', modelSeconds)
  const tokens = histogram(metric.tokens, 'Tokens of an attempt at a call of a model.', '{token}', tokenCounts)
  return {
    'turn:start': (event) => {
      if (event.waitedMs !== undefined) wait.record(event.waitedMs / 1000, flowOf(event))
    },
    'turn:refused': (event) => {
      turns.add(1, { ...flowOf(event), [attribute.outcome]: 'refused' })
      failures.add(1, { ...flowOf(event), [attribute.errorType]: event.code })
      if (event.waitedMs > 0) wait.record(event.waitedMs / 1000, flowOf(event))
    },
    'turn:error': (event) => failures.add(1, { ...flowOf(event), [attribute.errorType]: event.code }),
    'turn:end': (event) => {
      const attributes = { ...flowOf(event), [attribute.outcome]: event.success ? 'success' : 'failure' }
      turns.add(1, attributes)
      duration.record(event.durationMs / 1000, attributes)
    },
    'session:conflict': (event) => conflicts.add(1, flowOf(event)),
    'model:end': (event) => {
      const attributes = modelOf(event)
      const failed = event.code === undefined ? {} : { [attribute.errorType]: event.code }
      model.record(event.durationMs / 1000, { ...attributes, ...failed })
      if (event.inputTokens > 0) tokens.record(event.inputTokens, { ...attributes, [attribute.tokenType]: 'input' })
      if (event.outputTokens > 0) tokens.record(event.outputTokens, { ...attributes, [attribute.tokenType]: 'output' })
      if (event.cost !== undefined) cost.add(event.cost, attributes)
    },
    'store:end': ({ operation: name, durationMs, code }) => {
      const failed = code === undefined ? {} : { [attribute.errorType]: code }
      store.record(durationMs / 1000, { [attribute.storeOperation]: name, ...failed })
    },
  }
}

function flowOf({ flowName }: { readonly flowName: string }): Attributes {
  return flowName === '' ? {} : { [attribute.workflowName]: flowName }
}

function modelOf({ provider, model }: EngineEventMap['model:end']): Attributes {
  return {
    [attribute.operationName]: operation.model,
    [attribute.providerName]: provider,
    [attribute.requestModel]: model,
  }
}
