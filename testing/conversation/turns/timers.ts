/** The timers of a stored session, for the clock of a conversation. */
import type { SessionDocument } from '../../../src/index.js'

/** A timer of a session. */
export interface SessionTimer {
  /** The name of its event. */
  readonly name: string
  /** When it is due: milliseconds since the epoch. */
  readonly at: number
}

/** The timers of a session that goes on, the soonest first. */
export function timersOf(document: SessionDocument | undefined): readonly SessionTimer[] {
  const frames = document?.runStatus === 'running' ? (document.flow.frames ?? []) : []
  return frames
    .flatMap(({ timers = [] }) => timers.map(({ name, at }) => ({ name, at: Date.parse(at) })))
    .sort((one, other) => one.at - other.at)
}
