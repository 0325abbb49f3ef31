/**
 * Decides what is wrong with a reply, whatever the request was. Knows the documented statuses, headers and
 * bodies, and nothing else.
 */
import { judgeEvents } from './event-oracle.js'
import { canary } from './plan.js'
import { type AppName, flowNames, markHeader, outsideText, refusalText } from './served-app.js'
import type { DueReply } from './wire-case.js'

/** A reply, from a socket or from the handler. */
export interface SeenReply {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** Which application should have answered, and whether there is a server in front of it. */
export interface Served {
  readonly app: AppName
  readonly byServer: boolean
}

/** What an HTTP server of Node answers by itself, always without a body. */
const serverStatuses: ReadonlySet<number> = new Set([400, 408, 413, 417, 431])
const contractStatuses: ReadonlySet<number> = new Set([200, 400, 404, 405])
const preciseStatuses: ReadonlySet<number> = new Set([
  200, 204, 400, 401, 404, 405, 408, 409, 413, 415, 422, 429, 499, 503,
])

const knownHeader =
  /^(?:content-(?:type|length|security-policy)|date|connection|keep-alive|transfer-encoding|cache-control|x-content-type-options|x-accel-buffering|allow|vary|retry-after|access-control-(?:allow-(?:origin|methods|headers|credentials)|expose-headers|max-age)|chat-(?:reply|completed|encoding|session-state|session-restarted|replayed|error)|x-fuzz-app)$/
/** These may repeat a client's value, if it has the right form. */
const echoed: ReadonlyMap<string, RegExp> = new Map([
  ['chat_session_id', /^[\x21-\x2b\x2d-\x7e]{1,256}$/],
  ['chat-session-id', /^[\x21-\x2b\x2d-\x7e]{1,256}$/],
  ['chat-request-id', /^[A-Za-z0-9._:-]{1,128}$/],
])

/** Whether a server answered before a request reached the application. */
export function isOfServer(reply: SeenReply, { app, byServer }: Served): boolean {
  if (!byServer || !serverStatuses.has(reply.status) || reply.body !== '') return false
  return headerOf(reply, app === 'strict' ? markHeader : 'Content-Type') === undefined
}

/** All that is wrong with a reply. */
export function judgeReply(reply: SeenReply, due: DueReply, served: Served): readonly string[] {
  const problems = [...judgeHeaders(reply), ...judgeExpectation(reply, due)]
  if (isOfServer(reply, served)) return problems
  return [...problems, ...judgeStatus(reply, served.app), ...judgeSafety(reply), ...judgeBody(reply, due)]
}

export function headerOf(reply: SeenReply, name: string): string | undefined {
  const lower = name.toLowerCase()
  return reply.headers.find(([key]) => key.toLowerCase() === lower)?.[1]
}

function judgeHeaders({ headers }: SeenReply): string[] {
  const names = headers.map(([name]) => name.toLowerCase())
  const doubled = names.filter((name, index) => names.indexOf(name) < index)
  return [
    ...doubled.map((name) => `the header ${name} comes twice`),
    ...headers.flatMap(([name, value]) => judgeHeader(name.toLowerCase(), value)),
  ]
}

function judgeHeader(name: string, value: string): string[] {
  const form = echoed.get(name)
  if (form !== undefined) return form.test(value) ? [] : [`the header ${name} is malformed: ${JSON.stringify(value)}`]
  if (!knownHeader.test(name)) return [`injected header: ${name}: ${value.slice(0, 100)}`]
  return value.includes(canary) || /[^\t\x20-\x7e]/.test(value)
    ? [`the header ${name} has what a client sent: ${value}`]
    : []
}

function judgeStatus(reply: SeenReply, app: AppName): string[] {
  const { status } = reply
  if (!(app === 'strict' ? preciseStatuses : contractStatuses).has(status))
    return [`undocumented status ${status}: ${reply.body.slice(0, 200)}`]
  const isBusy = status === 503 || status === 429
  return isBusy && headerOf(reply, 'Retry-After') === undefined ? [`status ${status} without Retry-After`] : []
}

function judgeExpectation({ status }: SeenReply, { expects }: DueReply): string[] {
  if (expects === 'success' && status !== 200) return [`a valid request was answered with ${status}`]
  return expects === 'refusal' && status < 400 ? [`a request that is not valid was answered with ${status}`] : []
}

function judgeSafety(reply: SeenReply): string[] {
  if (reply.body === outsideText) return []
  const problems = headerOf(reply, 'Chat-Request-Id') === undefined ? ['a reply without Chat-Request-Id'] : []
  // The answer of `authorize` goes out unchanged, apart from the added request ID.
  if (reply.status === 401) return problems
  if (!headerOf(reply, 'Cache-Control')?.startsWith('no-store'))
    problems.push('a reply without Cache-Control: no-store')
  if (headerOf(reply, 'X-Content-Type-Options') !== 'nosniff')
    problems.push('a reply without X-Content-Type-Options: nosniff')
  return problems
}

function judgeBody(reply: SeenReply, due: DueReply): readonly string[] {
  const { status, body } = reply
  if (due.method === 'HEAD' || status === 204) return body === '' ? [] : ['a body that must be empty']
  if (status === 401) return body === refusalText ? [] : ['a changed reply of authorize']
  if (status === 404 && body === outsideText && due.route === undefined) return []
  const kind = headerOf(reply, 'Chat-Reply')
  if (kind === 'stream' || kind === 'raw') return judgeOtherThanJson(kind, reply, due)
  const type = headerOf(reply, 'Content-Type')
  return type === 'application/json' ? judgeJson(reply, due) : [`a reply of the type ${type}: ${body.slice(0, 200)}`]
}

function judgeOtherThanJson(
  kind: 'stream' | 'raw',
  { status, body }: SeenReply,
  { route }: DueReply,
): readonly string[] {
  if (status !== 200) return [`a ${kind} reply with status ${status}`]
  if (route !== undefined && route !== 'run') return [`a ${kind} reply to ${route}`]
  return kind === 'stream' ? judgeEvents(body) : []
}

function judgeJson(reply: SeenReply, { route }: DueReply): string[] {
  const { body } = reply
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return [`a body that is not JSON: ${JSON.stringify(body.slice(0, 200))}`]
  }
  const form = formOf(value)
  const allowed =
    reply.status >= 400 ? ['envelope', ...(route === undefined || route === 'end' ? ['end'] : [])] : formsOf(route)
  if (form === undefined || !allowed.includes(form)) return [`wrong envelope: ${body.slice(0, 300)}`]
  return judgeOutcome(value as Record<string, unknown>, reply, form)
}

