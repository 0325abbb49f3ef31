/**
 * What happens in a simulated conversation, as data: who sends a message, which fault the store has, when two users
 * send at once. `simulate/draw-plans.ts` draws plans, `simulate/simulated-world.ts` runs them.
 */
import type { FakeStoreFault } from '../fake-session-store/fake-session-store.js'

/** What a user knows before the next message. @inline */
export interface ActorView {
  /** The last reply; `undefined` at the beginning. */
  readonly reply: string | undefined
  /** Whether the last turn succeeded. */
  readonly success: boolean
  /** Whether the last turn completed the session. */
  readonly completed: boolean
  /** The number of the next message, counted from 1 over the whole conversation. */
  readonly turn: number
  /** An entry of a list, at random: the same one for the same seed. Earlier entries occur in shorter examples. */
  pick<Choice>(choices: readonly Choice[]): Choice
}

/** A user: returns the next message. It must depend on nothing else, or a seed would not repeat it. */
export type Actor = (seen: ActorView) => string

/** A user sends a message. */
export interface PlannedSpeech {
  /** The actor's place in the list, before it is cut to its length. */
  readonly actor: number
  /** The random numbers of `pick`. */
  readonly picks: readonly number[]
  /** The random numbers of the model's `pick` in this turn. */
  readonly modelPicks: readonly number[]
}

/** A fault of the store during one turn. */
export type PlannedFault = Required<Pick<FakeStoreFault, 'operation' | 'effect' | 'times'>>

/** One thing that happens. */
export type PlannedAction =
  | { readonly kind: 'say'; readonly speech: PlannedSpeech; readonly fault: PlannedFault | undefined }
  | { readonly kind: 'restart' }
  | {
      readonly kind: 'event'
      /** The event's place in the list of those that are taken then, before it is cut to its length. */
      readonly choice: number
      /** Its random numbers: those of the payload, and of the model. */
      readonly speech: PlannedSpeech
      readonly fault: PlannedFault | undefined
    }
  /** Milliseconds that pass; `'timer'`: up to the next timer. */
  | { readonly kind: 'time'; readonly jump: number | 'timer'; readonly speech: PlannedSpeech }
  | {
      readonly kind: 'together'
      readonly speeches: readonly [PlannedSpeech, PlannedSpeech]
      /** Whether the second message goes to another engine over the same data. */
      readonly elsewhere: boolean
      /** Milliseconds that the two loads and the first two saves take. */
      readonly delays: readonly number[]
    }

/** A conversation to run. */
export interface Plan {
  readonly actions: readonly PlannedAction[]
}

/** A `pick` that uses these numbers, and then the numbers of a generator that they seed. */
export function picker(numbers: readonly number[]): ActorView['pick'] {
  let used = 0
  let state = numbers.reduce(mixed, 0)
  function generated(): number {
    state = mixed(state, 0)
    // The lower bits of such a generator repeat soon.
    return state >>> 16
  }
  return function pick<Choice>(choices: readonly Choice[]): Choice {
    const number = numbers[used++] ?? generated()
    return choices[number % choices.length] as Choice
  }
}

/** One step of a linear congruential generator, with the numbers of Knuth and Lewis for 32 bits. */
function mixed(state: number, number: number): number {
  return (Math.imul(state + number, 1_664_525) + 1_013_904_223) >>> 0
}

/** Sends short texts, like a user without instructions. */
export const anyone: Actor = ({ pick }) => {
  return pick(['Hello', 'yes', 'no', 'Ada Lovelace', '42', '', 'What can you do?', 'stop', '  ', 'ü 🙂', '{"a":1}'])
}
