/** Sessions in a D1 database: the public class. d1-driver.ts does the compare-and-swap. */
import type { SessionStore } from '../../src/index.js'
import { ChunkedSessionStore } from '../../src/stores/keyv/chunked-session-store.js'
import type { ServerlessStoreOptions } from '../../src/stores/keyv/serverless-options.js'
import { chunkedStoreOptions, serverlessOptionNames } from '../../src/stores/keyv/serverless-store.js'
import { checkMethods, checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import { type D1DatabaseLike, D1Driver } from './d1-driver.js'

/** The options of {@link D1SessionStore}. */
export interface D1SessionStoreOptions extends ServerlessStoreOptions {
  /**
   * The binding of the database. The store creates its tables if they are missing; their names begin with
   * `turnkeeper_`.
   */
  readonly database: D1DatabaseLike
}

const optionNames: OptionNames<D1SessionStoreOptions> = {
  database: true,
  ...serverlessOptionNames,
}

/**
 * A durable session store over D1, with a compare-and-swap in the database. The database's clock decides about times to
 * live.
 *
 * @example
 * ```ts
 * const sessionStore = new D1SessionStore({ database: env.DB, ttlMs: 30 * 24 * 60 * 60 * 1000 })
 * const engine = new FlowEngine({ flows: [Onboarding], sessionStore })
 * ```
 */
export class D1SessionStore extends ChunkedSessionStore {
  declare readonly claim: NonNullable<SessionStore['claim']>
  /** See {@link SessionStore.list}. A page has at most 100 sessions. */
  declare readonly list: NonNullable<SessionStore['list']>

  /** @throws `InvalidInputError` for an option that is missing, unknown or out of range. */
  constructor(options: D1SessionStoreOptions) {
    const caller = 'D1SessionStore'
    checkOptionNames(caller, options, optionNames)
    const { database } = options
    if (database === undefined) throw invalidInput('D1SessionStore: database must be the binding of a D1 database.')
    checkMethods(caller, 'database', database, ['prepare', 'batch'])
    const closedMessage = 'The D1 session store is closed.'
    super(chunkedStoreOptions({ caller, closedMessage, createDriver: () => new D1Driver(database) }, options))
  }

  /**
   * Deletes every expired session and claim. Until then D1 stores them, although they can no longer be loaded. Call
   * this from a Cron Trigger, for example once a day.
   *
   * @returns the number of deleted sessions
   */
  purgeExpired(): Promise<number> {
    return this.purge()
  }
}
