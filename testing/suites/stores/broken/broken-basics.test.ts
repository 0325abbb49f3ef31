// Stores that do not do what they say at all: each fails the plain cases, and an engine fails over it.
import { describe, test } from 'vitest'
import type { SessionDocument } from '../../../../src/index.js'
import { type BrokenStore, expectCaught, TextStore } from '../../../contract/text-store.js'

const broken: readonly BrokenStore[] = [
  {
    what: 'a save is acknowledged and dropped',
    store: class extends TextStore {
      override async save(): Promise<void> {}
    },
    caughtBy: [
      'save replaces the document that has the expected revision',
      'save after save: each expects the one before',
      'engine: three turns of one conversation',
    ],
  },
  {
    what: 'the third turn is lost',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        const { history } = document
        super.write(history.length === 3 ? { ...document, history: history.slice(0, 2) } : document)
      }
    },
    caughtBy: [
      'save after save: each expects the one before',
      'handles: fifty turns over two in turn read the same from both',
      'engine: three turns of one conversation',
      'engine: a conversation goes on after a restart',
    ],
  },
  {
    what: 'a load empties what it read',
    store: class extends TextStore {
      override async load(sessionId: string): Promise<SessionDocument | undefined> {
        const document = await super.load(sessionId)
        this.data.delete(this.keyOf(sessionId))
        return document
      }
    },
    caughtBy: ['load changes nothing: it gives the same each time'],
  },
  {
    what: 'a missing session is null',
    store: class extends TextStore {
      override async load(sessionId: string): Promise<SessionDocument | undefined> {
        return (await super.load(sessionId)) ?? (null as unknown as undefined)
      }
    },
    caughtBy: ['load gives undefined for an ID that was never stored'],
  },
  {
    what: 'a missing session is an error',
    store: class extends TextStore {
      override async load(sessionId: string): Promise<SessionDocument | undefined> {
        if (this.find(sessionId) === undefined) throw new Error('not found')
        return super.load(sessionId)
      }
    },
    caughtBy: ['load gives undefined for an ID that was never stored'],
  },
  {
    what: 'a delete is acknowledged and dropped',
    store: class extends TextStore {
      override async delete(): Promise<void> {}
    },
    caughtBy: [
      'delete with the stored revision removes the session',
      'delete without a revision removes whatever is stored',
      'engine: a deleted session is gone for every engine',
    ],
  },
  {
    what: 'a delete removes every session',
    store: class extends TextStore {
      override async delete(sessionId: string, expected?: string): Promise<void> {
        await super.delete(sessionId, expected)
        this.data.clear()
      }
    },
    caughtBy: ['sessions stand side by side: what happens to one leaves the others alone'],
  },
  {
    what: 'a completed session is removed',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        super.write(document)
        if (document.runStatus === 'completed') this.data.delete(document.id)
      }
    },
    caughtBy: [
      'a document of every status is stored: running, completed, aborted, not yet in a step',
      'engine: a completed session stays, and its ID starts a new one',
    ],
  },
  {
    what: 'an aborted session is not written',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        if (document.runStatus !== 'aborted') super.write(document)
      }
    },
    caughtBy: [
      'a document of every status is stored: running, completed, aborted, not yet in a step',
      'engine: a turn that fails leaves its text and the turns before it',
    ],
  },
]

describe('a store in which', () => {
  test.each(broken)('$what', (store) => expectCaught(store))
})
