// Stores whose marks of deleted sessions are broken: each fails the cases that test for it.
import { describe, test } from 'vitest'
import { type BrokenStore, DownStore, expectCaught, TextStore } from '../../../contract/text-store.js'
import { newSession } from '../bench/documents.js'

const broken: readonly BrokenStore[] = [
  {
    what: 'a delete leaves no mark',
    store: class extends TextStore {
      override mark(): void {}
    },
    caughtBy: [
      'deleted: the ID cannot be used again, over any handle',
      'deleted: an ID without a session cannot be used either, with a revision or without',
      'deleted: the mark survives a restart',
      'deleted: a claim of the ID stays, and leads to no session',
      'deleted: a first message that is sent again starts a session with a new ID',
      'deleted: a session that is deleted before its first turn ends does not come back',
    ],
  },
  {
    what: 'only a session leaves a mark',
    store: class extends TextStore {
      override async delete(sessionId: string, expected?: string): Promise<void> {
        if (this.find(sessionId) !== undefined) await super.delete(sessionId, expected)
      }
    },
    caughtBy: ['deleted: an ID without a session cannot be used either, with a revision or without'],
  },
  {
    what: 'a create does not look for a mark',
    store: class extends TextStore {
      override isMarked(): boolean {
        return false
      }
      override async isDeleted(sessionId: string): Promise<boolean> {
        this.find('')
        return super.isMarked(sessionId)
      }
    },
    caughtBy: [
      'deleted: the ID cannot be used again, over any handle',
      'deleted: every further delete succeeds, and a save stays a conflict',
    ],
  },
  {
    what: 'a create looks for the mark before it waits for its turn',
    store: class extends TextStore {
      override async create(document: ReturnType<typeof newSession>): Promise<void> {
        if (this.isMarked(document.id)) throw this.conflict(document.id)
        await Promise.resolve()
        const entry = this.find(document.id)
        if (entry !== undefined) return super.create(document)
        this.write(document)
      }
    },
    caughtBy: ['deleted: of a create and a delete at once, a delete that succeeds leaves no session'],
  },
  {
    what: 'a refused delete leaves a mark',
    store: class extends TextStore {
      override async delete(sessionId: string, expected?: string): Promise<void> {
        this.mark(sessionId)
        await super.delete(sessionId, expected)
      }
    },
    caughtBy: ['deleted: a refused delete leaves no mark'],
  },
  {
    what: 'a mark is stored like a session',
    store: class extends TextStore {
      override mark(sessionId: string): void {
        super.mark(sessionId)
        this.data.set(`mark of ${sessionId}`, { revision: '', text: JSON.stringify(newSession(sessionId)) })
      }
    },
    caughtBy: ['deleted: no listing shows the mark'],
  },
  {
    what: 'a closed store still answers',
    store: class extends TextStore {
      override async isDeleted(sessionId: string): Promise<boolean> {
        return this.isMarked(sessionId)
      }
    },
    caughtBy: ['deleted: after close it rejects'],
  },
  {
    what: 'it hides an outage',
    store: TextStore,
    down: class extends DownStore {
      override async isDeleted(): Promise<boolean> {
        return false
      }
    },
    caughtBy: ['deleted: on a store that is down it rejects in time'],
  },
]

describe('a store in which', () => {
  test.each(broken)('$what', (store) => expectCaught(store))
})
