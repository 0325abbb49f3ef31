/**
 * From whatever a store returned to a document the engine can trust. It says what is malformed and changes nothing.
 * The head is checked each time; lists that were checked before are known by identity.
 */
import { SessionFlowInvariantError } from '../errors/session-errors.js'
import { deepFreeze, isPlainObject } from '../json.js'
import { type SessionDocument, sessionLayoutVersion } from './session-document.js'
import { adoptList, isSharedList } from './shared-lists.js'

type Fields = Record<string, unknown>

/** What is wrong with a document; becomes part of the error's sentence. */
class Malformed extends Error {}

/**
 * Checks `stored` and returns it as a document whose lists are frozen.
 *
 * @throws {@link SessionFlowInvariantError} that says which field is wrong.
 */
export function decodeSession(stored: unknown, sessionId: string): SessionDocument {
  try {
    return decode(stored, sessionId)
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    throw new SessionFlowInvariantError({ sessionId, problem: error.message })
  }
}

function decode(stored: unknown, sessionId: string): SessionDocument {
  const document = object(stored, 'the document')
  if (document.version !== sessionLayoutVersion) {
    throw new Malformed(`its layout version is ${show(document.version)}, and this release reads version ${sessionLayoutVersion}`)
  }
  if (document.id !== sessionId) throw new Malformed(`its id is ${show(document.id)}`)
  if (document.revision === '') throw new Malformed('revision is empty')
  string(document.revision, 'revision')
  if (document.owner !== undefined) string(document.owner, 'owner')
  if (document.runStatus !== 'running' && document.runStatus !== 'completed' && document.runStatus !== 'aborted') {
    throw new Malformed(`runStatus is ${show(document.runStatus)}`)
  }
  string(document.createdAt, 'createdAt')
  string(document.savedAt, 'savedAt')
  for (const text of array(document.error, 'error')) string(text, 'an entry of error')
  const usage = object(document.usage, 'usage')
  count(usage.inputTokens, 'usage.inputTokens')
  count(usage.outputTokens, 'usage.outputTokens')
  count(usage.modelCalls, 'usage.modelCalls')
  count(document.bytes, 'bytes')
  document.flow = decodeFlow(object(document.flow, 'flow'))
  document.history = decodeList(document.history, 'history', checkHistoryEntry)
  return document as unknown as SessionDocument
}

function decodeFlow(flow: Fields): Fields {
  if (flow.name === '') throw new Malformed('flow.name is empty')
  string(flow.name, 'flow.name')
  count(flow.version, 'flow.version')
  if (flow.currentStep !== null) string(flow.currentStep, 'flow.currentStep')
  object(flow.context, 'flow.context')
  const steps = object(flow.steps, 'flow.steps')
  for (const id of Object.keys(steps)) object(object(steps[id], `flow.steps.${id}`).state, `flow.steps.${id}.state`)
  const memory = object(flow.memory, 'flow.memory')
  for (const namespace of Object.keys(memory)) {
    const path = `flow.memory.${namespace}`
    const entry = object(memory[namespace], path)
    entry.messages = decodeList(entry.messages, `${path}.messages`, checkMessage)
  }
  for (const entry of array(flow.sequence, 'flow.sequence')) {
    const { step, level } = object(entry, 'an entry of flow.sequence')
    string(step, 'a step of flow.sequence')
    count(level, 'a level of flow.sequence')
  }
  return flow
}

function decodeList(value: unknown, path: string, check: (entry: Fields, path: string) => void): readonly unknown[] {
  const list = array(value, path)
  if (isSharedList(list)) return list
  list.forEach((entry, index) => {
    check(object(entry, `${path}[${index}]`), `${path}[${index}]`)
  })
  return adoptList(list)
}

function checkHistoryEntry(entry: Fields, path: string): void {
  count(entry.turn, `${path}.turn`)
  for (const key of ['at', 'message', 'reply', 'contentType', 'step']) string(entry[key], `${path}.${key}`)
  if (entry.encoding !== undefined && entry.encoding !== 'base64') throw new Malformed(`${path}.encoding is ${show(entry.encoding)}`)
}

function checkMessage(message: Fields, path: string): void {
  count(message.turn, `${path}.turn`)
  if (message.role !== 'user' && message.role !== 'assistant' && message.role !== 'tool') {
    throw new Malformed(`${path}.role is ${show(message.role)}`)
  }
  array(message.parts, `${path}.parts`).forEach((part, index) => {
    checkPart(object(part, `${path}.parts[${index}]`), `${path}.parts[${index}]`)
  })
}

function checkPart(part: Fields, path: string): void {
  switch (part.type) {
    case 'text':
      return string(part.text, `${path}.text`)
    case 'tool-call':
    case 'tool-result':
      string(part.toolCallId, `${path}.toolCallId`)
      return string(part.toolName, `${path}.toolName`)
    default:
      throw new Malformed(`${path}.type is ${show(part.type)}`)
  }
}

function object(value: unknown, path: string): Fields {
  if (!isPlainObject(value)) throw new Malformed(`${path} is ${show(value)} and not an object`)
  return value
}

function array(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Malformed(`${path} is ${show(value)} and not a list`)
  return value
}

function string(value: unknown, path: string): void {
  if (typeof value !== 'string') throw new Malformed(`${path} is ${show(value)} and not a string`)
}

function count(value: unknown, path: string): void {
  if (typeof value !== 'number' || !(value >= 0)) throw new Malformed(`${path} is ${show(value)} and not a count`)
}

/** A value in few words: never the text of a conversation. */
function show(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return `'${value.slice(0, 40)}'`
  return Array.isArray(value) ? 'a list' : `of type ${typeof value}`
}

/** A copy of a document whose head is the caller's to change. The lists are frozen and stay shared. */
export function copySession(document: SessionDocument): SessionDocument {
  const { history, flow, ...head } = document
  const { memory, ...flowHead } = flow
  const copy = JSON.parse(JSON.stringify({ ...head, flow: flowHead }))
  copy.history = history
  copy.flow.memory = Object.fromEntries(Object.entries(memory).map(([namespace, entry]) => [namespace, { ...entry }]))
  return copy
}

/** Freezes a document down to its last value, and returns it. */
export function freezeSession(document: SessionDocument): SessionDocument {
  const { history, flow, ...head } = document
  const { memory, ...flowHead } = flow
  // The lists are frozen already, and long.
  deepFreeze(head)
  deepFreeze(flowHead)
  for (const entry of Object.values(memory)) Object.freeze(entry)
  Object.freeze(memory)
  Object.freeze(flow)
  return Object.freeze(document)
}
