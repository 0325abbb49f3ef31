/**
 * What models were asked in a conversation, and what they answered: any provider, watched from outside. It changes
 * nothing.
 */
import type { ModelProviderAdapter, ModelRequest, ModelResponse, RuntimeModel } from '../../src/index.js'
import { type RecordedRequest, recordedRequest } from '../scripted-model.js'

/** One call of a model. */
export interface LoggedCall {
  readonly request: RecordedRequest
  /** Absent where the call failed. */
  response?: ModelResponse
}

/** The same provider; `log` is told of each call when it begins, and again when it is answered. */
export function watchProvider(
  provider: ModelProviderAdapter,
  log: (call: LoggedCall, event: 'asked' | 'answered') => void,
): ModelProviderAdapter {
  const watch = (model: RuntimeModel): RuntimeModel => {
    const asked = (request: ModelRequest, streamed: boolean): LoggedCall => {
      const call: LoggedCall = { request: recordedRequest(request, streamed) }
      log(call, 'asked')
      return call
    }
    const answered = (call: LoggedCall, response: ModelResponse): ModelResponse => {
      call.response = response
      log(call, 'answered')
      return response
    }
    const { provider, name, stream } = model
    return {
      provider,
      name,
      async generate(request) {
        const call = asked(request, false)
        return answered(call, await model.generate(request))
      },
      // A model that cannot stream must not look like one that can.
      ...(stream === undefined
        ? {}
        : {
            async *stream(request: ModelRequest) {
              const call = asked(request, true)
              for await (const part of stream.call(model, request)) {
                if (part.type === 'finish') answered(call, part.response)
                yield part
              }
            },
          }),
    }
  }
  const { validate } = provider
  return {
    provider: provider.provider,
    ...(validate === undefined ? {} : { validate: (selection) => validate.call(provider, selection) }),
    resolve: (selection) => watch(provider.resolve(selection)),
  }
}
