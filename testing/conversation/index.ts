/** A whole conversation with a flow, as a test: say something, expect something. */
export type { ClientFault, RetryingClient } from './client.js'
export { retryAs } from './client.js'
export type { ConversationOptions, MessageAtOnce, SayInput } from './conversation.js'
export { Conversation } from './conversation.js'
export type { ConversationStream } from './conversation-stream.js'
export type { ConversationReply, ConversationToolCall } from './conversation-turn.js'
export type { ConversationWorldOptions } from './conversation-world.js'
export type { ExpectedOutcome, ExpectedToolCall, PartOf, ReplySchema } from './expectations.js'
