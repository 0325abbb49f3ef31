// Stores whose leases are broken: each fails the cases that test for it.
import { describe, test } from 'vitest'
import { type BrokenStore, expectCaught, type TextLease, TextStore } from '../../../contract/text-store.js'

type GiveBack = () => Promise<void>

const broken: readonly BrokenStore[] = [
  {
    what: 'everybody gets a lease',
    store: class extends TextStore {
      override isFree(): boolean {
        return true
      }
    },
    caughtBy: [
      'lease: another handle waits until it is given back',
      'lease: of ten that want it one has it at a time',
      'lease: a live holder keeps its lease renewed',
      'lease: giving back twice gives back no other lease',
    ],
  },
  {
    what: 'there is one lease for all sessions',
    store: class extends TextStore {
      override lease(_sessionId: string, ttlMs: number, signal: AbortSignal): Promise<GiveBack> {
        return super.lease('', ttlMs, signal)
      }
    },
    caughtBy: ['lease: other sessions do not wait'],
  },
  {
    what: 'a wait that ends is an error of its own',
    store: class extends TextStore {
      override async lease(sessionId: string, ttlMs: number, signal: AbortSignal): Promise<GiveBack> {
        try {
          return await super.lease(sessionId, ttlMs, signal)
        } catch {
          throw new Error('The lease was not free.')
        }
      }
    },
    caughtBy: ['lease: a signal that fires ends the wait, and takes nothing'],
  },
  {
    what: 'a lease is given back for whoever has it',
    store: class extends TextStore {
      override giveBack(sessionId: string): void {
        this.leases.delete(sessionId)
      }
    },
    caughtBy: ['lease: giving back twice gives back no other lease'],
  },
  {
    what: 'nobody renews',
    store: class extends TextStore {
      readonly #takenAt = new WeakMap<TextLease, number>()
      override isFree(lease: TextLease | undefined): boolean {
        if (lease === undefined) return true
        const takenAt = this.#takenAt.get(lease) ?? performance.now()
        this.#takenAt.set(lease, takenAt)
        return takenAt + lease.ttlMs <= performance.now()
      }
    },
    caughtBy: ['lease: a live holder keeps its lease renewed'],
  },
  {
    what: 'a lease never expires',
    store: class extends TextStore {
      override isFree(lease: TextLease | undefined): boolean {
        return lease === undefined
      }
    },
    caughtBy: ['lease: a dead holder loses its lease after its time'],
  },
  {
    what: 'a lease keeps others from writing',
    store: class extends TextStore {
      override write(...write: Parameters<TextStore['write']>): void {
        const holder = this.leases.get(write[0].id)?.store
        if (holder !== undefined && holder !== this) throw this.conflict(write[0].id)
        super.write(...write)
      }
    },
    caughtBy: ['lease: it is not a session, and does not block writes'],
  },
]

describe('a store in which', () => {
  test.each(broken)('$what', (store) => expectCaught(store))
})
