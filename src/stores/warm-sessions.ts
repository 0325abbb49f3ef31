/**
 * Which sessions of a memory store are kept as objects, ready to share, and which as text. Objects take four times the
 * room, and making them takes time: so the sessions used last stay warm, and long ones stay so for good. What a record
 * is stored under, and until when, is the store's business.
 */
import type { SessionDocument } from '../session/session-document.js'
import { freezeLists } from './copy-document.js'
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

/** Bytes of short sessions that are kept warm, all together. */
const warmBytes = 128 * 1024

/** The warm sessions of one store. */
export class WarmSessions {
  /** Used longest ago first: a Set keeps the order of insertion. */
  readonly #records = new Set<MemorySessionRecord>()
  #bytes = 0

  /** A new record, warm. The document is the record's own from now on. */
  record(document: SessionDocument): MemorySessionRecord {
    const record = { revision: document.revision, bytes: document.bytes, warm: document, cold: undefined }
    this.#use(record)
    return record
  }

  /** The document of a record: while it is warm, the same objects each time. */
  read(record: MemorySessionRecord): SessionDocument {
    const document = record.warm ?? freezeLists(unpackJson(record.cold as string) as SessionDocument)
    record.warm = document
    this.forget(record)
    this.#use(record)
    return document
  }

  /** Lets go of a record that is stored no longer. */
  forget(record: MemorySessionRecord): void {
    if (this.#records.delete(record)) this.#bytes -= record.bytes
  }

  /** Lets go of all. */
  clear(): void {
    this.#records.clear()
    this.#bytes = 0
  }

  #use(record: MemorySessionRecord): void {
    // What is not counted here is never packed. Written so that a count that is no number counts as long, too.
    if (!(record.bytes <= longSession)) return
    this.#records.add(record)
    this.#bytes += record.bytes
    for (const oldest of this.#records) {
      if (this.#bytes <= warmBytes) return
      this.forget(oldest)
      oldest.cold ??= packJson(oldest.warm)
      if (oldest.cold !== undefined) oldest.warm = undefined
    }
  }
}
