/** What a store may leave out, for stores in front of another one: they have what the store underneath has. */
import type { SessionStore } from '../../src/index.js'

/** The `claim` and `lease` of a store, as far as it has them. */
export function claimAndLeaseOf(store: SessionStore): Pick<SessionStore, 'claim' | 'lease'> {
  const { claim, lease } = store
  return {
    ...(claim === undefined ? {} : { claim: claim.bind(store) }),
    ...(lease === undefined ? {} : { lease: lease.bind(store) }),
  }
}
