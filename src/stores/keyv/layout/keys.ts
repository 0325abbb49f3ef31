/**
 * Makes the keys of sessions, claims, leases and owners. A plain session ID is its own key. Any other ID is hashed, so
 * that no two IDs share a key, no matter how a backend treats case, blanks, colons or wildcards. driver-for.ts puts the
 * namespace before the key.
 */

const plain = /^[\w-]{1,128}$/
const sessionKeys = /^(?:[\w-]{1,128}|~[\da-f]{64})$/

/** The key of a claim. No session has the same key: a session's key is plain, or `~` with the digits of a digest. */
export async function claimKey(key: string): Promise<string> {
  return `~claim-${await sessionKey(key)}`
}

/** The key of a session's lease. No session or claim has the same key. */
export async function leaseKey(sessionId: string): Promise<string> {
  return `~lease-${await sessionKey(sessionId)}`
}

/** The key of an owner. No session, claim or lease has the same key. */
export async function ownerKey(owner: string): Promise<string> {
  return `~owner-${(await hashedKey(owner)).slice(1)}`
}

/** Whether a key, without the namespace, belongs to a session. */
export function isSessionKey(key: string): boolean {
  return sessionKeys.test(key)
}

/** The key of a session. Two IDs never have the same one. */
export function sessionKey(sessionId: string): string | Promise<string> {
  return plain.test(sessionId) ? sessionId : hashedKey(sessionId)
}

async function hashedKey(sessionId: string): Promise<string> {
  // JSON keeps lone surrogates distinct. UTF-8 would turn all of them into the same character.
  const bytes = new TextEncoder().encode(JSON.stringify(sessionId))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return `~${Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
