/** Makes the texts that a driver stores: plain JSON, or the output of a Keyv's hooks (keyv-codec.ts). */

/**
 * Identifies one text of one session. A Keyv's hooks `serialize` and `deserialize` get it as their second argument, to
 * use as the additional data of an encryption: a text that was moved to another place is then not decrypted.
 */
export interface SessionTextPlace {
  readonly sessionId: string
  /** `head`, or the name of a chunk: its list and its number, such as `history#3`. */
  readonly key: string
  /**
   * The revision of the save that wrote the text: for the head the stored revision, for a chunk the revision of the
   * turn that added it.
   */
  readonly revision: string
}

/** Turns values into texts and back. */
export interface TextCodec {
  /** @throws (or rejects) if a hook fails or does not return a string. */
  encode(value: unknown, place: SessionTextPlace): string | Promise<string>
  /** Returns the value or a promise. @throws (or rejects) if the text cannot be read: a wrong key, a truncated text. */
  decode(text: string, place: SessionTextPlace): unknown
}

/** The codec without hooks. */
export const plainCodec: TextCodec = {
  encode: (value) => JSON.stringify(value),
  decode: (text) => JSON.parse(text),
}

/** Encodes several values. Waits only if a hook is asynchronous. */
export function encodeAll(
  codec: TextCodec,
  values: readonly (readonly [value: unknown, place: SessionTextPlace])[],
): string[] | Promise<string[]> {
  const texts = values.map(([value, place]) => codec.encode(value, place))
  return texts.every((text) => typeof text === 'string') ? texts : Promise.all(texts)
}
