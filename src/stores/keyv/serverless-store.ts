/** Checks the options that the stores for serverless platforms share. These stores need no Keyv. */
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

/** The parts in which these stores differ. */
export interface ServerlessBackend {
  /** The class or function that the application called, for messages about its options. */
  readonly caller: string
  /** The message of the error with which calls after `close()` reject. */
  readonly closedMessage: string
  /** @param ttlMs - The option, in whole milliseconds; `undefined`: sessions never expire. */
  createDriver(ttlMs: number | undefined): SessionDriver
  /** Turns a key into the backend's key. Default: the same key. */
  keyOf?(key: string): string
}

/**
 * Makes the options of the `ChunkedSessionStore`.
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
