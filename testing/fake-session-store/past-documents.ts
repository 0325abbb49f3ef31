/**
 * What other processes do to a session without the engine's knowledge: the document as it was one write ago, and a
 * rival's write. It knows only what went through one store.
 */
import type { SessionDocument, SessionStore } from '../../src/index.js'

interface Past {
  readonly current: SessionDocument | undefined
  readonly before: SessionDocument | undefined
}

/** What was stored under each session, now and one write ago. */
export class PastDocuments {
  readonly #past = new Map<string, Past>()
  #last: SessionDocument | undefined

  /** What was stored last, of any session, in words; `undefined` if nothing was. */
  get lastText(): string | undefined {
    if (this.#last === undefined) return undefined
    const { id, flow, turns } = this.#last
    const step = flow.currentStep === null ? '' : `, step '${flow.currentStep}'`
    return `session '${id}' of flow '${flow.name}'${step}, turn ${turns}`
  }

  /** Notes what is stored now; `undefined` if it was deleted. */
  note(sessionId: string, document: SessionDocument | undefined): void {
    const current = this.#past.get(sessionId)?.current
    // The same write again changes nothing.
    if (current !== undefined && current.revision === document?.revision) return
    this.#past.set(sessionId, { current: document, before: current })
    this.#last = document ?? this.#last
  }

  /**
   * A copy of the document before the last write; `undefined` if there was none.
   *
   * @throws Error if no write of this session went through the store.
   */
  before(sessionId: string): SessionDocument | undefined {
    const past = this.#past.get(sessionId)
    if (past === undefined) {
      throw new Error(
        `staleRead(): no write of session '${sessionId}' went through this FakeSessionStore, so that it knows no older document. Create the session through it.`,
      )
    }
    return past.before === undefined ? undefined : copyOf(past.before)
  }
}

/**
 * Stores another document in place of the one that is stored, as another process would.
 *
 * @throws Error if nothing is stored.
 */
export async function writeAsRival(
  store: SessionStore,
  sessionId: string,
  change: (stored: SessionDocument) => SessionDocument = (stored) => stored,
): Promise<SessionDocument> {
  const stored = await store.load(sessionId)
  if (stored === undefined) throw new Error(`rivalWrites(): nothing is stored under '${sessionId}' to write over.`)
  const changed = change(copyOf(stored))
  const saves = Number.parseInt(stored.revision, 10) || 0
  const revision = changed.revision === stored.revision ? `${saves + 1}-rival` : changed.revision
  const document = { ...changed, revision }
  await store.save(document, stored.revision)
  return document
}

function copyOf(document: SessionDocument): SessionDocument {
  return JSON.parse(JSON.stringify(document))
}
