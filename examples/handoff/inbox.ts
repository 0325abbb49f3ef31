/** The colleagues' inbox: a table of the application. */
import type { Turn } from 'turnkeeper'
import type { Query } from '../schedulers/cron.js'

/** What the users of the desk said since they wait for a person, by session. */
export class Inbox {
  readonly #query: Query

  constructor(query: Query) {
    this.#query = query
  }

  /** Creates the table, unless it exists. */
  async create(): Promise<void> {
    await this.#query(
      'CREATE TABLE IF NOT EXISTS inbox (id text PRIMARY KEY, session text, turn integer, message text)',
    )
  }

  /** @param id - A message that is posted twice under one ID is in the inbox once. */
  async post(id: string, { session, number: turn, message }: Turn): Promise<void> {
    await this.#query('INSERT INTO inbox VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING', [
      id,
      session.id,
      turn,
      message,
    ])
  }

  async list(): Promise<ReadonlyMap<string, readonly string[]>> {
    const rows = await this.#query('SELECT session, message FROM inbox ORDER BY turn')
    const waiting = new Map<string, string[]>()
    for (const { session, message } of rows as readonly { session: string; message: string }[]) {
      waiting.set(session, [...(waiting.get(session) ?? []), message])
    }
    return waiting
  }

  /** Removes a session. */
  async close(session: string): Promise<void> {
    await this.#query('DELETE FROM inbox WHERE session = $1', [session])
  }
}

declare module 'turnkeeper' {
  interface FlowServices {
    /** Optional, because other examples of this folder have no inbox. In your application it is not. */
    readonly inbox?: Inbox
  }
}

export function inboxOf(turn: Turn): Inbox {
  const { inbox } = turn.services
  if (inbox === undefined) throw new Error('The engine needs the service inbox.')
  return inbox
}
