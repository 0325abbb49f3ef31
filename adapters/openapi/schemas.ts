/** The JSON of requests, replies and stream events, as JSON Schemas (2020-12, which OpenAPI 3.1 has). */
import type { FlowStreamEvent, JsonObject } from '../../src/index.js'
import { restartReasons, sessionStates } from '../fetch/reply/outcome.js'

type EventType = FlowStreamEvent['type']
type ResetReason = Extract<FlowStreamEvent, { type: 'reset' }>['reason']

export const text: JsonObject = { type: 'string' }
const flag: JsonObject = { type: 'boolean' }

export function schemaOf(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

/** A text that is one of these. */
export function oneOf(values: readonly string[]): JsonObject {
  return { type: 'string', enum: values }
}

/** An object. A name with a question mark at its end may be absent. */
function object(properties: JsonObject, description?: string): JsonObject {
  const names = Object.entries(properties)
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    required: names.map(([name]) => name).filter((name) => !name.endsWith('?')),
    properties: Object.fromEntries(names.map(([name, schema]) => [name.replace('?', ''), schema])),
  }
}

const describe = (description: string, schema: JsonObject = text): JsonObject => ({ ...schema, description })

const reply: JsonObject = {
  message: describe('The text for the user.'),
  session: describe('The session ID.'),
  contentType: describe('The content type of `message`.'),
}
const failure: JsonObject = {
  success: { const: false },
  message: describe('What went wrong.'),
  session: describe('The session ID; empty if there is no session.'),
}
const state = schemaOf('SessionState')
const replayed = describe('The reply is replayed from an earlier request with the same key.', { const: true })
const restarted = describe('Why a new session was started.', oneOf(restartReasons))
const encoding = describe('The text is bytes in base64.', { const: 'base64' })
const origin: JsonObject = { 'replayed?': replayed, 'restarted?': restarted }
const resetReasons: Readonly<Record<ResetReason, true>> = {
  ...{ retry: true, fallback: true, tools: true, repair: true, step: true, reply: true, error: true, resume: true },
}

const parts: JsonObject = { type: 'array', items: schemaOf('Part') }
const options: JsonObject = { type: 'array', items: object({ value: text, label: text }) }
const rows: JsonObject = { type: 'array', items: { type: 'array', items: text, minItems: 2, maxItems: 2 } }

function part(type: string, fields: JsonObject): JsonObject {
  return object({ type: { const: type }, ...fields })
}

