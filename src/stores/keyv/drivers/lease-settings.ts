/**
 * The option `lease` of `createPostgresKeyv` and `createSqliteKeyv`. It is on the Keyv itself, under a registered
 * symbol, so that two copies of this package understand each other.
 */
import { checkNumber, checkOptionNames, type OptionNames } from '../../../util/options.js'
import type { LeaseOptions } from './polled-leases.js'

const optionNames: OptionNames<LeaseOptions> = { ttlMs: true }

const marker: unique symbol = Symbol.for('turnkeeper.leaseSettings')

/**
 * Checks the option.
 *
 * @param caller - The function that the application called.
 * @throws `InvalidInputError`
 */
export function checkLease(caller: string, lease: LeaseOptions | undefined): void {
  if (lease === undefined) return
  checkOptionNames(caller, lease, optionNames, 'lease')
  checkNumber(caller, 'lease.ttlMs', lease.ttlMs, { finite: true })
}

/** Puts the option on a Keyv. */
export function attachLease(keyv: object, lease: LeaseOptions | undefined): void {
  if (lease !== undefined) Object.defineProperty(keyv, marker, { value: { ttlMs: lease.ttlMs } })
}

/** The option of a Keyv; `undefined`: no leases. */
export function leaseOf(keyv: object): LeaseOptions | undefined {
  return (keyv as { [marker]?: LeaseOptions })[marker]
}
