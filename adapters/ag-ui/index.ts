/**
 * The entry point `turnkeeper/ag-ui`: flows as agents of AG-UI.
 *
 * @module turnkeeper/ag-ui
 */

export type { Chat, ChatSessions } from '../chat/chat-sessions.js'
export type { ChatEngine } from '../chat/chat-turns.js'
export type { ChatHandlerOptions } from '../chat/options.js'
export type { CorsOptions } from '../fetch/cors.js'
export type { Authorize, AuthorizedCaller } from '../fetch/request/authorize.js'
export { type AgUiOptions, createAgUiHandler } from './handler.js'
export type { FlowAgentState } from './run-events.js'
