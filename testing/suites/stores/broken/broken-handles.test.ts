// Stores that share or cache what they should not, or mix what is written at once: each fails the cases that are there
// for it.
import { describe, test } from 'vitest'
import type { SessionDocument, SessionSaveHint } from '../../../../src/index.js'
import { type BrokenStore, expectCaught, type TextEntry, TextStore } from '../../../contract/text-store.js'

/** A store that keeps the very objects it was given, in addition to the texts. */
class SharingStore extends TextStore {
  readonly objects = new Map<string, SessionDocument>()
  override write(document: SessionDocument): void {
    super.write(document)
    this.objects.set(document.revision, document)
  }
}

/** The history that is stored. */
function storedHistory(entry: TextEntry | undefined): SessionDocument['history'] {
  return entry === undefined ? [] : JSON.parse(entry.text).history
}

const broken: readonly BrokenStore[] = [
  {
    what: 'what it stores is what it was given',
    store: class extends SharingStore {
      override read(entry: TextEntry, sessionId: string): SessionDocument {
        const given = this.objects.get(entry.revision)
        return given === undefined ? super.read(entry, sessionId) : structuredClone(given)
      }
    },
    caughtBy: [
      'what was passed to create is safe to change after it',
      'what was passed to save is safe to change after it',
    ],
  },
  {
    what: 'what it gives is what it stores',
    store: class extends TextStore {
      readonly given = new Map<string, SessionDocument>()
      override read(entry: TextEntry, sessionId: string): SessionDocument {
        const document = this.given.get(entry.revision) ?? super.read(entry, sessionId)
        this.given.set(entry.revision, document)
        return document
      }
    },
    caughtBy: [
      'a loaded document is safe to change',
      'a document loaded after a save is safe to change',
      'two loads give documents that can be changed apart',
    ],
  },
  {
    what: 'only the outermost object is copied',
    store: class extends TextStore {
      readonly given = new Map<string, SessionDocument>()
      override read(entry: TextEntry, sessionId: string): SessionDocument {
        const document = this.given.get(entry.revision) ?? super.read(entry, sessionId)
        this.given.set(entry.revision, document)
        return { ...document, flow: { ...document.flow } }
      }
    },
    caughtBy: ['a loaded document is safe to change', 'two loads give documents that can be changed apart'],
  },
  {
    what: 'it adds to what it was given',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        const isSave = this.find(document.id) !== undefined
        super.write(document)
        if (isSave && !Object.isFrozen(document)) Object.assign(document, { _rev: document.revision })
      }
    },
    caughtBy: ['a save leaves what it was given as it was'],
  },
  {
    what: 'it changes the document for as long as it writes',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        const { owner } = document
        Object.assign(document, { owner: `tenant:${owner}` })
        super.write({ ...document, ...(owner === undefined ? {} : { owner }) })
        Object.assign(document, { owner })
      }
    },
    caughtBy: ['a document that is frozen to the last value is stored'],
  },
  {
    what: 'a handle keeps what it loaded, for good',
    store: class extends TextStore {
      readonly cache = new Map<string, TextEntry>()
      override async load(sessionId: string): Promise<SessionDocument | undefined> {
        const entry = this.cache.get(sessionId) ?? this.find(sessionId)
        if (entry === undefined) return undefined
        this.cache.set(sessionId, entry)
        return this.read(entry, sessionId)
      }
      override write(document: SessionDocument): void {
        super.write(document)
        this.cache.delete(document.id)
      }
    },
    caughtBy: [
      'handles: what one stores the other loads, saves and deletes',
      'handles: one that knows a session sees that the other deleted it',
      'handles: one that knows a session sees the one that the other made in its place',
      'handles: one that is far behind catches up',
      'hint: a save after another handle appended keeps both',
    ],
  },
  {
    what: 'a handle remembers that a session was missing',
    store: class extends TextStore {
      readonly missing = new Set<string>()
      override find(sessionId: string): TextEntry | undefined {
        const entry = this.missing.has(sessionId) ? undefined : super.find(sessionId)
        if (entry === undefined && !sessionId.includes(' ')) this.missing.add(sessionId)
        return entry
      }
      override write(document: SessionDocument): void {
        super.write(document)
        this.missing.delete(document.id)
      }
    },
    caughtBy: ['handles: one that never saw a session does not take it for missing'],
  },
  {
    what: 'a handle compares with what it loaded and not with what is stored',
    store: class extends TextStore {
      readonly loaded = new Map<string, string>()
      override read(entry: TextEntry, sessionId: string): SessionDocument {
        this.loaded.set(sessionId, entry.revision)
        return super.read(entry, sessionId)
      }
      override async save(document: SessionDocument, expected: string): Promise<void> {
        const stored = this.find(document.id)?.revision
        if (stored === document.revision) return
        if (stored === undefined || expected !== (this.loaded.get(document.id) ?? stored))
          throw this.conflict(document.id)
        this.write(document)
      }
    },
    caughtBy: ['handles: one that loaded before the other saved is stale, and its save a conflict'],
  },
  {
    what: 'a handle takes a history of the length it knows for the one it knows',
    store: class extends TextStore {
      readonly known = new Map<string, SessionDocument['history']>()
      override read(entry: TextEntry, sessionId: string): SessionDocument {
        const document = super.read(entry, sessionId)
        const known = this.known.get(sessionId)
        if (known?.length === document.history.length) return { ...document, history: known }
        this.known.set(sessionId, document.history)
        return document
      }
    },
    caughtBy: [
      'handles: one that knows a session sees a new one as long as the old',
      'hint: lists that were rewritten without one are stored as given',
    ],
  },
  {
    what: 'a handle recognises what it read by the number in the revision alone',
    store: class extends TextStore {
      readonly known = new Map<string, TextEntry>()
      override read(entry: TextEntry, sessionId: string): SessionDocument {
        const key = `${sessionId} ${Number.parseInt(entry.revision, 10)}`
        const known = this.known.get(key) ?? entry
        this.known.set(key, known)
        return super.read(known, sessionId)
      }
    },
    caughtBy: ['handles: one that knows a session sees a new one as long as the old'],
  },
  {
    what: 'a handle keeps what it read of a session that it deleted and created again',
    store: class extends TextStore {
      readonly known = new Map<string, TextEntry>()
      override async load(sessionId: string): Promise<SessionDocument | undefined> {
        const stored = this.find(sessionId)
        if (stored === undefined) return undefined
        const entry = this.known.get(sessionId) ?? stored
        this.known.set(sessionId, entry)
        return this.read(entry, sessionId)
      }
      override async save(document: SessionDocument, expected: string): Promise<void> {
        await super.save(document, expected)
        this.known.delete(document.id)
      }
    },
    caughtBy: ['a session that was deleted and created again is read as it is stored now'],
  },
  {
    what: 'a deleted session leaves its history to the next',
    store: class extends TextStore {
      override async delete(sessionId: string, expected?: string): Promise<void> {
        const entry = this.find(sessionId)
        await super.delete(sessionId, expected)
        if (entry !== undefined) this.data.set(`left of ${sessionId}`, entry)
      }
      override write(document: SessionDocument): void {
        const left = storedHistory(this.data.get(`left of ${document.id}`)).slice(document.history.length)
        super.write({ ...document, history: [...document.history, ...left] })
      }
    },
    caughtBy: ['create after a delete stores the new document alone'],
  },
  {
    what: 'a handle keeps what it was to save, whatever came of it',
    store: class extends TextStore {
      readonly meant = new Map<string, SessionDocument>()
      override async save(document: SessionDocument, expected: string): Promise<void> {
        this.meant.set(document.id, document)
        return super.save(document, expected)
      }
      override async load(sessionId: string): Promise<SessionDocument | undefined> {
        return structuredClone(this.meant.get(sessionId)) ?? super.load(sessionId)
      }
    },
    caughtBy: [
      'a document that was refused leaves nothing behind, whatever becomes of it',
      'save under a stale revision is a conflict and leaves every byte',
    ],
  },
  {
    what: 'a load reads head and history one after the other',
    store: class extends TextStore {
      override async load(sessionId: string): Promise<SessionDocument | undefined> {
        const head = await super.load(sessionId)
        for (let step = 0; step < 3; step++) await Promise.resolve()
        const body = await super.load(sessionId)
        return head === undefined || body === undefined ? undefined : { ...head, history: body.history }
      }
    },
    caughtBy: ['a load during saves gives one whole document, never a mixture'],
  },
  {
    what: 'what is written at once goes to whoever wrote last',
    store: class extends TextStore {
      current = ''
      override async save(document: SessionDocument, expected: string, hint?: SessionSaveHint): Promise<void> {
        this.current = document.id
        await Promise.resolve()
        return super.save(this.current === document.id ? document : { ...document, id: this.current }, expected, hint)
      }
    },
    caughtBy: ['sessions written at once do not mix'],
  },
]

describe('a store in which', () => {
  test.each(broken)('$what', (store) => expectCaught(store))
})
