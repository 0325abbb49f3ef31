/**
 * From the setting `SESSION_STORE`, or what the application passed, to a store. The stores that need another package
 * are loaded late, so that an application without them has nothing of them.
 */
import type { Clock } from '../config/clock.js'
import type { ConfigReader } from '../config/config-manager.js'
import { type InvalidInputError, invalidInput } from '../errors/engine-errors.js'
import type { SessionStore } from '../session/session-store.js'
import { MemorySessionStore } from './memory/memory-store.js'

const allowed = ['memory', 'redis', 'sqlite', 'postgres']

/** What this file uses of `turnkeeper/keyv`. */
interface KeyvModule {
  createStoreFromSettings(name: string, config: ConfigReader): Promise<SessionStore>
}

type KeyvLoader = () => Promise<KeyvModule>

let loadKeyv: KeyvLoader | undefined

/**
 * Lets `SESSION_STORE` name stores of `turnkeeper/keyv`. src/index.node.ts calls it: an `import()` of a name that is
 * computed is refused by Miniflare wherever it is in a bundle, so only runtimes that have Node's modules get one.
 */
export function setKeyvLoader(own: KeyvLoader | undefined): void {
  loadKeyv = own
}

/**
 * The memory store, where `SESSION_STORE` names it, or nothing. Letter case does not matter.
 *
 * @throws `InvalidInputError` for a store that must be prepared first, and for any other value, with the allowed
 * ones.
 */
export function createStore(config: ConfigReader, clock: Clock): SessionStore {
  const name = storeName(config)
  if (name === 'memory') return new MemorySessionStore({ clock })
  throw refusal(name, ': use await FlowEngine.create(), or pass sessionStore to the engine.')
}

/**
 * The store that `SESSION_STORE` names, where it must be prepared; `undefined` for the memory store. Does not connect.
 *
 * @throws `InvalidInputError` (rejects) for a value that is not allowed, a further setting that cannot be used, or
 * a package that is not installed.
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
 * A store that the application passed, if it did.
 *
 * @throws `InvalidInputError` that names the first operation it lacks.
 */
export function checkStore(store: SessionStore | undefined): SessionStore | undefined {
  if (store === undefined) return undefined
  for (const operation of operations) {
    if (typeof store?.[operation] === 'function') continue
    throw invalidInput(`FlowEngine: sessionStore must be a SessionStore; it has no method ${operation}.`)
  }
  return store
}