const schemas: JsonObject = {
  RunRequest: object({
    flowName: describe('A registered flow.', { type: 'string', minLength: 1 }),
    'message?': describe('What the user says; empty by default.'),
    'event?': describe(
      'What the user does in place of a message. It needs a session, and never begins one.',
      schemaOf('EventRequest'),
    ),
    'choice?': describe(
      'The option of a `choices` part that the user chose. `message` is its label.',
      schemaOf('Choice'),
    ),
    'config?': describe("Stored in the flow's context on the session's first turn.", { type: 'object' }),
    'attachments?': { type: 'array', items: schemaOf('Attachment') },
  }),
  EventRequest: object({ name: text, 'payload?': describe('Any JSON that the event accepts.', {}) }),
  Choice: object({
    turn: describe('The `turn` of the part.', { type: 'integer' }),
    name: describe('The `name` of the part.'),
    value: describe('The `value` of the option.'),
  }),
  Attachment: object(
    {
      type: oneOf(['image', 'file']),
      mediaType: describe('For example `image/png`; the service decides which it takes.'),
      'data?': describe('The bytes in base64.'),
      'url?': describe('An https address in place of `data`, if the service takes it.'),
      'name?': describe('The name of a file.'),
    },
    'An image or a file, with either `data` or `url`.',
  ),
  Envelope: object({
    ...{ success: { const: true }, completed: describe('Whether the session has ended.', flag), ...reply },
    'parts?': describe('Only with `envelope=1`.', parts),
  }),
  Part: {
    description: 'What a reply carries beside its text.',
    oneOf: [
      part('choices', { turn: describe('For `choice`.', { type: 'integer' }), name: text, options }),
      part('card', { title: text, rows }),
      part('form', {
        name: describe("The user's event that sends it."),
        schema: { type: 'object' },
        'values?': { type: 'object' },
        'errors?': { type: 'object', additionalProperties: text },
      }),
      part('file', { name: text, mediaType: text, url: { type: 'string', format: 'uri' } }),
      part('custom', { name: text, data: describe('Any JSON.', {}) }),
    ],
  },
  Failure: object({
    ...failure,
    completed: describe('Always true; it does not describe the session.', { const: true }),
    contentType: { const: 'text/plain' },
  }),
  ShortFailure: object(
    { ...failure, 'completed?': { const: true }, 'contentType?': { const: 'text/plain' } },
    'A `Failure`, which has only these fields if the request was handled.',
  ),
  SessionState: describe(
    'The state of the session. Keep its ID if `running` or `unknown`; otherwise drop it.',
    oneOf(sessionStates),
  ),
  Ended: object({ success: { const: true }, session: text }),
  Cancelled: object({
    success: { const: true },
    session: text,
    cancelled: describe('Whether a turn was cancelled.', flag),
  }),
  Conversation: object({
    success: { const: true },
    session: text,
    sessionState: state,
    turns: { type: 'array', items: schemaOf('ConversationTurn') },
    'complete?': describe('Only with `after`, if there is such a session: whether no turn between is missing.', flag),
  }),
  ConversationTurn: object({
    turn: describe('Counted from 1.', { type: 'integer' }),
    at: { type: 'string', format: 'date-time' },
    message: describe('The message of the user.'),
    reply: describe('Empty if an event was taken in silence.'),
    'event?': schemaOf('EventTaken'),
    contentType: describe('The content type of `reply`.'),
    'encoding?': encoding,
    'parts?': parts,
    'attachments?': { type: 'array', items: schemaOf('SentAttachment') },
  }),
  EventTaken: object(
    { name: text, 'by?': describe('Who sent it.'), 'payload?': describe('If it is small.', {}) },
    'The event that the turn took in place of a message.',
  ),
  SentAttachment: object({
    type: oneOf(['image', 'file']),
    mediaType: text,
    'name?': text,
    'url?': text,
    'size?': describe('Bytes. Absent with `url`.', { type: 'integer' }),
    'data?': describe('The bytes in base64. Absent with `url`, and if they are no longer kept.'),
  }),
  TicketRequest: object({ ticket: text, 'payload?': describe('Any JSON that the event accepts.', {}) }),
  Taken: object({ success: { const: true }, taken: { const: true } }),
  NotTaken: {
    description: 'A `Failure` if the request itself was refused.',
    anyOf: [object({ success: { const: false }, taken: { const: false } }), schemaOf('Failure')],
  },
  Health: object({ live: { const: true }, 'ready?': describe('Absent with `check=live`.', flag) }),
}

/** The data of each stream event. */
const events: Readonly<Record<EventType, JsonObject>> = {
  session: object({ session: text, ...origin }, 'The session is open.'),
  step: object({ step: text }, 'A step was entered.'),
  'text-delta': object({ text }, 'The next piece of the reply.'),
  'tool-start': object({ tool: text, toolCallId: text }, 'A tool is called.'),
  'tool-end': object({ tool: text, toolCallId: text, success: flag }, 'The tool returned or failed.'),
  reset: object({ reason: oneOf(Object.keys(resetReasons)) }, 'The text so far does not count: discard it.'),
  result: object(
    {
      ...{ success: { const: true }, completed: flag, ...reply, sessionState: state },
      ...{ 'encoding?': encoding, 'parts?': parts, ...origin },
    },
    'The turn is committed: the last event.',
  ),
  error: object(
    {
      ...{ ...failure, completed: { const: true }, contentType: { const: 'text/plain' }, sessionState: state },
      ...{ code: schemaOf('ErrorCode'), ...origin },
    },
    'The turn failed: the last event.',
  ),
}
const detailEvents: readonly EventType[] = ['step', 'tool-start', 'tool-end']

/** The schemas of a document. `streams` adds the stream events; `details` also those that name steps and tools. */
export function createSchemas(codes: readonly string[], streams: boolean, details: boolean): JsonObject {
  const sent = Object.entries(streams ? events : {}).filter(
    ([type]) => details || !detailEvents.includes(type as EventType),
  )
  return {
    ...schemas,
    ErrorCode: oneOf(codes),
    ...(sent.length === 0 ? {} : { StreamEvent: streamEvent(sent.map(([type]) => type)) }),
    ...Object.fromEntries(sent.map(([type, schema]) => [eventName(type), schema])),
  }
}

/** `TextDeltaEvent` for `text-delta`. */
function eventName(type: string): string {
  return `${type.replace(/(?:^|-)[a-z]/g, (letter) => letter.replace('-', '').toUpperCase())}Event`
}

function streamEvent(types: readonly string[]): JsonObject {
  return {
    description: 'A server-sent event. On the wire `data` is JSON on one line.',
    oneOf: types.map((type) => object({ event: { const: type }, id: text, data: schemaOf(eventName(type)) })),
  }
}
