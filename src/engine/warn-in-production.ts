/** Warns about a configuration that is not for production. */
import type { ConfigReader } from '../config/config-manager.js'
import { MemorySessionStore } from '../stores/memory/memory-store.js'
import type { EngineContext } from './core/engine-context.js'

/** See `FlowEngine.warnInProduction`. */
export function warnInProduction(
  { logger, session }: EngineContext,
  settings: ConfigReader,
  texts: readonly [text: string, ofMemory: string],
): void {
  // A reader of the application may throw for a setting that it does not have, and a logger may fail in any way.
  const warn = async (): Promise<void> => {
    if (settings.get('NODE_ENV') !== 'production') return
    const inMemory = session.access.store instanceof MemorySessionStore
    await logger.warn(inMemory ? texts.join(' ') : texts[0])
  }
  warn().catch(() => undefined)
}