function judgeOutcome(value: Record<string, unknown>, reply: SeenReply, form: string): string[] {
  if (form === 'flows') return []
  const isFailure = reply.status >= 400
  const problems = value.success === isFailure ? [`success is ${value.success} with status ${reply.status}`] : []
  if (isFailure && headerOf(reply, 'Chat-Error') === undefined) problems.push('a failure without Chat-Error')
  if (isFailure && form === 'envelope' && !(value.completed === true && value.contentType === 'text/plain')) {
    problems.push(`a failure that is not completed plain text: ${reply.body.slice(0, 300)}`)
  }
  return problems
}

function formsOf(route: DueReply['route']): readonly string[] {
  const forms = { run: ['envelope'], flows: ['flows'], end: ['end'], cancel: ['cancel'] }
  return route === undefined ? Object.values(forms).flat() : forms[route]
}

const forms: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>> = {
  'completed,contentType,message,session,success': [
    'envelope',
    { success: 'boolean', completed: 'boolean', message: 'string', session: 'string', contentType: 'string' },
  ],
  'session,success': ['end', { success: 'boolean', session: 'string' }],
  'message,session,success': ['end', { success: 'boolean', session: 'string', message: 'string' }],
  'cancelled,session,success': ['cancel', { success: 'boolean', session: 'string', cancelled: 'boolean' }],
}

/** Which of the documented forms a body has. */
function formOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return JSON.stringify(value) === JSON.stringify(flowNames) ? 'flows' : undefined
  if (typeof value !== 'object' || value === null) return undefined
  const [form, types] = forms[Object.keys(value).sort().join(',')] ?? []
  const fields = Object.entries(value)
  return types !== undefined && fields.every(([name, field]) => typeof field === types[name]) ? form : undefined
}
