/**
 * Sessions in whatever a Keyv stands for: the public face. It decides what is written, what is known already and what a
 * conflict means; the compare-and-swap itself is the driver's, and the way from documents to texts is next door.
 */
import type { Keyv } from 'keyv'
import { LRUCache } from 'lru-cache'
import { SessionConflictError } from '../../errors/session-errors.js'
import type { SessionDocument } from '../../session/session-document.js'
import type {
  SessionSaveHint,
  SessionStore,
  SessionStoreGuarantees,
  UnderReplicatedReport,
} from '../../session/session-store.js'
import { checkNumber } from '../../util/options.js'
import { type ChosenDriver, chooseDriver } from './driver-for.js'
import { bytesOf, type KnownSession } from './layout/chunks.js'
import { sessionKey } from './layout/keys.js'
import { SessionReader } from './layout/read-session.js'
import { planWrite } from './layout/write-plan.js'
import type { SessionDriver } from './session-driver.js'

/** What the constructor of {@link KeyvSessionStore} takes. */
export interface KeyvSessionStoreOptions {
  /** The Keyv whose adapter, namespace, TTL, `serialize` and `compression` are used. Give sessions one of their own. */
  readonly keyv: Keyv
  /**
   * `'process'`: take an adapter without a compare-and-swap, and guard sessions within this process only. Two processes
   * over one backend then lose each other's turns, and an outage shows only as far as Keyv and its adapter let it.
   * Default: such an adapter is refused.
   */
  readonly consistency?: 'process'
  /** A way of your own to the backend. Default: the one for the Keyv's adapter. */
  readonly driver?: SessionDriver
  /** Whether `close()` disconnects the Keyv. Default `true`. */
  readonly closeKeyv?: boolean
  /**
   * Bytes of text, about, whose history and messages are kept in this process, so that a turn need not read them again.
   * The sessions used longest ago go first; 0 keeps none. Default 64 MiB.
   */
  readonly cacheBytes?: number
}

const defaultCacheBytes = 64 * 1024 * 1024

/** What a session takes in the cache beside its texts. */
const cacheOverhead = 512

/** Writes that are remembered as tried. */
const maxAttempted = 10_000

/**
 * A durable session store over Keyv, with a compare-and-swap in the backend.
 *
 * @example
 * ```ts
 * const sessionStore = new KeyvSessionStore({ keyv: await createRedisKeyv('redis://127.0.0.1:6379') })
 * const engine = new FlowEngine({ flows: [Onboarding], sessionStore })
 * ```
 */
export class KeyvSessionStore implements SessionStore {
  /** What the backend can promise: `{ compareAndSwap: 'backend', durable: true }` on Redis. */
  readonly guarantees: SessionStoreGuarantees
  readonly #keyv: Keyv
  readonly #closesKeyv: boolean
  readonly #chosen: ChosenDriver
  readonly #reader: SessionReader
  readonly #known: LRUCache<string, KnownSession> | undefined
  /** How often a key and revision were given to the driver, whatever became of them. */
  readonly #attempts = new LRUCache<string, number>({ maxSize: maxAttempted, sizeCalculation: () => 1 })
  readonly #underReplicatedListeners = new Set<(report: UnderReplicatedReport) => void>()
  #closed: Promise<void> | undefined

  /**
   * @throws `InvalidInputError` where the Keyv's adapter has no compare-and-swap that is known here, and neither
   * `consistency: 'process'` nor a `driver` was passed.
   */
  constructor(options: KeyvSessionStoreOptions) {
    this.#keyv = options.keyv
    this.#closesKeyv = options.closeKeyv ?? true
    this.#chosen = chooseDriver(options)
    this.guarantees = this.#chosen.driver.guarantees
    this.#reader = new SessionReader(this.#chosen.driver, this.#chosen.codec)
    this.#known = createCache(options.cacheBytes ?? defaultCacheBytes)
  }

