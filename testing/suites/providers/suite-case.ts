/** What a case of the suite is, and what it finds on its bench. Types only. */
import type { ModelRequest, ModelResponse, ModelStreamPart, RuntimeModel } from '../../../src/index.js'
import type { ModelSuiteAnswer, ModelSuiteSubject } from './suite-options.js'

/** One case. Its name is public, because callers leave it out by name. */
export interface ModelSuiteCase {
  readonly name: string
  /** The promise to the engine, for the message of a failure. */
  readonly rule: string
  /** The options that the case needs. */
  readonly needs?: readonly 'secret'[]
  /** Rejects if the provider breaks the rule. */
  readonly run: (bench: ModelSuiteBench) => Promise<void>
}

/** A stream that is being read. */
export type OpenStream = AsyncIterator<ModelStreamPart, unknown, void>

/** What a stream sent, up to its end. */
export interface StreamedReply {
  /** The texts of its `text-delta` pieces, in order. */
  readonly texts: readonly string[]
  /** The texts of its `reasoning-delta` pieces. */
  readonly thoughts: readonly string[]
  readonly response: ModelResponse
}

/** The providers of one case. Each is closed when the case has ended. */
export interface ModelSuiteBench {
  /** The credential; empty if the caller gave none. */
  readonly secret: string
  /** A provider whose model gives these answers. */
  open(answers: readonly ModelSuiteAnswer[]): Promise<ModelSuiteSubject>
  /** The subject's model. Its selection is checked first, as at the start of a session. */
  modelOf(subject: ModelSuiteSubject): RuntimeModel
  /** The response of a provider whose model gives one answer, called once. */
  ask(answer: ModelSuiteAnswer, request?: Partial<ModelRequest>): Promise<ModelResponse>
  /** The same for a call that must reject: its error. */
  askInVain(answer: ModelSuiteAnswer, request?: Partial<ModelRequest>): Promise<unknown>
  /** Lets pending work continue, until something holds or the case has ended. */
  until(holds: () => boolean): Promise<void>
  /** A stream of the subject's model, of which nothing was read yet. */
  stream(subject: ModelSuiteSubject, request?: Partial<ModelRequest>): OpenStream
  /** A stream of one answer, read to its end. */
  askForStream(answer: ModelSuiteAnswer, request?: Partial<ModelRequest>): Promise<StreamedReply>
}
