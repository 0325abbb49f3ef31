/** Sessions in a D1 database: the public class. d1-driver.ts does the compare-and-swap. */
import type { SessionDocument, SessionListQuery, SessionSaveHint, SessionStore } from '../../src/index.js'
import type { ChunkedSessionStore } from '../../src/stores/keyv/chunked-session-store.js'
import type { ServerlessStoreOptions } from '../../src/stores/keyv/serverless-options.js'
import { serverlessOptionNames, serverlessStore } from '../../src/stores/keyv/serverless-store.js'
import { checkMethods, checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import { type D1DatabaseLike, D1Driver } from './d1-driver.js'

/** What the constructor of {@link D1SessionStore} takes. */
export interface D1SessionStoreOptions extends ServerlessStoreOptions {
  /**
   * The binding of the database. The store makes its tables, whose names begin with `turnkeeper_`, where they are
   * missing.
   */
  readonly database: D1DatabaseLike
}

const optionNames: OptionNames<D1SessionStoreOptions> = {
  database: true,
  ...serverlessOptionNames,
}

/**
 * A durable session store over D1, with a compare-and-swap in the database. Times to live go by the clock of the
 * database.
 *
 * @example
 * ```ts
 * const sessionStore = new D1SessionStore({ database: env.DB, ttlMs: 30 * 24 * 60 * 60 * 1000 })
 * const engine = new FlowEngine({ flows: [Onboarding], sessionStore })
 * ```
 */
export class D1SessionStore implements SessionStore {
  readonly guarantees: SessionStore['guarantees']
  readonly #store: ChunkedSessionStore

  /** @throws `InvalidInputError` for an option that is missing, unknown or out of range. */
  constructor(options: D1SessionStoreOptions) {
    const caller = 'D1SessionStore'
    checkOptionNames(caller, options, optionNames)
    const { database } = options
    if (database === undefined) throw invalidInput('D1SessionStore: database must be the binding of a D1 database.')
    checkMethods(caller, 'database', database, ['prepare', 'batch'])
    this.#store = serverlessStore(
      { caller, closedMessage: 'The D1 session store is closed.', createDriver: () => new D1Driver(database) },
      options,
    )
    this.guarantees = this.#store.guarantees
  }

  /**
   * See {@link SessionStore.load}. For another caller than its owner, the chunks of a session are not decoded, nor is
   * it kept.
   */
  load(sessionId: string, caller?: { readonly owner?: string | undefined }): Promise<SessionDocument | undefined> {
    return this.#store.load(sessionId, caller)
  }

  create(document: SessionDocument): Promise<void> {
    return this.#store.create(document)
  }

  save(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint): Promise<void> {
    return this.#store.save(document, expectedRevision, hint)
  }

  delete(sessionId: string, expectedRevision?: string): Promise<void> {
    return this.#store.delete(sessionId, expectedRevision)
  }

  /** See {@link SessionStore.claim}. */
  async claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    return (this.#store as Required<ChunkedSessionStore>).claim(key, sessionId, ttlMs)
  }

  /** See {@link SessionStore.list}. A page has at most 100 sessions. */
  async list(query: SessionListQuery): ReturnType<NonNullable<SessionStore['list']>> {
    return (this.#store as Required<ChunkedSessionStore>).list(query)
  }

  /**
   * Removes every expired session and claim for good. D1 keeps what expired, which nobody can load, until then: call it
   * from a Cron Trigger, for example once a day.
   *
   * @returns How many sessions were removed.
   */
  purgeExpired(): Promise<number> {
    return this.#store.purgeExpired()
  }

  /** Calls after it reject. The binding itself needs no closing. */
  close(): Promise<void> {
    return this.#store.close()
  }
}
