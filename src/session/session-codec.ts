/**
 * Checks that the engine can use what a store returned as a document. An error names the malformed field; nothing is
 * changed. The head is checked each time; a list that was checked before is recognised by its identity.
 */
import { SessionFlowInvariantError } from '../errors/session-errors.js'
import { isPlainObject } from '../util/json.js'
import { adoptList, checkedLength, isSharedList } from './lists/shared-lists.js'
import { readableLayoutVersions, type SessionDocument } from './session-document.js'

/**
 * Returns the problem of a value, or `undefined`. The text starts with the path below the value; each level puts its
 * own part in front. So a valid document needs no path strings.
 */
type Check = (value: unknown) => string | undefined

const text: Check = (value) => (typeof value === 'string' ? undefined : ` is ${show(value)} and not a string`)
const name: Check = (value) => (value === '' ? ' is empty' : text(value))
const count: Check = (value) =>
  typeof value === 'number' && value >= 0 ? undefined : ` is ${show(value)} and not a count`
const wholeCount: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? undefined : ` is ${show(value)} and not a whole number`
const object: Check = (value) => (isPlainObject(value) ? undefined : ` is ${show(value)} and not an object`)
const present: Check = (value) => (value === undefined ? ' is missing' : undefined)
const flag: Check = (value) => (value === undefined || value === true ? undefined : ` is ${show(value)} and not true`)

function optional(check: Check): Check {
  return (value) => (value === undefined ? undefined : check(value))
}

function oneOf(...allowed: readonly unknown[]): Check {
  return (value) => (allowed.includes(value) ? undefined : ` is ${quote(value)}`)
}

function fields(checks: Readonly<Record<string, Check>>): Check {
  const entries = Object.entries(checks)
  return (value) => {
    if (!isPlainObject(value)) return object(value)
    for (const [key, check] of entries) {
      const problem = check(value[key])
      if (problem !== undefined) return `.${key}${problem}`
    }
    return undefined
  }
}

function mapOf(check: Check): Check {
  return (value) => {
    if (!isPlainObject(value)) return object(value)
    for (const key of Object.keys(value)) {
      const problem = check(value[key])
      if (problem !== undefined) return `.${key}${problem}`
    }
    return undefined
  }
}

function listOf(check: Check): (value: unknown, from?: number) => string | undefined {
  return (value, from = 0) => {
    if (!Array.isArray(value)) return ` is ${show(value)} and not a list`
    for (let index = from; index < value.length; index++) {
      const problem = check(value[index])
      if (problem !== undefined) return `[${index}]${problem}`
    }
    return undefined
  }
}

/** A list that never changes: it is checked and frozen once, and recognised by its identity after that. */
function sharedListOf(check: Check): Check {
  const checkAll = listOf(check)
  return (value) => {
    if (!Array.isArray(value)) return checkAll(value)
    if (isSharedList(value)) return undefined
    const problem = checkAll(value, checkedLength(value))
    if (problem === undefined) adoptList(value)
    return problem
  }
}

const checkPart: Check = (value) => {
  const type = isPlainObject(value) ? value.type : undefined
  if (type === 'text' || type === 'reasoning') return checkText(value)
  if (type === 'image' || type === 'file') return checkMedia(value)
  return (type === 'tool-call' ? checkToolCall : checkToolResult)(value)
}
const providerData = optional(object)
const checkText = fields({ text, providerData })
const checkToolCall = fields({
  toolCallId: text,
  toolName: text,
  input: present,
  invalidInput: optional(text),
  providerData,
})
const mediaFields = fields({ mediaType: text, data: optional(text), url: optional(text), name: optional(text) })
const checkMedia: Check = (value) => {
  const { data, url, attachment } = value as Record<string, unknown>
  if (attachment !== undefined) return checkReference(value)
  return (
    mediaFields(value) ?? ((data === undefined) === (url === undefined) ? ' must have either data or url' : undefined)
  )
}
const checkToolResult = fields({
  type: oneOf('tool-result'),
  toolCallId: text,
  toolName: text,
  output: present,
  isError: flag,
})

const checkReference = fields({ mediaType: text, name: optional(text), attachment: name })

const checkMessage = fields({
  turn: count,
  role: oneOf('user', 'assistant', 'tool'),
  parts: listOf(checkPart),
  summary: flag,
})

const checkSent = fields({
  type: oneOf('image', 'file'),
  mediaType: text,
  name: optional(text),
  url: optional(text),
  attachment: optional(name),
  size: optional(count),
})

