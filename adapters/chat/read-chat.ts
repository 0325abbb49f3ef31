/** Reads what a page shows of a chat: its stored session, and the messages whose turns still run. */
import type { SessionDocument } from '../../src/index.js'
import type { Chat } from './chat-sessions.js'
import { isOfFlow } from './flow-of-session.js'
import type { ChatContext } from './serve-chat.js'

/** A chat as it is now. */
interface ReadChat {
  readonly document: SessionDocument | undefined
  /** The messages that the document does not have yet, as the protocol shows them. */
  readonly open: readonly unknown[]
}

/**
 * Reads a chat.
 *
 * @param brought - The session that the client names. Default: the saved one.
 * @throws An error for the operator.
 */
export async function readChat(
  context: ChatContext,
  chat: Chat,
  requestId: string,
  brought?: string,
): Promise<ReadChat> {
  const { turns } = context
  for (;;) {
    const running = turns.running(chat)
    const session = brought ?? (await turns.sessionOf(chat))
    const document = await loadSession(context, chat, session, requestId)
    // Otherwise a turn has ended meanwhile, and may be stored by now.
    if (running !== turns.running(chat)) continue
    const open = turns.notIn(document, chat).flatMap(({ shown }) => (shown === undefined ? [] : [shown]))
    return { document, open }
  }
}

/** A session; `undefined` if it is not one of the user and the flow. */
export async function loadSession(
  { engine }: ChatContext,
  { owner, flow }: Chat,
  session: string | undefined,
  requestId: string,
): Promise<SessionDocument | undefined> {
  if (session === undefined) return undefined
  const document = await engine.getSession(session, { owner, requestId })
  return document !== undefined && isOfFlow(engine, document, flow) ? document : undefined
}
