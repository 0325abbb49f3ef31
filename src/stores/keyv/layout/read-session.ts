/**
 * Reads a stored session into a document. Cached lists are not read again; if the stored lists do not continue them,
 * everything is read. If a text cannot be read, the session is malformed, never missing.
 */
import { SessionFlowInvariantError } from '../../../errors/session-errors.js'
import type { SessionDocument } from '../../../session/session-document.js'
import type { SessionDriver, StoredHead } from '../driver/session-driver.js'
import { continuedLists, followChunks, type KnownList, type KnownSession, missingChunks } from './chunks.js'
import type { SessionTextPlace, TextCodec } from './codec.js'
import {
  checkHead,
  chunkName,
  hasNewerLayout,
  headName,
  isChunk,
  type ListChunk,
  type ListHead,
  ownerIn,
  type SessionHead,
} from './head.js'
import { putLists } from './parts.js'

/** The most chunks that are requested by name. If more are missing, everything is read. */
const mostMissing = 1_000

/** Finds a chunk's text by its name. */
type FindChunk = (name: string) => string | undefined

/**
 * The caller that requests a session, with its owner, if any.
 *
 * @inline
 */
export type Caller = { readonly owner?: string | undefined }

/** A session whose owner is not the caller: the part of its document that is in the head. */
export interface ForeignSession {
  readonly foreign: unknown
}

/** The head and the chunks read from a session, some of whose lists are known. */
interface ReadHead {
  readonly head: SessionHead
  readonly stored: StoredHead
  /** The names of the chunks in `stored`. */
  readonly next: readonly string[]
  readonly known: ReadonlyMap<string, KnownList>
}

/** Reads sessions through one driver. */
export class SessionReader {
  readonly #driver: SessionDriver
  readonly #codec: TextCodec

  constructor(driver: SessionDriver, codec: TextCodec) {
    this.#driver = driver
    this.#codec = codec
  }

  /**
   * Reads the session under `key`; `undefined` if nothing is stored.
   *
   * @param known - The cached session, if the caller may see it. It is returned if it is still current.
   * @param caller - Default: any session is read.
   * @throws {@link SessionFlowInvariantError} if the session cannot be read. It has the owner if the head is readable.
   */
  async read(
    key: string,
    sessionId: string,
    known: KnownSession | undefined,
    caller?: Caller,
  ): Promise<KnownSession | ForeignSession | undefined> {
    if (known === undefined) return this.#readUnknown(key, sessionId, caller)
    // Another process may have appended to any list: usually nothing, otherwise usually one chunk.
    const next = Array.from(known.lists, ([name, list]) => chunkName(name, list.chunks))
    const stored = await this.#driver.read(key, next, known.isShared ? undefined : known.revision)
    if (stored === undefined) return undefined
    if (stored.revision === known.revision) return known.isShared ? { ...known, isShared: false } : known
    const head = await this.#head(sessionId, stored)
    if (isForeign(head, caller)) return { foreign: head.document }
    const found = await this.#continue(key, sessionId, { head, stored, next, known: known.lists })
    return found ?? this.#readAll(key, sessionId, true, caller)
  }

  /** The document under `key` without its lists; `undefined` if nothing is stored. @throws as {@link read} */
  async readHead(key: string, sessionId: string): Promise<unknown> {
    const stored = await this.#driver.read(key, [])
    return stored && (await this.#head(sessionId, stored)).document
  }

  /**
   * If the caller names an owner, the head is read first, so that the answer to another owner does not show how large
   * the session is.
   */
  async #readUnknown(
    key: string,
    sessionId: string,
    caller: Caller | undefined,
  ): Promise<KnownSession | ForeignSession | undefined> {
    if (caller?.owner !== undefined) {
      const stored = await this.#driver.read(key, [])
      if (stored === undefined) return undefined
      const head = await this.#head(sessionId, stored)
      if (isForeign(head, caller)) return { foreign: head.document }
    }
    return this.#readAll(key, sessionId, false, caller)
  }

