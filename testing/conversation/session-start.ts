/**
 * Builds a stored session in the middle of a conversation from a step, states and messages. The engine continues it
 * with all its checks for stored sessions.
 */
import {
  EndStep,
  type FlowConstructor,
  type JsonObject,
  type Message,
  type SessionDocument,
  type StateOf,
  Step,
  type StepConstructor,
} from '../../src/index.js'
import { copyJson } from '../../src/util/json.js'
import { ExpectationError, list } from '../expectations/expectation-error.js'
import { flowsAround, type ListedFlow, type ListedStep, listedSteps, stepNamed } from '../flow-steps/flow-steps.js'
import { withFrames } from './turns/started-frames.js'

/**
 * A message in the memory of a step: its text, or its parts.
 *
 * @inline
 */
type RememberedMessage = { readonly role: Message['role'] } & (
  | { readonly text: string; readonly parts?: never }
  | { readonly parts: Message['parts']; readonly text?: never }
)

/**
 * States of other steps, by their classes.
 *
 * @inline
 */
export type StatesOf<Others extends readonly StepConstructor[]> = {
  readonly [Index in keyof Others]: readonly [step: Others[Index], state: Partial<StateOf<Others[Index]>>]
}

/**
 * The stored part of earlier turns.
 *
 * @inline
 */
export interface SessionStart<
  Target extends StepConstructor | string = StepConstructor | string,
  Others extends readonly StepConstructor[] = readonly StepConstructor[],
> {
  /** Some of the state of the step; the rest is its `initialState()`. Default: none. */
  readonly state?: Partial<StateOf<Target>>
  /** The same for other steps: `[[AskName, { name: 'Ada Lovelace' }]]`. Default: none. */
  readonly stateOf?: StatesOf<Others>
  /** The turns so far, as the user saw them: messages and replies. Default: none. */
  readonly history?: readonly (readonly [message: string, reply: string])[]
  /**
   * The memory of the step's model; only a model step has one. Default: the texts of `history`, if the step is a model
   * step.
   */
  readonly memory?: readonly RememberedMessage[]
}

/** Where a conversation begins. */
export interface StartPlace {
  readonly step: StepConstructor | string
  /** See `StartedConversationOptions`. */
  readonly callers?: readonly (StepConstructor | string)[] | undefined
  /** Whether the next turn enters the step instead of continuing in it. Then it must be the flow's initial step. */
  readonly enters?: boolean
}

/** The place of the session. */
interface Place extends StartPlace {
  readonly id: string
  readonly owner: string | undefined
  /** When it was stored: ISO 8601, UTC. */
  readonly at: string
}

/**
 * The document of such a session.
 *
 * @param operation - For error messages.
 * @throws `ExpectationError` for a step that the flow does not have, or has more than once, for an end step that is not
 * entered, for a state that is not plain JSON, and for the memory of a step without a model.
 */
export function startedSession(
  operation: string,
  flowClass: FlowConstructor,
  { id, owner, at, step, callers, enters }: Place,
  start: SessionStart,
): SessionDocument {
  const listed = listedSteps(operation, flowClass)
  const find = (named: StepConstructor | string): ListedStep => stepOf(operation, flowClass.id, listed, named)
  const target = find(step)
  if (enters !== true) refuseEnd(operation, target)
  const { state = {}, stateOf = [], history = [], memory } = start
  const steps: SessionDocument['flow']['steps'] = Object.fromEntries(
    [[step, state] as const, ...stateOf].map(([one, given]) => {
      const { id: stepId, stepClass } = find(one)
      const whole = { ...new stepClass().initialState(), ...given } as JsonObject
      return [stepId, { state: plain(`${operation}: the state of step '${stepId}'`, 'state', whole) }]
    }),
  )
  const messages = plain(`${operation}: the memory`, 'memory', memoryOf(memory, history))
  const namespace = namespaceOf(target)
  if (memory !== undefined && namespace === undefined) {
    throw new ExpectationError(
      `${operation}: memory is what the model of the step remembers, and step '${target.id}' calls no model. Leave memory out, or take a model step. What the user saw of earlier turns goes into history.`,
    )
  }
  const flows = flowsAround(target.of)
  const { flow } = flows[0] as ListedFlow
  const waiting = callers ?? flows.slice(0, -1).map(({ first }) => first)
  const document: SessionDocument = {
    id,
    version: 2,
    revision: '1-start',
    ...(owner === undefined ? {} : { owner }),
    runStatus: 'running',
    createdAt: at,
    savedAt: at,
    error: [],
    usage: { inputTokens: 0, outputTokens: 0, modelCalls: 0 },
    turns: history.length,
    bytes: 0,
    flow: {
      name: flowClass.id,
      version: flowClass.version,
      currentStep: enters === true ? null : target.id,
      context: plain(`${operation}: the context of the flow`, 'context', flow.context as JsonObject),
      steps,
      memory: namespace === undefined || messages.length === 0 ? {} : { [namespace]: { messages } },
      sequence: enters === true ? [] : [{ step: target.id, level: waiting.length }],
    },
    history: history.map(([message, reply], index) => {
      return { turn: index + 1, at, message, reply, contentType: 'text/plain', step: target.id }
    }),
  }
  return enters === true ? document : withFrames(document, [...waiting.map(find), target])
}

function refuseEnd(operation: string, { id, stepClass }: ListedStep): void {
  if (!(new stepClass() instanceof EndStep)) return
  const advice = operation === 'runStep' ? 'Leave message out, so that it is entered.' : 'Begin at a step before it.'
  throw new ExpectationError(
    `${operation}: step '${id}' is an end step: it completes the session when it is entered, and takes no message. ${advice}`,
  )
}

function stepOf(
  operation: string,
  flowName: string,
  steps: readonly ListedStep[],
  named: StepConstructor | string,
): ListedStep {
  const found = stepNamed(steps, named)
  if (typeof found === 'string') throw new ExpectationError(`${operation}: ${found}`)
  if (found !== undefined) return found
  const id = typeof named === 'string' ? named : named.id
  throw new ExpectationError(
    `${operation}: flow '${flowName}' has no step '${id}'. Its steps: ${list(steps.map((one) => one.id))}.`,
  )
}

/** The memory namespace of a step; `undefined` if it calls no model. */
function namespaceOf({ id, stepClass }: ListedStep): string | undefined {
  const step = new stepClass()
  return step instanceof Step ? (step.memory ?? id) : undefined
}

function memoryOf(given: SessionStart['memory'], history: NonNullable<SessionStart['history']>): readonly Message[] {
  if (given === undefined) {
    return history.flatMap(([message, reply], index) => [
      textMessage('user', message, index + 1),
      textMessage('assistant', reply, index + 1),
    ])
  }
  return given.map(({ role, text, parts }) =>
    text === undefined ? { role, parts, turn: history.length } : textMessage(role, text, history.length),
  )
}

function textMessage(role: Message['role'], text: string, turn: number): Message {
  return { role, parts: [{ type: 'text', text }], turn }
}

/** A plain JSON copy. @param name - The name of the value in the path of an error. */
function plain<T>(what: string, name: string, value: T): T {
  const refuse = (problem: string) => new ExpectationError(`${what} must be plain JSON, but ${problem}.`)
  return copyJson(value, name, Number.POSITIVE_INFINITY, refuse) as T
}
