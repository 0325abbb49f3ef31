import { SessionConflictError, type SessionDocument, SessionFlowInvariantError, type SessionStore } from 'turnkeeper'

type Key = readonly (string | number)[]

type Entry = { readonly key: Key; readonly value: unknown; readonly versionstamp: string | null }

interface Commit {
  check(entry: Pick<Entry, 'key' | 'versionstamp'>): Commit
  set(key: Key, value: unknown): Commit
  delete(key: Key): Commit
  commit(): Promise<{ readonly ok: boolean }>
}

/** The used part of a `Deno.Kv`. */
export interface DenoKv {
  get(key: Key): Promise<Entry>
  list(selector: { readonly prefix: Key }): AsyncIterable<Entry>
  atomic(): Commit
  close(): void
}

/** Names the write of a session that counts. Its pieces have separate keys. */
type Head = { readonly revision: string; readonly write: string; readonly pieces: number }

/** A value may have 65 536 bytes, and a commit 819 200, keys included. */
const pieceBytes = 60_000
const piecesPerCommit = 12

/**
 * Sessions in Deno KV. A document is stored in pieces, which never change, and then by its head, which is replaced in
 * one compare-and-swap. A process that dies in between leaves pieces that no head names: `sweep` removes them.
 */
export class DenoKvSessionStore implements SessionStore {
  readonly guarantees = { compareAndSwap: 'backend', durable: true } as const
  readonly #kv: DenoKv
  #isClosed = false

  /** @param kv - What `Deno.openKv()` resolves to. The store closes it. */
  constructor(kv: DenoKv) {
    this.#kv = kv
  }

  async load(sessionId: string): Promise<SessionDocument | undefined> {
    const key = await keyOf(sessionId)
    const { head, versionstamp } = await this.#find(key)
    if (head === undefined) return undefined
    const bytes: Uint8Array[] = []
    for await (const { value } of this.#kv.list({ prefix: ['piece', key, head.write] })) bytes.push(value as Uint8Array)
    try {
      if (bytes.length !== head.pieces) throw new Error(`${bytes.length} of ${head.pieces} pieces are stored`)
      return JSON.parse(await new Blob(bytes as Uint8Array<ArrayBuffer>[]).text())
    } catch (cause) {
      // Another process has replaced the session meanwhile, and removed these pieces.
      if ((await this.#find(key)).versionstamp !== versionstamp) return this.load(sessionId)
      throw new SessionFlowInvariantError({ sessionId, problem: 'its pieces are not valid JSON', cause })
    }
  }

  create(document: SessionDocument): Promise<void> {
    return this.#swap(document, undefined)
  }

  save(document: SessionDocument, expectedRevision: string): Promise<void> {
    return this.#swap(document, expectedRevision)
  }

  async delete(sessionId: string, expectedRevision?: string): Promise<void> {
    const key = await keyOf(sessionId)
    const { head, versionstamp } = await this.#find(key)
    if (head === undefined) return
    if (expectedRevision !== undefined && head.revision !== expectedRevision)
      throw new SessionConflictError({ sessionId })
    const place = ['head', key]
    const { ok } = await commit(this.#kv.atomic().check({ key: place, versionstamp }).delete(place))
    if (!ok) return this.delete(sessionId, expectedRevision)
    await this.#removePieces(key, head.write)
  }

  /** Removes pieces that no head names, and resolves to their number. `olderThanMs` must exceed the longest save. */
  async sweep(olderThanMs = 3_600_000): Promise<number> {
    let count = 0
    for await (const { key } of this.#kv.list({ prefix: ['piece'] })) {
      const [, session = '', write = ''] = key as readonly string[]
      if (Number.parseInt(write, 10) > Date.now() - olderThanMs || (await this.#find(session)).head?.write === write)
        continue
      await commit(this.#kv.atomic().delete(key))
      count++
    }
    return count
  }

  async close(): Promise<void> {
    if (!this.#isClosed) this.#kv.close()
    this.#isClosed = true
  }

  async #swap(document: SessionDocument, expected: string | undefined): Promise<void> {
    const { id, revision } = document
    const bytes = new TextEncoder().encode(JSON.stringify(document))
    const key = await keyOf(id)
    const { head, versionstamp } = await this.#find(key)
    // The same write arrived twice: the first one took effect.
    if (head?.revision === revision) return
    if (head?.revision !== expected) throw new SessionConflictError({ sessionId: id })
    const write = `${Date.now()}-${crypto.randomUUID()}`
    const pieces = Math.ceil(bytes.length / pieceBytes)
    for (let first = 0; first < pieces; first += piecesPerCommit) {
      const some = this.#kv.atomic()
      for (let index = first; index < Math.min(first + piecesPerCommit, pieces); index++) {
        some.set(['piece', key, write, index], bytes.slice(index * pieceBytes, (index + 1) * pieceBytes))
      }
      await commit(some)
    }
    const place = ['head', key]
    const stored: Head = { revision, write, pieces }
    const { ok } = await commit(this.#kv.atomic().check({ key: place, versionstamp }).set(place, stored))
    const stray = ok ? head?.write : write
    if (stray !== undefined) await this.#removePieces(key, stray)
    if (!ok && (await this.#find(key)).head?.revision !== revision) throw new SessionConflictError({ sessionId: id })
  }

  async #find(key: string): Promise<{ readonly head: Head | undefined; readonly versionstamp: string | null }> {
    if (this.#isClosed) throw new Error('The store is closed.')
    const { value, versionstamp } = await this.#kv.get(['head', key])
    return { head: (value ?? undefined) as Head | undefined, versionstamp }
  }

  async #removePieces(key: string, write: string): Promise<void> {
    for await (const piece of this.#kv.list({ prefix: ['piece', key, write] }))
      await commit(this.#kv.atomic().delete(piece.key))
  }
}

/** On one machine Deno KV is a SQLite file. It is locked while another process writes: then nothing was done. */
async function commit(operation: Commit): Promise<{ readonly ok: boolean }> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await operation.commit()
    } catch (error) {
      if (attempt === 200 || !/database is locked/.test(String(error))) throw error
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
    }
  }
}

/** A digest of the ID: a key has at most 2 048 bytes, and half of a surrogate pair would not be stored as it is. */
async function keyOf(sessionId: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(sessionId)))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
