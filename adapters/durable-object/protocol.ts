/** The requests of a store to a session's object, and the replies: both are JSON bodies. */
import type { SessionSwap } from '../../src/stores/keyv/driver/session-driver.js'

/** A request to an object. */
export type ObjectRequest =
  | { readonly operation: 'read'; readonly chunks: readonly string[]; readonly knownRevision?: string | undefined }
  | { readonly operation: 'readAll' }
  | ({ readonly operation: 'swap' } & ObjectSwap)
  | { readonly operation: 'remove'; readonly expectedRevision?: string | undefined }
  | { readonly operation: 'isRemoved' }
  | { readonly operation: 'claim'; readonly sessionId: string; readonly ttlMs: number }

/** A swap without the key, which is the object's name, and without the owner. */
export type ObjectSwap = Pick<
  SessionSwap,
  'expectedRevision' | 'revision' | 'head' | 'chunks' | 'removed' | 'replacesChunks' | 'ttlMs' | 'expiresBy'
>

/** The reply to `read` and `readAll`; `null` if nothing is stored. */
export interface ObjectTexts {
  readonly revision: string
  /** Empty if the caller knows the revision. */
  readonly head: string
  readonly chunks: readonly (readonly [name: string, text: string])[]
}
