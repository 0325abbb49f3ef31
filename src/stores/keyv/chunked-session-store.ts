/**
 * Stores each session as a head and chunks, over any driver. Every store of this package that uses a backend extends
 * it. It decides which sessions this process caches and what a conflict means. The drivers do the compare-and-swap;
 * layout/ turns documents into texts and back. Some of the stores need no Keyv, so this file must not import its types.
 */
import { isMalformed, SessionConflictError } from '../../errors/session-errors.js'
import { copyDocument } from '../../session/copy-document.js'
import type { SessionDocument } from '../../session/session-document.js'
import type {
  SessionListQuery,
  SessionSaveHint,
  SessionStore,
  SessionStoreGuarantees,
  SessionSummary,
  UnderReplicatedReport,
} from '../../session/session-store.js'
import { isListed, type SessionPage, summaryIn } from '../../session/session-summary.js'
import { checkNumber } from '../../util/options.js'
import { BoundedMap } from '../bounded-map/bounded-map.js'
import type { SessionDriver, SessionOwner } from './driver/session-driver.js'
import type { ChosenDriver } from './layout/chosen-driver.js'
import { bytesOf, type KnownSession } from './layout/chunks.js'
import { encodeAll, type SessionTextPlace } from './layout/codec.js'
import { headName } from './layout/head.js'
import { claimKey, leaseKey, sessionKey } from './layout/keys.js'
import { type OwnedHeads, ownedHeads } from './layout/owned-heads.js'
import { type Caller, type ForeignSession, SessionReader } from './layout/read-session.js'
import { planWrite } from './layout/write-plan.js'
import { WriteAttempts } from './write-attempts.js'

/** The options of a {@link ChunkedSessionStore}. The application's options among them are not checked yet. */
export interface ChunkedSessionStoreOptions extends ChosenDriver {
  /** The class that the application constructed, for messages about its options. */
  readonly caller: string
  /** The message of the error with which calls after `close()` reject. */
  readonly closedMessage: string
  /** Milliseconds after its last save at which a session expires. Called at each save; `undefined`: never. */
  ttlMs(): number | undefined
  readonly absoluteTtlMs?: number | undefined
  readonly cacheBytes?: number | undefined
  /** Default: closes the driver. */
  close?(): Promise<void>
  /** Called if too few replicas have received a save. Default: nothing is called. */
  onUnderReplicated?(report: UnderReplicatedReport): void
}

const defaultCacheBytes = 64 * 1024 * 1024

/** Bytes that a session takes in the cache in addition to its texts. */
const cacheOverhead = 512

/** A session store over a driver: the base class of such stores. */
export class ChunkedSessionStore implements SessionStore {
  /** What the backend guarantees. */
  readonly guarantees: SessionStoreGuarantees
  /** See {@link SessionStore.claim}. Absent if the driver has no `claim`. */
  declare readonly claim?: NonNullable<SessionStore['claim']>
  /** See {@link SessionStore.isDeleted}. Absent if the driver has no `isRemoved`. */
  declare readonly isDeleted?: NonNullable<SessionStore['isDeleted']>
  /** See {@link SessionStore.lease}. Absent if the driver has no `lease`. */
  declare readonly lease?: NonNullable<SessionStore['lease']>
  /** See {@link SessionStore.list}. Absent if the driver has no `list`. */
  declare readonly list?: NonNullable<SessionStore['list']>
  readonly #options: ChunkedSessionStoreOptions
  readonly #driver: SessionDriver
  readonly #absoluteTtlMs: number
  readonly #reader: SessionReader
  readonly #heads: OwnedHeads
  readonly #known: BoundedMap<string, KnownSession> | undefined
  /** Counts the attempts to write each key and revision, no matter how they ended. */
  readonly #attempts = new WriteAttempts()
  #closed: Promise<void> | undefined

