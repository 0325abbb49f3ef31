/**
 * The texts that a driver stores: plain JSON, or that JSON after the Keyv's own hooks (`serialize`, `compression`), so that
 * encryption and compression work. Keyv's default serializer is not used, because it changes texts that begin with a
 * colon. Without hooks everything here is synchronous.
 */
import type { Keyv } from 'keyv'

/** Turns values into texts and back. */
export interface TextCodec {
  /** @throws (or rejects) Where a hook fails, or returns something else than a string. */
  encode(value: unknown): string | Promise<string>
  /** The value, or a promise of it. @throws (or rejects) Where the text cannot be read: a wrong key, a text cut off. */
  decode(text: string): unknown
}

/** The codec without hooks. */
export const plainCodec: TextCodec = {
  encode: (value) => JSON.stringify(value),
  decode: (text) => JSON.parse(text),
}

/** The codec that uses the hooks of `keyv`, as they are at each call. */
export function createTextCodec(keyv: Keyv): TextCodec {
  const { serialize, deserialize } = new (keyv.constructor as new () => Keyv)()
  const hasHooks = (): boolean =>
    keyv.serialize !== undefined &&
    (Boolean(keyv.compression) || keyv.serialize !== serialize || keyv.deserialize !== deserialize)

  async function encodeWithHooks(value: unknown): Promise<string> {
    const text: unknown = await keyv.serializeData({ value: JSON.stringify(value) })
    if (typeof text === 'string') return text
    throw new TypeError(`Keyv's serialize returned a value of type ${typeof text}; it must return a string.`)
  }

  async function decodeWithHooks(text: string): Promise<unknown> {
    const data = await keyv.deserializeData<unknown>(text)
    return JSON.parse(String(data?.value))
  }

  return {
    encode: (value) => (hasHooks() ? encodeWithHooks(value) : plainCodec.encode(value)),
    decode: (text) => (hasHooks() ? decodeWithHooks(text) : plainCodec.decode(text)),
  }
}

/** Encodes several values, and waits only where a hook is asynchronous. */
export function encodeAll(codec: TextCodec, values: readonly unknown[]): string[] | Promise<string[]> {
  const texts = values.map((value) => codec.encode(value))
  return texts.every((text) => typeof text === 'string') ? texts : Promise.all(texts)
}
