// What the tests on the wire need of a provider: where its package sends requests, and how its
// server answers. Types only.
import type { AiSdkLanguageModel } from '../../../../adapters/ai-sdk/index.js'
import type { ModelSuiteReply } from '../../../suites/index.js'

/** Other places of a credential than `apiKey`. */
export interface WireConnection {
  readonly apiKey: string
  readonly baseURL?: string
  readonly headers?: Record<string, string>
  /** Read by the package for compatible servers alone. */
  readonly queryParams?: Record<string, string>
}

/** A provider's published format. */
export interface WireFormat {
  /** The name that the provider is registered under. */
  readonly name: string
  readonly model: string
  /** The URL to which the package sends its requests. */
  readonly url: string
  /** The part of `url` that the package takes as its base. */
  readonly baseURL: string
  /** The real package's models. */
  languageModel(connection: WireConnection): (name: string) => AiSdkLanguageModel
  /** The body of a good answer. */
  reply(reply: ModelSuiteReply): Readonly<Record<string, unknown>>
  /** The same answer, streamed: its server-sent events in their order, as text. */
  events(reply: ModelSuiteReply): readonly string[]
  /** A tool call with arguments that are not valid JSON. Absent if the format carries them as JSON. */
  readonly malformedArguments?: {
    readonly reply?: Readonly<Record<string, unknown>>
    readonly events: readonly string[]
  }
  /** The body of a failure. */
  error(status: number, message: string): Readonly<Record<string, unknown>>
  /** The event of a server that fails in the middle of a stream because it is overloaded. */
  readonly overloadedEvent: string
}
