/** Checks the session after a turn: its step, the state of a step, its end. */
import { End, type FlowConstructor, type SessionDocument, type StepConstructor } from '../../../src/index.js'
import { differences, list, show } from '../../expectations/expectation-error.js'
import { isObject, isStep, shownStep } from '../../expectations/value-kinds.js'
import { listedSteps, stepIdIn } from '../../flow-steps/flow-steps.js'
import type { ConversationTurn } from '../turns/conversation-turn.js'
import { failureInstead, type Problem, unreadProblem } from './problem.js'

/**
 * A partial value: objects may leave properties out at every depth, and use `undefined` for a property that must be
 * missing; lists are complete; a text may be a RegExp.
 */
export type PartOf<T> = T extends string
  ? T | RegExp
  : T extends readonly (infer Entry)[]
    ? readonly PartOf<Entry>[]
    : T extends object
      ? { readonly [Key in keyof T]?: PartOf<T[Key]> | undefined }
      : T

/** Checks the current step. */
export function stepProblem(
  document: SessionDocument | undefined,
  flow: FlowConstructor,
  expected: StepConstructor | string,
): Problem | undefined {
  if (!isStep(expected)) {
    return { text: `expectStep needs a step of the flow, or its ID; got ${shownStep(expected)}.` }
  }
  const id = stepIdIn('expectStep', flow, expected)
  const actual = document?.flow.currentStep ?? undefined
  if (actual === id) return undefined
  const steps = new Set([...listedSteps('expectStep', flow).map((step) => step.id), End.id])
  const unknown = steps.has(id) ? '' : `\n  The flow has no step '${id}'; its steps: ${list(steps)}.`
  const nowhere = document === undefined ? 'nothing is stored yet' : 'no step was entered yet'
  const at = actual === undefined ? nowhere : `it is at '${actual}'`
  return { text: `Expected the conversation to be at step '${id}', but ${at}.${unknown}`, expected: id, actual }
}

/**
 * Checks part of a step's state.
 *
 * @param doubles - The tools that were replaced by doubles. Their writes to the state are missing.
 */
export function stateProblem(
  document: SessionDocument | undefined,
  flow: FlowConstructor,
  step: StepConstructor | string,
  expected: unknown,
  doubles: readonly string[] = [],
): Problem | undefined {
  if (!isStep(step)) return { text: `expectState needs a step of the flow, or its ID; got ${shownStep(step)}.` }
  if (!isObject(expected)) {
    return { text: `expectState needs some properties of the state, as an object; got ${show(expected)}.` }
  }
  const steps = document?.flow.steps ?? {}
  const id = stepIdIn('expectState', flow, step)
  const state = Object.hasOwn(steps, id) ? steps[id]?.state : undefined
  if (state === undefined) {
    return {
      text: `Expected state of step '${id}', but none is stored. Steps with state: ${list(Object.keys(steps))}.${doublesText(doubles)}`,
    }
  }
  if (Object.keys(expected).length === 0) {
    const advice = 'name a property of the state; undefined expects that it is missing.'
    return {
      text: `expectState would check nothing, because {} has no properties: ${advice}\n  the whole state: ${show(state, 1000)}`,
    }
  }
  const differing = differences(expected, state)
  if (differing.length === 0) return undefined
  return {
    text: `The state of step '${id}' is not what was expected:\n${differing.map((line) => `  ${line}`).join('\n')}\n  the whole state: ${show(state, 1000)}${doublesText(doubles)}`,
    expected,
    actual: state,
  }
}

function doublesText(doubles: readonly string[]): string {
  if (doubles.length === 0) return ''
  return `\nDoubles answered for these tools: ${list(doubles)}. A double does not write the state that its tool would write, unless it is a function that does so: (args, turn) => { turn.stateOf(Step).name = ... }`
}

/** Checks that the conversation is completed. */
export function completedProblem(turn: ConversationTurn): Problem | undefined {
  const failure = failureInstead(turn, 'the conversation to be completed')
  if (failure !== undefined) return failure
  const { document, unread, reply } = turn
  if (reply.completed && document?.runStatus === 'completed') return undefined
  if (reply.completed && unread !== undefined) return unreadProblem(turn)
  const stored = document === undefined ? 'nothing is stored' : `the session is stored as '${document.runStatus}'`
  const at = document?.flow.currentStep
  return {
    text: `Expected the conversation to be completed. The reply said completed: ${reply.completed}, and ${stored}${at ? ` at step '${at}'` : ''}.`,
  }
}
