/** The options that the chat handlers share, and their checks. */
import { checkMethods, checkOptionNames, hintAt, invalidInput, type OptionNames } from '../../src/util/options.js'
import { checkNumbers } from '../fetch/check-options.js'
import { type CorsOptions, checkCors } from '../fetch/cors.js'
import type { FlowRoutesOptions } from '../fetch/options.js'
import { type AttachmentsOption, checkAttachmentsOption } from '../fetch/request/attachments.js'
import type { Authorize } from '../fetch/request/authorize.js'
import { registeredName } from '../fetch/request/authorize-flow.js'
import type { ChatSessions } from './chat-sessions.js'
import type { ChatEngine } from './chat-turns.js'
import { knowsFlows } from './flow-of-session.js'

/** The options of both chat handlers. */
export interface ChatHandlerOptions {
  /** The current or a former name of the flow that answers. It must be registered before the handler is made. */
  readonly flow: string
  /**
   * Identifies the caller before the body is read and before anything runs, as in `turnkeeper/fetch`. It must name a
   * principal, because a chat belongs to one. To refuse a caller, return a `Response`.
   */
  readonly authorize: Authorize
  /**
   * Whether a caller may use the flow, as in `turnkeeper/fetch`. If not, each route answers like an unknown path.
   * Default: every caller may.
   */
  readonly authorizeFlow?: NonNullable<FlowRoutesOptions['authorizeFlow']>
  /** Which attachments pages may send, as in `turnkeeper/fetch`. Default: `'bytes'`. */
  readonly attachments?: AttachmentsOption
  /**
   * Stores the session of each chat, for clients that do not send it. Default: in the memory of this process, for the
   * 10 000 most recently used chats.
   */
  readonly chats?: ChatSessions
  /**
   * What happens to a message whose session has completed. `'reject'`: it is refused with `SESSION_ENDED`, and the chat
   * stays readable; a message with `newSession: true` begins a new one. `'new'`: each message does. After a session that
   * was aborted, a message begins a new one anyway. Default: `'reject'`.
   */
  readonly whenEnded?: 'new' | 'reject'
  /** The other origins whose pages may call. Default: none. */
  readonly cors?: CorsOptions
  /**
   * The largest request body, in bytes. The libraries of both protocols send the whole conversation with each message,
   * photos included. Default: 8 388 608 (8 MiB).
   */
  readonly maxBodyBytes?: number
  /** The most values in the JSON of a request body, as in `turnkeeper/fetch`. Default: 30 000. */
  readonly maxJsonValues?: number
  /** How long a request body may take to arrive, in milliseconds. Default: 30 000. */
  readonly bodyTimeoutMs?: number
  /** How long a stream may be silent, in milliseconds, before a comment goes out. Default: 15 000. */
  readonly heartbeatMs?: number
  /** Whether streams name the called tools. The names reveal how the application is built. Default: `false`. */
  readonly streamDetails?: boolean
  /**
   * Keeps the runtime alive for a turn and its later work, if the runtime stops once the reply is sent. If the second
   * argument of the handler has a method `waitUntil`, the handler uses that instead. Default: none.
   */
  readonly waitUntil?: (work: Promise<unknown>) => void
  /** Receives errors that clients must not see. Default: `console.error`. */
  readonly onError?: (error: unknown) => void
}

const names: OptionNames<ChatHandlerOptions> = {
  flow: true,
  authorize: true,
  authorizeFlow: true,
  attachments: true,
  chats: true,
  whenEnded: true,
  cors: true,
  maxBodyBytes: true,
  maxJsonValues: true,
  bodyTimeoutMs: true,
  heartbeatMs: true,
  streamDetails: true,
  waitUntil: true,
  onError: true,
}

/** @throws `InvalidInputError` that names the first option that is wrong. */
export function checkChatOptions(options: ChatHandlerOptions, caller: string, pathOption: string): void {
  checkOptionNames(caller, options, { ...names, [pathOption]: true })
  const { flow, authorize, chats, cors, streamDetails, whenEnded } = options
  if (typeof flow !== 'string' || flow === '') throw invalidInput(`${caller}: flow must be the name of a flow.`)
  if (typeof authorize !== 'function') {
    throw invalidInput(`${caller}: authorize is required, because a chat belongs to a principal.`)
  }
  checkMethods(caller, 'chats', chats, ['load', 'save'])
  if (whenEnded !== undefined && whenEnded !== 'new' && whenEnded !== 'reject') {
    throw invalidInput(`${caller}: whenEnded must be 'new' or 'reject'.`)
  }
  checkNumbers(options, caller)
  checkAttachmentsOption(options.attachments, caller)
  if (cors !== undefined) checkCors(cors, caller)
  for (const name of ['authorizeFlow', 'waitUntil', 'onError'] as const) {
    if (options[name] === undefined || typeof options[name] === 'function') continue
    throw invalidInput(`${caller}: ${name} must be a function.`)
  }
  if (streamDetails !== undefined && typeof streamDetails !== 'boolean') {
    throw invalidInput(`${caller}: streamDetails must be true or false.`)
  }
}

/**
 * @throws `InvalidInputError` for an unregistered flow. An engine wrapper may be unable to check this.
 */
export function checkFlow(engine: ChatEngine, flow: string, caller: string): void {
  if (!knowsFlows(engine) || registeredName(engine, flow) !== undefined) return
  const names = engine.getFlowNames()
  if (names.length === 0) {
    throw invalidInput(
      `${caller}: the flow '${flow}' is not registered. The engine has no flows: register them before this call.`,
    )
  }
  throw invalidInput(
    `${caller}: the flow '${flow}' is not registered. The registered flows are ${names.join(', ')}.${hintAt(flow, names)}`,
  )
}

/**
 * Checks the option for the path.
 *
 * @param example - A path for the message of the error.
 * @throws `InvalidInputError` unless `path` is one or more segments, without a slash at the end.
 */
export function checkPath(caller: string, name: string, path: string, example: string): void {
  if (typeof path === 'string' && /^(?:\/[^/?#\s]+)+$/.test(path)) return
  throw invalidInput(`${caller}: ${name} must be a path such as '${example}', with no slash at its end.`)
}
