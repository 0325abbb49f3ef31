/** What a store is made over. */
import type { SessionDriver } from '../driver/session-driver.js'
import type { TextCodec } from './codec.js'

/** A driver, with the keys and texts that it takes. */
export interface ChosenDriver {
  readonly driver: SessionDriver
  /** The key as the backend knows it: with the namespace. */
  keyOf(key: string): string
  readonly codec: TextCodec
}
