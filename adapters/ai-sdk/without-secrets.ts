/**
 * Takes credentials out of what a package threw: they are in addresses (a user, a query), in headers that a runtime
 * refused, and in a body whose parameters have one. The conversation stays: it is what the cause is read for.
 */

/** As in `src/model`: such parameters are never stored. */
const credentialName = /api[-_]?key|access[-_]?key|private[-_]?key|token$|secret|passw|authorization|credential|bearer/i

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

function cleanText(text: string): string {
  return text
    .replace(/\/\/[^/\s"']*@/g, '//***@')
    .replace(/\?[^\s"'=]+=[^\s"']*/g, '?***')
    .replace(/"[\s\S]*"(?= is an invalid header value)/, '"***"')
}

/** Lists are left as they are: the conversation, and tools. */
function withoutCredentials(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const kept = Object.entries(value).filter(([key]) => !credentialName.test(key))
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutCredentials(item)]))
}
