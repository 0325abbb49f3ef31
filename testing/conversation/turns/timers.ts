/** What a stored session waits for: its events, and its timers; and a clock that moves from one timer to the next. */
import type { FlowEvent, SessionDocument } from '../../../src/index.js'
import type { VirtualClock } from '../../virtual-clock/virtual-clock.js'

/** A timer of a session. */
export interface SessionTimer {
  /** The name of its event. */
  readonly name: string
  /** The ID of the step that it belongs to. */
  readonly step: string
  /** When it is due: milliseconds since the epoch. */
  readonly at: number
}

/** The timers of a session that goes on, the soonest first. */
export function timersOf(document: SessionDocument | undefined): readonly SessionTimer[] {
  const frames = document?.runStatus === 'running' ? (document.flow.frames ?? []) : []
  return frames
    .flatMap(({ step, timers = [] }) => timers.map(({ name, at }) => ({ name, step, at: Date.parse(at) })))
    .sort((one, other) => one.at - other.at)
}

/**
 * The events that a session takes: of its step and of those that wait for a return, then of the flows.
 *
 * @param declared - By the ID of the step or the flow that takes them.
 */
export function eventsOf(
  document: SessionDocument | undefined,
  flowName: string,
  declared: ReadonlyMap<string, readonly FlowEvent[]>,
): readonly FlowEvent[] {
  if (document?.runStatus !== 'running' || document.flow.currentStep === null) return []
  const { frames = [{ step: document.flow.currentStep, entry: '', called: undefined }] } = document.flow
  const owners = frames.toReversed().flatMap(({ step, entry, called }) => [
    entry === notEntered ? [] : step,
    // A called step may have moved on to another one.
    called !== undefined && step.startsWith(`${called}/`) ? called : [],
  ])
  return [...new Set([...owners.flat(), flowName])].flatMap((owner) => declared.get(owner) ?? [])
}

/** The entry of a step that has called before it was entered. It takes no event yet. */
const notEntered = '0'

/** What {@link playTimers} moves and asks. */
export interface TimedSession {
  readonly clock: Pick<VirtualClock, 'now' | 'monotonic'>
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
