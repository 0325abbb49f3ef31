/** The driver of a store, with its keys and texts. */
import type { SessionDriver } from '../driver/session-driver.js'
import type { TextCodec } from './codec.js'

/** A driver, and how the keys and texts for it are made. */
export interface ChosenDriver {
  readonly driver: SessionDriver
  /** Turns a key into the backend's key, which begins with the namespace. */
  keyOf(key: string): string
  readonly codec: TextCodec
}
