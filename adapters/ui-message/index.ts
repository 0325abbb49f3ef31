/**
 * The entry point `turnkeeper/ui-message`: flows for pages of the AI SDK.
 *
 * @module turnkeeper/ui-message
 */

export type { Chat, ChatSessions } from '../chat/chat-sessions.js'
export type { ChatEngine } from '../chat/chat-turns.js'
export type { ChatHandlerOptions } from '../chat/options.js'
export type { CorsOptions } from '../fetch/cors.js'
export type { Authorize, AuthorizedCaller } from '../fetch/request/authorize.js'
export { createUiMessageHandler, type UiMessageOptions } from './handler.js'
export type { FlowMessage, FlowMessageData, FlowMessageMetadata, FlowMessagePart } from './ui-message.js'
