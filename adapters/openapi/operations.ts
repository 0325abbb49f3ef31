/** The input and output of each route: parameters, bodies, and the codes and statuses of its failures. */
import { errorFacts } from '../../src/errors/error-facts.js'
import type { FlowErrorCode, JsonObject } from '../../src/index.js'
import {
  codeHeader,
  completedHeader,
  dashedSessionHeader,
  encodingHeader,
  keyHeader,
  lastEventHeader,
  replayedHeader,
  replyHeader,
  requestIdHeader,
  restartedHeader,
  sessionHeader,
  stateHeader,
} from '../fetch/core/header-names.js'
import type { FlowRoutesOptions } from '../fetch/options.js'
import { codeOfRefusal, fullQueueStatus, isPassing, type StatusMode, statusOfRefusal } from '../fetch/reply/statuses.js'
import type { Route } from '../fetch/routes/served-routes.js'
import { commonNames, type HeaderList, parameterOf, preflightNames } from './headers.js'
import { oneOf, schemaOf, text } from './schemas.js'

/** The part of a route's input and output that routes do not share. */
interface Operation {
  readonly id: string
  readonly summary: string
  readonly description?: string
  /** Headers and parameters of the query. */
  readonly parameters?: readonly string[]
  readonly takes?: JsonObject
  /** The body of a success. */
  readonly answers: JsonObject
  readonly replyHeaders?: readonly string[]
  /** The engine's error codes. */
  readonly codes?: readonly FlowErrorCode[]
  /** The precise statuses of the adapter's refusals, apart from those of every route. */
  readonly refusals?: readonly number[]
  /** The body of a failure. */
  readonly failure?: 'Failure' | 'ShortFailure' | 'NotTaken'
}

const sessionNames = [sessionHeader, dashedSessionHeader]
const turnHeaders = [...sessionNames, replyHeader, completedHeader, stateHeader, restartedHeader, replayedHeader]
const json = 'application/json'
/** The refusals of a request that has a body. */
const bodyRefusals = [400, 408, 413, 415, 422]

const operations: Readonly<Record<Route, Operation>> = {
  run: {
    id: 'runTurn',
    summary: 'Run a turn',
    description:
      'With `Accept: text/event-stream` the reply is a stream of events. A reply with another content type is sent raw.',
    parameters: [...sessionNames, keyHeader, 'envelope'],
    takes: schemaOf('RunRequest'),
    answers: schemaOf('Envelope'),
    replyHeaders: turnHeaders,
    codes: Object.keys(errorFacts) as FlowErrorCode[],
    refusals: bodyRefusals,
  },
  flows: {
    id: 'listFlows',
    summary: 'List the flows that the caller may run',
    answers: { type: 'array', items: text },
  },
  end: {
    id: 'endSession',
    summary: 'Delete a session',
    parameters: sessionNames,
    answers: schemaOf('Ended'),
    codes: ['SESSION_CONFLICT', 'SESSION_FLOW_INVARIANT', 'SESSION_STORE_ERROR', 'ENGINE_CLOSED', 'TURN_TIMEOUT'],
    refusals: bodyRefusals,
    failure: 'ShortFailure',
  },
  cancel: {
    id: 'cancelTurn',
    summary: 'Cancel the turn under way',
    parameters: sessionNames,
    answers: schemaOf('Cancelled'),
    refusals: bodyRefusals,
  },
  session: {
    id: 'readSession',
    summary: 'Read a conversation',
    parameters: [...sessionNames, 'after'],
    answers: schemaOf('Conversation'),
    replyHeaders: [stateHeader],
    codes: ['SESSION_FLOW_INVARIANT', 'SESSION_STORE_ERROR'],
    refusals: [400],
    failure: 'ShortFailure',
  },
  ticket: {
    id: 'takeTicket',
    summary: 'Send the event of a ticket',
    description: '409: the ticket is of no use any more. 503: send it again.',
    takes: schemaOf('TicketRequest'),
    answers: schemaOf('Taken'),
    codes: Object.keys(errorFacts) as FlowErrorCode[],
    refusals: bodyRefusals,
    failure: 'NotTaken',
  },
  health: {
    id: 'checkHealth',
    summary: 'Answer a probe',
    parameters: ['check'],
    answers: schemaOf('Health'),
    refusals: [400],
  },
  'openapi.json': { id: 'readDocument', summary: 'Read this document', answers: { type: 'object' } },
}

/** All codes of failures. */
export const failureCodes: readonly string[] = [
  ...new Set([...Object.keys(errorFacts), ...[404, 405, 500].map(codeOfRefusal)]),
]

