/**
 * `turnkeeper/studio`: a page in which a developer talks to a flow, sees why it does what it does, goes back, and keeps
 * the conversation as a test. `npx turnkeeper studio` and `npx turnkeeper chat` are made of it.
 *
 * @module turnkeeper/studio
 */

export { createStudioHandler, type StudioHandler, type StudioHandlerOptions } from './handler.js'
/** @internal */
export { listen } from './listen.js'
export type { StudioOptions } from './studio.js'
/** @internal */
export { Studio } from './studio.js'
/** @internal */
export { chat, type Terminal } from './terminal-chat.js'
