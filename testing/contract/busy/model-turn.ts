/** A turn of the model, and what its phase says. */
import type { FlowName, Owner } from './schedule.js'

/** A message, or a repeat of one, that runs or waits. */
export interface Turn {
  readonly number: number
  /** What was said. A repeat says the same as the message. */
  readonly text: string
  readonly isKeyed: boolean
  readonly flow: FlowName
  readonly owner: Owner
  /** Turns with a key that it superseded, and those that they had superseded: their repeats wait for it. */
  replaced: readonly Turn[]
  phase: 'waiting' | 'loading' | 'working' | 'saving' | 'interrupted' | 'cancelled'
  fails: boolean
  hasLoaded: boolean
  /** The turns and cancellations, in order, that arrive while it is open whether the turn is a repeat. */
  readonly meanwhile: (Turn | number)[]
  /** Repeats that wait for its end, by message. */
  readonly joined: Joined[]
}

/** Repeats of a message that wait for its turn, or for a turn that superseded it. */
export interface Joined {
  readonly message: Turn
  readonly turn: Turn
  readonly repeats: Turn[]
}

/** A new one. It does nothing yet. */
export function turnOf(number: number, text: string, flow: FlowName, owner: Owner, isKeyed: boolean): Turn {
  const lists = { replaced: [], meanwhile: [], joined: [] }
  return { number, text, isKeyed, flow, owner, ...lists, phase: 'waiting', fails: false, hasLoaded: false }
}

/** Whether a turn under way may be a repeat of an answered message. */
export function mayBeRepeat(turn: Turn | undefined): boolean {
  return turn?.isKeyed === true && turn.phase === 'loading'
}

export function isAbortable({ phase }: Turn): boolean {
  return phase === 'loading' || phase === 'working'
}

/** What a repeat is known by. */
export function nameOf({ owner, text }: Turn): string {
  return `${owner} ${text}`
}
