/** Checks the options of the HTTP adapters, all at creation. */
import { checkMethods, checkNumber, checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import { checkCors } from './cors.js'
import type { FlowRoutesOptions } from './options.js'
import { checkRawHeaders } from './reply/raw.js'
import { checkAttachmentsOption } from './request/attachments.js'
import { checkDocument } from './routes/openapi.js'

const sharedOptions: OptionNames<FlowRoutesOptions> = {
  maxBodyBytes: true,
  bodyTimeoutMs: true,
  maxJsonValues: true,
  attachments: true,
  cors: true,
  authorize: true,
  authorizeFlow: true,
  requirePrincipal: true,
  statuses: true,
  rawHeaders: true,
  stream: true,
  streamDetails: true,
  heartbeatMs: true,
  onDisconnect: true,
  waitUntil: true,
  health: true,
  session: true,
  tickets: true,
  openApi: true,
  onError: true,
}

/** The longest delay that a timer accepts. */
const maxTimerMs = 2_147_483_647

/** @throws `InvalidInputError` that names the first option that is wrong. `caller` is the function the user called. */
export function checkOptions(options: FlowRoutesOptions, caller: string, ownOptions: object = {}): void {
  checkOptionNames(caller, options, { ...ownOptions, ...sharedOptions })
  const { cors, rawHeaders } = options
  checkNumbers(options, caller)
  checkOneOf(options, caller, 'statuses', 'contract', 'precise')
  checkOneOf(options, caller, 'onDisconnect', 'cancel', 'finish')
  if (options.authorize !== 'none') checkType(options, caller, 'authorize', 'function', "a function, or 'none'")
  for (const name of ['authorizeFlow', 'waitUntil', 'onError'] as const) {
    checkType(options, caller, name, 'function', 'a function')
  }
  for (const name of ['requirePrincipal', 'stream', 'streamDetails', 'health', 'session'] as const) {
    checkType(options, caller, name, 'boolean', 'true or false')
  }
  // Only `authorize` names a principal.
  if (options.requirePrincipal === true && typeof options.authorize !== 'function') {
    throw invalidInput(`${caller}: requirePrincipal needs authorize, which names the principal.`)
  }
  checkAttachmentsOption(options.attachments, caller)
  checkMethods(caller, 'tickets', options.tickets, ['open'])
  checkDocument(options.openApi, caller)
  if (cors !== undefined) checkCors(cors, caller)
  if (rawHeaders !== undefined) checkRawHeaders(rawHeaders, caller)
}

/** @throws `InvalidInputError` for a number of bytes, values or milliseconds that is wrong. */
export function checkNumbers(
  options: Pick<FlowRoutesOptions, 'maxBodyBytes' | 'maxJsonValues' | 'bodyTimeoutMs' | 'heartbeatMs'>,
  caller: string,
): void {
  for (const name of ['maxBodyBytes', 'maxJsonValues'] as const) {
    const value = options[name]
    if (value !== undefined) checkNumber(caller, name, value, { whole: true })
  }
  for (const name of ['bodyTimeoutMs', 'heartbeatMs'] as const) {
    const value = options[name]
    if (value !== undefined) checkNumber(caller, name, value, { min: 1, max: maxTimerMs })
  }
}

type OptionName = keyof FlowRoutesOptions

function checkOneOf(options: FlowRoutesOptions, caller: string, name: OptionName, one: string, other: string): void {
  const value = options[name]
  if (value === undefined || value === one || value === other) return
  throw invalidInput(`${caller}: ${name} must be '${one}' or '${other}'.`)
}

function checkType(options: FlowRoutesOptions, caller: string, name: OptionName, type: string, what: string): void {
  if (options[name] === undefined || typeof options[name] === type) return
  throw invalidInput(`${caller}: ${name} must be ${what}.`)
}

/** @throws `InvalidInputError` unless `basePath` is `/`, or one or more segments without a slash at the end. */
export function checkBasePath(basePath: string, caller: string): void {
  if (basePath === '/') return
  if (typeof basePath !== 'string' || !/^(?:\/[^/?#\s]+)+$/.test(basePath)) {
    throw invalidInput(`${caller}: basePath must be '/' or a path such as '/ai', with no slash at its end.`)
  }
}
