/**
 * What a call failed with, readable by the engine (`statusCode`, `isRetryable`, `responseHeaders`) and without what opens
 * a door. Packages mark most failures themselves, and those go on as they are; whether to try again is decided by the
 * engine.
 */
import { FlowError, type ResolvedModelSelection } from '../../src/index.js'
import { withoutSecrets } from './without-secrets.js'

/** What is read of an error of a package. */
interface Failure {
  readonly name?: unknown
  readonly cause?: unknown
  readonly data?: unknown
  readonly statusCode?: unknown
  readonly isRetryable?: unknown
  readonly type?: unknown
  readonly code?: unknown
}

/** Kinds of failures in the middle of a stream that another attempt would meet again. */
const lasting = /invalid|bad_request|context_length|quota|billing|authentication|permission|not_found/i

/** An answer that ended in its middle: asked again, the model may give it whole. */
export function cutOff({ provider, name }: ResolvedModelSelection, cause?: unknown): Error {
  const error = new Error(`The answer of model '${name}' of provider '${provider}' was cut in the middle.`, { cause })
  return Object.assign(error, { isRetryable: true })
}

/** What a call, or the reading of its answer, failed with. */
export function failureOf(error: unknown, selection: ResolvedModelSelection): unknown {
  if (FlowError.isInstance(error) || !(error instanceof Error)) return error
  withoutSecrets(error)
  return isBrokenBody(error) ? cutOff(selection, error) : error
}

/** What a stream told as its failure: an error as it is, and anything else as the cause of one. */
export function brokenOff(told: unknown, selection: ResolvedModelSelection): unknown {
  const { statusCode, name, data, type = '', code = '' } = (told ?? {}) as Failure
  // How `@ai-sdk/openai-compatible` tells of a stream that was closed too early.
  if (name === 'AI_InvalidResponseDataError' && data === undefined) return cutOff(selection, told)
  if (told instanceof Error || typeof statusCode === 'number') return told
  const { provider, name: model } = selection
  const error = new Error(`Model '${model}' of provider '${provider}' broke off its answer.`, { cause: told })
  const status = Number(code)
  if (status >= 400 && status < 600) return Object.assign(error, { statusCode: status })
  return Object.assign(error, { isRetryable: !lasting.test(`${type} ${code}`) })
}

/**
 * Whether the body of a good answer could not be read to its end. Packages know that by the codes of Node and Bun alone,
 * and mark it as lasting elsewhere.
 */
function isBrokenBody(error: Failure): boolean {
  const { statusCode, isRetryable, cause } = error
  const isGood = typeof statusCode === 'number' && statusCode < 300
  return isGood && isRetryable === false && cause instanceof Error && !cause.name.startsWith('AI_')
}
