import { Buffer } from 'node:buffer'
import type { Keyv } from 'keyv'
import type { SessionTextPlace } from 'turnkeeper/keyv'

/**
 * The keys by their IDs, each of 32 bytes, from where your secrets are. An ID has no colon, and never names another key.
 */
export interface EncryptionKeys {
  /** The ID of the key that encrypts. */
  readonly current: string
  /** The current key, and every former one under which something may still be stored. */
  readonly keys: Readonly<Record<string, Uint8Array<ArrayBuffer>>>
}

/**
 * Encrypts whatever a Keyv stores, with AES-256-GCM and a fresh nonce for each text. A text is bound to its place: it
 * cannot be decrypted in another session, as another text of its session, or under another revision. It begins with the
 * ID of its key.
 *
 * To change the key, first give all processes the new one as a former key, and then make it the current one. Each save
 * encrypts what it writes; earlier entries of a session stay under their key, which is needed as long as the session is
 * stored.
 */
export async function encrypt(keyv: Keyv, { current, keys }: EncryptionKeys): Promise<Keyv> {
  const imported = new Map<string, CryptoKey>()
  for (const [id, secret] of Object.entries(keys)) {
    imported.set(id, await crypto.subtle.importKey('raw', secret, 'AES-GCM', false, ['encrypt', 'decrypt']))
  }

  function keyOf(id: string): CryptoKey {
    const key = imported.get(id)
    if (key === undefined) throw new Error(`There is no encryption key '${id}'.`)
    return key
  }
  keyOf(current)

  keyv.serialize = async (data, place?: SessionTextPlace) => {
    const iv = crypto.getRandomValues(new Uint8Array(12))
    const plain = new TextEncoder().encode(JSON.stringify(data))
    const algorithm = { name: 'AES-GCM', iv, additionalData: bytesOf(place, current) }
    const sealed = await crypto.subtle.encrypt(algorithm, keyOf(current), plain)
    return `${current}:${Buffer.concat([iv, new Uint8Array(sealed)]).toString('base64')}`
  }

  keyv.deserialize = async (text: string, place?: SessionTextPlace) => {
    const colon = text.indexOf(':')
    const id = text.slice(0, colon)
    const bytes = new Uint8Array(Buffer.from(text.slice(colon + 1), 'base64'))
    const algorithm = { name: 'AES-GCM', iv: bytes.subarray(0, 12), additionalData: bytesOf(place, id) }
    const plain = await crypto.subtle.decrypt(algorithm, keyOf(id), bytes.subarray(12))
    return JSON.parse(new TextDecoder().decode(plain))
  }

  return keyv
}

/** As JSON: two places, or two keys, never give the same bytes. */
function bytesOf(place: SessionTextPlace | undefined, keyId: string): Uint8Array<ArrayBuffer> {
  if (place === undefined) throw new Error('Nothing says where this text belongs: the Keyv itself called the hook.')
  return new TextEncoder().encode(JSON.stringify([place.sessionId, place.key, place.revision, keyId]))
}
