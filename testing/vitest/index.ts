/**
 * The entry point `turnkeeper/testing/vitest`: matchers for conversations. Importing it adds them to vitest's `expect`,
 * and closes after each test the conversations that the test made and did not close.
 *
 * @module turnkeeper/testing/vitest
 */
import { expect } from 'vitest'
import { closeAfterEach } from './close-after-each.js'
import { type ConversationMatchers, matchers } from './matchers.js'

declare module 'vitest' {
  interface Matchers<T> extends ConversationMatchers<T> {}
}

expect.extend(matchers)
closeAfterEach()

export { coverFlows } from './cover-flows.js'
export type { ConversationMatchers, Matcher, MatcherContext, MatcherResult, OfConversation } from './matchers.js'
export { matchers } from './matchers.js'
