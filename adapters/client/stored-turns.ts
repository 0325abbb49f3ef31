/** Reads the stored conversation (`GET session`) and merges it with the turns of the page. */
import type { ChatOutcome, ChatSessionState } from './chat-events.js'
import type { ChatServer } from './chat-server.js'
import { type ChatTurn, contentOf } from './chat-turn.js'

/** The stored conversation of a session. */
export interface StoredConversation {
  readonly sessionState: ChatSessionState
  readonly turns: readonly ChatTurn[]
}

interface StoredTurn extends Pick<ChatOutcome, 'contentType' | 'encoding'> {
  readonly turn: number
  readonly message: string
  readonly reply: string
  readonly attachments?: ChatTurn['attachments']
}

/** The reply of the route. */
interface SessionReply {
  readonly sessionState: ChatSessionState
  readonly turns: readonly StoredTurn[]
}

/** @throws `Error` if the server was not reached or refused. */
export async function readConversation(server: ChatServer, session: string): Promise<StoredConversation> {
  const { turns, sessionState } = await server.ask<SessionReply>('GET', 'session', session)
  return { sessionState, turns: turns.map((turn) => turnOf(session, turn)) }
}

function turnOf(session: string, { turn, message, reply, attachments = [], ...type }: StoredTurn): ChatTurn {
  const content = contentOf({ message: reply, ...type })
  return Object.freeze({ id: `${session}:${turn}`, message, attachments, status: 'answered', ...content })
}

/**
 * Merges the unanswered turns into the stored ones. An unanswered turn keeps its place counted from the end: as many
 * answered turns follow it as in the page, which has the newest ones.
 */
export function withOpenTurns(stored: readonly ChatTurn[], shown: readonly ChatTurn[]): ChatTurn[] {
  const turns = [...stored]
  let place = stored.length
  for (const turn of [...shown].reverse()) {
    if (turn.status !== 'answered') turns.splice(place, 0, turn)
    else if (place > 0) place--
  }
  return turns
}
