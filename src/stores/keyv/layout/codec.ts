/**
 * The texts that a driver stores: plain JSON, or that JSON after the Keyv's own hooks (`serialize`, `compression`), so
 * that encryption and compression work. The hooks also get the place of each text, so that an encryption can bind the
 * text to it. Keyv's default serializer is not used, because it changes texts that begin with a colon. Without hooks
 * everything here is synchronous.
 */
import type { Deserialize, Keyv, Serialize } from 'keyv'

/**
 * Which text of which session it is: the second argument of the hooks `serialize` and `deserialize` of a Keyv, to be
 * used as additional data of an encryption. A text that is stored in another place is deserialized with another value.
 */
export interface SessionTextPlace {
  readonly sessionId: string
  /** `head`, or the name of a chunk: its list and its number, such as `history#3`. */
  readonly key: string
  /**
   * The revision of the save that wrote the text: of the head the stored one, of a chunk that
   * of the turn that added it.
   */
  readonly revision: string
}

/** Turns values into texts and back. */
export interface TextCodec {
  /** @throws (or rejects) Where a hook fails, or returns something else than a string. */
  encode(value: unknown, place: SessionTextPlace): string | Promise<string>
  /** The value, or a promise of it. @throws (or rejects) Where the text cannot be read: a wrong key, a text cut off. */
  decode(text: string, place: SessionTextPlace): unknown
}

/** The codec without hooks. */
export const plainCodec: TextCodec = {
  encode: (value) => JSON.stringify(value),
  decode: (text) => JSON.parse(text),
}

/** The hooks, as this store calls them. Keyv's own types have no second argument. */
interface PlacedHooks {
  serialize?(data: Parameters<Serialize>[0], place: SessionTextPlace): ReturnType<Serialize>
  deserialize?(text: string, place: SessionTextPlace): ReturnType<Deserialize>
}

/** The codec that uses the hooks of `keyv`, as they are at each call. */
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

/** Encodes several values, and waits only where a hook is asynchronous. */
export function encodeAll(
  codec: TextCodec,
  values: readonly (readonly [value: unknown, place: SessionTextPlace])[],
): string[] | Promise<string[]> {
  const texts = values.map(([value, place]) => codec.encode(value, place))
  return texts.every((text) => typeof text === 'string') ? texts : Promise.all(texts)
}
