// Stores whose claims are broken: each fails the cases that test for it.
import { describe, test } from 'vitest'
import { type BrokenStore, DownStore, expectCaught, TextStore } from '../../../contract/text-store.js'

/** A store whose claims are under other keys. */
function keyedBy(what: string, keyOf: (key: string) => string, ...caughtBy: readonly string[]): BrokenStore {
  const store = class extends TextStore {
    override claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
      return super.claim(keyOf(key), sessionId, ttlMs)
    }
  }
  return { what, store, caughtBy }
}

const broken: readonly BrokenStore[] = [
  {
    what: 'the last claim wins',
    store: class extends TextStore {
      override async claim(_key: string, sessionId: string): Promise<string> {
        return sessionId
      }
    },
    caughtBy: [
      'claim: the first one wins, and every handle gets its ID',
      'claim: of twenty at once over two handles all get one ID',
      'claim: it survives a restart',
    ],
  },
  {
    what: 'a repeat is refused',
    store: class extends TextStore {
      readonly #seen = new Set<string>()
      override async claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
        if (this.#seen.has(`${key} ${sessionId}`)) throw this.conflict(sessionId)
        this.#seen.add(`${key} ${sessionId}`)
        return super.claim(key, sessionId, ttlMs)
      }
    },
    caughtBy: ['claim: a repeat with the same ID gives that ID'],
  },
  {
    what: 'a claim reads, waits and writes',
    store: class extends TextStore {
      readonly #own = new Map<string, string>()
      override async claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
        const known = this.#own.get(key)
        await Promise.resolve()
        if (known !== undefined) return known
        this.#own.set(key, sessionId)
        await super.claim(key, sessionId, ttlMs)
        return sessionId
      }
    },
    caughtBy: ['claim: of twenty at once over two handles all get one ID'],
  },
  keyedBy('keys lose their case', (key) => key.toLowerCase(), 'claim: other keys are not affected'),
  keyedBy(
    'keys lose what is not a digit of a digest',
    (key) => key.replace(/[-_]/g, ''),
    'claim: other keys are not affected',
  ),
  {
    what: 'a claim is stored like a session',
    store: class extends TextStore {
      override keep(key: string, sessionId: string): string {
        const kept = this.data.get(key)?.text ?? JSON.stringify(sessionId)
        this.data.set(key, { revision: '', text: kept })
        return JSON.parse(kept)
      }
    },
    caughtBy: ['claim: it is not a session, and not in the way of one'],
  },
  {
    what: 'an ID is trimmed',
    store: class extends TextStore {
      override keep(key: string, sessionId: string, ttlMs: number): string {
        return super.keep(key, sessionId.trim(), ttlMs)
      }
    },
    caughtBy: ['claim: hostile IDs are given as they were kept'],
  },
  {
    what: 'a claim never ends',
    store: class extends TextStore {
      override keep(key: string, sessionId: string): string {
        return super.keep(key, sessionId, Number.POSITIVE_INFINITY)
      }
    },
    caughtBy: ['claim: it ends after its time, and the next one wins'],
  },
  {
    what: 'a claim works on a closed store',
    store: class extends TextStore {
      override async claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
        return this.keep(key, sessionId, ttlMs)
      }
    },
    caughtBy: ['claim: after close it rejects'],
  },
  {
    what: 'a claim hides an outage',
    store: TextStore,
    down: class extends DownStore {
      override async claim(_key: string, sessionId: string): Promise<string> {
        return sessionId
      }
    },
    caughtBy: ['claim: on a store that is down it rejects in time'],
  },
]

describe('a store in which', () => {
  test.each(broken)('$what', (store) => expectCaught(store))
})
