/**
 * Leases in a SQL database: a row of the table of claims for each, with the token of the holder. The
 * database's clock decides when it expires.
 */
import type { SessionDriver } from '../driver/session-driver.js'
import { type LeaseCommands, type LeaseOptions, PolledLeases } from './polled-leases.js'
import { encodeText } from './text-escapes.js'

/** The statements of a driver. Each returns a row if it changed one. */
export interface SqlLeaseStatements {
  /** Parameters: the key, the token, milliseconds. */
  readonly takeLease: string
  /** The same. */
  readonly renewLease: string
  /** Parameters: the key, the token. */
  readonly releaseLease: string
}

/**
 * The leases of a driver, if it has the option, and its `close`, which ends their renewals.
 *
 * @param perform - Runs a statement, and returns its rows.
 */
export function sqlLeases(
  lease: LeaseOptions | undefined,
  statements: SqlLeaseStatements,
  perform: (statement: string, values: readonly unknown[]) => Promise<readonly unknown[]>,
  close: () => Promise<void>,
): Pick<SessionDriver, 'lease' | 'close'> {
  if (lease === undefined) return { close }
  const changes = async (statement: string, key: string, ...values: unknown[]): Promise<boolean> =>
    (await perform(statement, [encodeText(key), ...values])).length > 0
  const commands: LeaseCommands = {
    take: (key, token, ttlMs) => changes(statements.takeLease, key, token, ttlMs),
    renew: (key, token, ttlMs) => changes(statements.renewLease, key, token, ttlMs),
    release: (key, token) => changes(statements.releaseLease, key, token),
  }
  const leases = new PolledLeases(commands, lease.ttlMs)
  return {
    lease: (key, _ttlMs, signal) => leases.take(key, signal),
    close() {
      leases.close()
      return close()
    },
  }
}
