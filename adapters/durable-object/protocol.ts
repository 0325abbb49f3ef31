/**
 * What a store asks of a session's object, and what the object answers: both as JSON, in the body of a request and its
 * reply.
 */
import type { SessionSwap } from '../../src/stores/keyv/driver/session-driver.js'

/** What an object is asked. */
export type ObjectRequest =
  | { readonly operation: 'read'; readonly chunks: readonly string[]; readonly knownRevision?: string | undefined }
  | { readonly operation: 'readAll' }
  | ({ readonly operation: 'swap' } & ObjectSwap)
  | { readonly operation: 'remove'; readonly expectedRevision?: string | undefined }
  | { readonly operation: 'claim'; readonly sessionId: string; readonly ttlMs: number }

/** A swap, of which the object needs neither the key, which is its name, nor the owner. */
export type ObjectSwap = Pick<
  SessionSwap,
  'expectedRevision' | 'revision' | 'head' | 'chunks' | 'removed' | 'replacesChunks' | 'ttlMs' | 'expiresBy'
>

/** What it answers to `read` and `readAll`: `null` where nothing is stored. */
export interface ObjectTexts {
  readonly revision: string
  /** Empty where the caller knows the revision. */
  readonly head: string
  readonly chunks: readonly (readonly [name: string, text: string])[]
}
