/**
 * What happens in a simulated conversation, as data: who says something, which fault strikes, when two speak at once. How
 * it is drawn is in `draw-plans.ts`; what it leads to is decided elsewhere.
 */
import type { FakeStoreFault } from '../fake-session-store/fake-session-store.js'

/** What a user sees before saying something. */
export interface ActorView {
  /** The last reply; `undefined` at the beginning. */
  readonly reply: string | undefined
  /** Whether the last turn succeeded. */
  readonly success: boolean
  /** Whether the last turn completed the session. */
  readonly completed: boolean
  /** The number of what is said next, counted from 1 over the whole conversation. */
  readonly turn: number
  /** One of a list, at random: the same one for the same seed. Earlier entries come up in shorter examples. */
  pick<Choice>(choices: readonly Choice[]): Choice
}

/** A user: what is said, from what is seen. Takes nothing from elsewhere, or a seed would not repeat it. */
export type Actor = (seen: ActorView) => string

/** Somebody says something. */
export interface PlannedSpeech {
  /** The actor's place in the list, before it is cut to its length. */
  readonly actor: number
  /** What `pick` goes by. */
  readonly picks: readonly number[]
  /** What `pick` of the model goes by in this turn. */
  readonly modelPicks: readonly number[]
}

/** A fault of the store during one turn. */
export type PlannedFault = Required<Pick<FakeStoreFault, 'operation' | 'effect' | 'times'>>

/** One thing that happens. */
export type PlannedAction =
  | { readonly kind: 'say'; readonly speech: PlannedSpeech; readonly fault: PlannedFault | undefined }
  | { readonly kind: 'restart' }
  | {
      readonly kind: 'together'
      readonly speeches: readonly [PlannedSpeech, PlannedSpeech]
      /** Whether the second one comes to another engine over the same data. */
      readonly elsewhere: boolean
      /** Milliseconds that the two loads and the first two saves take. */
      readonly delays: readonly number[]
    }

/** A conversation to play. */
export interface Plan {
  readonly actions: readonly PlannedAction[]
}

/** A `pick` that goes by numbers, and begins anew where they end. */
export function picker(numbers: readonly number[]): ActorView['pick'] {
  let used = 0
  return function pick<Choice>(choices: readonly Choice[]): Choice {
    const number = numbers[used++ % numbers.length] ?? 0
    return choices[number % choices.length] as Choice
  }
}

/** Says short texts, as users do who were not told what to say. */
export const anyone: Actor = ({ pick }) => {
  return pick(['Hello', 'yes', 'no', 'Ada Lovelace', '42', '', 'What can you do?', 'stop', '  ', 'ü 🙂', '{"a":1}'])
}
