/**
 * Which sessions of a memory store are kept as objects, ready to share, and which as text. Objects take four times the
 * room, and making them takes time: so the sessions used last stay warm, and long ones stay so for good. What a record
 * is stored under, and until when, is the store's business.
 */

import { freezeLists } from '../../session/lists/copy-document.js'
import type { SessionDocument } from '../../session/session-document.js'
import { packJson, unpackJson } from './packed-json.js'

/** One stored session. What it holds is the store's own: it is never changed, and nobody else sees it. */
export interface MemorySessionRecord {
  readonly revision: string
  /** About how many bytes of JSON the history and the messages are. @internal */
  readonly bytes: number
  /** The document as objects, if the session is warm. @internal */
  warm: SessionDocument | undefined
  /** The document as packed text, if the session was cold before. @internal */
  cold: string | undefined
}

/** Bytes beyond which a session stays warm: a turn must not read a long conversation anew. */
const longSession = 32 * 1024

/**
 * How many short sessions are kept warm: as many as are talked to at the same time, or one in so many where that is more.
 * So a session costs little more than its text on average, however many there are.
 */
const leastWarm = 64
const oneWarmIn = 16

/** The warm sessions of one store. */
export class WarmSessions {
  /** Used longest ago first. */
  readonly #records = new Set<MemorySessionRecord>()
  #latest: MemorySessionRecord | undefined
  readonly #countStored: () => number

  /** @param countStored - How many sessions the store holds. */
  constructor(countStored: () => number) {
    this.#countStored = countStored
  }

  /** A new record, warm, in place of another. The document is the record's own from now on. */
  record(document: SessionDocument, replaced: MemorySessionRecord | undefined): MemorySessionRecord {
    const record = { revision: document.revision, bytes: document.bytes, warm: document, cold: undefined }
    if (replaced !== undefined) this.forget(replaced)
    this.#use(record)
    return record
  }

  /** The document of a record: while it is warm, the same objects each time. */
  read(record: MemorySessionRecord): SessionDocument {
    const document = record.warm ?? freezeLists(unpackJson(record.cold as string) as SessionDocument)
    record.warm = document
    if (this.#latest !== record) this.#use(record)
    return document
  }

  /** Lets go of a record that is stored no longer. */
  forget(record: MemorySessionRecord): void {
    this.#records.delete(record)
    if (this.#latest === record) this.#latest = undefined
  }

  /** Lets go of all. */
  clear(): void {
    this.#records.clear()
    this.#latest = undefined
  }

  #use(record: MemorySessionRecord): void {
    // What is not listed here is never packed. Written so that a count that is no number counts as long, too.
    if (!(record.bytes <= longSession)) return
    this.#records.delete(record)
    this.#records.add(record)
    this.#latest = record
    if (this.#records.size <= Math.max(leastWarm, this.#countStored() / oneWarmIn)) return
    const oldest = this.#records.values().next().value as MemorySessionRecord
    this.#records.delete(oldest)
    oldest.cold ??= packJson(oldest.warm)
    if (oldest.cold !== undefined) oldest.warm = undefined
  }
}
