/** One model of a provider: joins the pieces of a call, with a stream and without. It decides nothing by itself. */
import type { ModelRequest, ModelResponse, ResolvedModelSelection, RuntimeModel } from '../../src/index.js'
import { responseOf } from './answer.js'
import { answerStream } from './answer-stream.js'
import type { CallSettings } from './call-settings.js'
import { failureOf } from './failure.js'
import type { CallOptions, SupportedModel } from './language-model.js'
import { promptOf } from './prompt.js'

/** The engine's model over `model`. It has no `stream` where `model` has none. */
export function runtimeModel(
  model: SupportedModel,
  settings: CallSettings,
  selection: ResolvedModelSelection,
): RuntimeModel {
  const { provider, name } = selection
  const generate = async (request: ModelRequest): Promise<ModelResponse> => {
    try {
      return responseOf(await model.doGenerate(optionsOf(request, request.signal)), selection)
    } catch (error) {
      request.signal.throwIfAborted()
      throw failureOf(error, selection)
    }
  }
  const { doStream } = model
  if (typeof doStream !== 'function') return { provider, name, generate }
  return {
    provider,
    name,
    generate,
    stream: (request) =>
      answerStream(
        // Only what was sent tells of a chat completion's refusal.
        (signal) => doStream.call(model, { ...optionsOf(request, signal), includeRawChunks: true }),
        selection,
        () => request.signal,
      ),
  }

  function optionsOf({ system, messages, tools, output }: ModelRequest, abortSignal: AbortSignal): CallOptions {
    const prompt = promptOf(system, messages, model.specificationVersion)
    return {
      ...settings,
      prompt,
      abortSignal,
      ...(tools.length === 0 ? {} : { tools: tools.map((tool) => ({ type: 'function', ...tool })) }),
      ...(output === undefined ? {} : { responseFormat: { type: 'json', ...output } }),
    }
  }
}
