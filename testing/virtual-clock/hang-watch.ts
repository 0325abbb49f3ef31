/**
 * Notices a hang: a tool that never settles, a gate that is never opened. It counts real time, in small pieces, so that
 * a process that stood still (in a debugger, on a busy machine) has not waited for all of it. What it reports is made
 * elsewhere: `conversation/world/hang-report.ts`, `lock-probe/problems.ts`.
 */
import { afterRealTime } from './real-time.js'

/** The default of each option `hangAfterMs` but those of judges. */
export const defaultHangAfterMs = 2_000

/** The same for judges: a model of the network may think before it answers. */
export const defaultJudgeHangAfterMs = 30_000

/** How many looks a bound has. */
const looks = 20

/** What a watch needs. */
export interface HangWatch {
  /** Milliseconds of real time without progress; `Infinity`: nothing hangs. */
  readonly afterMs: number
  /** Anything that changes when something happens. */
  progress(): unknown
  /** What the promise rejects with. */
  report(): Error
}

/** Settles as `promise` does, or rejects when nothing has happened for too long. */
export function unlessHanging<T>(promise: Promise<T>, { afterMs, progress, report }: HangWatch): Promise<T> {
  if (afterMs === Number.POSITIVE_INFINITY) return promise
  return new Promise<T>((resolve, reject) => {
    let last = progress()
    let left = looks
    let stop = (): void => undefined
    const look = (): void => {
      const now = progress()
      left = now === last ? left - 1 : looks
      last = now
      if (left > 0) stop = afterRealTime(look, afterMs / looks)
      else reject(report())
    }
    stop = afterRealTime(look, afterMs / looks)
    promise.then(resolve, reject).finally(() => stop())
  })
}
