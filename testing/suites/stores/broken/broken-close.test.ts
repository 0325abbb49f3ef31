// Stores that say the wrong thing in trouble or after close, or whose extras are broken: each fails the cases that are
// there for it.
import { describe, test } from 'vitest'
import { SessionConflictError, type SessionDocument, type SessionStore } from '../../../../src/index.js'
import { type BrokenStore, DownStore, expectCaught, type TextEntry, TextStore } from '../../../contract/text-store.js'

/** A store that is down, and answers nevertheless. */
function downStore(parts: Partial<TextStore>): new () => TextStore {
  return class extends DownStore {
    constructor() {
      super(new Map())
      Object.assign(this, parts)
    }
  }
}

const broken: readonly BrokenStore[] = [
  {
    what: 'close changes nothing',
    store: class extends TextStore {
      override async close(): Promise<void> {}
    },
    caughtBy: [
      'close: a load after it rejects',
      'close: a create after it rejects and stores nothing',
      'close: a save after it rejects and changes nothing',
      'close: a delete after it rejects and removes nothing',
      'close: a store that was never used closes, too',
    ],
  },
  {
    what: 'a close stops a save half-way',
    store: class extends TextStore {
      override async save(document: SessionDocument, expected: string): Promise<void> {
        await Promise.resolve()
        const wasClosed = this.closed
        this.closed = false
        await super.save(wasClosed ? { ...document, history: [] } : document, expected)
        this.closed = wasClosed
      }
    },
    caughtBy: ['close: a save under way settles, and is stored whole or not at all'],
  },
  {
    what: 'after close everything is missing',
    store: class extends TextStore {
      override find(sessionId: string): TextEntry | undefined {
        return this.closed ? undefined : super.find(sessionId)
      }
    },
    caughtBy: ['close: a load after it rejects', 'close: a delete after it rejects and removes nothing'],
  },
  {
    what: 'a second close fails',
    store: class extends TextStore {
      override async close(): Promise<void> {
        if (this.closed) throw new Error('The client is closed.')
        this.closed = true
      }
    },
    caughtBy: ['close: twice is once, also at the same time'],
  },
  {
    what: 'close takes the data with it',
    store: class extends TextStore {
      override async close(): Promise<void> {
        this.closed = true
        this.data.clear()
      }
    },
    caughtBy: ['close: another handle on the same data is not affected', 'handles: sessions survive a restart'],
  },
  {
    what: 'an outage is a missing session',
    store: TextStore,
    down: downStore({ load: async () => undefined, delete: async () => undefined }),
    caughtBy: [
      'outage: load rejects in time, and neither as missing nor as a conflict',
      'outage: delete rejects in time, and neither as missing nor as a conflict',
      'outage: delete with a revision rejects in time, and neither as missing nor as a conflict',
      'outage: many calls at once all reject in time',
    ],
  },
  {
    what: 'after close an outage is a missing session',
    store: TextStore,
    down: class extends DownStore {
      override async load(sessionId: string): Promise<SessionDocument | undefined> {
        return this.closed ? undefined : super.load(sessionId)
      }
    },
    caughtBy: ['outage: close settles in time, and calls after it reject'],
  },
  {
    what: 'an outage is a conflict',
    store: TextStore,
    down: downStore({
      save: async ({ id }) => Promise.reject(new SessionConflictError({ sessionId: id })),
      create: async ({ id }) => Promise.reject(new SessionConflictError({ sessionId: id })),
    }),
    caughtBy: [
      'outage: save rejects in time, and neither as missing nor as a conflict',
      'outage: create rejects in time, and neither as missing nor as a conflict',
    ],
  },
  {
    what: 'a write is accepted while the backend is down',
    store: TextStore,
    down: downStore({ save: async () => undefined, create: async () => undefined }),
    caughtBy: [
      'outage: save rejects in time, and neither as missing nor as a conflict',
      'outage: create rejects in time, and neither as missing nor as a conflict',
    ],
  },
  {
    what: 'an unreadable session is a missing one',
    store: class extends TextStore {
      override async load(sessionId: string): Promise<SessionDocument | undefined> {
        const entry = this.find(sessionId)
        return entry === undefined ? undefined : super.load(sessionId).catch(() => undefined)
      }
    },
    caughtBy: ['unreadable: load rejects with the code SESSION_FLOW_INVARIANT, each time'],
  },
  {
    what: 'an unreadable session is an error of the parser',
    store: class extends TextStore {
      override read({ text }: TextEntry): SessionDocument {
        return JSON.parse(text)
      }
    },
    caughtBy: ['unreadable: load rejects with the code SESSION_FLOW_INVARIANT, each time'],
  },
  {
    what: 'one unreadable session makes the others so',
    store: class extends TextStore {
      override read(entry: TextEntry, sessionId: string): SessionDocument {
        for (const { text } of this.data.values()) super.read({ ...entry, text }, sessionId)
        return super.read(entry, sessionId)
      }
    },
    caughtBy: ['unreadable: other sessions are not affected'],
  },
  {
    what: 'an unreadable session cannot be deleted',
    store: class extends TextStore {
      override async delete(sessionId: string, expected?: string): Promise<void> {
        await this.load(sessionId)
        return super.delete(sessionId, expected)
      }
    },
    caughtBy: ['unreadable: a delete without a revision removes it, and a create works again'],
  },
  {
    what: 'guarantees are words of its own',
    store: class extends TextStore {
      override readonly guarantees = { compareAndSwap: 'yes', durable: 1 } as unknown as SessionStore['guarantees']
    },
    caughtBy: ['guarantees are well-formed'],
  },
  {
    what: 'hold gives nothing to release',
    store: class extends TextStore {
      hold(): () => void {
        return true as unknown as () => void
      }
    },
    caughtBy: [
      'hold: a held session is loaded, saved and deleted like any other',
      'hold: releasing once or twice loses nothing and releases no other hold',
    ],
  },
  {
    what: 'a deleted session counts as evicted',
    store: class extends TextStore {
      readonly listeners: ((sessionId: string) => void)[] = []
      onEvicted(listener: (sessionId: string) => void): () => void {
        this.listeners.push(listener)
        return () => this.listeners.splice(0)
      }
      override async delete(sessionId: string, expected?: string): Promise<void> {
        await super.delete(sessionId, expected)
        for (const listener of this.listeners) listener(sessionId)
      }
    },
    caughtBy: ['onEvicted: saves and deletes are not evictions, and unsubscribing twice is allowed'],
  },
]

describe('a store in which', () => {
  test.each(broken)('$what', (store) => expectCaught(store))
})
