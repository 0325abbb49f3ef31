/**
 * Sessions in the backend of a Keyv: the public class. It decides what this process remembers of a session and what a
 * conflict means. The drivers do the compare-and-swap; layout/ turns documents into texts and back.
 */
import type { Keyv } from 'keyv'
import { LRUCache } from 'lru-cache'
import { SessionConflictError } from '../../errors/session-errors.js'
import { copyDocument } from '../../session/lists/copy-document.js'
import type { SessionDocument } from '../../session/session-document.js'
import type {
  SessionListQuery,
  SessionSaveHint,
  SessionStore,
  SessionStoreGuarantees,
  UnderReplicatedReport,
} from '../../session/session-store.js'
import { isListed, type SessionPage } from '../../session/session-summary.js'
import { checkNumber, checkOptionNames, type OptionNames } from '../../util/options.js'
import { type ChosenDriver, chooseDriver } from './driver-for.js'
import { bytesOf, type KnownSession } from './layout/chunks.js'
import { encodeAll, type SessionTextPlace } from './layout/codec.js'
import { headName } from './layout/head.js'
import { claimKey, leaseKey, sessionKey } from './layout/keys.js'
import { type OwnedHeads, ownedHeads } from './layout/owned-heads.js'
import { type Caller, type ForeignSession, SessionReader } from './layout/read-session.js'
import { planWrite } from './layout/write-plan.js'
import type { SessionDriver, SessionOwner } from './session-driver.js'
import { WriteAttempts } from './write-attempts.js'

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
  /**
   * Milliseconds after its creation (`createdAt`) at which a session is gone, however often it is saved. A turn that ends later
   * fails with `SESSION_CONFLICT`. The time after the last save is the `ttl` of the Keyv. Default: `Infinity`.
   */
  readonly absoluteTtlMs?: number
  /** Your own driver for the backend. Default: the one for the Keyv's adapter. */
  readonly driver?: SessionDriver
  /** Whether `close()` disconnects the Keyv. Default `true`. */
  readonly closeKeyv?: boolean
  /**
   * About how many bytes of sessions this process keeps, so that a turn need not read them again. The sessions used
   * longest ago are dropped first; 0 keeps none. Default 64 MiB.
   */
  readonly cacheBytes?: number
}

const optionNames: OptionNames<KeyvSessionStoreOptions> = {
  keyv: true,
  consistency: true,
  absoluteTtlMs: true,
  driver: true,
  closeKeyv: true,
  cacheBytes: true,
}

const defaultCacheBytes = 64 * 1024 * 1024