  /** @throws `InvalidInputError` for an option that is out of range. */
  constructor(options: ChunkedSessionStoreOptions) {
    const { caller, driver, codec, absoluteTtlMs = Number.POSITIVE_INFINITY } = options
    checkNumber(caller, 'absoluteTtlMs', absoluteTtlMs)
    this.#options = options
    this.#driver = driver
    this.#absoluteTtlMs = absoluteTtlMs
    // An application may change the time to live of its Keyv.
    const lifeMs = (): number | undefined => earliest(options.ttlMs(), absoluteTtlMs)
    this.guarantees = Object.freeze({
      ...driver.guarantees,
      get ttlMs() {
        return lifeMs()
      },
    })
    this.#reader = new SessionReader(driver, codec)
    this.#heads = ownedHeads(options)
    this.#known = createCache(caller, options.cacheBytes ?? defaultCacheBytes)
    if (driver.claim !== undefined) this.claim = (...claim) => this.#claim(...claim)
    if (driver.isRemoved !== undefined) this.isDeleted = (sessionId) => this.#isDeleted(sessionId)
    if (driver.lease !== undefined) this.lease = (...lease) => this.#lease(...lease)
    if (driver.list !== undefined) this.list = (query) => this.#list(query)
  }

  /**
   * See {@link SessionStore.load}. If the caller is not the owner, the session's chunks are not decoded, and the
   * session is not cached.
   */
  async load(sessionId: string, caller?: Caller): Promise<SessionDocument | undefined> {
    const key = await this.#open(sessionId)
    const known = this.#knownTo(caller, key)
    const found = await this.#read(key, sessionId, known, caller)
    if (found === undefined) return undefined
    if ('foreign' in found) return found.foreign as SessionDocument
    if (!isPast(this.#expiresBy(found.document))) return copyDocument(found.document)
    // The backend has not removed it: the session was stored without this setting, or the driver ignores it.
    this.#known?.delete(key)
    const outcome = await this.#driver.remove(key, found.revision, () => this.#heads.ownerOf(found.document))
    return outcome === 'conflict' ? this.load(sessionId, caller) : undefined
  }

  /** See {@link SessionStore.summary}. Reads the head alone. */
  async summary(sessionId: string, caller?: Caller): Promise<SessionSummary | undefined> {
    const key = await this.#open(sessionId)
    const document = await this.#reader.readHead(key, sessionId).catch(async (error: unknown) => {
      throw await this.#withOwner(error, key, caller)
    })
    const summary = document === undefined ? undefined : summaryIn(document, sessionId)
    return summary && isPast(this.#expiresBy(summary)) ? undefined : summary
  }

  create(document: SessionDocument): Promise<void> {
    return this.#write(document, undefined, undefined)
  }

  save(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint): Promise<void> {
    return this.#write(document, expectedRevision, hint)
  }

  async delete(sessionId: string, expectedRevision?: string): Promise<void> {
    const key = await this.#open(sessionId)
    const known = this.#known?.peek(key)
    const isKnown = known !== undefined && (expectedRevision ?? known.revision) === known.revision
    const owner = (): Promise<SessionOwner | undefined> =>
      isKnown ? this.#heads.ownerOf(known.document) : this.#heads.storedOwner(key)
    const outcome = await this.#driver.remove(key, expectedRevision, owner)
    // Kept, because a stranger may have asked: nothing later shows that he did.
    if (outcome === 'conflict') throw new SessionConflictError({ sessionId })
    this.#known?.delete(key)
  }

  /** Deletes every expired session and claim. Returns the number of sessions; 0 if the backend deletes them itself. */
  protected async purge(): Promise<number> {
    this.#checkOpen()
    return (await this.#driver.purgeExpired?.()) ?? 0
  }

  /** Closes the connection to the backend, if there is one. Later calls reject. */
  close(): Promise<void> {
    this.#closed ??= this.#options.close?.() ?? this.#driver.close()
    this.#known?.clear()
    return this.#closed
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
      throw await this.#withOwner(error, key, caller)
    }
    if (found === undefined) {
      if (known !== undefined) this.#known?.delete(key)
    } else if (!('foreign' in found) && found !== known) this.#remember(key, found)
    return found
  }

  /** The failure of a load, with the owner if the backend knows the session as the caller's. */
  async #withOwner(error: unknown, key: string, caller: Caller | undefined): Promise<unknown> {
    const owner = caller?.owner
    if (owner === undefined || !isMalformed(error) || error.owner !== undefined) return error
    const isOwn = await this.#driver.isOwnedBy?.(key, await this.#heads.keyOfOwner(owner))
    return isOwn === true ? Object.assign(error, { owner }) : error
  }

