/**
 * What a text must look like to be a session ID, a media type, base64, the name of a tool or of a credential. Each is
 * written here once, for the engine and for the adapters: what one of them accepts, the other must be able to send.
 */

/** Visible ASCII without the comma, which joins two HTTP headers into one. */
const sessionId = /^[!-+\--~]{1,256}$/

/** As a session ID, but longer at least: a short key would be guessed, or used twice by accident. */
const idempotencyKey = /^[!-+\--~]{16,255}$/

/** Nothing that would have to be escaped in a header, a log or an address. */
const requestId = /^[\w.:-]{1,128}$/

/** Two restricted names (RFC 6838, section 4.2). */
const mediaType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/
/** The same, and parameters: tokens or quoted strings (RFC 9110, section 5.6). No line break can hide in one. */
const contentType =
  /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:[ \t]*;[ \t]*[\w!#$&^.+-]+=(?:[\w!#$%&'*^`|~.+-]+|"(?:[ !#-[\]-~]|\\[ -~])*"))*$/
/** Characters of a content type with its parameters: a header that is much longer is refused by clients. */
const maxContentTypeLength = 256
const jsonMediaType = /^application\/(?:json|[\w!#$&^.+-]+\+json)$/i

/** For texts whose length is a multiple of four. Without groups that repeat: those run out of stack on megabytes. */
const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The names that model providers accept for tools and for the form of an answer. */
const toolName = /^[\w-]{1,64}$/

const credentialName = /(api|access|private)[-_]?key|token$|secret|passw|authorization|credential|bearer/i

/** Whether `text` could be a session's ID. */
export function isSessionId(text: string): boolean {
  return sessionId.test(text)
}

/** Whether `text` can be the idempotency key of a request. */
export function isIdempotencyKey(text: string): boolean {
  return idempotencyKey.test(text)
}

/** Whether `text` can name a request in events and logs. */
export function isRequestId(text: string): boolean {
  return requestId.test(text)
}

/** Whether `text` can be the name of a tool. */
export function isToolName(text: string): boolean {
  return toolName.test(text)
}

/** A name that providers accept: other characters are replaced, and what is too long is cut. */
export function toToolName(text: string): string {
  return isToolName(text) ? text : text.slice(0, 64).replace(/[^\w-]/g, '_') || '_'
}

/** Whether `text` is a media type without parameters: `text/csv`. */
export function isMediaType(text: string): boolean {
  return mediaType.test(text)
}

/** Whether `text` is a media type, with parameters or without: `text/csv; header=present`. */
export function isContentType(text: string): boolean {
  return text.length <= maxContentTypeLength && contentType.test(text)
}

/** Whether `text` is a media type for JSON: `application/json`, `application/problem+json`. */
export function isJsonMediaType(text: string): boolean {
  return jsonMediaType.test(text)
}

/** Whether `text` is base64 of the standard alphabet, padded, on one line. The empty text is. */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && base64.test(text)
}

/** Whether a field of this name holds a credential: `apiKey`, `access_token`. */
export function isCredentialName(text: string): boolean {
  return credentialName.test(text)
}
