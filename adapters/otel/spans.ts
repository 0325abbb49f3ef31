/**
 * Spans from the events of an engine: turn > step > model and tool; turn > lock wait and store. The ID of the turn
 * decides the parent of a span, never the active span, because events of concurrent turns are mixed. Only a turn itself
 * is a child of the active span: the one at the application's call of the engine.
 *
 * The end of a turn ends all its open spans, because after an abort the engine emits no more events of the turn's work.
 */
import { type Attributes, type Context, context, type Span, SpanKind, type Tracer, trace } from '@opentelemetry/api'
import type { EngineEventMap } from '../../src/index.js'
import { contentOfModel, contentOfTurn } from './content.js'
import { endAll, endSpan } from './end-span.js'
import type { Listeners } from './listeners.js'
import { attribute, operation } from './names.js'

/** A span, and the context that makes others its children. */
interface OpenSpan {
  readonly span: Span
  readonly context: Context
}

/** The open spans of one turn. */
interface OpenTurn {
  /** `undefined` for work after a turn: the calls of a summary. */
  readonly turn: OpenSpan | undefined
  step: (OpenSpan & { readonly id: string }) | undefined
  /** The spans of models and tools. */
  readonly calls: Map<string, Span>
  error: EngineEventMap['turn:error'] | undefined
}

type Listened =
  | 'turn:start'
  | 'turn:refused'
  | 'turn:error'
  | 'turn:end'
  | 'session:started'
  | 'step:resume'
  | 'step:enter'
  | 'step:exit'
  | 'model:start'
  | 'model:end'
  | 'memory:compacted'
  | 'memory:compaction-failed'
  | 'tool:start'
  | 'tool:end'
  | 'store:end'

/** The spans of one engine. */
export class EngineSpans {
  readonly #tracer: Tracer
  readonly #errorText: boolean
  readonly #turns = new Map<string, OpenTurn>()

  constructor(tracer: Tracer, errorText: boolean) {
    this.#tracer = tracer
    this.#errorText = errorText
  }

  /** One listener for each event that starts or ends a span. */
  readonly listeners: Listeners<Listened> = {
    'turn:start': (event) => {
      const { waitedMs = 0 } = event
      const turn = this.#startTurn(event, waitedMs)
      if (event.event !== undefined) turn.span.setAttribute(attribute.event, event.event)
      this.#turns.set(event.turnId, { turn, step: undefined, calls: new Map(), error: undefined })
      if (waitedMs > 0) this.#addWait(turn, waitedMs)
    },
    'turn:refused': (event) => {
      const turn = this.#startTurn(event, event.waitedMs)
      try {
        if (event.waitedMs > 0) this.#addWait(turn, event.waitedMs, event.code)
      } finally {
        endSpan(turn.span, event.code)
      }
    },
    'session:started': ({ turnId, sessionId }) => {
      this.#turns.get(turnId)?.turn?.span.setAttribute(attribute.conversationId, sessionId)
    },
    'turn:error': (event) => {
      const open = this.#turns.get(event.turnId)
      if (open !== undefined) open.error = event
    },
    'turn:end': (event) => this.#endTurn(event),
    'step:resume': ({ turnId, step }) => this.#startStep(turnId, step),
    'step:enter': ({ turnId, step }) => this.#startStep(turnId, step),
    'step:exit': ({ turnId }) => this.#endStep(turnId),
    'model:start': (event) => this.#startModel(event),
    'model:end': (event) => this.#endModel(event),
    // An aborted summary has not reported the end of its call.
    'memory:compacted': ({ turnId }) => this.#endLeftBehind(turnId),
    'memory:compaction-failed': ({ turnId, code }) => this.#endLeftBehind(turnId, code),
    'tool:start': (event) => this.#startTool(event),
    'tool:end': (event) => this.#endCall(event.turnId, toolKey(event), event.code),
    'store:end': (event) => this.#addStore(event),
  }

  /** For texts, which are added only on request. */
  readonly contentListeners: Listeners<'turn:content' | 'model:content'> = {
    'turn:content': (event) => {
      this.#turns.get(event.turnId)?.turn?.span.setAttributes(contentOfTurn(event))
    },
    'model:content': (event) => {
      this.#turns.get(event.turnId)?.calls.get(modelKey(event))?.setAttributes(contentOfModel(event))
    },
  }

  /** Ends all open spans. */
  end(): void {
    const open = [...this.#turns.values()]
    this.#turns.clear()
    endAll(open.flatMap((turn) => [...spansOf(turn), ...(turn.turn === undefined ? [] : [turn.turn.span])]))
  }

  #startTurn(
    { flowName, sessionId, turnId, requestId }: EngineEventMap['session:started'],
    waitedMs: number,
  ): OpenSpan {
    const attributes: Attributes = { [attribute.operationName]: operation.turn, [attribute.turnId]: turnId }
    if (flowName !== '') attributes[attribute.workflowName] = flowName
    if (sessionId !== '') attributes[attribute.conversationId] = sessionId
    if (requestId !== undefined) attributes[attribute.requestId] = requestId
    const startTime = waitedMs > 0 ? { startTime: Date.now() - waitedMs } : {}
    const name = flowName === '' ? operation.turn : `${operation.turn} ${flowName}`
    return this.#start(name, context.active(), { attributes, ...startTime })
  }

