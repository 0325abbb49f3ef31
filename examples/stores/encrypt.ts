import { Buffer } from 'node:buffer'
import type { Keyv } from 'keyv'
import type { SessionTextPlace } from 'turnkeeper/keyv'

/**
 * Encrypts whatever a Keyv stores, with AES-256-GCM and a fresh nonce for each text. A text is bound to its place: it
 * cannot be decrypted in another session, as another text of its session, or under another revision.
 *
 * @param secret - 32 bytes, from your secret manager.
 */
export async function encrypt(keyv: Keyv, secret: Uint8Array<ArrayBuffer>): Promise<Keyv> {
  const key = await crypto.subtle.importKey('raw', secret, 'AES-GCM', false, ['encrypt', 'decrypt'])

  keyv.serialize = async (data, place?: SessionTextPlace) => {
    const iv = crypto.getRandomValues(new Uint8Array(12))
    const plain = new TextEncoder().encode(JSON.stringify(data))
    const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData: bytesOf(place) }, key, plain)
    return Buffer.concat([iv, new Uint8Array(sealed)]).toString('base64')
  }

  keyv.deserialize = async (text: string, place?: SessionTextPlace) => {
    const bytes = new Uint8Array(Buffer.from(text, 'base64'))
    const iv = bytes.subarray(0, 12)
    const algorithm = { name: 'AES-GCM', iv, additionalData: bytesOf(place) }
    const plain = await crypto.subtle.decrypt(algorithm, key, bytes.subarray(12))
    return JSON.parse(new TextDecoder().decode(plain))
  }

  return keyv
}

/** As JSON: two places never give the same bytes. */
function bytesOf(place: SessionTextPlace | undefined): Uint8Array<ArrayBuffer> {
  if (place === undefined) throw new Error('Nothing says where this text belongs: the Keyv itself called the hook.')
  return new TextEncoder().encode(JSON.stringify([place.sessionId, place.key, place.revision]))
}
