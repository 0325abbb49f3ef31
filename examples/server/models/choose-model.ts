/**
 * The model of the support desk: `DESK_MODEL`, as in `openai:gpt-5-mini`, `anthropic:claude-haiku-4-5` or
 * `google:gemini-2.5-flash`; by default the local one. The flow is the same for all. A provider's package is loaded
 * only if it is named, and reads its own key from the environment.
 */
import type { ModelProviderAdapter, ModelSelection } from 'turnkeeper'
import { type AiSdkLanguageModel, aiSdkProvider } from 'turnkeeper/ai-sdk'
import { localProvider } from './desk-model.js'

/** A model, and its provider. */
export interface ChosenModel {
  readonly selection: ModelSelection
  readonly provider: ModelProviderAdapter
}

interface Service {
  /** The environment variable with its key. */
  readonly key: string
  load(): Promise<(name: string) => AiSdkLanguageModel>
}

const services: Readonly<Record<string, Service>> = {
  openai: { key: 'OPENAI_API_KEY', load: async () => (await import('@ai-sdk/openai')).openai },
  anthropic: { key: 'ANTHROPIC_API_KEY', load: async () => (await import('@ai-sdk/anthropic')).anthropic },
  google: { key: 'GOOGLE_GENERATIVE_AI_API_KEY', load: async () => (await import('@ai-sdk/google')).google },
}

/** @throws Error for an unknown model or a missing key. It names the variable to set. */
export async function chooseModel(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<ChosenModel> {
  const { DESK_MODEL = 'local:desk-1' } = environment
  const [provider = '', name = ''] = DESK_MODEL.split(/:(.*)/s)
  if (provider === 'local') return { selection: { provider, name }, provider: localProvider }
  const service = Object.hasOwn(services, provider) ? services[provider] : undefined
  if (service === undefined || name === '') {
    const known = ['local', ...Object.keys(services)].join(', ')
    throw new Error(`DESK_MODEL must be <provider>:<model>, with one of ${known}; got '${DESK_MODEL}'.`)
  }
  if (!environment[service.key]) throw new Error(`For DESK_MODEL=${DESK_MODEL} set ${service.key}.`)
  return { selection: { provider, name }, provider: aiSdkProvider({ provider, languageModel: await service.load() }) }
}
