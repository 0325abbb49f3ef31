/**
 * Makes a Keyv over Postgres with its own connection pool, in which every wait has a limit. The adapter's own pool is
 * shared by the whole process, and the loss of an idle connection would end the process. `keyv`, `@keyv/postgres` and
 * `pg` are optional packages; they are loaded on the first call.
 */
import type { KeyvPostgres } from '@keyv/postgres'
import type { Keyv } from 'keyv'
import type { Pool } from 'pg'
import { invalidInput } from '../../../../errors/engine-errors.js'
import { checkNumber } from '../../../../util/options.js'
import { attachLease, checkLease } from '../lease-settings.js'
import type { LeaseOptions } from '../polled-leases.js'

/** The options of {@link createPostgresKeyv}. */
export interface PostgresKeyvOptions {
  /** The prefix of each key, followed by `:`. Default `turnkeeper`. */
  readonly namespace?: string
  /** Milliseconds that a session is kept after its last save. Default: for ever. */
  readonly ttlMs?: number
  /** Sessions are stored in the tables `<table>_session` and `<table>_chunk`. Default `turnkeeper`. */
  readonly table?: string
  /** Created if it is missing. Default `public`. */
  readonly schema?: string
  /**
   * Leases: a turn waits until no other process runs a turn of its session, at most until its own deadline. Without
   * them both run, and one of them fails with `SESSION_CONFLICT`. A turn runs two statements more, and one that waits
   * asks again every 10 to 500 milliseconds. Take a `ttlMs` that is well above the longest pause of a process, for
   * example 10 000. Default: no leases.
   */
  readonly lease?: LeaseOptions
  /** The most connections at the same time. Default 10. */
  readonly maxConnections?: number
  /** Milliseconds to wait for a connection. Default 2 000. */
  readonly connectTimeoutMs?: number
  /** Milliseconds that one statement may take; keep it below the engine's `storeTimeoutMs`. Default 3 000. */
  readonly replyTimeoutMs?: number
  /**
   * Whether the server keeps the plan of each statement for the life of a connection. Switch it off behind a pooler in
   * transaction mode that does not support prepared statements. Default `true`.
   */
  readonly prepareStatements?: boolean
  /** More settings for the pool of `pg`, such as `ssl`, `password` as a function, or `application_name`. */
  readonly pool?: Readonly<Record<string, unknown>>
}

interface Packages {
  readonly Keyv: typeof Keyv
  readonly KeyvPostgres: typeof KeyvPostgres
  readonly Pool: typeof Pool
}

/** No time and no count may be infinite. */
const finite = { finite: true }

/**
 * The fraction of `replyTimeoutMs` after which the server cancels a statement. It is below 1 because the client would
 * give up without knowing the outcome.
 */
const serverShare = 0.9

/** The most statements that are prepared. The driver has fewer, but other code may use the adapter too. */
const maxPrepared = 50

/**
 * Makes a Keyv for a `KeyvSessionStore`. It connects in the background, so a server that is down may come up later.
 *
 * @param url - The address: `postgres://[user[:password]@]host[:port]/database`.
 * @throws `InvalidInputError` (rejects) if a setting is invalid, or if `keyv`, `@keyv/postgres` or `pg` is not
 * installed; the message has the command that installs them.
 *
 * @example
 * ```ts
 * const keyv = await createPostgresKeyv('postgres://app:secret@127.0.0.1:5432/app')
 * const engine = await FlowEngine.create({ flows: [Onboarding], sessionStore: new KeyvSessionStore({ keyv }) })
 * ```
 */
export async function createPostgresKeyv(url: string, options: PostgresKeyvOptions = {}): Promise<Keyv> {
  const { namespace = 'turnkeeper', table = 'turnkeeper', schema = 'public', ttlMs, lease } = options
  const { maxConnections = 10, connectTimeoutMs = 2_000, replyTimeoutMs = 3_000, prepareStatements = true } = options
  checkUrl(url)
  checkLease('createPostgresKeyv', lease)
  if (ttlMs !== undefined) checkNumber('createPostgresKeyv', 'ttlMs', ttlMs, finite)
  for (const [name, value] of Object.entries({ maxConnections, connectTimeoutMs, replyTimeoutMs })) {
    checkNumber('createPostgresKeyv', name, value, finite)
  }
  const packages = await loadPackages()
  const pool = new packages.Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: Math.ceil(replyTimeoutMs * serverShare),
    query_timeout: replyTimeoutMs,
    keepAlive: true,
    ...options.pool,
  })
  const store = createAdapter(packages.KeyvPostgres, pool, prepareStatements, { schema, table })
  const keyv = new packages.Keyv({
    store,
    namespace,
    throwOnErrors: true,
    ...(ttlMs === undefined ? {} : { ttl: ttlMs }),
  })
  attachLease(keyv, lease)
  // The caller gets each failure as a rejection. Without a listener an error event would end the process.
  keyv.on('error', () => {})
  return keyv
}

function createAdapter(
  Base: typeof KeyvPostgres,
  pool: Pool,
  preparesStatements: boolean,
  options: { readonly schema: string; readonly table: string },
): KeyvPostgres {
  const names = new Map<string, string>()
  let ended: Promise<void> | undefined

  /** Names the statement, because a named statement is planned only once per connection. */
  function toQuery(statement: string, values: unknown): object {
    if (preparesStatements && values !== undefined && !names.has(statement) && names.size < maxPrepared) {
      names.set(statement, `turnkeeper_${names.size}`)
    }
    const name = names.get(statement)
    return { text: statement, ...(values === undefined ? {} : { values, ...(name === undefined ? {} : { name }) }) }
  }

  class PooledPostgres extends Base {
    override async connect(): Promise<KeyvPostgres['query']> {
      return async (statement, values) => (await pool.query(toQuery(statement, values))).rows
    }

    override disconnect(): Promise<void> {
      ended ??= pool.end()
      return ended
    }
  }
  const adapter = new PooledPostgres(options)
  pool.on('error', (error) => adapter.emit('error', error))
  return adapter
}

function checkUrl(url: string): void {
  try {
    if (/^postgres(ql)?:$/.test(new URL(url).protocol)) return
  } catch {
    // The error below does not contain the address, which may hold a password.
  }
  throw invalidInput('createPostgresKeyv: the address must read postgres://user:password@host:port/database.')
}

async function loadPackages(): Promise<Packages> {
  try {
    const [{ Keyv }, { KeyvPostgres }, { Pool }] = await Promise.all([
      import('keyv'),
      import('@keyv/postgres'),
      import('pg'),
    ])
    return { Keyv, KeyvPostgres, Pool }
  } catch (cause) {
    throw invalidInput('Sessions in Postgres need three packages: npm install keyv@5 @keyv/postgres@2 pg@8', cause)
  }
}