/** What a session takes in the cache in addition to its texts. */
const cacheOverhead = 512

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
  /** What the backend guarantees: `{ compareAndSwap: 'backend', durable: true }` on Redis. */
  readonly guarantees: SessionStoreGuarantees
  /** See {@link SessionStore.claim}. Absent where the driver has no `claim`. */
  readonly claim?: NonNullable<SessionStore['claim']>
  /** See {@link SessionStore.lease}. Absent but for a Keyv of `createRedisKeyv` with the option `lease`, and for drivers that have it. */
  readonly lease?: NonNullable<SessionStore['lease']>
  /** See {@link SessionStore.list}. Absent where the driver has no `list`. */
  readonly list?: NonNullable<SessionStore['list']>
  readonly #keyv: Keyv
  readonly #closesKeyv: boolean
  readonly #absoluteTtlMs: number
  readonly #chosen: ChosenDriver
  readonly #reader: SessionReader
  readonly #heads: OwnedHeads
  readonly #known: LRUCache<string, KnownSession> | undefined
  /** Of a key and revision, whatever the outcome. */
  readonly #attempts = new WriteAttempts()
  readonly #underReplicatedListeners = new Set<(report: UnderReplicatedReport) => void>()
  #closed: Promise<void> | undefined

  /**
   * @throws `InvalidInputError` where the Keyv's adapter has no compare-and-swap that is known here, and neither
   * `consistency: 'process'` nor a `driver` was passed.
   */
  constructor(options: KeyvSessionStoreOptions) {
    checkOptionNames('KeyvSessionStore', options, optionNames)
    this.#keyv = options.keyv
    this.#closesKeyv = options.closeKeyv ?? true
    this.#absoluteTtlMs = options.absoluteTtlMs ?? Number.POSITIVE_INFINITY
    checkNumber('KeyvSessionStore', 'absoluteTtlMs', this.#absoluteTtlMs)
    this.#chosen = chooseDriver(options)
    this.guarantees = this.#chosen.driver.guarantees
    this.#reader = new SessionReader(this.#chosen.driver, this.#chosen.codec)
    this.#heads = ownedHeads(this.#chosen)
    this.#known = createCache(options.cacheBytes ?? defaultCacheBytes)
    const { driver } = this.#chosen
    if (driver.claim !== undefined) this.claim = (...claim) => this.#claim(...claim)
    if (driver.lease !== undefined) this.lease = (...lease) => this.#lease(...lease)
    if (driver.list !== undefined) this.list = (query) => this.#list(query)
  }

  /** See {@link SessionStore.load}. For another caller than its owner, the chunks of a session are not decoded, nor is it kept. */
  async load(sessionId: string, caller?: Caller): Promise<SessionDocument | undefined> {
    const key = await this.#open(sessionId)
    const known = this.#knownTo(caller, key)
    const found = await this.#read(key, sessionId, known, caller)
    if (found === undefined) return undefined
    if ('foreign' in found) return found.foreign as SessionDocument
    if (!isPast(this.#expiresBy(found.document))) return copyDocument(found.document)
    // The backend does not know it: the session was stored without this setting, or the driver ignores it.
    this.#known?.delete(key)
    const outcome = await this.#chosen.driver.remove(key, found.revision, () => this.#heads.ownerOf(found.document))
    return outcome === 'conflict' ? this.load(sessionId, caller) : undefined
  }

  create(document: SessionDocument): Promise<void> {
    return this.#write(document, undefined, undefined)
  }

  save(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint): Promise<void> {
    return this.#write(document, expectedRevision, hint)
  }

  async delete(sessionId: string, expectedRevision?: string): Promise<void> {
    const key = await this.#open(sessionId)
    const known = this.#known?.get(key)
    this.#known?.delete(key)
    const owner = (): Promise<SessionOwner | undefined> =>
      known === undefined ? this.#heads.storedOwner(key) : this.#heads.ownerOf(known.document)
    const outcome = await this.#chosen.driver.remove(key, expectedRevision, owner)
    if (outcome === 'conflict') throw new SessionConflictError({ sessionId })
  }

  /**
   * Removes every expired session and claim for good. SQLite and Postgres keep what expired, which nobody can load, until then:
   * call it from a scheduled job, for example once a day. Redis and a Map do not need it.
   *
   * @returns How many sessions were removed; 0 where the backend removes them by itself.
   */
  async purgeExpired(): Promise<number> {
    this.#checkOpen()
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

  async #read(
    key: string,
    sessionId: string,
    known: KnownSession | undefined,
    caller: Caller | undefined,
  ): Promise<KnownSession | ForeignSession | undefined> {
    let found: KnownSession | ForeignSession | undefined
    try {
      found = await this.#reader.read(key, sessionId, known, caller)
    } catch (error) {
      if (known !== undefined) this.#known?.delete(key)
      throw error
    }
    if (found === undefined) {
      if (known !== undefined) this.#known?.delete(key)
    } else if (!('foreign' in found) && found !== known) this.#remember(key, found)
    return found
  }

  async #write(
    document: SessionDocument,
    expectedRevision: string | undefined,
    hint: SessionSaveHint | undefined,
  ): Promise<void> {
    const { id, revision } = document
    const { codec, driver } = this.#chosen
    const key = await this.#open(id)
    const expiresBy = this.#checkAge(document)
    const known = this.#known?.get(key)
    const plan = planWrite(document, known?.revision === expectedRevision ? known : undefined, hint)
    // A copy, made at once: the caller may change the document while the swap is under way.
    const copy = plan.areFrozen && this.#known !== undefined ? copyDocument(document) : undefined
    const placeOf = (name: string): SessionTextPlace => ({ sessionId: id, key: name, revision })
    const texts = await encodeAll(codec, [
      [plan.head, placeOf(headName)],
      ...plan.chunks.map(({ chunk, name }) => [chunk, placeOf(name)] as const),
    ])
    const head = texts.shift() as string
    const chunks = plan.chunks.map(({ name }, index) => [name, texts[index] as string] as const)
    const write = `${key} ${revision}`
    this.#attempts.add(write)
    this.#known?.delete(key)
    const outcome = await driver.swap({
      key,
      expectedRevision,
      revision,
      head,
      chunks,
      removed: plan.removed,
      replacesChunks: plan.replacesChunks,
      ttlMs: this.#keyv.ttl || undefined,
      expiresBy,
      owner: () => this.#heads.ownerOf(document),
      onUnderReplicated: (replicas, wanted) => this.#report({ sessionId: id, replicas, wanted }),
    })
    if (outcome === 'conflict') throw new SessionConflictError({ sessionId: id })
    // Another attempt, made before this one or at the same time, may have stored the same revision in other chunks.
    if (copy === undefined || this.#attempts.count(write) > 1) return
    for (const [index, { list }] of plan.chunks.entries()) {
      const planned = plan.lists.get(list)
      if (planned !== undefined) planned.bytes += texts[index]?.length ?? 0
    }
    const isShared = known?.isShared ?? false
    this.#remember(key, { revision, document: copy, headBytes: head.length, lists: plan.lists, isShared })
  }

  async #claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    this.#checkOpen()
    const { driver, keyOf } = this.#chosen
    // The driver had it when this store was made.
    return (driver as Required<SessionDriver>).claim(keyOf(await claimKey(key)), sessionId, ttlMs)
  }

  async #lease(sessionId: string, ttlMs: number, signal: AbortSignal): Promise<() => Promise<void>> {
    this.#checkOpen()
    const { driver, keyOf } = this.#chosen
    return (driver as Required<SessionDriver>).lease(keyOf(await leaseKey(sessionId)), ttlMs, signal)
  }

  async #list(query: SessionListQuery): Promise<SessionPage> {
    this.#checkOpen()
    const { driver, keyOf } = this.#chosen
    const { owner, limit, cursor } = query
    const { sessions, ...next } = await (driver as Required<SessionDriver>).list({
      prefix: keyOf(''),
      ownerKey: owner === undefined ? undefined : await this.#heads.keyOfOwner(owner),
      limit,
      cursor,
      read: (key, stored) => this.#heads.read(key, stored),
    })
    const summaries = sessions.map(({ summary }) => summary)
    // The backend does not know of every session that it has reached its greatest age.
    const shown = summaries.filter((summary) => isListed(summary, query) && !isPast(this.#expiresBy(summary)))
    return { sessions: shown, ...next }
  }

  /** When a session has reached its greatest age. `undefined`: never, or the document does not say when it was created. */
  #expiresBy({ createdAt }: Pick<SessionDocument, 'createdAt'>): number | undefined {
    const time = Math.floor(Date.parse(createdAt) + this.#absoluteTtlMs)
    return Number.isFinite(time) ? time : undefined
  }

  /** As {@link KeyvSessionStore.#expiresBy}. @throws {@link SessionConflictError} where that is past: the session is gone. */
  #checkAge(document: SessionDocument): number | undefined {
    const expiresBy = this.#expiresBy(document)
    if (isPast(expiresBy)) throw new SessionConflictError({ sessionId: document.id })
    return expiresBy
  }

  #report(report: UnderReplicatedReport): void {
    for (const listener of this.#underReplicatedListeners) listener(report)
  }

  #checkOpen(): void {
    if (this.#closed !== undefined) throw new Error('The Keyv session store is closed.')
  }

  async #open(sessionId: string): Promise<string> {
    this.#checkOpen()
    return this.#chosen.keyOf(await sessionKey(sessionId))
  }

  /** What is known of a session. A stranger neither gets nor changes it, so that nothing later shows that he asked. */
  #knownTo(caller: Caller | undefined, key: string): KnownSession | undefined {
    const isForeign = caller !== undefined && this.#known?.peek(key)?.document.owner !== caller.owner
    return isForeign ? undefined : this.#known?.get(key)
  }

  #remember(key: string, known: KnownSession): void {
    if (this.#closed === undefined) this.#known?.set(key, known)
  }
}

function isPast(time: number | undefined): boolean {
  return time !== undefined && time <= Date.now()
}

function createCache(bytes: number): LRUCache<string, KnownSession> | undefined {
  checkNumber('KeyvSessionStore', 'cacheBytes', bytes, { min: 0, finite: true })
  if (bytes < 1) return undefined
  const maxSize = Math.floor(bytes)
  return new LRUCache({ maxSize, sizeCalculation: (known, key) => bytesOf(known) + key.length + cacheOverhead })
}
