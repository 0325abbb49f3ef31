/** Reads the stored conversation (`GET session`) and merges it with the turns of the page. */
import type { ChatOutcome, ChatSessionState } from './chat-events.js'
import type { ChatServer } from './chat-server.js'
import { type ChatTurn, contentOf } from './chat-turn.js'

/** The stored conversation of a session. */
export interface StoredConversation {
  readonly sessionState: ChatSessionState
  readonly turns: readonly ChatTurn[]
}

interface StoredTurn extends Pick<ChatOutcome, 'contentType' | 'encoding' | 'parts'> {
  readonly turn: number
  readonly message: string
  readonly reply: string
  readonly event?: NonNullable<ChatTurn['event']>
  readonly attachments?: ChatTurn['attachments']
}

/** The reply of the route. */
interface SessionReply {
  readonly sessionState: ChatSessionState
  readonly turns: readonly StoredTurn[]
  readonly complete?: boolean
}

/**
 * Reads the turns of a session, or only those that follow the last of `known`; then `known` stays in front.
 *
 * @throws `Error` if the server was not reached or refused.
 */
export async function readConversation(
  server: ChatServer,
  session: string,
  known?: readonly ChatTurn[],
): Promise<StoredConversation> {
  const prefix = `${session}:`
  const last = known?.findLast(({ id }) => id.startsWith(prefix))?.id.slice(prefix.length) ?? 0
  const { turns, sessionState, complete } = await server.ask<SessionReply>(
    'GET',
    known ? `session?after=${last}` : 'session',
    session,
  )
  // Turns between are missing, or the server does not know `after`.
  if (known && !complete && sessionState !== 'none') return readConversation(server, session)
  return { sessionState, turns: [...(known ?? []), ...turns.map((turn) => turnOf(prefix, turn))] }
}

function turnOf(prefix: string, { turn, message, reply, event, attachments = [], ...type }: StoredTurn): ChatTurn {
  const content = contentOf({ message: reply, ...type })
  const id = prefix + turn
  return Object.freeze({ id, message, attachments, status: 'answered', ...content, ...(event && { event }) })
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
