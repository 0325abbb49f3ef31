/**
 * Checks the options of a conversation at once. A misspelt name would do nothing, or fail as an engine option at the
 * first message, and a wrong value would fail far from the line that passed it.
 */
import { checkMethods, checkNumber, checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import { show } from '../expectations/expectation-error.js'
import { isListOf, isObject, isStep, isStepClass, isText, shownStep } from '../expectations/value-kinds.js'
import type { ConversationOptions, EventInput, FillInput, SayInput } from './conversation-options.js'
import type { SessionStart } from './session-start.js'

const names: OptionNames<ConversationOptions> = {
  script: true,
  tools: true,
  config: true,
  owner: true,
  judge: true,
  createStore: true,
  clock: true,
  onEngine: true,
  coverage: true,
  hangAfterMs: true,
  configManager: true,
  models: true,
  providers: true,
  limits: true,
  modelRetry: true,
  circuitBreaker: true,
  budgets: true,
  services: true,
  unknownSession: true,
  onTurnError: true,
  errorText: true,
  mask: true,
  outdated: true,
  busy: true,
  schedule: true,
  random: true,
  generateId: true,
  logger: true,
  onListenerError: true,
}

/** The options that describe where a session begins. */
export const startNames: OptionNames<SessionStart> = { state: true, stateOf: true, history: true, memory: true }

const fillNames: OptionNames<FillInput> = {
  config: true,
  owner: true,
  serverContext: true,
  requestId: true,
  signal: true,
  hideFlow: true,
  waitUntil: true,
  whenEnded: true,
}

const messageNames: OptionNames<Omit<SayInput, 'fault'>> = {
  key: true,
  sessionId: true,
  attachments: true,
  ...fillNames,
  event: true,
  choice: true,
}

const eventNames: OptionNames<EventInput> = {
  by: true,
  byId: true,
  key: true,
  about: true,
  only: true,
  sessionId: true,
  flowName: true,
  owner: true,
  requestId: true,
  signal: true,
}

/** Checks the options of several messages to a form in the same way. */
export function checkFill(input: object): void {
  checkOptionNames('fill', input, fillNames)
}

/** Checks the options of an event in the same way. */
export function checkEventOptions(input: object): void {
  checkOptionNames('sendEvent', input, eventNames)
}

/**
 * Checks the options of a message. The engine would only report an unknown one as a failed turn.
 *
 * @param more - The names of the caller's other options.
 * @throws `InvalidInputError` that names the first option that is unknown.
 */
export function checkMessage(caller: string, input: object, more: object = {}): void {
  checkOptionNames(caller, input, { ...more, ...messageNames })
}

/**
 * @param caller - The called function.
 * @param more - The names of its other options. Default: it has none.
 * @param without - The names of the conversation options that it does not have. Default: it has all.
 * @throws `InvalidInputError` that names the first unknown or wrong option.
 */
export function checkConversationOptions(
  caller: string,
  options: ConversationOptions,
  more: object = {},
  without: readonly string[] = [],
): void {
  const known = Object.entries({ ...more, ...names }).filter(([name]) => !without.includes(name))
  checkOptionNames(caller, options, Object.fromEntries(known))
  if (options.hangAfterMs !== undefined) checkNumber(caller, 'hangAfterMs', options.hangAfterMs)
  checkMethods(caller, 'judge', options.judge, ['problemOf'])
  if (options.judge?.hangAfterMs !== undefined) checkNumber(caller, 'judge.hangAfterMs', options.judge.hangAfterMs)
  checkMethods(caller, 'coverage', options.coverage, ['watch', 'addTurn'])
}

/** @throws `InvalidInputError` unless the value is the class of a step. */
export function checkStep(caller: string, step: unknown): void {
  if (!isStepClass(step)) throw invalidInput(`${caller}: the step must be a class of a step; got ${shownStep(step)}.`)
}

/**
 * Checks where a session begins. Making the session checks that the flow has the steps.
 *
 * @throws `InvalidInputError` that names the first option that is wrong.
 */
export function checkStart(caller: string, start: SessionStart): void {
  const { state = {}, stateOf = [], history = [], memory = [] } = start
  const must = (isRight: boolean, name: string, what: string, got: unknown): void => {
    if (!isRight) throw invalidInput(`${caller}: ${name} must be ${what}; got ${show(got)}.`)
  }
  must(isObject(state), 'state', 'an object', state)
  const states = 'a list of pairs, a step and some of its state: [[AskName, { name: "Ada" }]]'
  must(isListOf(stateOf, isPair(isStep, isObject)), 'stateOf', states, stateOf)
  const turns = 'a list of pairs, a message and its reply: [["Hello", "Your name?"]]'
  must(isListOf(history, isPair(isText, isText)), 'history', turns, history)
  const messages = 'a list of messages, each with a role (user, assistant, tool) and a text, or parts'
  must(isListOf(memory, isMessage), 'memory', messages, memory)
}

/** @throws `InvalidInputError` unless the value is the class of a step or an ID. */
export function checkStepOrId(caller: string, step: unknown): void {
  if (isStep(step)) return
  throw invalidInput(`${caller}: step must be a step of the flow, or its ID; got ${shownStep(step)}.`)
}

/** @throws `InvalidInputError` unless the value is a list of steps or IDs, or `undefined`. */
export function checkCallers(caller: string, callers: unknown): void {
  if (callers === undefined || isListOf(callers, isStep)) return
  throw invalidInput(`${caller}: callers must be a list of steps of the flow, or their IDs; got ${show(callers)}.`)
}

function isPair(isFirst: (value: unknown) => boolean, isSecond: (value: unknown) => boolean) {
  return (value: unknown): boolean =>
    Array.isArray(value) && value.length === 2 && isFirst(value[0]) && isSecond(value[1])
}

function isMessage(value: unknown): boolean {
  if (!isObject(value)) return false
  const { role, text, parts } = value as Readonly<Record<string, unknown>>
  return ['user', 'assistant', 'tool'].includes(role as string) && (isText(text) || Array.isArray(parts))
}
