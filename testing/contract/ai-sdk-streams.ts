// Streams of AI SDK language models that tests control, and the engine's models over them.
import { aiSdkProvider } from '../../adapters/ai-sdk/index.js'
import type { CallOptions, StreamPart } from '../../adapters/ai-sdk/language-model.js'
import type { ModelRequest, ModelStreamPart, RuntimeModel } from '../../src/index.js'

/** A stream that the test controls. */
export class ControlledStream {
  readonly stream: ReadableStream<StreamPart>
  /** How often a part was requested. */
  pulls = 0
  cancelled: unknown
  #controller!: ReadableStreamDefaultController<StreamPart>

  constructor(parts: readonly StreamPart[] = [], end: 'close' | 'stall' = 'close') {
    const remaining = [...parts]
    this.stream = new ReadableStream<StreamPart>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: (controller) => {
          this.pulls++
          const next = remaining.shift()
          if (next !== undefined) controller.enqueue(next)
          else if (end === 'close') controller.close()
        },
        cancel: (reason) => {
          this.cancelled = reason ?? 'cancelled'
        },
      },
      { highWaterMark: 0 },
    )
  }

  fail(error: unknown): void {
    this.#controller.error(error)
  }
}

export const finish: StreamPart = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: {} }
export const hello: readonly StreamPart[] = [
  { type: 'stream-start' },
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'Hel' },
  { type: 'text-delta', id: '1', delta: '' },
  { type: 'text-delta', id: '1', delta: 'lo.' },
  { type: 'text-end', id: '1' },
  finish,
]

/** The engine's model over a language model with this `doStream`. */
export function modelOf(
  doStream: ((options: CallOptions) => PromiseLike<unknown>) | undefined,
  specificationVersion = 'v3',
): RuntimeModel {
  const model = {
    specificationVersion,
    provider: 'own',
    modelId: 'small',
    doGenerate: async (_options: CallOptions) => ({ content: [], finishReason: 'stop', usage: {} }),
    ...(doStream === undefined ? {} : { doStream }),
  }
  const provider = aiSdkProvider({ provider: 'own', languageModel: () => model })
  return provider.resolve({ provider: 'own', name: 'small', params: { temperature: 0 } })
}

export function request(fields: Partial<ModelRequest> = {}): ModelRequest {
  const origin = { flowName: 'Desk', stepId: 'Ask', sessionId: '', turnNumber: 1, callNumber: 1, attempt: 1 }
  return { messages: [], tools: [], params: {}, origin, signal: new AbortController().signal, ...fields }
}

/** Calls the model's `stream`. */
export function open(
  model: RuntimeModel,
  fields?: Partial<ModelRequest>,
): AsyncIterator<ModelStreamPart, undefined, void> {
  const stream = model.stream?.(request(fields))
  if (stream === undefined) throw new Error('The model has no stream.')
  return stream[Symbol.asyncIterator]()
}

/** Reads to the end. */
export async function all(reading: AsyncIterator<ModelStreamPart, undefined, void>): Promise<ModelStreamPart[]> {
  const read: ModelStreamPart[] = []
  for (;;) {
    const { done, value } = await reading.next()
    if (done === true) return read
    read.push(value)
  }
}

/** The parts of the engine that become of these parts of a package. */
export const streamed = (parts: readonly StreamPart[], version = 'v3'): Promise<ModelStreamPart[]> =>
  all(open(modelOf(async () => new ControlledStream(parts), version)))
