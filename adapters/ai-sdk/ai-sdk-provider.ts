/**
 * A model provider over an AI SDK provider package. It checks selections and creates models; requests and credentials
 * are up to the package.
 */
import type { ModelProviderAdapter, ResolvedModelSelection } from '../../src/index.js'
import { invalidInput } from '../../src/util/options.js'
import { type CallSettings, callSettings } from './call-settings.js'
import { type AiSdkLanguageModel, type SupportedModel, supportedModel } from './language-model.js'
import { runtimeModel } from './runtime-model.js'

/** The options of {@link aiSdkProvider}. */
export interface AiSdkProviderOptions {
  /** The name that selections use. */
  readonly provider: string
  /**
   * Creates the language model with a name. Called when a selection is checked, and once for each turn: it should be as
   * fast as the packages' own functions, which only create an object.
   */
  readonly languageModel: (name: string) => AiSdkLanguageModel
  /** The names of the models that may be selected. Each is created once right away, to check it. Default: any name. */
  readonly models?: readonly string[]
}

/**
 * Creates a model provider from an AI SDK provider package. The package keeps its credentials to itself. The parameters
 * of a selection can be `temperature`, `maxOutputTokens`, `topP`, `topK`, `seed`, `stopSequences`, `presencePenalty`,
 * `frequencyPenalty` and `providerOptions`; any other is refused with that list.
 *
 * @throws `InvalidInputError` for invalid options, and if one of `models` has another specification version than v2, v3
 * or v4. Without `models`, versions are checked when a session starts.
 *
 * @example
 * ```ts
 * import { openai } from '@ai-sdk/openai'
 *
 * const engine = await FlowEngine.create({
 *   flows: [SupportDesk],
 *   providers: [aiSdkProvider({ provider: 'openai', languageModel: (name) => openai(name) })],
 * })
 * ```
 */
export function aiSdkProvider(options: AiSdkProviderOptions): ModelProviderAdapter {
  const { provider, languageModel, models } = checkOptions(options)
  const createModel = (name: string): SupportedModel =>
    supportedModel(languageModel(name), `model '${name}' of provider '${provider}'`)
  for (const name of models ?? []) createModel(name)
  const prepare = (selection: ResolvedModelSelection): { model: SupportedModel; settings: CallSettings } => {
    const { name } = selection
    if (models !== undefined && !models.includes(name)) {
      const known = models.map((model) => `'${model}'`).join(', ') || 'none'
      throw invalidInput(`Provider '${provider}' has no model '${name}'. It has: ${known}.`)
    }
    const settings = callSettings(selection)
    return { model: createModel(name), settings }
  }
  return {
    provider,
    validate(selection) {
      prepare(selection)
    },
    resolve(selection) {
      const { model, settings } = prepare(selection)
      return runtimeModel(model, settings, selection)
    },
  }
}

function checkOptions(options: AiSdkProviderOptions): AiSdkProviderOptions {
  const { provider, languageModel, models } = options ?? {}
  const refuse = (problem: string): Error => invalidInput(`aiSdkProvider: ${problem}.`)
  if (typeof provider !== 'string' || provider.trim() === '') throw refuse('provider must be a non-blank string')
  if (typeof languageModel !== 'function') throw refuse('languageModel must be a function that takes a name')
  if (models === undefined) return options
  if (!Array.isArray(models) || models.some((name) => typeof name !== 'string')) {
    throw refuse('models must be an array of names')
  }
  return { provider, languageModel, models: [...models] }
}
