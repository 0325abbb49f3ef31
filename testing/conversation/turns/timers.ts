/** The timers of a stored session, and a clock that moves from one to the next. */
import type { SessionDocument } from '../../../src/index.js'
import type { VirtualClock } from '../../virtual-clock/virtual-clock.js'

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

/** What {@link playTimers} moves and asks. */
export interface TimedSession {
  readonly clock: VirtualClock
  advance(ms: number): Promise<void>
  load(): Promise<SessionDocument | undefined>
  /** Wakes the session. `due` are the names of the events that are due, the soonest first. */
  play(due: readonly string[]): Promise<void>
}

/** Moves the clock by `ms`, from timer to timer, and wakes the session at each. */
export async function playTimers(ms: number, { clock, advance, load, play }: TimedSession): Promise<void> {
  const end = clock.monotonic() + ms
  // A timer whose turn failed waits for the next one, as a queue would try it again later.
  let tried = Number.NEGATIVE_INFINITY
  for (;;) {
    const timers = timersOf(await load())
    const next = timers.find(({ at }) => at > tried)
    const left = Math.max(0, end - clock.monotonic())
    const wait = next === undefined ? Number.POSITIVE_INFINITY : Math.max(0, next.at - clock.now())
    await advance(Math.min(wait, left))
    if (wait > left) return
    tried = clock.now()
    await play(timers.filter(({ at }) => at <= tried).map(({ name }) => name))
  }
}