const checkHistoryEntry = fields({
  turn: count,
  id: optional(name),
  at: text,
  message: text,
  reply: text,
  contentType: text,
  step: text,
  encoding: oneOf(undefined, 'base64'),
  parts: optional(listOf(fields({ type: name }))),
  event: optional(fields({ name, by: optional(text), byId: optional(text) })),
  attachments: optional(listOf(checkSent)),
})

const checkFlow = fields({
  name,
  version: count,
  currentStep: (value) => (value === null ? undefined : text(value)),
  contentType: optional(text),
  frames: optional(
    listOf(
      fields({
        step: text,
        entry: name,
        called: optional(name),
        contentType: optional(text),
        timers: optional(listOf(fields({ name, at: text }))),
      }),
    ),
  ),
  wakeAt: optional(text),
  context: object,
  steps: mapOf(
    fields({
      state: object,
      model: optional(fields({ provider: text, name: text })),
      choices: optional(fields({ turn: count, name, options: listOf(fields({ value: name, label: text })) })),
    }),
  ),
  memory: mapOf(fields({ messages: sharedListOf(checkMessage) })),
  sequence: sharedListOf(fields({ step: text, level: count })),
})

const checkDocument = fields({
  revision: name,
  owner: optional(text),
  runStatus: oneOf('running', 'completed', 'aborted'),
  createdAt: text,
  savedAt: text,
  error: listOf(text),
  usage: fields({
    inputTokens: count,
    outputTokens: count,
    modelCalls: count,
    cachedInputTokens: optional(count),
    reasoningTokens: optional(count),
    cost: optional(count),
    wallTimeMs: optional(count),
  }),
  turns: wholeCount,
  bytes: count,
  receipts: optional(
    sharedListOf(fields({ key: name, request: text, turn: optional(count), code: optional(text), event: flag })),
  ),
  effects: optional(mapOf(fields({ begunAt: text, attempts: count, turn: optional(count) }))),
  attachments: optional(sharedListOf(fields({ id: name, turn: count, data: text }))),
  flow: checkFlow,
  history: sharedListOf(checkHistoryEntry),
})

/**
 * Checks `stored`, freezes its lists, and returns it as a document.
 *
 * @throws {@link SessionFlowInvariantError} that names the wrong field, or reports that a newer release stored the
 * document.
 */
export function decodeSession(stored: unknown, sessionId: string): SessionDocument {
  if (isPlainObject(stored)) checkLayout(stored.version, sessionId)
  const problem = problemOf(stored, sessionId)
  if (problem === undefined) return stored as SessionDocument
  throw new SessionFlowInvariantError({ sessionId, problem: problem.replace(/^\./, '') })
}

/** @throws {@link SessionFlowInvariantError} for a layout that this release cannot read. */
function checkLayout(version: unknown, sessionId: string): void {
  if (readableLayoutVersions.includes(version as number)) return
  refuseNewerLayout(version, sessionId)
  throw new SessionFlowInvariantError({ sessionId, problem: layoutProblem(version) })
}

/** The owner in what a store returned. The engine compares it before it reads anything else. */
export function ownerOf(stored: unknown): unknown {
  return (Object(stored) as { owner?: unknown }).owner
}

/** @throws {@link SessionFlowInvariantError} for a layout that only a newer release writes. */
export function refuseNewerLayout(version: unknown, sessionId: string): void {
  if (typeof version !== 'number' || !(version > Math.max(...readableLayoutVersions))) return
  throw new SessionFlowInvariantError({ sessionId, problem: layoutProblem(version), newerLayout: true })
}

function layoutProblem(version: unknown): string {
  return `its layout version is ${quote(version)}, and this release reads ${readableLayoutVersions.join(' and ')}`
}

function problemOf(stored: unknown, sessionId: string): string | undefined {
  if (!isPlainObject(stored)) return `the document${object(stored)}`
  return stored.id === sessionId ? checkDocument(stored) : `its id is ${quote(stored.id)}`
}

/** Describes a value by its kind: it may be the text of a conversation in the wrong field. */
function show(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return 'a string'
  return Array.isArray(value) ? 'a list' : `of type ${typeof value}`
}

/** Quotes a value of a field that allows only a few values. */
function quote(value: unknown): string {
  return typeof value === 'string' ? `'${value.slice(0, 40)}'` : show(value)
}
