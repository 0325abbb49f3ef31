/** Describes a hanging conversation: what is running, and what it waits for. */
import { count, list, show } from '../../expectations/expectation-error.js'
import type { FakeStoreCall } from '../../fake-session-store/journal.js'
import { isHolding, isWaiting, type LockRequests, nameOf } from '../../lock-probe/lock-requests.js'

/** The known facts about the hang. */
export interface Hang {
  readonly afterMs: number
  /** Whether work that outlives its turn does not settle. */
  readonly isAfterTurn: boolean
  readonly requests: LockRequests
  readonly journal: readonly FakeStoreCall[]
  /** The names of the tools that were called and have not settled. */
  readonly tools: readonly string[]
  /** The names of the memories whose summary has not settled. */
  readonly summaries: readonly string[]
  /** How many timers are set on the conversation's clock. */
  readonly timers: number
  /** Whether `advance` was called since the turn began. */
  readonly isMovedByHand: boolean
}

/** The report. */
export function hangText(hang: Hang): string {
  const { afterMs, isAfterTurn, requests, journal, tools, summaries, timers, isMovedByHand } = hang
  const holding = requests.all.filter(isHolding)
  const waiting = requests.all.filter(isWaiting)
  const pending = journal.filter(({ outcome }) => outcome === 'pending').map(({ operation }) => `'${operation}'`)
  const lines = [
    ...holding.map(
      (request) =>
        `${nameOf(request)} is under way, in ${request.places.length === 0 ? 'code of the flow' : request.places.join(', in ')}`,
    ),
    ...waiting.map((request) => `${nameOf(request)} waits for the lock of session '${request.sessionId}'`),
    ...tools.map((tool) => `tool '${tool}' has not settled`),
    ...summaries.map((memory) => `the summary of memory '${memory}' has not settled`),
    ...(pending.length === 0 ? [] : [`the store has not answered: ${list(pending)}`]),
  ]
  if (lines.length === 0) lines.push('no turn has the lock of a session: it waits for something outside of the engine')
  if (isMovedByHand && timers > 0) {
    lines.push(
      `${count(timers, 'timer')} of the clock ${timers === 1 ? 'waits' : 'wait'}: after advance() the clock no longer advances by itself in this turn`,
    )
  }
  const what = isAfterTurn ? 'what a turn left behind after its reply' : 'a turn'
  return [
    `Nothing has happened for ${show(afterMs)} ms of real time, and ${what} is still under way.`,
    ...lines.map((line) => `  - ${line}`),
    'Open the gate, settle the promise or advance the clock that it waits for. If it is only slow, raise the option hangAfterMs.',
  ].join('\n')
}
