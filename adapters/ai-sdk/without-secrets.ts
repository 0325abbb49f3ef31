/**
 * Takes credentials out of what a package threw: they are in addresses (a user, a query), in headers that a runtime
 * refused, and in a body whose parameters have one. The conversation stays: it is what the cause is read for.
 */
import { isCredentialName } from '../../src/util/patterns.js'

/** Fields in which an address may be: those of the packages, and of the runtime's own errors. */
const addresses = ['url', 'input', 'base'] as const

/** An error whose fields are written over. */
type Told = Error & { requestBodyValues?: unknown } & { [Key in (typeof addresses)[number]]?: unknown }

/** Cleans an error, in place, and the causes below it. */
export function withoutSecrets(error: Error): void {
  let told: unknown = error
  for (let depth = 0; told instanceof Error && depth < 8; depth++) {
    try {
      clean(told)
    } catch {
      // What cannot be written, a DOMException or a frozen error, was not made of a request.
    }
    told = told.cause
  }
}

function clean(error: Told): void {
  const { message, stack, requestBodyValues: body } = error
  const cleaned = cleanText(message)
  if (cleaned !== message) {
    error.message = cleaned
    // It begins with the message.
    if (stack !== undefined) error.stack = stack.replaceAll(message, () => cleaned)
  }
  for (const key of addresses) {
    const address = error[key]
    if (typeof address === 'string') error[key] = cleanText(address)
  }
  if (body !== undefined) error.requestBodyValues = withoutCredentials(body)
}

/** Each pattern takes a whole run at once: a message may be as long as an answer, and must not be searched again and again. */
function cleanText(text: string): string {
  const cleaned = text
    .replace(/\/\/[^\s"']*/g, withoutUser)
    .replace(/\?[^\s"']*/g, (query) => (query.includes('=') ? '?***' : query))
  const end = cleaned.lastIndexOf('" is an invalid header value')
  const start = cleaned.indexOf('"')
  return start < end ? `${cleaned.slice(0, start)}"***${cleaned.slice(end)}` : cleaned
}

/** From `//` on. Where a slash in a password ends what should be the host, all goes up to the last `@`. */
function withoutUser(address: string): string {
  const [, host = ''] = /^\/\/([^/]*)/.exec(address) ?? []
  const isHost = /^(\[[^\]]*\]|[^:]*)(:\d+)?$/.test(host.slice(host.lastIndexOf('@') + 1))
  const at = isHost ? host.lastIndexOf('@') + 2 : address.lastIndexOf('@')
  return at < 2 ? address : `//***${address.slice(at)}`
}

/** Lists are left as they are: the conversation, and tools. */
function withoutCredentials(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const kept = Object.entries(value).filter(([key]) => !isCredentialName(key))
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutCredentials(item)]))
}
