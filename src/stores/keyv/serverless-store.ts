/** What the stores for serverless platforms share: these options, and what they make of them. They need no Keyv. */
import { checkNumber, type OptionNames } from '../../util/options.js'
import type { ChunkedSessionStoreOptions } from './chunked-session-store.js'
import type { SessionDriver } from './driver/session-driver.js'
import { plainCodec } from './layout/codec.js'
import type { ServerlessStoreOptions } from './serverless-options.js'

export const serverlessOptionNames: OptionNames<ServerlessStoreOptions> = {
  ttlMs: true,
  absoluteTtlMs: true,
  cacheBytes: true,
}

const defaultCacheBytes = 16 * 1024 * 1024

/** What differs between these stores. */
export interface ServerlessBackend {
  /** The class or function that the application called, for messages about its options. */
  readonly caller: string
  /** What calls after `close()` reject with. */
  readonly closedMessage: string
  /** @param ttlMs - The option, in whole milliseconds; `undefined`: sessions stay. */
  createDriver(ttlMs: number | undefined): SessionDriver
  /** The key as the backend knows it. Default: the key. */
  keyOf?(key: string): string
}

/**
 * What such a store gives to a `ChunkedSessionStore`.
 *
 * @throws `InvalidInputError` for an option that is out of range.
 */
export function chunkedStoreOptions(
  backend: ServerlessBackend,
  options: ServerlessStoreOptions,
): ChunkedSessionStoreOptions {
  const { caller, closedMessage, keyOf = (key) => key } = backend
  const { ttlMs = Number.POSITIVE_INFINITY, absoluteTtlMs, cacheBytes = defaultCacheBytes } = options
  checkNumber(caller, 'ttlMs', ttlMs)
  const wholeTtlMs = Number.isFinite(ttlMs) ? Math.ceil(ttlMs) : undefined
  return {
    caller,
    closedMessage,
    driver: backend.createDriver(wholeTtlMs),
    keyOf,
    codec: plainCodec,
    ttlMs: () => wholeTtlMs,
    absoluteTtlMs,
    cacheBytes,
  }
}
