/** `turnkeeper/ai-sdk`: models of the AI SDK's provider packages, behind the engine's own interface. */
export type { AiSdkProviderOptions } from './ai-sdk-provider.js'
export { aiSdkProvider } from './ai-sdk-provider.js'
export type { AiSdkLanguageModel } from './language-model.js'
