/**
 * Helpers of the tests of streamed turns: models that stream what a test says, steps made in one line, and streams in
 * short. It asserts nothing.
 */
import {
  type FlowStreamEvent,
  type ModelProviderAdapter,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamPart,
  type RuntimeModel,
  Step,
  type StepConstructor,
} from '../../src/index.js'

/** A piece of text. */
export function delta(text: string): ModelStreamPart {
  return { type: 'text-delta', text }
}

/** An answer of one text. */
export function answer(text: string): ModelResponse {
  return { parts: [{ type: 'text', text }] }
}

/** The last piece, of an answer of one text. */
export function finish(text: string): ModelStreamPart {
  return { type: 'finish', response: answer(text) }
}

/** An answer of a text and a call of a tool. */
export function calling(toolName: string, text = ''): ModelResponse {
  const call = { type: 'tool-call', toolCallId: `call-${toolName}`, toolName, input: {} } as const
  return { parts: text === '' ? [call] : [{ type: 'text', text }, call] }
}

/** A stream of these pieces, each there at once. */
export async function* pieces(...parts: readonly unknown[]): AsyncGenerator<ModelStreamPart> {
  for (const part of parts) yield part as ModelStreamPart
}

/** Makes the stream of one call of a model; `call` counts from 1. */
export type Play = (request: ModelRequest, call: number) => AsyncIterable<ModelStreamPart>

/** A provider for `TestFlow` whose model streams what `play` says, and answers in no other way. */
export function streaming(play: Play): ModelProviderAdapter {
  let calls = 0
  return modelsOf({
    generate: () => Promise.reject(new Error('This model was called without streaming.')),
    stream: (request) => play(request, ++calls),
  })
}

/** A provider for `TestFlow` whose models are all this one. */
export function modelsOf(model: Omit<RuntimeModel, 'provider' | 'name'>): ModelProviderAdapter {
  return { provider: 'scripted', resolve: () => ({ provider: 'scripted', name: 'scripted', ...model }) }
}

/** The use of a stream that {@link watched} was given. */
export interface Watched extends AsyncIterable<ModelStreamPart> {
  /** How often a piece was read. */
  readonly pulls: number
  /** How often it was closed. */
  readonly closes: number
}

/** Counts the reads and closes of a stream. */
export function watched(parts: AsyncIterable<ModelStreamPart>): Watched {
  const iterator = parts[Symbol.asyncIterator]()
  return {
    pulls: 0,
    closes: 0,
    [Symbol.asyncIterator]() {
      const counts = this as { pulls: number; closes: number }
      return {
        next() {
          counts.pulls++
          return iterator.next()
        },
        async return() {
          counts.closes++
          return (await iterator.return?.()) ?? { done: true, value: undefined }
        },
      }
    },
  }
}

/** A model step with these members. */
export function modelStep(members: Partial<Step<object, never>> = {}, id = 'Talk'): StepConstructor {
  return class extends Step {
    static override readonly id: string = id
    constructor() {
      super()
      Object.assign(this, members)
    }
  }
}

/** Reads a stream to its end. */
export async function readAll(stream: AsyncIterable<FlowStreamEvent>): Promise<FlowStreamEvent[]> {
  const events: FlowStreamEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

/**
 * Pieces in short: `session`, `step Talk`, `"Hel"`, `tool note`, `tool note ok`, `reset retry`,
 * `result Hello.`, `error FLOW_ERROR`.
 */
export function shortly(events: readonly FlowStreamEvent[]): string[] {
  return events.map(inShort)
}

function inShort(event: FlowStreamEvent): string {
  if (event.type === 'step') return `step ${event.step}`
  if (event.type === 'text-delta') return JSON.stringify(event.text)
  if (event.type === 'tool-start') return `tool ${event.tool}`
  if (event.type === 'tool-end') return `tool ${event.tool} ${event.success ? 'ok' : 'failed'}`
  if (event.type === 'reset') return `reset ${event.reason}`
  if (event.type === 'result') return `result ${event.response.message}`
  return event.type === 'error' ? `error ${event.error.code}` : 'session'
}
