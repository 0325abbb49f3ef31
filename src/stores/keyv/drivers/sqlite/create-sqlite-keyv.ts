/**
 * A Keyv over a SQLite file, which it tries to open again after a failure. `keyv` and `@keyv/sqlite` are optional
 * packages and loaded here, when they are needed.
 */
import type KeyvSqlite from '@keyv/sqlite'
import type { Keyv } from 'keyv'
import { invalidInput } from '../../../../errors/engine-errors.js'
import { checkNumber } from '../../../../util/options.js'
import { makePrivateFile } from './private-file.js'

/** What {@link createSqliteKeyv} takes in addition to the path. */
export interface SqliteKeyvOptions {
  /** Put before each key, with `:` between. Default `turnkeeper`. */
  readonly namespace?: string
  /** Milliseconds that a session is kept after its last save. Default: for ever. */
  readonly ttlMs?: number
  /** Sessions are in the tables `<table>_session` and `<table>_chunk`. Default `turnkeeper`. */
  readonly table?: string
  /** Milliseconds that an operation waits for a file that another process has locked. Default 2 500. */
  readonly busyTimeoutMs?: number
  /**
   * `'full'`: an acknowledged turn survives a loss of power. `'normal'`: faster, and the last ones may be gone after
   * it; the end of a process loses none. Default `'full'`.
   */
  readonly synchronous?: 'full' | 'normal'
}

interface Packages {
  readonly Keyv: typeof Keyv
  readonly Adapter: typeof KeyvSqlite
}

/** No wait and no count is without end. */
const finite = { finite: true }

/**
 * Makes a Keyv for a `KeyvSessionStore`. One process, or several on one machine, may use the file; it must not be on a
 * network drive.
 *
 * @param path - The file; created if it is missing, for its owner alone (mode 600), but not its folder.
 * `:memory:` keeps nothing.
 * @throws `InvalidInputError` (rejects) where `keyv` or `@keyv/sqlite` is not installed or not built: its message is
 * the command that installs them, and what that needs.
 *
 * @example
 * ```ts
 * const keyv = await createSqliteKeyv('./sessions.sqlite')
 * const engine = await FlowEngine.create({ flows: [Onboarding], sessionStore: new KeyvSessionStore({ keyv }) })
 * ```
 */
export async function createSqliteKeyv(path = './turnkeeper.sqlite', options: SqliteKeyvOptions = {}): Promise<Keyv> {
  const { namespace = 'turnkeeper', table = 'turnkeeper', busyTimeoutMs = 2_500, ttlMs, synchronous = 'full' } = options
  checkNumber('createSqliteKeyv', 'busyTimeoutMs', busyTimeoutMs, finite)
  if (ttlMs !== undefined) checkNumber('createSqliteKeyv', 'ttlMs', ttlMs, finite)
  const { Keyv, Adapter } = await loadPackages()
  const file = path.replace(/^sqlite:\/\//, '')
  const settings = { uri: `sqlite://${file}`, table, busyTimeout: busyTimeoutMs, synchronous }
  const store = openAdapter(() => {
    makePrivateFile(file)
    return new Adapter(settings)
  })
  const keyv = new Keyv({ store, namespace, throwOnErrors: true, ...(ttlMs === undefined ? {} : { ttl: ttlMs }) })
  // The caller gets a failure as a rejection; an error event without a listener would end the process.
  keyv.on('error', () => {})
  return keyv
}

/**
 * An adapter that opens its file again at the next query after it could not; the package's own
 * adapter would fail for good.
 */
function openAdapter(open: () => KeyvSqlite): KeyvSqlite {
  const adapter = open()
  let current = { query: adapter.query, close: adapter.close }
  let opened = isOpened(current.query)
  let closed: Promise<void> | undefined

  adapter.query = async (statement, ...values) => {
    const seen = opened
    if (!(await seen) && opened === seen && closed === undefined) {
      const next = open()
      next.on('error', (error) => adapter.emit('error', error))
      current = next
      opened = isOpened(next.query)
    }
    return current.query(statement, ...values)
  }
  adapter.close = () => {
    closed ??= opened.then((isOpen) => (isOpen ? current.close() : undefined))
    return closed
  }
  return adapter
}

function isOpened(query: KeyvSqlite['query']): Promise<boolean> {
  return query('SELECT 1').then(
    () => true,
    () => false,
  )
}

async function loadPackages(): Promise<Packages> {
  try {
    const [{ Keyv }, { default: Adapter }] = await Promise.all([import('keyv'), import('@keyv/sqlite')])
    return { Keyv, Adapter }
  } catch (cause) {
    throw invalidInput(
      'Sessions in SQLite need two packages: npm install keyv@5 @keyv/sqlite@4 (its native module sqlite3 is built on ' +
        'installation, which needs python3, make and a C++ compiler; npm 11 wants its install script approved: ' +
        'npm approve-scripts sqlite3, then npm rebuild sqlite3)',
      cause,
    )
  }
}
