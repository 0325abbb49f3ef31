/**
 * Deterministic encryption with WebCrypto: a digest of the text under the secret stands in front, and the key and the
 * nonce of AES-GCM are derived from it. So a nonce meets its key for one text only, and equal texts are sealed equally.
 */

/** A secret, as WebCrypto takes it. Loaded when it is first used. */
export interface Secret {
  /** For keys of AES. */
  derive(): Promise<CryptoKey>
  /** For digests. */
  sign(): Promise<CryptoKey>
}

const digestBytes = 16
const keyBytes = 32
const nonceBytes = 12

/** @param secret - at least 32 random characters */
export function secretOf(secret: string): Secret {
  const bytes = encode(secret)
  let derive: Promise<CryptoKey> | undefined
  let sign: Promise<CryptoKey> | undefined
  return {
    derive() {
      derive ??= crypto.subtle.importKey('raw', bytes, 'HKDF', false, ['deriveBits'])
      return derive
    },
    sign() {
      sign ??= this.derive()
        .then((key) => bitsOf(key, new Uint8Array(), 'digest', keyBytes))
        .then((own) => crypto.subtle.importKey('raw', own, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']))
      return sign
    },
  }
}

/** Encrypts a text; the result is base64url. */
export async function sealText(secret: Secret, text: string): Promise<string> {
  const plain = encode(text)
  const digest = await digestOf(secret, plain)
  const { key, nonce } = await cipherOf(secret, digest)
  const sealed = await crypto.subtle.encrypt(nonce, key, plain)
  return toBase64Url(new Uint8Array([...digest, ...new Uint8Array(sealed)]))
}

/** The text that one of the secrets opens; `undefined` if none does. */
export async function openText(secrets: readonly Secret[], sealed: string): Promise<string | undefined> {
  const bytes = fromBase64Url(sealed)
  if (bytes === undefined) return undefined
  for (const secret of secrets) {
    const { key, nonce } = await cipherOf(secret, bytes.slice(0, digestBytes))
    const plain = await crypto.subtle.decrypt(nonce, key, bytes.slice(digestBytes)).catch(() => undefined)
    if (plain !== undefined) return new TextDecoder().decode(plain)
  }
  return undefined
}

async function digestOf(secret: Secret, plain: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const digest = await crypto.subtle.sign('HMAC', await secret.sign(), plain)
  return new Uint8Array(digest, 0, digestBytes)
}

async function cipherOf(secret: Secret, digest: Uint8Array<ArrayBuffer>) {
  const bits = await bitsOf(await secret.derive(), digest, 'content', keyBytes + nonceBytes)
  const key = await crypto.subtle.importKey('raw', bits.slice(0, keyBytes), 'AES-GCM', false, ['encrypt', 'decrypt'])
  return { key, nonce: { name: 'AES-GCM', iv: bits.slice(keyBytes) } }
}

async function bitsOf(
  key: CryptoKey,
  salt: Uint8Array<ArrayBuffer>,
  use: string,
  bytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const info = encode(`turnkeeper/tickets 1 ${use}`)
  return new Uint8Array(await crypto.subtle.deriveBits({ name: 'HKDF', hash: 'SHA-256', salt, info }, key, bytes * 8))
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

function toBase64Url(bytes: Uint8Array): string {
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** Nothing but the text that {@link toBase64Url} makes of the bytes. */
function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]{44,}$/.test(text)) return undefined
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (byte) => byte.charCodeAt(0))
    return toBase64Url(bytes) === text ? bytes : undefined
  } catch {
    return undefined
  }
}
