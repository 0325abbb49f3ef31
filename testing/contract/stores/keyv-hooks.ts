/// <reference types="node" />
// Hooks of a Keyv as applications write them: encryption (AES-256-GCM, a fresh nonce for each text) and compression.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { deflateSync, inflateSync } from 'node:zlib'
import type { CompressionAdapter, Deserialize, Serialize } from 'keyv'

/** `serialize` and `deserialize` that encrypt with one random key. */
export function encryptionHooks(): { readonly serialize: Serialize; readonly deserialize: Deserialize } {
  const key = randomBytes(32)
  return {
    serialize: (data) => {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const bytes = Buffer.concat([cipher.update(JSON.stringify(data), 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), bytes]).toString('base64')
    },
    deserialize: (data) => {
      const bytes = Buffer.from(data, 'base64')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
      decipher.setAuthTag(bytes.subarray(12, 28))
      return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8'))
    },
  }
}

/** `compression` with zlib. */
export const zlibCompression: CompressionAdapter = {
  compress: async (value: string) => deflateSync(value).toString('base64'),
  decompress: async (value: string) => inflateSync(Buffer.from(value, 'base64')).toString('utf8'),
  serialize: (data) => JSON.stringify(data),
  deserialize: (data) => JSON.parse(data),
}