  async #write(
    document: SessionDocument,
    expectedRevision: string | undefined,
    hint: SessionSaveHint | undefined,
  ): Promise<void> {
    const { id, revision } = document
    const { codec, ttlMs, onUnderReplicated } = this.#options
    const key = await this.#open(id)
    const expiresBy = this.#checkAge(document)
    const known = this.#known?.get(key)
    const plan = planWrite(document, known?.revision === expectedRevision ? known : undefined, hint)
    // Copy now: the caller may change the document during the swap.
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
    const outcome = await this.#driver.swap({
      key,
      expectedRevision,
      revision,
      head,
      chunks,
      removed: plan.removed,
      replacesChunks: plan.replacesChunks,
      ttlMs: ttlMs(),
      expiresBy,
      owner: () => this.#heads.ownerOf(document),
      onUnderReplicated: (replicas, wanted) => onUnderReplicated?.({ sessionId: id, replicas, wanted }),
    })
    if (outcome === 'conflict') throw new SessionConflictError({ sessionId: id })
    // An earlier or concurrent attempt may have stored the same revision in other chunks.
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
    // `claim` exists only if the driver has it.
    return (this.#driver as Required<SessionDriver>).claim(this.#options.keyOf(await claimKey(key)), sessionId, ttlMs)
  }

  async #isDeleted(sessionId: string): Promise<boolean> {
    return (this.#driver as Required<SessionDriver>).isRemoved(await this.#open(sessionId))
  }

  async #lease(sessionId: string, ttlMs: number, signal: AbortSignal): Promise<() => Promise<void>> {
    this.#checkOpen()
    return (this.#driver as Required<SessionDriver>).lease(
      this.#options.keyOf(await leaseKey(sessionId)),
      ttlMs,
      signal,
    )
  }

  async #list(query: SessionListQuery): Promise<SessionPage> {
    this.#checkOpen()
    const { owner, limit, cursor } = query
    const { sessions, ...next } = await (this.#driver as Required<SessionDriver>).list({
      prefix: this.#options.keyOf(''),
      ownerKey: owner === undefined ? undefined : await this.#heads.keyOfOwner(owner),
      limit,
      cursor,
      read: (key, stored) => this.#heads.read(key, stored),
    })
    const summaries = sessions.map(({ summary }) => summary)
    // The backend may still hold sessions that are past their absolute age limit.
    const shown = summaries.filter((summary) => isListed(summary, query) && !isPast(this.#expiresBy(summary)))
    return { sessions: shown, ...next }
  }

  /** When a session reaches its absolute age limit. `undefined`: never, or the document has no creation time. */
  #expiresBy({ createdAt }: Pick<SessionDocument, 'createdAt'>): number | undefined {
    const time = Math.floor(Date.parse(createdAt) + this.#absoluteTtlMs)
    return Number.isFinite(time) ? time : undefined
  }

  /** As {@link ChunkedSessionStore.#expiresBy}. @throws {@link SessionConflictError} if that time is past. */
  #checkAge(document: SessionDocument): number | undefined {
    const expiresBy = this.#expiresBy(document)
    if (isPast(expiresBy)) throw new SessionConflictError({ sessionId: document.id })
    return expiresBy
  }

  #checkOpen(): void {
    if (this.#closed !== undefined) throw new Error(this.#options.closedMessage)
  }

  async #open(sessionId: string): Promise<string> {
    this.#checkOpen()
    return this.#options.keyOf(await sessionKey(sessionId))
  }

  /** The cached session. A caller who is not the owner neither gets nor touches it, so the attempt leaves no trace. */
  #knownTo(caller: Caller | undefined, key: string): KnownSession | undefined {
    const isForeign = caller !== undefined && this.#known?.peek(key)?.document.owner !== caller.owner
    return isForeign ? undefined : this.#known?.get(key)
  }

  #remember(key: string, known: KnownSession): void {
    if (this.#closed === undefined) this.#known?.set(key, known, bytesOf(known) + key.length + cacheOverhead)
  }
}

function isPast(time: number | undefined): boolean {
  return time !== undefined && time <= Date.now()
}

function createCache(caller: string, bytes: number): BoundedMap<string, KnownSession> | undefined {
  checkNumber(caller, 'cacheBytes', bytes, { min: 0, finite: true })
  if (bytes < 1) return undefined
  return new BoundedMap({ maxSize: bytes })
}

/** The shorter one of two times; `undefined` if there is no end. */
function earliest(ttlMs: number | undefined, absoluteTtlMs: number): number | undefined {
  const shortest = Math.min(ttlMs ?? Number.POSITIVE_INFINITY, absoluteTtlMs)
  return Number.isFinite(shortest) ? shortest : undefined
}
