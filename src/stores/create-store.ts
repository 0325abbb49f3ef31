/** From the setting `SESSION_STORE`, or what the application passed, to a store. */
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

const operations = ['load', 'create', 'save', 'delete', 'close'] as const

/**
 * A store that the application passed, if it did.
 *
 * @throws {@link InvalidInputError} that names the first operation it lacks.
 */
export function checkStore(store: SessionStore | undefined): SessionStore | undefined {
  if (store === undefined) return undefined
  for (const operation of operations) {
    if (typeof store?.[operation] === 'function') continue
    throw new InvalidInputError({
      message: `The engine option sessionStore must be a SessionStore; it has no method ${operation}.`,
    })
  }
  return store
}
