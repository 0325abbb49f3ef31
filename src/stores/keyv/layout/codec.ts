/** The texts that a driver stores: plain JSON, or what the hooks of a Keyv make of it (keyv-codec.ts). */

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

/** Encodes several values, and waits only where a hook is asynchronous. */
export function encodeAll(
  codec: TextCodec,
  values: readonly (readonly [value: unknown, place: SessionTextPlace])[],
): string[] | Promise<string[]> {
  const texts = values.map(([value, place]) => codec.encode(value, place))
  return texts.every((text) => typeof text === 'string') ? texts : Promise.all(texts)
}
