/** What a case works with: fresh providers, requests to send, and an end that closes everything. It asserts nothing. */
import type { ModelRequest, ModelResponse, RuntimeModel, ToolDefinition } from '../../../src/index.js'
import { fail } from '../cases/failure.js'
import { inShort } from '../cases/same-json.js'
import { readStream } from './read-stream.js'
import type { ModelSuiteBench, OpenStream } from './suite-case.js'
import type { ModelProviderSuiteOptions, ModelSuiteAnswer, ModelSuiteSubject } from './suite-options.js'

/** A tool that every request of the suite offers. */
export const lookUp: ToolDefinition = Object.freeze({
  name: 'look_up',
  description: 'Looks up an order.',
  inputSchema: Object.freeze({
    type: 'object',
    properties: { order: { type: 'string' } },
    required: ['order'],
    additionalProperties: false,
  }),
})

/** A request with every field. */
export function requestOf(fields: Partial<ModelRequest> = {}): ModelRequest {
  return {
    system: 'You are the desk of a book shop.',
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'Where is my order?' }], turn: 1 }],
    tools: [lookUp],
    params: {},
    origin: { flowName: 'Desk', stepId: 'Ask', sessionId: 'session-1', turnNumber: 1, callNumber: 1, attempt: 1 },
    signal: new AbortController().signal,
    ...fields,
  }
}

/** The bench of one case, and a function that closes it. */
export function createBench(
  createProvider: (answers: readonly ModelSuiteAnswer[]) => ModelSuiteSubject | Promise<ModelSuiteSubject>,
  options: ModelProviderSuiteOptions,
): ModelSuiteBench & { clear(): Promise<void> } {
  const opened: ModelSuiteSubject[] = []
  let isOver = false
  const bench: ModelSuiteBench = {
    secret: options.secret ?? '',
    async open(answers) {
      const subject = await createProvider(answers)
      opened.push(subject)
      return subject
    },
    modelOf({ provider, model }): RuntimeModel {
      const selection = { provider: provider.provider, name: model, params: {} }
      provider.validate?.(selection)
      return provider.resolve(selection)
    },
    async ask(answer, request): Promise<ModelResponse> {
      const subject = await bench.open([answer])
      return bench.modelOf(subject).generate(requestOf(request))
    },
    async askInVain(answer, request): Promise<unknown> {
      const subject = await bench.open([answer])
      const model = bench.modelOf(subject)
      let response: ModelResponse
      try {
        response = await model.generate(requestOf(request))
      } catch (error) {
        return error
      }
      return fail(`generate to reject, for ${inShort(answer)}`, inShort(response))
    },
    stream(subject, request): OpenStream {
      const stream = bench.modelOf(subject).stream?.(requestOf(request))
      if (stream !== undefined) return stream[Symbol.asyncIterator]()
      return fail("a model with stream(request), or leaveOut: { streams: '...' }", 'a model without stream')
    },
    async until(holds) {
      while (!isOver && !holds()) await new Promise((resolve) => setTimeout(resolve, 0))
    },
    async askForStream(answer, request) {
      return readStream(bench.stream(await bench.open([answer]), request))
    },
  }
  return {
    ...bench,
    async clear() {
      isOver = true
      for (const subject of opened) await subject.close?.()
    },
  }
}
