/**
 * The texts that a driver keeps. Plain JSON, unless the Keyv has hooks of its own (`serialize`, `compression`): then
 * the JSON goes through those, so that encryption and compression work. Keyv's own default is passed by: it changes
 * texts that begin with a colon.
 */
import type { Keyv } from 'keyv'

/** Turns values into texts and back. */
export interface TextCodec {
  /** @throws Where a hook throws, or gives no text. */
  encode(value: unknown): Promise<string>
  /** @throws Where the text cannot be read: a wrong key, a text cut off. */
  decode(text: string): Promise<unknown>
}

/** The codec without hooks. */
export const plainCodec: TextCodec = {
  encode: async (value) => JSON.stringify(value),
  decode: async (text) => JSON.parse(text),
}

/** The codec that goes by the hooks of `keyv`, as they are at each call. */
export function createTextCodec(keyv: Keyv): TextCodec {
  const { serialize, deserialize } = new (keyv.constructor as new () => Keyv)()
  const isPlain = (): boolean =>
    keyv.serialize === undefined ||
    (!keyv.compression && keyv.serialize === serialize && keyv.deserialize === deserialize)
  return {
    async encode(value) {
      if (isPlain()) return JSON.stringify(value)
      const text = await keyv.serializeData({ value: JSON.stringify(value) })
      if (typeof text === 'string') return text
      throw new TypeError(`Keyv's serialize gave a value of type ${typeof text}; it must give a string.`)
    },
    async decode(text) {
      if (isPlain()) return JSON.parse(text)
      const data = await keyv.deserializeData<unknown>(text)
      return JSON.parse(String(data?.value))
    },
  }
}
