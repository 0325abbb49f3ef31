/**
 * Encodes texts with the hooks of a Keyv (`serialize`, `compression`), so that encryption and compression work. The
 * hooks also get the place of each text, so that encryption can bind the text to its place. Keyv's default serializer
 * is not used, because it changes texts that begin with a colon. Without hooks everything here is synchronous.
 */
import type { Deserialize, Keyv, Serialize } from 'keyv'
import { plainCodec, type SessionTextPlace, type TextCodec } from './layout/codec.js'

/** The hooks as this store calls them. Keyv's own types have no second argument. */
interface PlacedHooks {
  serialize?(data: Parameters<Serialize>[0], place: SessionTextPlace): ReturnType<Serialize>
  deserialize?(text: string, place: SessionTextPlace): ReturnType<Deserialize>
}

/** Makes the codec that uses the hooks of `keyv`. It looks them up at each call. */
export function createTextCodec(keyv: Keyv): TextCodec {
  const { serialize, deserialize } = new (keyv.constructor as new () => Keyv)()
  const hooks = keyv as PlacedHooks
  const hasHooks = (): boolean =>
    keyv.serialize !== undefined &&
    (Boolean(keyv.compression) || keyv.serialize !== serialize || keyv.deserialize !== deserialize)

  async function encodeWithHooks(value: unknown, place: SessionTextPlace): Promise<string> {
    const json = JSON.stringify(value)
    const packed: unknown = keyv.compression?.compress ? await keyv.compression.compress(json) : json
    const text: unknown = await hooks.serialize?.({ value: packed }, place)
    if (typeof text === 'string') return text
    throw new TypeError(`Keyv's serialize returned a value of type ${typeof text}; it must return a string.`)
  }

  async function decodeWithHooks(text: string, place: SessionTextPlace): Promise<unknown> {
    const data = await hooks.deserialize?.(text, place)
    const packed: unknown = data?.value
    return JSON.parse(String(keyv.compression?.decompress ? await keyv.compression.decompress(packed) : packed))
  }

  return {
    encode: (value, place) => (hasHooks() ? encodeWithHooks(value, place) : plainCodec.encode(value, place)),
    decode: (text, place) => (hasHooks() ? decodeWithHooks(text, place) : plainCodec.decode(text, place)),
  }
}
