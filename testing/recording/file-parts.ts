/**
 * Whether a session document or a recording has what a replay reads: half of one must not fail in the middle of the
 * replay.
 */
import type { SessionDocument, StoredMessage } from '../../src/index.js'
import { ExpectationError, list } from '../expectations/expectation-error.js'
import type { RecordedTurn, Recording } from './recorded-turn.js'

/** What each part must be. A `time` is a text, and an `object` is not a list. */
type Parts = Readonly<Record<string, 'string' | 'number' | 'boolean' | 'object' | 'list' | 'time'>>

const partsOfRecording: Parts = {
  flow: 'string',
  sessionId: 'string',
  startedAt: 'time',
  completed: 'boolean',
  states: 'object',
  context: 'object',
}
const partsOfTurn: Parts = {
  number: 'number',
  at: 'time',
  said: 'string',
  reply: 'string',
  step: 'string',
  replies: 'object',
  toolCalls: 'list',
  messages: 'object',
}
const partsOfToolCall: Parts = { namespace: 'string', name: 'string' }
const partsOfDocument: Parts = {
  id: 'string',
  createdAt: 'time',
  runStatus: 'string',
  error: 'list',
  usage: 'object',
  flow: 'object',
}
const partsOfFlow: Parts = { name: 'string', steps: 'object', memory: 'object', context: 'object' }
const partsOfEntry: Parts = { turn: 'number', at: 'time', message: 'string', reply: 'string', step: 'string' }
const partsOfMessage: Parts = { role: 'string', parts: 'list' }
const partsOfPart: Parts = { type: 'string' }

/**
 * The recording, if it is whole.
 *
 * @param what - The recording in a message, as the subject of a sentence.
 * @throws `ExpectationError` that lists what is missing.
 */
export function wholeRecording(what: string, recording: Partial<Recording> | null | undefined): Recording {
  refusePromise(what, recording)
  if (Array.isArray((recording as Partial<SessionDocument> | null | undefined)?.history)) {
    throw new ExpectationError(`${what} is a session document, and not a recording of one: pass recordingOf(document).`)
  }
  const turns: readonly unknown[] = Array.isArray(recording?.turns) ? recording.turns : []
  refuseMissing(what, 'recordingOf(document) returns a whole one.', [
    ...missingParts(recording, partsOfRecording),
    ...(turns.length === 0 ? ['a turn'] : turns.flatMap(missingOfTurn)),
  ])
  return recording as Recording
}

/** What is missing in a turn; `index` is its place. */
function missingOfTurn(turn: unknown, index: number): string[] {
  const path = `turns[${index}]`
  const missing = missingParts(turn, partsOfTurn, `${path}.`)
  if (missing.length > 0) return missing
  const { number, event, replies, toolCalls, messages } = turn as RecordedTurn
  return [
    ...(event === undefined ? [] : missingParts(event, { name: 'string' }, `${path}.event.`)),
    ...(number === index + 1 ? [] : [`${path}.number`]),
    ...inEach(toolCalls, `${path}.toolCalls`, (call, at) => missingParts(call, partsOfToolCall, `${at}.`)),
    ...Object.entries(replies).flatMap(([namespace, list]) =>
      inEach(list, `${path}.replies.${namespace}`, missingOfContent),
    ),
    ...Object.entries(messages).flatMap(([namespace, list]) =>
      inEach(list, `${path}.messages.${namespace}`, missingOfMessage),
    ),
  ]
}

/**
 * The session document, if what a recording is made of is there.
 *
 * @param what - The document in a message, as the subject of a sentence.
 * @throws `ExpectationError` that lists what is missing.
 */
export function wholeDocument(what: string, document: Partial<SessionDocument> | null): SessionDocument {
  refusePromise(what, document)
  const advice = 'engine.getSession(sessionId) returns a whole one.'
  const missing = missingParts(document, partsOfDocument)
  const ofFlow = missing.includes('flow') ? [] : missingParts(document?.flow, partsOfFlow, 'flow.')
  refuseMissing(what, advice, [...missing, ...ofFlow])
  const { history, usage, flow } = document as SessionDocument
  refuseMissing(what, advice, [
    ...inEach(history, 'history', (entry, at) => missingParts(entry, partsOfEntry, `${at}.`)),
    ...missingParts(usage, { modelCalls: 'number' }, 'usage.'),
    ...Object.entries(flow.steps).flatMap(([id, step]) => missingParts(step, { state: 'object' }, `flow.steps.${id}.`)),
    ...Object.entries(flow.memory).flatMap(([namespace, memory]) =>
      inEach(memory?.messages, `flow.memory.${namespace}.messages`, missingOfMessage),
    ),
  ])
  return document as SessionDocument
}

function missingOfMessage(message: unknown, path: string): string[] {
  const missing = missingParts(message, partsOfMessage, `${path}.`)
  return missing.length > 0 ? missing : missingOfContent((message as StoredMessage).parts, `${path}.parts`)
}

/** What is missing in the parts of a message. */
function missingOfContent(parts: unknown, path: string): string[] {
  return inEach(parts, path, (part, at) => missingParts(part, partsOfPart, `${at}.`))
}

/** What is missing in each value of a list; the list itself if it is not one. */
function inEach(list: unknown, path: string, missingIn: (value: unknown, path: string) => string[]): string[] {
  return Array.isArray(list) ? list.flatMap((value, index) => missingIn(value, `${path}[${index}]`)) : [path]
}

function refusePromise(what: string, value: unknown): void {
  if (value instanceof Promise) throw new ExpectationError(`${what} is a promise: await it first.`)
}

function refuseMissing(what: string, advice: string, missing: readonly string[]): void {
  if (missing.length === 0) return
  throw new ExpectationError(`${what} is not whole. Missing, or of another type: ${list(missing)}.\n${advice}`)
}

function missingParts(value: unknown, parts: Parts, path = ''): string[] {
  const given = (typeof value === 'object' ? value : undefined) ?? {}
  return Object.entries(parts).flatMap(([name, kind]) => {
    const part = (given as Readonly<Record<string, unknown>>)[name]
    const isThere =
      kind === 'time'
        ? typeof part === 'string' && !Number.isNaN(Date.parse(part))
        : kind === 'list'
          ? Array.isArray(part)
          : typeof part === kind && part !== null && !Array.isArray(part)
    return isThere ? [] : [`${path}${name}`]
  })
}
