// Stores whose delete is broken, or whose conflicts are another error: each fails the cases that test for it.
import { describe, test } from 'vitest'
import { type BrokenStore, expectCaught, TextStore } from '../../../contract/text-store.js'

const broken: readonly BrokenStore[] = [
  {
    what: 'delete compares nothing',
    store: class extends TextStore {
      override delete(sessionId: string): Promise<void> {
        return super.delete(sessionId)
      }
    },
    caughtBy: [
      'delete under a stale revision is a conflict and leaves every byte',
      'delete under an empty revision is a conflict: empty is not absent',
      'a delete from before a delete does not reach the session created after it',
      'a failed delete leaves the session to be saved',
    ],
  },
  {
    what: 'delete takes an empty revision for none',
    store: class extends TextStore {
      override delete(sessionId: string, expected?: string): Promise<void> {
        return super.delete(sessionId, expected || undefined)
      }
    },
    caughtBy: ['delete under an empty revision is a conflict: empty is not absent'],
  },
  {
    what: 'delete of a missing session is a conflict',
    store: class extends TextStore {
      override async delete(sessionId: string, expected?: string): Promise<void> {
        if (expected !== undefined && this.find(sessionId) === undefined) throw this.conflict(sessionId)
        return super.delete(sessionId, expected)
      }
    },
    caughtBy: [
      'delete of a missing session succeeds with a revision',
      'delete twice with one revision succeeds twice',
      'deletes at once all succeed',
    ],
  },
  {
    what: 'delete of a missing session fails',
    store: class extends TextStore {
      override async delete(sessionId: string, expected?: string): Promise<void> {
        if (this.find(sessionId) === undefined) throw new Error('no rows')
        return super.delete(sessionId, expected)
      }
    },
    caughtBy: ['delete of a missing session succeeds without a revision'],
  },
  {
    what: 'a conflict is an error like any other',
    store: class extends TextStore {
      override conflict(): Error {
        return new Error('conflict')
      }
    },
    caughtBy: [
      'save under a stale revision is a conflict and leaves every byte',
      'create of an ID that exists under another revision is a conflict and changes nothing',
      'delete under a stale revision is a conflict and leaves every byte',
    ],
  },
  {
    what: 'arguments are counted',
    store: class extends TextStore {
      override async delete(...given: [sessionId: string, expected?: string]): Promise<void> {
        const [sessionId, expected] = given
        if (given.length > 1 && expected === undefined) throw this.conflict(sessionId)
        return super.delete(sessionId, expected)
      }
      override async save(...given: Parameters<TextStore['save']>): Promise<void> {
        const [document, expected, hint] = given
        return super.save(given.length > 2 && hint === undefined ? { ...document, history: [] } : document, expected)
      }
    },
    caughtBy: ['delete with undefined for a revision is one without', 'hint: undefined is none'],
  },
]

describe('a store in which', () => {
  test.each(broken)('$what', (store) => expectCaught(store))
})
