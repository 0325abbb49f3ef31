// Stores whose sessions end at the wrong time: each fails the cases that test for it.
import { describe, test } from 'vitest'
import type { SessionDocument } from '../../../../src/index.js'
import { type BrokenStore, expectCaught, TextStore } from '../../../contract/text-store.js'

const broken: readonly BrokenStore[] = [
  {
    what: 'each save begins the greatest age anew',
    store: class extends TextStore {
      override endOf(): number {
        return super.endOf(undefined)
      }
    },
    caughtBy: ['age: no save puts off the end of a session'],
  },
  {
    what: 'only the greatest age counts',
    store: class extends TextStore {
      override expiryOf(endsAt: number): number {
        return endsAt
      }
    },
    caughtBy: ['age: an unused session expires after its last save, if that is earlier'],
  },
  {
    what: 'a save does not ask whether the session is over',
    store: class extends TextStore {
      override async save(document: SessionDocument): Promise<void> {
        this.forget(document.id)
        this.write(document)
      }
    },
    caughtBy: ['age: what is saved after the end is a conflict, and brings nothing back'],
  },
  {
    what: 'an ID that ended has ended for good',
    store: class extends TextStore {
      override forget(): void {}
    },
    caughtBy: ['age: the ID of a session that ended starts a new one, which has its own time'],
  },
]

describe('a store in which', () => {
  test.each(broken)('$what', (store) => expectCaught(store))
})
