/**
 * The entry point `turnkeeper/ai-sdk`: the models of the AI SDK's provider packages as a model provider of the engine.
 *
 * @module turnkeeper/ai-sdk
 */
export type { AiSdkProviderOptions } from './ai-sdk-provider.js'
export { aiSdkProvider } from './ai-sdk-provider.js'
export type { AiSdkLanguageModel } from './language-model.js'
