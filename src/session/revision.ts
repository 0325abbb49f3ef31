/**
 * Revision tokens: `'<n>-<random>'`, as in CouchDB. The number shows the order to a reader. The random part
 * distinguishes documents with the same number: after a delete and a create, or after a failover that lost a write.
 */

/** The token that follows `previous` (`undefined`: the first), ending in `random`. */
export function nextRevision(previous: string | undefined, random: string): string {
  const count = previous === undefined ? 0 : Number.parseInt(previous, 10)
  return `${Number.isFinite(count) ? count + 1 : 1}-${random}`
}
