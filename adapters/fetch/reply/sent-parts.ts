/** The parts of a reply as clients get them: a list of choices names its turn, which a client sends back. */
import type { ReplyPart } from '../../../src/index.js'

type Choices = Extract<ReplyPart, { readonly type: 'choices' }>

/** A part in any reply of the adapters. */
export type SentPart = Exclude<ReplyPart, Choices> | (Choices & { readonly turn: number })

/** A result, or a stored turn. */
export interface Replied {
  readonly parts?: readonly ReplyPart[]
  /** The number of the turn. Present with parts. */
  readonly turn?: number
}

/** The parts of a reply; `undefined` if it has none. */
export function sentParts({ parts, turn }: Replied): readonly SentPart[] | undefined {
  return parts?.map((part) => (part.type === 'choices' ? { ...part, turn: turn as number } : part))
}
