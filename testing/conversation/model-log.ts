/**
 * What models were asked in a conversation, and what they answered: any provider, watched from outside. It changes
 * nothing.
 */
import type { ModelProviderAdapter, ModelResponse, RuntimeModel } from '../../src/index.js'
import type { RecordedRequest } from '../scripted-model.js'

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
  const watch = (model: RuntimeModel): RuntimeModel => ({
    provider: model.provider,
    name: model.name,
    async generate(request) {
      const { system, messages, tools, params, origin } = request
      const recorded = { messages: [...messages], tools, params, origin }
      const call: LoggedCall = { request: system === undefined ? recorded : { ...recorded, system } }
      log(call, 'asked')
      call.response = await model.generate(request)
      log(call, 'answered')
      return call.response
    },
  })
  const { validate } = provider
  return {
    provider: provider.provider,
    ...(validate === undefined ? {} : { validate: (selection) => validate.call(provider, selection) }),
    resolve: (selection) => watch(provider.resolve(selection)),
  }
}
