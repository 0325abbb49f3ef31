/** What a case of the suite is, and what it finds on its bench. Types only. */
import type { ModelRequest, ModelResponse, ModelStreamPart, RuntimeModel } from '../../../src/index.js'
import type { ModelSuiteAnswer, ModelSuiteSubject } from './suite-options.js'

/** One case. Its name is public: it is how a caller leaves it out. */
export interface ModelSuiteCase {
  readonly name: string
  /** What is promised to the engine, as the failure tells it. */
  readonly rule: string
  /** The option without which the case cannot be run. */
  readonly needs?: 'secret'
  /** Rejects if the provider breaks the rule. */
  readonly run: (bench: ModelSuiteBench) => Promise<void>
}

/** A stream that is being read. */
export type OpenStream = AsyncIterator<ModelStreamPart, unknown, void>

/** What a stream told, up to its end. */
export interface StreamedReply {
  /** The texts of its `text-delta` pieces, in order. */
  readonly texts: readonly string[]
  /** Those of its `reasoning-delta` pieces. */
  readonly thoughts: readonly string[]
  readonly response: ModelResponse
}

/** The providers of one case. Each is closed when the case is over. */
export interface ModelSuiteBench {
  /** The credential; empty where the caller gave none. */
  readonly secret: string
  /** A provider whose model gives these answers. */
  open(answers: readonly ModelSuiteAnswer[]): Promise<ModelSuiteSubject>
  /** The subject's model, its selection checked first as a session start does. */
  modelOf(subject: ModelSuiteSubject): RuntimeModel
  /** A provider whose model gives one answer, asked once: its response. */
  ask(answer: ModelSuiteAnswer, request?: Partial<ModelRequest>): Promise<ModelResponse>
  /** The same, where the call must reject: with what. */
  askInVain(answer: ModelSuiteAnswer, request?: Partial<ModelRequest>): Promise<unknown>
  /** Lets what is under way go on, until something holds or the case is over. */
  until(holds: () => boolean): Promise<void>
  /** A stream of the subject's model, from which nothing was read yet. */
  stream(subject: ModelSuiteSubject, request?: Partial<ModelRequest>): OpenStream
  /** A stream of one answer, read to its end. */
  askForStream(answer: ModelSuiteAnswer, request?: Partial<ModelRequest>): Promise<StreamedReply>
}
