/** What a store may leave out, for stores in front of another one: they have what the store underneath has. */
import type { SessionStore } from '../../src/index.js'

/** The `claim`, `isDeleted`, `lease`, `list` and `summary` of a store, as far as it has them. */
export function optionalOperationsOf(
  store: SessionStore,
): Pick<SessionStore, 'claim' | 'isDeleted' | 'lease' | 'list' | 'summary'> {
  const { claim, isDeleted, lease, list, summary } = store
  return {
    ...(claim === undefined ? {} : { claim: claim.bind(store) }),
    ...(isDeleted === undefined ? {} : { isDeleted: isDeleted.bind(store) }),
    ...(lease === undefined ? {} : { lease: lease.bind(store) }),
    ...(list === undefined ? {} : { list: list.bind(store) }),
    ...(summary === undefined ? {} : { summary: summary.bind(store) }),
  }
}
