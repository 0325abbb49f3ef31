/** Closes the conversations that a test of vitest has left open: only their end shows what they did not use. */
import { afterEach, beforeEach } from 'vitest'
import { keepOpenConversations, takeOpenConversations } from '../conversation/open-conversations.js'

/**
 * Closes them when a test ends, and fails the test if there are leftovers. Tests that run at the same time are left
 * alone: which of them made a conversation cannot be known. So are conversations that are made outside of tests.
 */
export function closeAfterEach(): void {
  beforeEach(({ task }) => {
    if (task.concurrent !== true) keepOpenConversations()
  })
  afterEach(async ({ task }) => {
    const closing = await Promise.allSettled(takeOpenConversations().map((conversation) => conversation.close()))
    // Leftovers follow from the failure of a test.
    if (task.result?.state === 'fail') return
    for (const outcome of closing) if (outcome.status === 'rejected') throw outcome.reason
  })
}
