/**
 * Builds a stored session in the middle of a conversation from a step, states and messages. The engine continues it
 * with all its checks for stored sessions.
 */
import {
  EndStep,
  type Flow,
  type FlowConstructor,
  type JsonObject,
  LogicStep,
  type Message,
  type SessionDocument,
  type StateOf,
  Step,
  type StepConstructor,
} from '../../src/index.js'
import { copyJson } from '../../src/util/json.js'
import { ExpectationError, list } from '../expectations/expectation-error.js'

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

/** The place of the session. */
interface Place {
  readonly id: string
  readonly owner: string | undefined
  /** When it was stored: ISO 8601, UTC. */
  readonly at: string
  readonly step: StepConstructor | string
  /** Whether the next turn enters the step instead of continuing in it. Then it must be the flow's initial step. */
  readonly enters?: boolean
}

/**
 * The document of such a session.
 *
 * @param operation - For error messages.
 * @throws `ExpectationError` for a step that the flow does not have, for an end step that is not entered, for a state
 * that is not plain JSON, and for the memory of a step without a model.
 */
export function startedSession(
  operation: string,
  flowClass: FlowConstructor,
  { id, owner, at, step, enters }: Place,
  start: SessionStart,
): SessionDocument {
  const flow = new flowClass()
  const target = stepOf(operation, flow, flowClass.id, step)
  if (enters !== true && new target() instanceof EndStep) {
    const advice = operation === 'runStep' ? 'Leave message out, so that it is entered.' : 'Begin at a step before it.'
    throw new ExpectationError(
      `${operation}: step '${target.id}' is an end step: it completes the session when it is entered, and takes no message. ${advice}`,
    )
  }
  const { state = {}, stateOf = [], history = [], memory } = start
  const steps: SessionDocument['flow']['steps'] = Object.fromEntries(
    [[target, state] as const, ...stateOf].map(([one, given]) => {
      const stepClass = stepOf(operation, flow, flowClass.id, one)
      const whole = { ...new stepClass().initialState(), ...given }
      return [stepClass.id, { state: plain(`${operation}: the state of step '${stepClass.id}'`, 'state', whole) }]
    }),
  )
  const messages = plain(`${operation}: the memory`, 'memory', memoryOf(memory, history))
  const namespace = namespaceOf(target)
  if (memory !== undefined && namespace === undefined) {
    throw new ExpectationError(
      `${operation}: memory is what the model of the step remembers, and step '${target.id}' calls no model. Leave memory out, or take a model step. What the user saw of earlier turns goes into history.`,
    )
  }
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
      sequence: enters === true ? [] : [{ step: target.id, level: 0 }],
    },
    history: history.map(([message, reply], index) => {
      return { turn: index + 1, at, message, reply, contentType: 'text/plain', step: target.id }
    }),
  }
  return enters === true ? document : waiting(document, flow, target)
}

/** The same document; if the step takes events, with its frame, and with timers that begin now. */
function waiting(document: SessionDocument, flow: Flow, stepClass: StepConstructor): SessionDocument {
  const { createdAt, turns } = document
  const step = new stepClass()
  const state = document.flow.steps[stepClass.id]?.state ?? {}
  LogicStep.attach(step, { readState: () => state, writeState: () => undefined }, stepClass.id)
  const [ofStep, ofFlow] = [step.events(), flow.events()]
  const timers = [...ofStep, ...ofFlow].flatMap(({ name, after, silence }) => {
    const ms = after ?? silence
    return ms === undefined ? [] : [{ name, at: new Date(Date.parse(createdAt) + ms).toISOString() }]
  })
  if (ofStep.length === 0 && timers.length === 0) return document
  const frame = { step: stepClass.id, entry: `${turns}.0`, ...(timers.length === 0 ? {} : { timers }) }
  return { ...document, version: 3, flow: { ...document.flow, frames: [frame] } }
}

function stepOf(operation: string, flow: Flow, flowName: string, step: StepConstructor | string): StepConstructor {
  const id = typeof step === 'string' ? step : step.id
  const classes = flow.steps()
  const known = classes.find((one) => one.id === id)
  if (known !== undefined) return known
  throw new ExpectationError(
    `${operation}: flow '${flowName}' has no step '${id}'. Its steps: ${list(classes.map((one) => one.id))}.`,
  )
}

/** The memory namespace of a step; `undefined` if it calls no model. */
function namespaceOf(stepClass: StepConstructor): string | undefined {
  const step = new stepClass()
  return step instanceof Step ? (step.memory ?? stepClass.id) : undefined
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
