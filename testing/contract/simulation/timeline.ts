/**
 * What happened in one simulated run, in order: what changed in the store and through which engine, when the flow code
 * of each turn ran, and when each action began and was answered.
 */
import type { SessionDocument, SessionSaveHint, SessionStore } from '../../../src/index.js'
import { optionalOperationsOf } from '../optional-operations.js'
import { viewOf } from './model-session.js'
import type { ModelSession } from './model-types.js'
import type { Writer } from './world.js'

/** A document as it was stored. */
export interface Stored {
  readonly revision: string
  readonly session: ModelSession
}

/** One change of what is stored. */
export interface Effect {
  readonly tick: number
  readonly by: Writer
  readonly sessionId: string
  readonly before: Stored | undefined
  readonly after: Stored | undefined
  /** The revision that the writer says it replaces; absent for a new document. */
  readonly expectedRevision: string | undefined
  /** What the writer says it only appended. */
  readonly hint: SessionSaveHint | undefined
}

/** The moments of one action. */
export interface Span {
  readonly launched: number
  /** Infinite until it is answered. */
  replied: number
  /** When its flow code ran: empty for a turn that was refused before. */
  readonly entered: number[]
  /** The session in which its flow code ran. */
  sessionId?: string
  /** When its flow code continued after it was held up. */
  left: number
}

export class Timeline {
  readonly effects: Effect[] = []
  /** The deletes of IDs without a session: they keep the IDs from being used. */
  readonly marks: Pick<Effect, 'sessionId' | 'tick'>[] = []
  readonly #stored = new Map<string, Stored>()
  #tick = 0

  /** A moment later than every one before. */
  tick(): number {
    return ++this.#tick
  }

  begin(): Span {
    return { launched: this.tick(), replied: Number.POSITIVE_INFINITY, entered: [], left: Number.POSITIVE_INFINITY }
  }

  /** A store that reports each change that took effect; `data` is where the store keeps its records. */
  recording(store: SessionStore, data: ReadonlyMap<string, unknown>, by: Writer): SessionStore {
    const watch = <T>(
      sessionId: string,
      change: {
        readonly document?: SessionDocument
        readonly expectedRevision?: string | undefined
        readonly hint?: SessionSaveHint | undefined
      },
      run: () => Promise<T>,
    ): Promise<T> => {
      const { document, expectedRevision, hint } = change
      const record = data.get(sessionId)
      // The memory store does its work before it returns the promise.
      const result = run()
      if (document === undefined && record === undefined) this.marks.push({ sessionId, tick: this.tick() })
      if (data.get(sessionId) === record) return result
      const before = this.#stored.get(sessionId)
      const after = document === undefined ? undefined : { revision: document.revision, session: viewOf(document) }
      if (after === undefined) this.#stored.delete(sessionId)
      else this.#stored.set(sessionId, after)
      this.effects.push({ tick: this.tick(), by, sessionId, before, after, expectedRevision, hint })
      return result
    }
    return {
      ...optionalOperationsOf(store),
      guarantees: store.guarantees,
      load: (sessionId) => store.load(sessionId),
      create: (document) => watch(document.id, { document }, () => store.create(document)),
      save: (document, expectedRevision, hint) =>
        watch(document.id, { document, expectedRevision, hint }, () => store.save(document, expectedRevision, hint)),
      delete: (sessionId, expectedRevision) =>
        watch(sessionId, { expectedRevision }, () => store.delete(sessionId, expectedRevision)),
      close: () => store.close(),
    }
  }

  /** Whether `holds` was true of the stored session at some moment between two ticks. */
  everBetween(
    from: number,
    to: number,
    sessionId: string,
    holds: (session: ModelSession | undefined) => boolean,
  ): boolean {
    let current: ModelSession | undefined
    for (const effect of this.effects) {
      if (effect.sessionId !== sessionId) continue
      if (effect.tick > from && holds(current)) return true
      if (effect.tick > to) return false
      current = effect.after?.session
    }
    return holds(current)
  }
}

/** What is wrong with what a writer said of its lists; `undefined` if it is right, or if it said nothing. */
export function hintProblem({ before, after, hint }: Effect): string | undefined {
  if (hint === undefined || after === undefined) return undefined
  const lists = [
    ['history', before?.session.turns, after.session.turns],
    ['memory:Chat', before?.session.memory, after.session.memory],
    ['attachments', before?.session.attachments, after.session.attachments],
  ] as const
  for (const [name, stored = [], next = []] of lists) {
    if (hint.rewritten?.includes(name)) continue
    const { [name]: appended = 0 } = hint.appended
    const kept = stored.slice(hint.removed?.[name] ?? 0)
    if (next.length !== kept.length + appended) return `${name} has ${next.length} entries, and had ${stored.length}`
    if (JSON.stringify(next.slice(0, kept.length)) !== JSON.stringify(kept)) return `${name} has other entries`
  }
  return undefined
}
