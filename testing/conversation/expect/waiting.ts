/** Checks what a session waits for: its events, and its timers. */
import type { FlowEvent, SessionDocument } from '../../../src/index.js'
import { list, show } from '../../expectations/expectation-error.js'
import { isListOf, isObject, isText } from '../../expectations/value-kinds.js'
import { eventsOf, timersOf } from '../turns/timers.js'
import type { Problem } from './problem.js'

/**
 * Checks the events that a session takes.
 *
 * @param declared - By the ID of the step or the flow that takes them.
 */
export function eventsProblem(
  document: SessionDocument | undefined,
  flowName: string,
  declared: ReadonlyMap<string, readonly FlowEvent[]>,
  expected: readonly string[],
): Problem | undefined {
  if (!isListOf(expected, isText)) return { text: `expectEvents needs a list of names; got ${show(expected)}.` }
  const actual = [...new Set(eventsOf(document, flowName, declared).map(({ name }) => name))]
  if (isSame(expected, actual)) return undefined
  const step = document?.runStatus === 'running' ? document.flow.currentStep : undefined
  const at = step === undefined || step === null ? 'The session does not go on' : `At step '${step}'`
  return { text: `Expected the events ${list(expected)}\n  but: ${list(actual)}. ${at}.`, expected, actual }
}

function isSame(names: readonly string[], others: readonly string[]): boolean {
  return [...names].sort().join('\n') === [...others].sort().join('\n')
}

/** Checks the timers of a session, in milliseconds from now. */
export function timersProblem(
  document: SessionDocument | undefined,
  now: number,
  expected: Readonly<Record<string, number>>,
): Problem | undefined {
  if (!isObject(expected) || !Object.values(expected).every((ms) => typeof ms === 'number')) {
    return { text: `expectTimers needs milliseconds by the names of events; got ${show(expected)}.` }
  }
  const timers = timersOf(document)
  const isAlone = (name: string): boolean => timers.filter((one) => one.name === name).length === 1
  const actual = Object.fromEntries(
    timers.map(({ name, step, at }) => [isAlone(name) ? name : `${step}.${name}`, at - now]),
  )
  const textsOf = (timers: Readonly<Record<string, number>>): string[] =>
    Object.entries(timers).map(([name, ms]) => `${name} in ${ms} ms`)
  const [wanted, found] = [textsOf(expected), textsOf(actual)]
  if (isSame(wanted, found)) return undefined
  return { text: `Expected the timers ${list(wanted)}\n  but: ${list(found)}.`, expected, actual }
}