  async load(sessionId: string): Promise<SessionDocument | undefined> {
    const key = await this.#open(sessionId)
    const known = this.#known?.get(key)
    const found = await this.#reader.read(key, sessionId, known).catch((error: unknown) => {
      this.#known?.delete(key)
      throw error
    })
    if (found === undefined) this.#known?.delete(key)
    else this.#remember(key, found.known)
    return found?.document
  }

  create(document: SessionDocument): Promise<void> {
    return this.#write(document, undefined, undefined)
  }

  save(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint): Promise<void> {
    return this.#write(document, expectedRevision, hint)
  }

  async delete(sessionId: string, expectedRevision?: string): Promise<void> {
    const key = await this.#open(sessionId)
    this.#known?.delete(key)
    const outcome = await this.#chosen.driver.remove(key, expectedRevision)
    if (outcome === 'conflict') throw new SessionConflictError({ sessionId })
  }

  /**
   * Removes every expired session for good. SQLite and Postgres keep expired sessions, which nobody can load, until then:
   * call it from a job of yours, once a day say. Redis and a Map need none.
   *
   * @returns How many there were; 0 where the backend removes them by itself.
   */
  async purgeExpired(): Promise<number> {
    if (this.#closed !== undefined) throw new Error('The Keyv session store is closed.')
    return (await this.#chosen.driver.purgeExpired?.()) ?? 0
  }

  /** Disconnects the Keyv, unless `closeKeyv` is `false`. Calls after it reject, and nothing reconnects. */
  close(): Promise<void> {
    this.#closed ??= this.#closesKeyv ? this.#chosen.driver.close() : Promise.resolve()
    this.#known?.clear()
    this.#underReplicatedListeners.clear()
    return this.#closed
  }

  onUnderReplicated(listener: (report: UnderReplicatedReport) => void): () => void {
    this.#underReplicatedListeners.add(listener)
    return () => this.#underReplicatedListeners.delete(listener)
  }

  async #write(
    document: SessionDocument,
    expectedRevision: string | undefined,
    hint: SessionSaveHint | undefined,
  ): Promise<void> {
    const { id, revision } = document
    const key = await this.#open(id)
    const known = this.#known?.get(key)
    const plan = planWrite(document, known?.revision === expectedRevision ? known : undefined, hint)
    const { codec, driver } = this.#chosen
    const head = await codec.encode(plan.head)
    const chunks: (readonly [string, string])[] = []
    const grown = new Map<string, number>()
    for (const { name, list, chunk } of plan.chunks) {
      const text = chunk === undefined ? '' : await codec.encode(chunk)
      chunks.push([name, text])
      grown.set(list, (grown.get(list) ?? 0) + text.length)
    }
    const write = `${key} ${revision}`
    this.#attempts.set(write, (this.#attempts.get(write) ?? 0) + 1)
    this.#known?.delete(key)
    const outcome = await driver.swap({
      key,
      expectedRevision,
      revision,
      head,
      chunks,
      replacesChunks: plan.replacesChunks,
      ttlMs: this.#keyv.ttl || undefined,
      onUnderReplicated: (replicas, wanted) => this.#report({ sessionId: id, replicas, wanted }),
    })
    if (outcome === 'conflict') throw new SessionConflictError({ sessionId: id })
    // Another attempt, made before this one or while it was under way, may have stored the same revision in other chunks
    // than these: then it is not known how.
    if (this.#attempts.get(write) === 1 && plan.lists !== undefined) {
      const sized = Array.from(
        plan.lists,
        ([name, list]) => [name, { ...list, bytes: list.bytes + (grown.get(name) ?? 0) }] as const,
      )
      this.#remember(key, { revision, lists: new Map(sized) })
    }
  }

  #report(report: UnderReplicatedReport): void {
    for (const listener of this.#underReplicatedListeners) listener(report)
  }

  async #open(sessionId: string): Promise<string> {
    if (this.#closed !== undefined) throw new Error('The Keyv session store is closed.')
    return this.#chosen.keyOf(await sessionKey(sessionId))
  }

  #remember(key: string, known: KnownSession): void {
    if (this.#closed === undefined) this.#known?.set(key, known)
  }
}

function createCache(bytes: number): LRUCache<string, KnownSession> | undefined {
  checkNumber('KeyvSessionStore', 'cacheBytes', bytes, { min: 0, finite: true })
  if (bytes < 1) return undefined
  const maxSize = Math.floor(bytes)
  return new LRUCache({ maxSize, sizeCalculation: (known, key) => bytesOf(known) + key.length + cacheOverhead })
}
