/** Warns about a handler without `authorize`, through the engine: adapters do not read settings. */
import type { ServedEngine } from './core/served-engine.js'

const ofMemory =
  'Sessions are in the memory of this process, where a flood of requests evicts them: keep public traffic in Redis, Postgres or the store of your platform.'

/** @param caller - the function that made the handler */
export function warnOfOpenHandler(engine: Pick<ServedEngine, 'warnInProduction'>, caller: string): void {
  engine.warnInProduction?.(
    `${caller}: everyone may call these routes, because there is no authorize. Set authorize, or authorize: 'none' if everyone may.`,
    ofMemory,
  )
}