/** The operation of a route for one of its methods. */
export function createOperation(
  route: Route,
  method: string,
  options: FlowRoutesOptions,
  headers: HeaderList,
): JsonObject {
  const { id, summary, description, parameters = [], takes } = operations[route]
  const streams = route === 'run' && options.stream !== false
  const names = [...parameters, ...(streams ? [lastEventHeader] : []), requestIdHeader]
  return {
    operationId: method === 'HEAD' ? `${id}Head` : id,
    summary,
    ...(description === undefined ? {} : { description }),
    parameters: names.map(parameterOf),
    ...(takes === undefined ? {} : { requestBody: { required: true, content: contentOf(takes) } }),
    responses: createResponses(route, method, options, headers),
  }
}

/** The operation of a preflight, if pages of other origins may call. */
export function createPreflight(route: Route, options: FlowRoutesOptions, headers: HeaderList): JsonObject {
  const names = commonNames(options.cors).filter((name) => name !== 'Access-Control-Expose-Headers')
  return {
    operationId: `${operations[route].id}Preflight`,
    summary: 'Answer a browser that asks before it calls',
    responses: { 204: { description: 'What pages may do.', headers: headers.of([...names, ...preflightNames]) } },
  }
}

function createResponses(route: Route, method: string, options: FlowRoutesOptions, headers: HeaderList): JsonObject {
  const { answers, replyHeaders = [], failure = 'Failure' } = operations[route]
  const common = commonNames(options.cors)
  const runs = route === 'run'
  const withBody = (content: JsonObject): JsonObject => (method === 'HEAD' ? {} : { content })
  const responses: { [status: string]: JsonObject } = {
    200: {
      description: 'A success.',
      headers: headers.of([...(runs ? formHeaders(options) : []), ...common, ...replyHeaders]),
      ...withBody({ ...contentOf(answers), ...(runs ? otherContents(options) : {}) }),
    },
  }
  if (route === 'health') {
    const names = [...common, 'Retry-After']
    responses[503] = { description: 'Not ready.', headers: headers.of(names), ...withBody(contentOf(answers)) }
  }
  for (const [status, codes] of failuresOf(route, options.statuses)) {
    responses[status] = {
      description: [...codes].join(', '),
      headers: {
        ...headers.of([...common, replyHeader, completedHeader, ...replyHeaders, ...headersAt(status)]),
        [codeHeader]: { description: 'Why.', schema: oneOf([...codes]) },
      },
      ...withBody(contentOf(schemaOf(failure))),
    }
  }
  return responses
}

/** The headers of a failure that depend on its status. */
function headersAt(status: number): readonly string[] {
  return [...(isPassing(status) ? ['Retry-After'] : []), ...(status === 405 ? ['Allow'] : [])]
}

/** The codes of the failures of a route, by their status. */
function failuresOf(route: Route, mode: StatusMode = 'contract'): ReadonlyMap<number, ReadonlySet<string>> {
  const { codes = [], refusals = [] } = operations[route]
  const failures = new Map<number, Set<string>>()
  const add = (status: number, code: string) => failures.set(status, (failures.get(status) ?? new Set()).add(code))
  // The contract does not know tickets.
  const isPrecise = mode === 'precise' || route === 'ticket'
  for (const code of codes) {
    add(isPrecise ? errorFacts[code].precise : 400, code)
    if (isPrecise && code === 'LIMIT_EXCEEDED') add(fullQueueStatus, code)
  }
  if (route === 'ticket') add(503, 'EVENT_NOT_TAKEN')
  for (const status of [...refusals, 404, 405, 500]) add(statusOfRefusal(status, mode), codeOfRefusal(status))
  return failures
}

/** The headers that some replies to a turn have. */
function formHeaders({ stream, rawHeaders = {} }: FlowRoutesOptions): readonly string[] {
  return [
    ...Object.keys(rawHeaders).filter((name) => rawHeaders[name] !== null),
    ...[encodingHeader, 'Content-Security-Policy'],
    ...(stream === false ? [] : ['X-Accel-Buffering']),
  ]
}

/**
 * The bodies of a turn besides the envelope: a stream, and a raw reply. The document declares a stream as text, so that
 * code generators give a plain reply a single type.
 */
function otherContents({ stream }: FlowRoutesOptions): JsonObject {
  const contentSchema = { type: 'array', items: schemaOf('StreamEvent') }
  const events = { ...text, contentMediaType: 'text/event-stream', contentSchema }
  return { ...(stream === false ? {} : { 'text/event-stream': { schema: events } }), '*/*': {} }
}

function contentOf(schema: JsonObject): JsonObject {
  return { [json]: { schema } }
}
