/** The headers of requests and replies. */
import type { JsonObject } from '../../src/index.js'
import {
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
import type { CorsOptions } from '../fetch/cors.js'
import { safeHeaders } from '../fetch/reply/common-headers.js'
import { restartReasons } from '../fetch/reply/outcome.js'
import { oneOf, schemaOf, text } from './schemas.js'

/** Headers with a self-explanatory name have no description. */
type Described = readonly [description?: string, schema?: JsonObject]

const sessionId: JsonObject = { type: 'string', maxLength: 256 }
const truth = oneOf(['true', 'false'])

/** The reply headers, except the code of a failure, whose values depend on the status. */
const replyHeaders: Readonly<Record<string, Described>> = {
  [sessionHeader]: ['The session ID; absent if there is no session.', sessionId],
  [dashedSessionHeader]: ['The same, if the request had this header.', sessionId],
  [replyHeader]: ['What the body is.', oneOf(['envelope', 'raw', 'stream'])],
  [completedHeader]: ['The field `completed`, which a raw reply does not have.', truth],
  [encodingHeader]: ['`message` of the envelope is bytes in base64.', oneOf(['base64'])],
  [stateHeader]: ['Whether the session goes on. A stream has it in its last event.', schemaOf('SessionState')],
  [restartedHeader]: ['Why a new session answered and not the one that was named.', oneOf(restartReasons)],
  [replayedHeader]: ['The reply is replayed from an earlier request with the same key.', oneOf(['true'])],
  [requestIdHeader]: ['Names the request.'],
  'Cache-Control': ['`no-store`, unless the application sets another.'],
  'X-Content-Type-Options': ['`nosniff`, unless the application sets another.'],
  'Content-Security-Policy': ['On a raw reply that a browser would run as a page.'],
  'X-Accel-Buffering': [],
  'Retry-After': ['Seconds.'],
  Allow: [],
  Vary: [],
  'Access-Control-Allow-Origin': [],
  'Access-Control-Allow-Credentials': [],
  'Access-Control-Expose-Headers': [],
  'Access-Control-Allow-Methods': [],
  'Access-Control-Allow-Headers': [],
  'Access-Control-Max-Age': [],
}

/** What requests have. */
const requestHeaders: Readonly<Record<string, Described>> = {
  [sessionHeader]: ['The session to go on with. Without it a run starts a new one.', sessionId],
  [dashedSessionHeader]: ['The same, for proxies that drop names with underscores.', sessionId],
  [keyHeader]: [
    'The idempotency key, so that the request can be sent again safely: best a UUID for each message.',
    { type: 'string', minLength: 16, maxLength: 255 },
  ],
  [lastEventHeader]: ['The last event that the client has of a stream that was cut.'],
  [requestIdHeader]: ['Names the request in the reply and in logs.', { type: 'string', maxLength: 128 }],
}

/** The parameters of a query. */
const queries: Readonly<Record<string, Described>> = {
  envelope: ['The reply is the envelope, whatever its content type.', oneOf(['1'])],
  after: ['Only turns with a greater number.', { type: 'integer', minimum: 0 }],
  check: ['`live`: whether the process answers. The store is not checked.', oneOf(['live', 'ready'])],
}

/** A header of a request, or a parameter of its query. */
export function parameterOf(name: string): JsonObject {
  const query = queries[name]
  const [description, schema = text] = query ?? requestHeaders[name] ?? []
  return { name, in: query === undefined ? 'header' : 'query', description: description ?? '', schema }
}

/** The headers of replies, and the set of those that were used. */
export interface HeaderList {
  /** The headers of a reply. */
  of(names: readonly string[]): JsonObject
  /** All that were used. */
  readonly used: JsonObject
}

/** @returns the headers by their names in the table; any other name was chosen by the application */
export function createHeaderList(): HeaderList {
  const used: { [name: string]: JsonObject } = {}

  function header(name: string): JsonObject {
    const known = Object.hasOwn(replyHeaders, name) ? replyHeaders[name] : undefined
    if (known === undefined) return { description: 'Set by the application.', schema: text }
    const [description, schema = text] = known
    used[name] = description === undefined ? { schema } : { description, schema }
    return { $ref: `#/components/headers/${name}` }
  }

  return {
    used,
    of(names) {
      // The application may capitalise a name differently. The last one counts.
      const different = new Map(names.map((name) => [name.toLowerCase(), name]))
      return Object.fromEntries([...different.values()].map((name) => [name, header(name)]))
    },
  }
}

/** The names of the headers of every reply. */
export function commonNames(cors: CorsOptions | undefined): readonly string[] {
  const names = [requestIdHeader, ...Object.keys(safeHeaders)]
  if (cors === undefined) return names
  return [
    ...names,
    ...(cors.origin === '*' ? [] : ['Vary']),
    ...['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers'],
    ...(cors.credentials === true ? ['Access-Control-Allow-Credentials'] : []),
  ]
}

/** The names of the additional headers of a preflight. */
export const preflightNames: readonly string[] = [
  ...['Allow', 'Access-Control-Allow-Methods', 'Access-Control-Allow-Headers', 'Access-Control-Max-Age'],
]
