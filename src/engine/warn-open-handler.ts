/** Warns about an HTTP handler that admits everyone. */
import type { ConfigReader } from '../config/config-manager.js'
import { MemorySessionStore } from '../stores/memory/memory-store.js'
import type { EngineContext } from './core/engine-context.js'

/**
 * Logs a warning if the setting `NODE_ENV` is `production`. Never throws.
 *
 * @param caller - The function that made the handler.
 */
export function warnOpenHandler({ logger, session }: EngineContext, settings: ConfigReader, caller: string): void {
  // A reader of the application may throw for a setting that it does not have, and a logger may fail in any way.
  const warn = async (): Promise<void> => {
    if (settings.get('NODE_ENV') !== 'production') return
    const inMemory = session.access.store instanceof MemorySessionStore
    await logger.warn(inMemory ? `${openText(caller)} ${memoryText}` : openText(caller), {})
  }
  warn().catch(() => undefined)
}

function openText(caller: string): string {
  return `${caller}: everyone may call these routes, because there is no authorize. Set authorize, or authorize: 'none' if everyone may.`
}

const memoryText =
  'Sessions are in the memory of this process, where a flood of requests evicts them: keep public traffic in Redis, Postgres or the store of your platform.'
