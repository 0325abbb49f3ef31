/**
 * Makes the store that the setting `SESSION_STORE` names, or checks the one that the application passed. Stores that
 * need another package are loaded only if they are named, so other applications do not include them.
 */
import type { Clock } from '../config/clock.js'
import type { ConfigReader } from '../config/config-manager.js'
import { type InvalidInputError, invalidInput } from '../errors/engine-errors.js'
import type { SessionStore } from '../session/session-store.js'
import { MemorySessionStore } from './memory/memory-store.js'

const allowed = ['memory', 'redis', 'sqlite', 'postgres']

/** The part of `turnkeeper/keyv` that this file uses. */
interface KeyvModule {
  createStoreFromSettings(name: string, config: ConfigReader): Promise<SessionStore>
}

type KeyvLoader = () => Promise<KeyvModule>

let loadKeyv: KeyvLoader | undefined

/**
 * Lets `SESSION_STORE` name stores of `turnkeeper/keyv`. Only src/index.node.ts calls it, because Miniflare refuses
 * any bundle that contains an `import()` of a computed name.
 */
export function setKeyvLoader(own: KeyvLoader | undefined): void {
  loadKeyv = own
}

/**
 * Makes the memory store if `SESSION_STORE` is `memory`, in any letter case, or not set.
 *
 * @throws `InvalidInputError` for a store that must be prepared first, and for an unknown value; the message lists the
 * allowed ones.
 */
export function createStore(config: ConfigReader, clock: Clock): SessionStore {
  const name = storeName(config)
  if (name === 'memory') return new MemorySessionStore({ clock })
  throw refusal(name, ': use await FlowEngine.create(), or pass sessionStore to the engine.')
}

/**
 * Makes the store that `SESSION_STORE` names, without connecting. Resolves to `undefined` for the memory store, which
 * needs no preparation.
 *
 * @throws `InvalidInputError` (rejects) if the value is not allowed, another setting is invalid, or a package is not
 * installed.
 */
export async function prepareStore(config: ConfigReader): Promise<SessionStore | undefined> {
  const name = storeName(config)
  if (name === 'memory') return undefined
  const notLoaded = ', which cannot be loaded here: pass sessionStore to the engine.'
  if (loadKeyv === undefined) throw refusal(name, notLoaded)
  const { createStoreFromSettings } = await loadKeyv().catch((cause: unknown) => {
    throw refusal(name, notLoaded, cause)
  })
  return createStoreFromSettings(name, config)
}

function storeName(config: ConfigReader): string {
  const value: unknown = config.get('SESSION_STORE') ?? 'memory'
  const name = String(value).toLowerCase()
  if (allowed.includes(name)) return name
  throw refusal(value, `; allowed: ${allowed.join(', ')}. For a store of your own, pass sessionStore to the engine.`)
}

function refusal(value: unknown, problem: string, cause?: unknown): InvalidInputError {
  return invalidInput(`SESSION_STORE is '${String(value)}'${problem}`, cause)
}

const operations = ['load', 'create', 'save', 'delete', 'close'] as const

/**
 * Checks and returns the store that the application passed, if any.
 *
 * @throws `InvalidInputError` that names the first missing method.
 */
export function checkStore(store: SessionStore | undefined): SessionStore | undefined {
  if (store === undefined) return undefined
  for (const operation of operations) {
    if (typeof store?.[operation] === 'function') continue
    throw invalidInput(`FlowEngine: sessionStore must be a SessionStore; it has no method ${operation}.`)
  }
  return store
}
