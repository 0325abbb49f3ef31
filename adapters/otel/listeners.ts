/** The type of what spans and metrics are made of: listeners by the names of their events. */
import type { EngineEventMap } from '../../src/index.js'

/** What listens to some events. */
export type Listeners<Name extends keyof EngineEventMap> = {
  readonly [Event in Name]: (payload: Readonly<EngineEventMap[Event]>) => void
}
