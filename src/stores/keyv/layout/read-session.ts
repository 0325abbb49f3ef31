/**
 * From what a driver keeps to a document. What is known of a session's lists is not read again; where the stored ones
 * do not go on from it, everything is read. A text that cannot be read is a malformed session, never a missing one.
 */
import { SessionFlowInvariantError } from '../../../errors/session-errors.js'
import type { SessionDocument } from '../../../session/session-document.js'
import type { SessionDriver, StoredHead } from '../session-driver.js'
import { followChunks, isRewritten, type KnownList, type KnownSession, missingChunks, without } from './chunks.js'
import type { TextCodec } from './codec.js'
import { checkHead, chunkName, isChunk, type ListChunk, type ListHead, putLists, type SessionHead } from './parts.js'

/** A document as it was stored, and what its lists are. */
export interface ReadSession {
  readonly document: SessionDocument
  readonly known: KnownSession
}

/** Chunks that are asked for by name; where more are missing, everything is read. */
const mostMissing = 1_000

/** Finds a chunk's text by its name. */
type FindChunk = (name: string) => string | undefined

/** Reads sessions through one driver. */
export class SessionReader {
  readonly #driver: SessionDriver
  readonly #codec: TextCodec

  constructor(driver: SessionDriver, codec: TextCodec) {
    this.#driver = driver
    this.#codec = codec
  }

  /**
   * The session under `key`; `undefined` where there is none.
   *
   * @param known - What is known of it, if anything.
   * @throws {@link SessionFlowInvariantError} where what is stored cannot be read.
   */
  async read(key: string, sessionId: string, known: KnownSession | undefined): Promise<ReadSession | undefined> {
    if (known !== undefined) {
      const found = await this.#readOn(key, sessionId, known)
      if (found !== 'other') return found
    }
    const stored = await this.#driver.readAll(key)
    if (stored === undefined) return undefined
    const head = await this.#head(sessionId, stored)
    const find: FindChunk = (name) => stored.chunks.get(name)
    const lists = await this.#follow(head, new Map(), find)
    if (typeof lists === 'string') throw new SessionFlowInvariantError({ sessionId, problem: lists })
    return finish(sessionId, head, { revision: stored.revision, lists })
  }

  /** The session as it goes on from what is known; `other` where it does not. */
  async #readOn(key: string, sessionId: string, all: KnownSession): Promise<ReadSession | undefined | 'other'> {
    // The chunk that another process would have appended: mostly there is none, and mostly there is but one.
    const next = Array.from(all.lists, ([name, { chunks }]) => chunkName(name, chunks))
    const stored = await this.#driver.read(key, next)
    if (stored === undefined) return undefined
    const head = await this.#head(sessionId, stored)
    const rewritten = head.lists.filter((list) => isRewritten(all.lists.get(list.name), list)).map(({ name }) => name)
    // A history is never rewritten beside other lists: it is another session's.
    if (rewritten.includes('history')) return 'other'
    const known = without(all, rewritten)
    const texts = textsByName(next, stored)
    const missing: string[] = []
    for (const list of head.lists) {
      for (const index of missingChunks(known.lists.get(list.name), list)) {
        const name = chunkName(list.name, index)
        if (!texts.has(name)) missing.push(name)
        if (missing.length > mostMissing) return 'other'
      }
    }
    if (missing.length > 0) {
      const more = await this.#driver.read(key, missing)
      if (more?.revision !== stored.revision) return 'other'
      for (const [name, text] of textsByName(missing, more)) texts.set(name, text)
    }
    const lists = await this.#follow(head, known.lists, (name) => texts.get(name))
    if (typeof lists === 'string') return 'other'
    return finish(sessionId, head, { revision: stored.revision, lists })
  }

  /** The lists that the head speaks of, or why they cannot be put together. */
  async #follow(
    head: SessionHead,
    known: ReadonlyMap<string, KnownList>,
    find: FindChunk,
  ): Promise<Map<string, KnownList> | string> {
    const lists = new Map<string, KnownList>()
    for (const list of head.lists) {
      const start = known.get(list.name)
      const found = await this.#chunks(list, missingChunks(start, list), find)
      if (typeof found === 'string') return found
      const followed = followChunks(start, list, found.chunks, found.bytes)
      if (followed === undefined) return `the chunks of its list ${list.name} do not belong together`
      lists.set(list.name, followed)
    }
    return lists
  }

  async #chunks(
    list: ListHead,
    indexes: Iterable<number>,
    find: FindChunk,
  ): Promise<{ readonly chunks: readonly ListChunk[]; readonly bytes: number } | string> {
    const chunks: ListChunk[] = []
    let bytes = 0
    for (const index of indexes) {
      const text = find(chunkName(list.name, index))
      if (text === undefined) return `its list ${list.name} lacks chunk ${index}`
      const chunk = await this.#codec.decode(text).catch(() => undefined)
      if (!isChunk(chunk)) return `chunk ${index} of its list ${list.name} cannot be read`
      chunks.push(chunk)
      bytes += text.length
    }
    return { chunks, bytes }
  }

  async #head(sessionId: string, stored: { readonly head: string }): Promise<SessionHead> {
    const head = await this.#codec.decode(stored.head).then(checkHead, (cause: unknown) => {
      throw new SessionFlowInvariantError({ sessionId, problem: 'its head cannot be read', cause })
    })
    if (typeof head === 'string') throw new SessionFlowInvariantError({ sessionId, problem: head })
    return head
  }
}

function textsByName(names: readonly string[], stored: StoredHead): Map<string, string> {
  const texts = new Map<string, string>()
  for (const [index, name] of names.entries()) {
    const text = stored.chunks[index]
    if (text !== undefined) texts.set(name, text)
  }
  return texts
}

function finish(sessionId: string, head: SessionHead, known: KnownSession): ReadSession {
  const { document } = head
  const entries = Array.from(known.lists, ([name, list]) => [name, list.entries] as const)
  const problem = !putLists(document, entries)
    ? 'its lists have no place in its head'
    : (document as SessionDocument).revision === known.revision
      ? undefined
      : 'its head is that of another revision'
  if (problem !== undefined) throw new SessionFlowInvariantError({ sessionId, problem })
  return { document: document as SessionDocument, known }
}
