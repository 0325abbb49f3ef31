/**
 * The key of a session ID. A plain ID is its own key; any other is hashed, so that no two IDs have one key, whatever
 * a backend does with case, blanks, colons or wildcards. Claims, leases and owners have keys of their own.
 * driver-for.ts puts the namespace before it.
 */

const plain = /^[\w-]{1,128}$/
const sessionKeys = /^(?:[\w-]{1,128}|~[\da-f]{64})$/

/** The key of a claim. It is never that of a session, whose key is plain, or `~` with the digits of a digest. */
export async function claimKey(key: string): Promise<string> {
  return `~claim-${await sessionKey(key)}`
}

/** The key of a session's lease. It is never that of a session or a claim. */
export async function leaseKey(sessionId: string): Promise<string> {
  return `~lease-${await sessionKey(sessionId)}`
}

/** The key of an owner. It is never that of a session, a claim or a lease. */
export async function ownerKey(owner: string): Promise<string> {
  return `~owner-${(await hashedKey(owner)).slice(1)}`
}

/** Whether a key, without the namespace, is that of a session. */
export function isSessionKey(key: string): boolean {
  return sessionKeys.test(key)
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