  /** Reads every chunk. @param isShared - Whether another process has written to the session. */
  async #readAll(
    key: string,
    sessionId: string,
    isShared: boolean,
    caller: Caller | undefined,
  ): Promise<KnownSession | ForeignSession | undefined> {
    const stored = await this.#driver.readAll(key)
    if (stored === undefined) return undefined
    const head = await this.#head(sessionId, stored)
    if (isForeign(head, caller)) return { foreign: head.document }
    const lists = await this.#follow(sessionId, head, new Map(), (name) => stored.chunks.get(name))
    if (typeof lists === 'string') throw malformed(sessionId, head, lists)
    return finish(sessionId, head, stored, lists, isShared)
  }

  /** Returns the session if its lists continue the known ones, and `undefined` if not. */
  async #continue(
    key: string,
    sessionId: string,
    { head, stored, next, known: all }: ReadHead,
  ): Promise<KnownSession | undefined> {
    const known = continuedLists(all, head.lists)
    if (known === undefined) return undefined
    const texts = textsByName(next, stored)
    const missing = missingNames(head, known, texts)
    if (missing === undefined) return undefined
    if (missing.length > 0) {
      const more = await this.#driver.read(key, missing)
      if (more?.revision !== stored.revision) return undefined
      for (const [name, text] of textsByName(missing, more)) texts.set(name, text)
    }
    const lists = await this.#follow(sessionId, head, known, (name) => texts.get(name))
    return typeof lists === 'string' ? undefined : finish(sessionId, head, stored, lists, true)
  }

  /** Returns the lists that the head describes, or the problem as a clause. */
  async #follow(
    sessionId: string,
    head: SessionHead,
    known: ReadonlyMap<string, KnownList>,
    find: FindChunk,
  ): Promise<Map<string, KnownList> | string> {
    const lists = new Map<string, KnownList>()
    for (const list of head.lists) {
      const start = known.get(list.name)
      const found = await this.#chunks(sessionId, list, start, find)
      if (typeof found === 'string') return found
      const followed = followChunks(start, list, found.chunks, found.bytes)
      if (followed === undefined) return `the chunks of its list ${list.name} do not belong together`
      lists.set(list.name, followed)
    }
    return lists
  }

  /**
   * Returns the unknown chunks of a list, or the problem as a clause. They are decoded from last to first, because the
   * codec needs the revision of each text: the head has the revision of the last chunk, and each chunk has the revision
   * of the chunk before it.
   */
  async #chunks(
    sessionId: string,
    list: ListHead,
    start: KnownList | undefined,
    find: FindChunk,
  ): Promise<{ readonly chunks: readonly ListChunk[]; readonly bytes: number } | string> {
    const texts: (readonly [index: number, text: string])[] = []
    let bytes = 0
    for (const index of missingChunks(start, list)) {
      const text = find(chunkName(list.name, index))
      if (text === undefined) return `its list ${list.name} lacks chunk ${index}`
      texts.push([index, text])
      bytes += text.length
    }
    const chunks: ListChunk[] = []
    let revision = list.tip
    for (const [index, text] of texts.reverse()) {
      const place = { sessionId, key: chunkName(list.name, index), revision }
      const chunk = await this.#decode(text, place).catch(() => undefined)
      if (!isChunk(chunk)) return `chunk ${index} of its list ${list.name} cannot be read`
      chunks.push(chunk)
      revision = chunk.previous
    }
    return { chunks: chunks.reverse(), bytes }
  }

  async #head(sessionId: string, stored: { readonly head: string; readonly revision: string }): Promise<SessionHead> {
    const place = { sessionId, key: headName, revision: stored.revision }
    const value = await this.#decode(stored.head, place).catch((cause: unknown) => {
      throw new SessionFlowInvariantError({ sessionId, problem: 'its head cannot be read', cause })
    })
    const head = checkHead(value)
    if (typeof head !== 'string') return head
    const newerLayout = hasNewerLayout(value)
    throw new SessionFlowInvariantError({ sessionId, problem: head, newerLayout, owner: ownerIn(value) })
  }

  /** Rejects if the codec throws. */
  async #decode(text: string, place: SessionTextPlace): Promise<unknown> {
    return this.#codec.decode(text, place)
  }
}

/** The names of the chunks that were not read yet; `undefined` if there are too many to request by name. */
function missingNames(
  head: SessionHead,
  known: ReadonlyMap<string, KnownList>,
  texts: ReadonlyMap<string, string>,
): string[] | undefined {
  const missing: string[] = []
  for (const list of head.lists) {
    for (const index of missingChunks(known.get(list.name), list)) {
      const name = chunkName(list.name, index)
      if (!texts.has(name)) missing.push(name)
      if (missing.length > mostMissing) return undefined
    }
  }
  return missing
}

function textsByName(names: readonly string[], stored: StoredHead): Map<string, string> {
  const texts = new Map<string, string>()
  for (const [index, name] of names.entries()) {
    const text = stored.chunks[index]
    if (text !== undefined) texts.set(name, text)
  }
  return texts
}

function finish(
  sessionId: string,
  head: SessionHead,
  stored: { readonly revision: string; readonly head: string },
  lists: ReadonlyMap<string, KnownList>,
  isShared: boolean,
): KnownSession {
  const document = head.document as SessionDocument
  const entries = Array.from(lists, ([name, list]) => [name, list.entries] as const)
  if (!putLists(document, entries)) throw malformed(sessionId, head, 'its lists have no place in its head')
  if (document.revision !== stored.revision) {
    throw malformed(sessionId, head, 'its head belongs to another revision')
  }
  return { revision: stored.revision, document, headBytes: stored.head.length, lists, isShared }
}

/** Whether the session's owner is not the caller. */
function isForeign({ document }: SessionHead, caller: Caller | undefined): boolean {
  return caller !== undefined && (Object(document) as { owner?: unknown }).owner !== caller.owner
}

function malformed(sessionId: string, head: SessionHead, problem: string): SessionFlowInvariantError {
  return new SessionFlowInvariantError({ sessionId, problem, owner: ownerIn(head) })
}