  #addWait(turn: OpenSpan, waitedMs: number, code?: string): void {
    const { span } = this.#start('lock wait', turn.context, { startTime: Date.now() - waitedMs })
    endSpan(span, code)
  }

  #endTurn({ turnId, sessionId, success, completed }: EngineEventMap['turn:end']): void {
    const open = this.#turns.get(turnId)
    if (open === undefined) return
    this.#turns.delete(turnId)
    const { turn, error } = open
    const code = success ? undefined : (error?.code ?? '_OTHER')
    try {
      endAll(spansOf(open), code)
    } finally {
      // Without one, the turn began before the instrumentation, or the tracer made no span for it.
      if (turn !== undefined) {
        const text = this.#errorText ? error?.error.message : undefined
        endSpan(turn.span, code, text, () => {
          if (sessionId !== '') turn.span.setAttribute(attribute.conversationId, sessionId)
          if (success) turn.span.setAttribute(attribute.completed, completed)
        })
      }
    }
  }

  #startStep(turnId: string, id: string): void {
    const open = this.#turns.get(turnId)
    if (open?.turn === undefined || open.step?.id === id) return
    this.#endStep(turnId)
    const attributes = { [attribute.step]: id }
    open.step = { id, ...this.#start(`step ${id}`, open.turn.context, { attributes }) }
  }

  #endStep(turnId: string): void {
    const open = this.#turns.get(turnId)
    const step = open?.step
    if (open === undefined || step === undefined) return
    open.step = undefined
    step.span.end()
  }

  #startModel(event: EngineEventMap['model:start']): void {
    const { step, provider, model, callNumber, attempt, sessionId } = event
    this.#startCall(event.turnId, modelKey(event), `${operation.model} ${model}`, SpanKind.CLIENT, {
      [attribute.operationName]: operation.model,
      [attribute.conversationId]: sessionId,
      [attribute.providerName]: provider,
      [attribute.requestModel]: model,
      [attribute.step]: step,
      [attribute.modelCall]: callNumber,
      [attribute.modelAttempt]: attempt,
    })
  }

  #endModel(event: EngineEventMap['model:end']): void {
    const { cachedInputTokens, reasoningTokens, cost } = event
    const usage: Attributes = {
      [attribute.inputTokens]: event.inputTokens,
      [attribute.outputTokens]: event.outputTokens,
    }
    if (cachedInputTokens !== undefined) usage[attribute.cachedInputTokens] = cachedInputTokens
    if (reasoningTokens !== undefined) usage[attribute.reasoningTokens] = reasoningTokens
    if (cost !== undefined) usage[attribute.modelCost] = cost
    this.#endCall(event.turnId, modelKey(event), event.code, usage)
  }

  #startTool(event: EngineEventMap['tool:start']): void {
    this.#startCall(event.turnId, toolKey(event), `${operation.tool} ${event.tool}`, SpanKind.INTERNAL, {
      [attribute.operationName]: operation.tool,
      [attribute.conversationId]: event.sessionId,
      [attribute.toolName]: event.tool,
      [attribute.toolType]: 'function',
      [attribute.step]: event.step,
    })
  }

  #startCall(turnId: string, key: string, name: string, kind: SpanKind, attributes: Attributes): void {
    let open = this.#turns.get(turnId)
    if (open === undefined) {
      open = { turn: undefined, step: undefined, calls: new Map(), error: undefined }
      this.#turns.set(turnId, open)
    }
    const parent = open.step?.context ?? open.turn?.context ?? context.active()
    open.calls.get(key)?.end()
    open.calls.set(key, this.#tracer.startSpan(name, { kind, attributes }, parent))
  }

  #endCall(turnId: string, key: string, code: string | undefined, attributes?: Attributes): void {
    const open = this.#turns.get(turnId)
    const span = open?.calls.get(key)
    if (open === undefined || span === undefined) return
    open.calls.delete(key)
    if (open.turn === undefined && open.calls.size === 0) this.#turns.delete(turnId)
    endSpan(span, code, undefined, () => {
      if (attributes !== undefined) span.setAttributes(attributes)
    })
  }

  #endLeftBehind(turnId: string, code?: string): void {
    const open = this.#turns.get(turnId)
    if (open === undefined || open.turn !== undefined) return
    this.#turns.delete(turnId)
    endAll(spansOf(open), code)
  }

  #addStore({ turnId, sessionId, operation: name, durationMs, code }: EngineEventMap['store:end']): void {
    const parent = (turnId === undefined ? undefined : this.#turns.get(turnId)?.turn?.context) ?? context.active()
    const attributes: Attributes = { [attribute.storeOperation]: name }
    if (sessionId !== '') attributes[attribute.conversationId] = sessionId
    const startTime = Date.now() - durationMs
    const span = this.#tracer.startSpan(`store ${name}`, { kind: SpanKind.CLIENT, attributes, startTime }, parent)
    endSpan(span, code)
  }

  #start(name: string, parent: Context, options: { attributes?: Attributes; startTime?: number }): OpenSpan {
    const span = this.#tracer.startSpan(name, options, parent)
    return { span, context: trace.setSpan(parent, span) }
  }
}

function modelKey({ callNumber, attempt, provider, model }: EngineEventMap['model:start']): string {
  return `model ${callNumber} ${attempt} ${provider} ${model}`
}

function toolKey({ toolCallId }: EngineEventMap['tool:start']): string {
  return `tool ${toolCallId}`
}

/** The open spans within a turn, the innermost first. */
function spansOf({ calls, step }: OpenTurn): Span[] {
  return [...calls.values(), ...(step === undefined ? [] : [step.span])]
}
