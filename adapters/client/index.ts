/**
 * The entry point `turnkeeper/client`: a conversation with a flow from a browser, or from any runtime with `fetch`. It
 * has no run-time imports.
 *
 * @module turnkeeper/client
 */
export type { Chat } from './chat.js'
export type { ChatOutcome, ChatPart, ChatSessionState, ChatTurnEvents } from './chat-events.js'
export { attachmentOf, type ChatAttachment, type ChatChoice } from './chat-message.js'
export type { ChatHeaders, ChatOptions } from './chat-options.js'
export type { ChatEvents, ChatState } from './chat-state.js'
export type { ChatStorage } from './chat-storage.js'
export type { ChatTurn, ChatTurnStatus } from './chat-turn.js'
export { createChat } from './create-chat.js'
