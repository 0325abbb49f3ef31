/**
 * The driver of `ChunkedSessionStore` for Durable Objects. Each operation is one request to the object named by the
 * key.
 */
import type {
  SessionDriver,
  SessionSwap,
  StoredHead,
  StoredSession,
  SwapOutcome,
} from '../../src/stores/keyv/driver/session-driver.js'
import type { ObjectRequest, ObjectTexts } from './protocol.js'

/** The used part of the namespace of a Durable Object class, as a Worker's binding provides it. */
export interface DurableObjectNamespaceLike {
  /** The ID of the object of this name. */
  idFromName(name: string): object
  /** The object with this ID. */
  get(id: object): DurableObjectStubLike
}

/** The used part of an object. */
export interface DurableObjectStubLike {
  /** Calls the method `fetch` of the object. */
  fetch(
    url: string,
    init: { readonly method: string; readonly body: string },
  ): Promise<{
    readonly status: number
    /** The body of the reply. */
    text(): Promise<string>
  }>
}

/** The driver over a namespace. */
export class ObjectDriver implements SessionDriver {
  readonly guarantees: SessionDriver['guarantees'] = { compareAndSwap: 'backend', durable: true }
  readonly #namespace: DurableObjectNamespaceLike

  constructor(namespace: DurableObjectNamespaceLike) {
    this.#namespace = namespace
  }

  async read(key: string, chunks: readonly string[], knownRevision?: string): Promise<StoredHead | undefined> {
    const stored = await this.#readTexts(key, { operation: 'read', chunks, knownRevision })
    return stored && { ...stored, chunks: chunks.map((name) => stored.chunks.get(name)) }
  }

  readAll(key: string): Promise<StoredSession | undefined> {
    return this.#readTexts(key, { operation: 'readAll' })
  }

  async swap({ key, owner: _owner, onUnderReplicated: _report, ...swap }: SessionSwap): Promise<SwapOutcome> {
    return (await this.#ask(key, { operation: 'swap', ...swap })) as SwapOutcome
  }

  async remove(key: string, expectedRevision?: string): Promise<SwapOutcome> {
    return (await this.#ask(key, { operation: 'remove', expectedRevision })) as SwapOutcome
  }

  async isRemoved(key: string): Promise<boolean> {
    return (await this.#ask(key, { operation: 'isRemoved' })) as boolean
  }

  async claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    return (await this.#ask(key, { operation: 'claim', sessionId, ttlMs })) as string
  }

  async close(): Promise<void> {}

  async #readTexts(key: string, request: ObjectRequest): Promise<StoredSession | undefined> {
    const stored = (await this.#ask(key, request)) as ObjectTexts | null
    return stored === null ? undefined : { ...stored, chunks: new Map(stored.chunks) }
  }

  async #ask(key: string, request: ObjectRequest): Promise<unknown> {
    // Each request gets a new stub: a stub whose object failed may no longer work.
    const stub = this.#namespace.get(this.#namespace.idFromName(key))
    // The platform requires an address; it is not used.
    const response = await stub.fetch('https://session/', { method: 'POST', body: JSON.stringify(request) })
    const text = await response.text()
    if (response.status !== 200)
      throw new Error(`The session's object answered with status ${response.status}: ${text}`)
    return JSON.parse(text)
  }
}
