/**
 * Makes a Keyv over a SQLite file, which it tries to open again after a failure. `keyv` and `@keyv/sqlite` are optional
 * packages; they are loaded on the first call.
 */
import type KeyvSqlite from '@keyv/sqlite'
import type { Keyv } from 'keyv'
import { invalidInput } from '../../../../errors/engine-errors.js'
import { checkNumber } from '../../../../util/options.js'
import { attachLease, checkLease } from '../lease-settings.js'
import type { LeaseOptions } from '../polled-leases.js'
import { makePrivateFile } from './private-file.js'

/** The options of {@link createSqliteKeyv}. */
export interface SqliteKeyvOptions {
  /** The prefix of each key, followed by `:`. Default `turnkeeper`. */
  readonly namespace?: string
  /** Milliseconds that a session is kept after its last save. Default: for ever. */
  readonly ttlMs?: number
  /** Sessions are stored in the tables `<table>_session` and `<table>_chunk`. Default `turnkeeper`. */
  readonly table?: string
  /**
   * Leases: a turn waits until no other process runs a turn of its session, at most until its own deadline. Without
   * them both run, and one of them fails with `SESSION_CONFLICT`. A turn runs two statements more, and one that waits
   * asks again every 10 to 500 milliseconds. Take a `ttlMs` that is well above the longest pause of a process, for
   * example 10 000. Default: no leases.
   */
  readonly lease?: LeaseOptions
  /** Milliseconds that an operation waits while another process has the file locked. Default 2 500. */
  readonly busyTimeoutMs?: number
  /**
   * `'full'`: an acknowledged turn survives a power failure. `'normal'`: faster, but a power failure may lose the last
   * turns; a crash of the process loses none. Default `'full'`.
   */
  readonly synchronous?: 'full' | 'normal'
}

interface Packages {
  readonly Keyv: typeof Keyv
  readonly Adapter: typeof KeyvSqlite
}

/** No time may be infinite. */
const finite = { finite: true }

/**
 * Makes a Keyv for a `KeyvSessionStore`. One process, or several on one machine, may use the file; it must not be on a
 * network drive.
 *
 * @param path - The file. If it is missing, it is created with mode 600 (only its owner can read it); its folder is not
 * created. `:memory:` stores nothing on disk.
 * @throws `InvalidInputError` (rejects) if `keyv` or `@keyv/sqlite` is not installed or not built; the message has the
 * command that installs them, and its requirements.
 *
 * @example
 * ```ts
 * const keyv = await createSqliteKeyv('./sessions.sqlite')
 * const engine = await FlowEngine.create({ flows: [Onboarding], sessionStore: new KeyvSessionStore({ keyv }) })
 * ```
 */
export async function createSqliteKeyv(path = './turnkeeper.sqlite', options: SqliteKeyvOptions = {}): Promise<Keyv> {
  const { namespace = 'turnkeeper', table = 'turnkeeper', ttlMs, lease } = options
  const { busyTimeoutMs = 2_500, synchronous = 'full' } = options
  checkNumber('createSqliteKeyv', 'busyTimeoutMs', busyTimeoutMs, finite)
  checkLease('createSqliteKeyv', lease)
  if (ttlMs !== undefined) checkNumber('createSqliteKeyv', 'ttlMs', ttlMs, finite)
  const { Keyv, Adapter } = await loadPackages()
  const file = path.replace(/^sqlite:\/\//, '')
  const settings = { uri: `sqlite://${file}`, table, busyTimeout: busyTimeoutMs, synchronous }
  const store = openAdapter(() => {
    makePrivateFile(file)
    return new Adapter(settings)
  })
  const keyv = new Keyv({ store, namespace, throwOnErrors: true, ...(ttlMs === undefined ? {} : { ttl: ttlMs }) })
  attachLease(keyv, lease)
  // The caller gets each failure as a rejection. Without a listener an error event would end the process.
  keyv.on('error', () => {})
  return keyv
}

/**
 * Makes an adapter that, if it could not open its file, tries again at the next query. The package's own adapter would
 * fail for ever.
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
