/**
 * What a conversation shares with its forks and with the engines after a restart: the data, and the counts of the IDs.
 */
import {
  type FlowEngineOptions,
  MemorySessionStore,
  type SessionDocument,
  type SessionStore,
} from '../../../src/index.js'
import type { VirtualClock } from '../../virtual-clock/virtual-clock.js'
import type { ConversationWorldOptions } from './world-options.js'

/** What an ID is for. */
export type IdKind = Parameters<NonNullable<FlowEngineOptions['generateId']>>[0]

/** The data of one conversation. */
export class ConversationData {
  /** Makes a store over the data. */
  readonly createStore: () => SessionStore | Promise<SessionStore>
  /** How many IDs of each kind were made; `undefined` if other tests may share the data. */
  readonly #ids: Map<IdKind, number> | undefined

  /** @param from - Of the conversation that this one continues. */
  constructor({ createStore }: ConversationWorldOptions, clock: VirtualClock, from?: ConversationData) {
    this.createStore = createStore ?? from?.createStore ?? memoryStores(clock)
    this.#ids = createStore === undefined ? (from === undefined ? new Map() : from.#ids) : undefined
  }

  /** Whether nobody else has the data. */
  get isOwn(): boolean {
    return this.#ids !== undefined
  }

  /** An ID: counted if the data is the conversation's own, random if not. */
  nextId(kind: IdKind): string {
    if (this.#ids === undefined) return crypto.randomUUID()
    const number = (this.#ids.get(kind) ?? 0) + 1
    this.#ids.set(kind, number)
    return `${kind}-${number}`
  }
}

/** Stores over the same data, which outlives every engine, and so counts as durable. */
function memoryStores(clock: VirtualClock): () => SessionStore {
  const data = new Map<string, SessionDocument>()
  return () => {
    const store = new MemorySessionStore({ backing: data, clock })
    return Object.assign(store, { guarantees: { ...store.guarantees, durable: true } })
  }
}
