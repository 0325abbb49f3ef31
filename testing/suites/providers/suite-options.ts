/** The options of the suite: providers whose models answer what a case asks for. Types only. */
import type { JsonObject, ModelProviderAdapter, TokenUsage } from '../../../src/index.js'

/** A tool call that a model has to make. */
export interface ModelSuiteCall {
  /** The ID as it is sent, if the format has one. */
  readonly id: string
  readonly name: string
  readonly input: JsonObject
}

/** An answer that a model has to give. */
export interface ModelSuiteReply {
  /** What it thinks before it answers. */
  readonly reasoning?: string
  readonly text?: string
  readonly toolCalls?: readonly ModelSuiteCall[]
  /** Why it stops, if the reason is neither the end of the text nor a tool call. */
  readonly stop?: 'length' | 'refusal' | 'content-filter'
  /** What the call costs. Default: anything. */
  readonly usage?: TokenUsage
}

/**
 * What goes wrong instead: a status (429 with `Retry-After: 1`, 500, 529), a body that is not valid JSON, a tool call
 * (of `look_up`) whose arguments are not valid JSON, or no answer until the signal fires. Or, only in a stream, after
 * the words `It is`: the connection is closed (`cut`), nothing comes until the signal fires (`stall`), or the server
 * reports that it is overloaded (`broken-off`).
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

/** What a model has to do with one request. */
export type ModelSuiteAnswer = ModelSuiteReply | ModelSuiteFailure

/** A provider under test, made for one case. */
export interface ModelSuiteSubject {
  readonly provider: ModelProviderAdapter
  /** The name of a model that gives the answers, one for each request, in order. */
  readonly model: string
  /**
   * The bodies of the requests that the provider sent, oldest first, unchanged: the suite looks for words in their
   * JSON.
   */
  asked(): readonly unknown[]
  /** How many answers are being sent at this moment. Default: the suite does not check whether one was left open. */
  underWay?(): number
  /** Closes what was made for the case. Default: there is nothing to close. */
  close?(): void | Promise<void>
}

/** The options of `modelProviderSuite`. Everything is optional. */
export interface ModelProviderSuiteOptions {
  /**
   * The providers' API key, a text that occurs nowhere else. It must not appear in any error
   * message, event or document. Default: the case is left out.
   */
  readonly secret?: string
  /**
   * Cases that this provider does not pass, by name, each with the reason. The beginning of their names, before the
   * colon, leaves out a whole group: `streams` for models without a stream, `output`, `media`. Default: none.
   */
  readonly leaveOut?: Readonly<Record<string, string>>
  /** Milliseconds a case may take: beyond it the case fails. Keep it below the runner's own limit. Default 30 000. */
  readonly deadlineMs?: number
}
