/**
 * The key of a session ID. A plain ID is its own key; any other is hashed, so that no two IDs have one key, whatever
 * a backend does with case, blanks, colons or wildcards. Claims and leases have keys of their own. driver-for.ts puts the
 * namespace before it.
 */

const plain = /^[\w-]{1,128}$/

/** The key of a claim. It is never that of a session, whose key is plain, or `~` with the digits of a digest. */
export async function claimKey(key: string): Promise<string> {
  return `~claim-${await sessionKey(key)}`
}

/** The key of a session's lease. It is never that of a session or a claim. */
export async function leaseKey(sessionId: string): Promise<string> {
  return `~lease-${await sessionKey(sessionId)}`
}

/** The key of a session. Two IDs never have the same one. */
export function sessionKey(sessionId: string): string | Promise<string> {
  return plain.test(sessionId) ? sessionId : hashedKey(sessionId)
}

async function hashedKey(sessionId: string): Promise<string> {
  // As JSON, where lone surrogates differ; in UTF-8 all of them would be the same character.
  const bytes = new TextEncoder().encode(JSON.stringify(sessionId))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return `~${Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
