/**
 * A provider whose models come from an AI SDK package. It decides which models there may be; what goes over the network,
 * and with which key, is the package's affair.
 */
import {
  FlowRegistrationError,
  InvalidInputError,
  type ModelProviderAdapter,
  type ResolvedModelSelection,
} from '../../src/index.js'
import { type CallSettings, callSettings } from './call-settings.js'
import { type AiSdkLanguageModel, type SupportedModel, supportedModel } from './language-model.js'
import { runtimeModel } from './runtime-model.js'

/** What {@link aiSdkProvider} takes. */
export interface AiSdkProviderOptions {
  /** The name that selections use. */
  readonly provider: string
  /**
   * Makes the language model of a name. Called when a selection is checked and once more for each turn: the packages make
   * a model without doing anything, and so should this.
   */
  readonly languageModel: (name: string) => AiSdkLanguageModel
  /** The names of the models that may be selected. They are made once at once, to be checked. Default: any name. */
  readonly models?: readonly string[]
}

/**
 * Makes a model provider of an AI SDK provider package. The package keeps its credentials to itself. Of the parameters
 * of a selection it takes `temperature`, `maxOutputTokens`, `topP`, `topK`, `seed`, `stopSequences`, `presencePenalty`,
 * `frequencyPenalty` and `providerOptions`; any other is refused with that list.
 *
 * @throws `FlowRegistrationError` for options that are wrong; `InvalidInputError` where one of `models` has a
 * specification version other than v2, v3 or v4. Without `models` that is found when a session starts.
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
  const make = (name: string): SupportedModel =>
    supportedModel(languageModel(name), `model '${name}' of provider '${provider}'`)
  for (const name of models ?? []) make(name)
  const prepare = (selection: ResolvedModelSelection): { model: SupportedModel; settings: CallSettings } => {
    const { name } = selection
    if (models !== undefined && !models.includes(name)) {
      const known = models.map((model) => `'${model}'`).join(', ') || 'none'
      throw new InvalidInputError({ message: `Provider '${provider}' has no model '${name}'. It has: ${known}.` })
    }
    const settings = callSettings(selection)
    return { model: make(name), settings }
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
  const refuse = (problem: string): Error => new FlowRegistrationError({ message: `aiSdkProvider: ${problem}.` })
  if (typeof provider !== 'string' || provider.trim() === '') throw refuse('provider must be a name that is not blank')
  if (typeof languageModel !== 'function') throw refuse('languageModel must be a function of a name')
  if (models === undefined) return options
  if (!Array.isArray(models) || models.some((name) => typeof name !== 'string')) {
    throw refuse('models must be a list of names')
  }
  return { provider, languageModel, models: [...models] }
}
