/** From the setting `SESSION_STORE` to a store. */
import type { Clock } from '../config/clock.js'
import type { ConfigReader } from '../config/config-manager.js'
import { InvalidInputError } from '../errors/engine-errors.js'
import type { SessionStore } from '../session/session-store.js'
import { MemorySessionStore } from './memory-store.js'

const allowed = ['memory']

/**
 * The store that `SESSION_STORE` names; `memory` where it names none. Letter case does not matter.
 *
 * @throws {@link InvalidInputError} for any other value, with the allowed ones.
 */
export function createStore(config: ConfigReader, clock: Clock): SessionStore {
  const name: unknown = config.get('SESSION_STORE') ?? 'memory'
  if (typeof name === 'string' && name.toLowerCase() === 'memory') return new MemorySessionStore({ clock })
  throw new InvalidInputError({
    message: `SESSION_STORE is '${String(name)}'; allowed: ${allowed.join(', ')}. For a store of your own, pass sessionStore to the engine.`,
  })
}
