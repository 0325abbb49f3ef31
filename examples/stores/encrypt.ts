import { Buffer } from 'node:buffer'
import type { Keyv } from 'keyv'

/**
 * Encrypts whatever a Keyv stores, with AES-256-GCM and a fresh nonce for each text.
 *
 * @param secret - 32 bytes, from where your secrets are.
 */
export async function encrypt(keyv: Keyv, secret: Uint8Array<ArrayBuffer>): Promise<Keyv> {
  const key = await crypto.subtle.importKey('raw', secret, 'AES-GCM', false, ['encrypt', 'decrypt'])

  keyv.serialize = async (data) => {
    const iv = crypto.getRandomValues(new Uint8Array(12))
    const plain = new TextEncoder().encode(JSON.stringify(data))
    const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, plain)
    return Buffer.concat([iv, new Uint8Array(sealed)]).toString('base64')
  }

  keyv.deserialize = async (text) => {
    const bytes = new Uint8Array(Buffer.from(text, 'base64'))
    const iv = bytes.subarray(0, 12)
    const plain = await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, bytes.subarray(12))
    return JSON.parse(new TextDecoder().decode(plain))
  }

  return keyv
}
