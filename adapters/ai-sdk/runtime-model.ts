/**
 * Adapts an AI SDK language model to the engine: translates a request, calls the model, and translates the answer.
 */
import type { ModelRequest, ModelResponse, ResolvedModelSelection, RuntimeModel } from '../../src/index.js'
import { responseOf } from './answer.js'
import { answerStream } from './answer-stream.js'
import type { CallSettings } from './call-settings.js'
import { callError } from './failure.js'
import type { CallOptions, SupportedModel } from './language-model.js'
import { promptOf } from './prompt.js'

/** Wraps `model`. The result has no `stream` if `model` has no `doStream`. */
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
      throw callError(error, selection)
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
        // Raw chunks are needed to find the refusal of a chat completion: see `hasRefusal` in answer.ts.
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
