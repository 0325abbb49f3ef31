/**
 * Patterns for session IDs, media types, base64, and the names of tools and credentials. The engine and the adapters
 * share them, because one must be able to send what the other accepts.
 */

/** Visible ASCII without the comma, which joins two HTTP headers into one. */
const sessionId = /^[!-+\--~]{1,256}$/

/** Like a session ID, but with a higher minimum length: a short key could be guessed, or used twice by accident. */
const idempotencyKey = /^[!-+\--~]{16,255}$/

/** Only characters that need no escape in a header, a log or a URL. */
const requestId = /^[\w.:-]{1,128}$/

/** Two restricted names (RFC 6838, section 4.2). */
const mediaType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/
/** The same with parameters: tokens or quoted strings (RFC 9110, section 5.6). They cannot contain a line break. */
const contentType =
  /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:[ \t]*;[ \t]*[\w!#$&^.+-]+=(?:[\w!#$%&'*^`|~.+-]+|"(?:[ !#-[\]-~]|\\[ -~])*"))*$/
/** The most characters of a content type with its parameters: clients refuse a much longer header. */
const maxContentTypeLength = 256
const jsonMediaType = /^application\/(?:json|[\w!#$&^.+-]+\+json)$/i

/** For texts whose length is a multiple of four. No repeated groups: they overflow the stack on megabytes of text. */
const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The names that model providers accept for tools and for response formats. */
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

/** Makes a name that providers accept: replaces other characters, and cuts a long name. */
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

/** Whether `text` is base64 of the standard alphabet, padded, on one line. The empty text is valid. */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && base64.test(text)
}

/** Whether a field of this name holds a credential: `apiKey`, `access_token`. */
export function isCredentialName(text: string): boolean {
  return credentialName.test(text)
}
