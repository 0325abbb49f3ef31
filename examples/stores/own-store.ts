import { SessionConflictError, type SessionDocument, SessionFlowInvariantError, type SessionStore } from 'turnkeeper'

/** What the store keeps of a session, like the row of a table. */
export interface Row {
  readonly revision: string
  readonly json: string
}

/** Sessions as JSON texts in a Map, by every rule of a store. With a database only the place of the rows differs. */
export class OwnSessionStore implements SessionStore {
  readonly guarantees = { compareAndSwap: 'process', durable: false } as const
  readonly #rows: Map<string, Row>
  #isClosed = false

  constructor(rows: Map<string, Row> = new Map()) {
    this.#rows = rows
  }

  async load(sessionId: string): Promise<SessionDocument | undefined> {
    const row = this.#find(sessionId)
    if (row === undefined) return undefined
    try {
      return JSON.parse(row.json)
    } catch (cause) {
      throw new SessionFlowInvariantError({ sessionId, problem: 'its text is not valid JSON', cause })
    }
  }

  async create(document: SessionDocument): Promise<void> {
    this.#swap(document, undefined)
  }

  async save(document: SessionDocument, expectedRevision: string): Promise<void> {
    this.#swap(document, expectedRevision)
  }

  async delete(sessionId: string, expectedRevision?: string): Promise<void> {
    const stored = this.#find(sessionId)?.revision
    if (stored === undefined) return
    if (expectedRevision !== undefined && stored !== expectedRevision) throw new SessionConflictError({ sessionId })
    this.#rows.delete(sessionId)
  }

  async close(): Promise<void> {
    this.#isClosed = true
  }

  /** Nothing may happen between the comparison and the write: no await here, and one statement in a database. */
  #swap({ id, revision, ...rest }: SessionDocument, expected: string | undefined): void {
    const stored = this.#find(id)?.revision
    // The same write arrived twice: the first one took effect.
    if (stored === revision) return
    if (stored !== expected) throw new SessionConflictError({ sessionId: id })
    this.#rows.set(id, { revision, json: JSON.stringify({ id, revision, ...rest }) })
  }

  #find(sessionId: string): Row | undefined {
    if (this.#isClosed) throw new Error('The store is closed.')
    return this.#rows.get(sessionId)
  }
}
