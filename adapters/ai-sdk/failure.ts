/**
 * Errors of a model call, in a form that the engine understands (`statusCode`, `isRetryable`, `responseHeaders`) and
 * without credentials. Packages set these properties on most of their errors, which are passed on as they are. Whether
 * a call is retried is decided by the engine.
 */
import { FlowError, type ResolvedModelSelection } from '../../src/index.js'
import { removeSecrets } from './remove-secrets.js'

/** The properties that are read from an error of a package. */
interface PackageError {
  readonly name?: unknown
  readonly cause?: unknown
  readonly data?: unknown
  readonly statusCode?: unknown
  readonly isRetryable?: unknown
  readonly type?: unknown
  readonly code?: unknown
}

/** Types and codes of stream errors that would occur again at another attempt. */
const lastingErrors = /invalid|bad_request|context_length|quota|billing|authentication|permission|not_found/i

/** The error of an answer that ended too early. It is retryable: the next answer may be complete. */
export function cutOffError({ provider, name }: ResolvedModelSelection, cause?: unknown): Error {
  const error = new Error(`The answer of model '${name}' of provider '${provider}' was cut off.`, { cause })
  return Object.assign(error, { isRetryable: true })
}

/** The error to throw when a call, or reading its answer, failed with `error`. */
export function callError(error: unknown, selection: ResolvedModelSelection): unknown {
  if (FlowError.isInstance(error) || !(error instanceof Error)) return error
  removeSecrets(error)
  return isIncompleteBody(error) ? cutOffError(selection, error) : error
}

/** The error to throw when a stream reported `reported`: an error as it is, and anything else as the cause of one. */
export function streamError(reported: unknown, selection: ResolvedModelSelection): unknown {
  const { statusCode, name, data, type = '', code = '' } = (reported ?? {}) as PackageError
  // `@ai-sdk/openai-compatible` reports this if the server closed the stream too early.
  if (name === 'AI_InvalidResponseDataError' && data === undefined) return cutOffError(selection, reported)
  if (reported instanceof Error || typeof statusCode === 'number') return reported
  const { provider, name: model } = selection
  const error = new Error(`Model '${model}' of provider '${provider}' reported an error in its stream.`, {
    cause: reported,
  })
  const status = Number(code)
  if (status >= 400 && status < 600) return Object.assign(error, { statusCode: status })
  return Object.assign(error, { isRetryable: !lastingErrors.test(`${type} ${code}`) })
}

/**
 * Whether the body of a successful response could not be read to its end. Packages recognise this by the error codes of
 * Node and Bun only, and mark the error as not retryable on other runtimes.
 */
function isIncompleteBody(error: PackageError): boolean {
  const { statusCode, isRetryable, cause } = error
  const isSuccess = typeof statusCode === 'number' && statusCode < 300
  return isSuccess && isRetryable === false && cause instanceof Error && !cause.name.startsWith('AI_')
}
