/**
 * The state that a conversation shares with its forks and with engines after a restart: the data, and the counts of
 * IDs.
 */
import {
  type FlowEngineOptions,
  MemorySessionStore,
  type SessionDocument,
  type SessionStore,
} from '../../../src/index.js'
import type { VirtualClock } from '../../virtual-clock/virtual-clock.js'
import type { ConversationWorldOptions } from './world-options.js'

/** The kinds of IDs. */
export type IdKind = Parameters<NonNullable<FlowEngineOptions['generateId']>>[0]

/** The data of one conversation. */
export class ConversationData {
  /** Makes a store over the data. */
  readonly createStore: () => SessionStore | Promise<SessionStore>
  /** How many IDs of each kind were made; `undefined` if other tests may share the data. */
  readonly #ids: Map<IdKind, number> | undefined

  /** @param from - The data of the conversation that this one continues. */
  constructor({ createStore }: ConversationWorldOptions, clock: VirtualClock, from?: ConversationData) {
    this.createStore = createStore ?? from?.createStore ?? memoryStores(clock)
    this.#ids = createStore === undefined ? (from === undefined ? new Map() : from.#ids) : undefined
  }

  /** Whether this conversation alone has the data. */
  get isOwn(): boolean {
    return this.#ids !== undefined
  }

  /** An ID: counted if the conversation alone has the data, otherwise random. */
  nextId(kind: IdKind): string {
    if (this.#ids === undefined) return crypto.randomUUID()
    const number = (this.#ids.get(kind) ?? 0) + 1
    this.#ids.set(kind, number)
    return `${kind}-${number}`
  }
}

/** Stores over the same data. It outlives every engine, so it counts as durable. */
function memoryStores(clock: VirtualClock): () => SessionStore {
  const data = new Map<string, SessionDocument>()
  return () => {
    const store = new MemorySessionStore({ backing: data, clock })
    return Object.assign(store, { guarantees: { ...store.guarantees, durable: true } })
  }
}
