/** A chat as its page sees it. */
import type { ChatTurnEvents } from './chat-events.js'
import type { ChatTurn } from './chat-turn.js'

/** A chat at one moment. It does not change: each change makes a new one. */
export interface ChatState {
  /** The session that the next message goes to; empty if it starts one. */
  readonly session: string
  /** Oldest first. */
  readonly turns: readonly ChatTurn[]
  /** Whether a turn waits or runs. */
  readonly isBusy: boolean
  /** Whether the conversation has ended. The next message starts a new one. */
  readonly hasEnded: boolean
  /** Whether a new conversation answered last, because the earlier one could not be continued. Tell the user. */
  readonly hasRestarted: boolean
  /** Whether the last two turns failed in the same way, although the session goes on. Offer `startOver` to the user. */
  readonly isStuck: boolean
}

/** What a chat reports, by name: each change, and the events of each turn. */
export type ChatEvents = { change: ChatState } & {
  [Type in keyof ChatTurnEvents]: ChatTurnEvents[Type] & { readonly turn: ChatTurn }
}
