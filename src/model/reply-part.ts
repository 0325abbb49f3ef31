/** What a reply carries beside its text. `turnkeeper/parts` makes these parts and checks them. */
import type { JsonObject, JsonValue } from '../util/json.js'

/** A part of a reply: a plain, frozen object. Make one with a builder of `turnkeeper/parts`. */
export type ReplyPart =
  /** A list to choose from; a reply has at most one. */
  | {
      readonly type: 'choices'
      readonly name: string
      readonly options: readonly { readonly value: string; readonly label: string }[]
    }
  /** A titled table of labels and values. */
  | { readonly type: 'card'; readonly title: string; readonly rows: readonly (readonly [string, string])[] }
  /** Fields to fill in. The page sends them as the user's event with this name. */
  | {
      readonly type: 'form'
      readonly name: string
      /** A flat JSON Schema: an object of texts, numbers and yes-or-no fields. */
      readonly schema: JsonObject
      /** What the fields hold at first, by field. */
      readonly values?: JsonObject
      /** What is wrong, by field. */
      readonly errors?: Readonly<Record<string, string>>
    }
  /** A file at an address. */
  | { readonly type: 'file'; readonly name: string; readonly mediaType: string; readonly url: string }
  /** Data for a component of the application's own pages. */
  | { readonly type: 'custom'; readonly name: string; readonly data: JsonValue }

/** Parts in one reply. */
export const maxParts: number = 8

/** All parts of one reply, as JSON. */
export const maxPartBytes: number = 16 * 1024

const marker: unique symbol = Symbol.for('turnkeeper.ReplyPart')

/** Marks a part as checked. The mark is in no JSON. */
export function markPart<Part extends ReplyPart>(part: Part): Part {
  return Object.defineProperty(part, marker, { value: true })
}

/** Whether a builder has made a value, of this or another copy of the package. */
export function isReplyPart(value: unknown): value is ReplyPart {
  return Object.hasOwn(Object(value), marker)
}
