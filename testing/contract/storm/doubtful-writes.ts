/**
 * A store in front of another that notices writes whose reply was lost: the write failed, and a later read shows that
 * it took effect. It changes nothing. What it notices shows that a storm strikes between request and reply.
 */
import { FlowError, type SessionDocument, type SessionSaveHint, type SessionStore } from '../../../src/index.js'
import { optionalOperationsOf } from '../optional-operations.js'

/** See above. */
export class DoubtfulWrites implements SessionStore {
  readonly guarantees: SessionStore['guarantees']
  readonly claim?: NonNullable<SessionStore['claim']>
  readonly lease?: NonNullable<SessionStore['lease']>
  readonly #inner: SessionStore
  readonly #onLostReply: () => void
  readonly #failed = new Set<string>()

  /** @param onLostReply - Called once for each such write. */
  constructor(inner: SessionStore, onLostReply: () => void) {
    this.guarantees = inner.guarantees
    this.#inner = inner
    Object.assign(this, optionalOperationsOf(inner))
    this.#onLostReply = onLostReply
  }

  async load(...args: Parameters<SessionStore['load']>): Promise<SessionDocument | undefined> {
    const document = await this.#inner.load(...args)
    if (document !== undefined && this.#failed.delete(document.revision)) this.#onLostReply()
    return document
  }

  create(document: SessionDocument): Promise<void> {
    return this.#watch(document, this.#inner.create(document))
  }

  save(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint): Promise<void> {
    return this.#watch(document, this.#inner.save(document, expectedRevision, hint))
  }

  delete(sessionId: string, expectedRevision?: string): Promise<void> {
    return this.#inner.delete(sessionId, expectedRevision)
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  async #watch({ revision }: SessionDocument, write: Promise<void>): Promise<void> {
    try {
      await write
    } catch (error) {
      if (!FlowError.isInstance(error)) this.#failed.add(revision)
      throw error
    }
  }
}
