// What the tests on the wire need of a provider: where its package sends requests, and how its server answers. Types only.
import type { AiSdkLanguageModel } from '../../../../adapters/ai-sdk/index.js'
import type { ModelSuiteReply } from '../../../index.js'

/** A provider's published format. */
export interface WireFormat {
  /** The name that the provider is registered under. */
  readonly name: string
  readonly model: string
  /** Where the package posts to. */
  readonly url: string
  /** The real package's models, with a credential. */
  languageModel(apiKey: string): (name: string) => AiSdkLanguageModel
  /** The body of a good answer. */
  reply(reply: ModelSuiteReply): Readonly<Record<string, unknown>>
  /** A tool call with arguments that are no JSON. Absent where the format carries them as JSON. */
  readonly malformedArguments?: Readonly<Record<string, unknown>>
  /** The body of a failure. */
  error(status: number, message: string): Readonly<Record<string, unknown>>
}
