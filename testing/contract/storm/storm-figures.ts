/** The result of a storm: the figures to print, and all that is wrong. */
import type { SessionDocument } from '../../../src/index.js'
import type { StormRemains } from './storm.js'
import { longestTurnMs, stepId } from './talk.js'
import { kindOf } from './turn-record.js'
import { countOf, judge, type Verdict } from './verdict.js'

/** The result of a storm. */
export interface StormResult {
  readonly verdict: Verdict
  /** Everything that is wrong, in words. */
  readonly wrong: readonly string[]
  /** The figures, on one line. */
  readonly figures: string
}

/** What a turn may be answered with while there are faults. Anything else is a fault of the engine or the store. */
const expectedOutcomes: ReadonlySet<string> = new Set([
  'acknowledged',
  'SESSION_CONFLICT',
  'SESSION_STORE_ERROR',
  'TURN_TIMEOUT',
])

/** Looks through what a storm left. */
export function resultOf(remains: StormRemains): StormResult {
  const { turns, unhandled, unserved, stored, troubles, faults, calmSince } = remains
  const verdict = judge(turns, stored)
  const answers = turns.flatMap(({ message, sentAt, answer }) =>
    answer === undefined ? [] : { message, sentAt, ...answer },
  )
  const odd = answers.filter(({ message, outcome }) => !isExpected(message, outcome))
  const settledMs = Math.max(0, ...answers.map(({ at, sentAt }) => at - sentAt))
  const calmMs = Math.max(0, ...answers.map(({ at, sentAt }) => at - Math.max(sentAt, calmSince)))
  const lastFailure = Math.max(calmSince, ...answers.filter(isOutage).map(({ at }) => at))
  const wrong = [
    ...verdict.violations.map(({ kind, text }) => `${kind}: ${text}`),
    ...troubles,
    ...unserved.map((slot) => `${slot} was not served again after the faults`),
    ...unhandled.map((text) => `unhandled: ${text}`),
    ...odd.map(({ message, outcome, reply }) => `${message} was answered with ${outcome}: ${reply}`),
    ...(settledMs > longestTurnMs ? [`a turn took ${settledMs} ms, of ${longestTurnMs} at most`] : []),
  ]
  const figures = {
    acknowledged: verdict.acknowledged,
    conflicts: verdict.conflicts,
    'failed on purpose': verdict.failed,
    'unknown outcomes': verdict.unknown,
    'stored of those': verdict.unknownButStored,
    'lost replies to writes': remains.lostReplies,
    sessions: stored.size,
    'turns cut from a history': verdict.cut,
    'sessions with a cut history': [...stored.values()].filter(({ turns, history }) => history.length < turns).length,
    'sessions with a cut memory': [...stored.values()].filter(isMemoryCut).length,
    'aborted sessions': [...stored.values()].filter(({ runStatus }) => runStatus === 'aborted').length,
    'worker kills': faults['kill-worker'],
    cuts: faults.cut,
    pauses: faults['pause-server'],
    'server kills': faults['kill-server'],
    lost: countOf(verdict, 'lost'),
    doubled: countOf(verdict, 'doubled'),
    'other violations': verdict.violations.length - countOf(verdict, 'lost') - countOf(verdict, 'doubled'),
    unhandled: unhandled.length,
    'ms of the longest turn': Math.round(settledMs),
    'ms of the longest turn after the faults': Math.round(calmMs),
    'ms until the last failure after the faults': Math.round(lastFailure - calmSince),
  }
  const text = Object.entries(figures).map(([name, value]) => `${value} ${name}`)
  return { verdict, wrong, figures: text.join(', ') }
}

function isMemoryCut({ flow }: SessionDocument): boolean {
  return (flow.memory[stepId]?.messages[0]?.turn ?? 1) > 1
}

/** A message whose flow fails on purpose cannot succeed. */
function isExpected(message: string, outcome: string): boolean {
  if (kindOf(message) !== 'failing') return expectedOutcomes.has(outcome)
  return outcome === 'FLOW_ERROR' || (outcome !== 'acknowledged' && expectedOutcomes.has(outcome))
}

function isOutage({ outcome }: { readonly outcome: string }): boolean {
  return outcome === 'SESSION_STORE_ERROR' || outcome === 'TURN_TIMEOUT'
}
