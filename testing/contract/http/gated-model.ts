// A model controlled by a test: the test decides what it says and when. It records its readers.
import type { ModelProviderAdapter, ModelRequest, ModelResponse, ModelStreamPart } from '../../../src/index.js'

/** A call of the model that waits to be answered. */
export interface GatedCall {
  readonly request: ModelRequest
  /** Sends a piece of the answer. */
  say(text: string): void
  /** Ends the answer: it is all that was said, or this. */
  finish(response?: ModelResponse): void
  /** Ends it with an error. */
  fail(error: Error): void
  /** Whether the reader of the answer has left. */
  readonly left: Promise<void>
}

/** A model provider, `gated`, whose one model answers through {@link GatedModel.called}. */
export class GatedModel {
  readonly provider: ModelProviderAdapter
  readonly #calls: GatedCall[] = []
  readonly #waiting: ((call: GatedCall) => void)[] = []

  constructor() {
    this.provider = {
      provider: 'gated',
      resolve: ({ provider, name }) => ({
        provider,
        name,
        generate: () => Promise.reject(new Error('This model streams.')),
        stream: (request) => this.#answer(request),
      }),
    }
  }

  /** The next call: one that has come, or the one that will. */
  called(): Promise<GatedCall> {
    const call = this.#calls.shift()
    return call === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(call)
  }

  async *#answer(request: ModelRequest): AsyncGenerator<ModelStreamPart, void, void> {
    const said: (string | Error | ModelResponse | undefined)[] = []
    let wake = (): void => {}
    let leave = (): void => {}
    const give = (piece: string | Error | ModelResponse | undefined): void => {
      said.push(piece)
      wake()
    }
    const call: GatedCall = {
      request,
      say: give,
      finish: give,
      fail: give,
      left: new Promise((resolve) => {
        leave = resolve
      }),
    }
    const waiting = this.#waiting.shift()
    if (waiting === undefined) this.#calls.push(call)
    else waiting(call)
    request.signal.addEventListener('abort', () => give(new Error('The turn was aborted.')))
    let text = ''
    try {
      while (true) {
        while (said.length > 0) {
          const piece = said.shift()
          if (piece instanceof Error) throw piece
          if (typeof piece !== 'string') {
            yield { type: 'finish', response: responseOf(piece, text) }
            return
          }
          text += piece
          yield { type: 'text-delta', text: piece }
        }
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    } finally {
      leave()
    }
  }
}

function responseOf(given: ModelResponse | undefined, text: string): ModelResponse {
  return given ?? { parts: [{ type: 'text', text }] }
}
