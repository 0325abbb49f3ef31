/**
 * The key of a session ID. A plain ID is its own key; any other is hashed, so that no ID names another's key, whatever
 * a backend does with case, blanks, colons or wildcards. The namespace is put before it elsewhere.
 */

const plain = /^[\w-]{1,128}$/

/** The key of a session. Two IDs never have the same one. */
export function sessionKey(sessionId: string): string | Promise<string> {
  return plain.test(sessionId) ? sessionId : hashedKey(sessionId)
}

async function hashedKey(sessionId: string): Promise<string> {
  // As JSON: lone surrogates are told apart there, and would all be the same character in UTF-8.
  const bytes = new TextEncoder().encode(JSON.stringify(sessionId))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return `~${Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
