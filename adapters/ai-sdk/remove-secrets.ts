/**
 * Removes credentials from errors of packages. They occur in URLs (user information, query), in header values that a
 * runtime rejected, and in the parameters of a request body. The messages of the conversation stay: operators need them
 * to understand the error.
 */
import { isCredentialName } from '../../src/util/patterns.js'

/** Properties that can hold a URL, in the packages' errors and in the errors that runtimes throw for a bad URL. */
const urlProperties = ['url', 'input', 'base'] as const

/** How many errors of a chain of causes are cleaned: a chain may be a circle. */
const maxCauses = 8

type WritableError = Error & { requestBodyValues?: unknown } & { [Key in (typeof urlProperties)[number]]?: unknown }

/** Removes credentials from an error and its causes, in place. */
export function removeSecrets(error: Error): void {
  let current: unknown = error
  for (let depth = 0; current instanceof Error && depth < maxCauses; depth++) {
    try {
      cleanError(current)
    } catch {
      // An error that cannot be written, a DOMException or a frozen one, does not come from a request.
    }
    current = current.cause
  }
}

function cleanError(error: WritableError): void {
  const { message, stack, requestBodyValues } = error
  const cleaned = cleanText(message)
  if (cleaned !== message) {
    error.message = cleaned
    // A stack begins with the message.
    if (stack !== undefined) error.stack = stack.replaceAll(message, () => cleaned)
  }
  for (const property of urlProperties) {
    const url = error[property]
    if (typeof url === 'string') error[property] = cleanText(url)
  }
  if (requestBodyValues !== undefined) error.requestBodyValues = withoutCredentials(requestBodyValues)
}

/**
 * Replaces credentials in a text by `***`. Each pattern consumes all the characters that it has looked at: a message
 * can contain a whole answer, and a pattern that backtracks would take minutes.
 */
function cleanText(text: string): string {
  const cleaned = text
    .replace(/\/\/[^\s"']*/g, withoutUserInfo)
    .replace(/\?[^\s"']*/g, (query) => (query.includes('=') ? '?***' : query))
  // Runtimes quote the value: Headers.append: "Bearer ..." is an invalid header value.
  const start = cleaned.indexOf('"')
  const end = cleaned.lastIndexOf('" is an invalid header value')
  return start < end ? `${cleaned.slice(0, start)}"***${cleaned.slice(end)}` : cleaned
}

/** Removes the user information from a URL, which is passed without its scheme: `//user:password@host/path`. */
function withoutUserInfo(url: string): string {
  const [, authority = ''] = /^\/\/([^/]*)/.exec(url) ?? []
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  const isHost = /^(\[[^\]]*\]|[^:]*)(:\d+)?$/.test(host)
  // If a password contains a slash, what looks like the host is the beginning of the user information. Then everything
  // up to the last `@` is removed.
  const at = isHost ? authority.lastIndexOf('@') + 2 : url.lastIndexOf('@')
  return at < 2 ? url : `//***${url.slice(at)}`
}

/**
 * A copy without parameters that are named like credentials. Lists, the conversation and the tools, are kept as they
 * are.
 */
function withoutCredentials(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const kept = Object.entries(value).filter(([key]) => !isCredentialName(key))
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutCredentials(item)]))
}
