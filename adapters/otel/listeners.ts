/** The type of a set of listeners, by event name. */
import type { EngineEventMap } from '../../src/index.js'

/** Listeners for some events. */
export type Listeners<Name extends keyof EngineEventMap> = {
  readonly [Event in Name]: (payload: Readonly<EngineEventMap[Event]>) => void
}
