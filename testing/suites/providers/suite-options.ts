/** What the caller of the suite hands over: providers whose models answer what a case wants answered. Types only. */
import type { JsonObject, ModelProviderAdapter, TokenUsage } from '../../../src/index.js'

/** A tool call that a model shall make. */
export interface ModelSuiteCall {
  /** The ID on the wire, where the format has one. */
  readonly id: string
  readonly name: string
  readonly input: JsonObject
}

/** An answer that a model shall give. */
export interface ModelSuiteReply {
  /** What it thinks before it speaks. */
  readonly reasoning?: string
  readonly text?: string
  readonly toolCalls?: readonly ModelSuiteCall[]
  /** Why it stops, where it is not the end of the text or a tool call. */
  readonly stop?: 'length' | 'refusal' | 'content-filter'
  /** What the call costs. Default: anything. */
  readonly usage?: TokenUsage
}

/**
 * What shall go wrong instead: a status (429 with `Retry-After: 1`, 500, 529), a body that is no JSON, a tool call
 * (of `look_up`) whose arguments are no JSON, or no answer ever, until the signal fires. Or, in a stream alone, after the
 * words `It is`: the connection is closed (`cut`), nothing more comes until the signal fires (`stall`), or the server
 * tells that it is overloaded (`broken-off`).
 */
export interface ModelSuiteFailure {
  readonly failure:
    | 'rate-limit'
    | 'server-error'
    | 'overloaded'
    | 'malformed'
    | 'malformed-arguments'
    | 'never'
    | 'cut'
    | 'stall'
    | 'broken-off'
}

/** What a model shall do with one request. */
export type ModelSuiteAnswer = ModelSuiteReply | ModelSuiteFailure

/** A provider under test, made for one case. */
export interface ModelSuiteSubject {
  readonly provider: ModelProviderAdapter
  /** The name of a model that gives the answers, one for each request, in order. */
  readonly model: string
  /**
   * The bodies of the requests that left the provider, oldest first, as they were sent: the suite looks for words in
   * their JSON.
   */
  asked(): readonly unknown[]
  /** How many answers are being sent at this moment. Default: nobody looks whether one was left open. */
  underWay?(): number
  /** Gives up what was made for the case. Default: nothing to give up. */
  close?(): void | Promise<void>
}

/** What `modelProviderSuite` takes beside `test` and `createProvider`. Everything is optional. */
export interface ModelProviderSuiteOptions {
  /**
   * The credential that the providers are made with, a text that is found nowhere else. It must appear in no error
   * message, event or document. Default: the case is left out.
   */
  readonly secret?: string
  /**
   * Cases that this provider does not pass, by name, each with the reason; what their names begin with, before the colon,
   * leaves out all of them: `streams` for models without a stream, `output`, `media`. Default: none.
   */
  readonly leaveOut?: Readonly<Record<string, string>>
  /** Milliseconds a case may take: beyond it the case fails. Keep it below the runner's own limit. Default 30 000. */
  readonly deadlineMs?: number
}
