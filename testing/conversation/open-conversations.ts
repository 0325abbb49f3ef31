/**
 * The conversations that a test has made and not closed, for the entry point of a test runner that closes them when the
 * test ends. Without such an entry point nothing is kept.
 */

/** A conversation, as far as its end is concerned. */
export interface OpenConversation {
  close(): Promise<void>
}

let open: Set<OpenConversation> | undefined

/** Keeps the conversations that are made from now on, until they are closed or taken. */
export function keepOpenConversations(): void {
  open = new Set()
}

/** Keeps none any more, and returns those that are open, in the order in which they were made. */
export function takeOpenConversations(): readonly OpenConversation[] {
  const taken = [...(open ?? [])]
  open = undefined
  return taken
}

/** A conversation was made. */
export function noteOpen(conversation: OpenConversation): void {
  open?.add(conversation)
}

/** A conversation was closed. */
export function noteClosed(conversation: OpenConversation): void {
  open?.delete(conversation)
}
