import { SessionConflictError, type SessionDocument, SessionFlowInvariantError, type SessionStore } from 'turnkeeper'

/** What the store needs of a database. Each of the three writes is one statement there. */
export interface SessionTable {
  read(id: string): Promise<{ revision: string; json: string } | undefined>
  /** INSERT ... ON CONFLICT DO NOTHING: whether a row was written. */
  insert(id: string, revision: string, json: string): Promise<boolean>
  /** UPDATE ... WHERE id = ? AND revision = ?: whether a row was written. */
  swap(id: string, expected: string, revision: string, json: string): Promise<boolean>
  /** DELETE ... WHERE id = ? [AND revision = ?]: whether a row was removed. */
  remove(id: string, expected?: string): Promise<boolean>
  end(): Promise<void>
}

export class TableSessionStore implements SessionStore {
  readonly guarantees = { compareAndSwap: 'backend', durable: true } as const
  readonly #table: SessionTable
  #isClosed = false

  constructor(table: SessionTable) {
    this.#table = table
  }

  async load(sessionId: string): Promise<SessionDocument | undefined> {
    const row = await this.#open().read(sessionId)
    if (row === undefined) return undefined
    try {
      return JSON.parse(row.json)
    } catch (cause) {
      throw new SessionFlowInvariantError({ sessionId, problem: 'its text is not valid JSON', cause })
    }
  }

  async create(document: SessionDocument): Promise<void> {
    const { id, revision } = document
    if (await this.#open().insert(id, revision, JSON.stringify(document))) return
    // The same save arrived twice: the first one took effect.
    if ((await this.#open().read(id))?.revision !== revision) throw new SessionConflictError({ sessionId: id })
  }

  async save(document: SessionDocument, expectedRevision: string): Promise<void> {
    const { id, revision } = document
    // If both revisions are the same, the save was already done and must change nothing.
    const isNew = revision !== expectedRevision
    if (isNew && (await this.#open().swap(id, expectedRevision, revision, JSON.stringify(document)))) return
    if ((await this.#open().read(id))?.revision !== revision) throw new SessionConflictError({ sessionId: id })
  }

  async delete(sessionId: string, expectedRevision?: string): Promise<void> {
    if ((await this.#open().remove(sessionId, expectedRevision)) || expectedRevision === undefined) return
    if ((await this.#open().read(sessionId)) !== undefined) throw new SessionConflictError({ sessionId })
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#table.end()
  }

  #open(): SessionTable {
    if (this.#isClosed) throw new Error('The store is closed.')
    return this.#table
  }
}
