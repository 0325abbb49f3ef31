// Stores whose compare-and-swap is broken: each fails the cases that are there for it.

import { describe, test } from 'vitest'
import type { SessionDocument } from '../../../../src/index.js'
import { type BrokenStore, expectCaught, TextStore } from '../../../contract/text-store.js'

const broken: readonly BrokenStore[] = [
  {
    what: 'the last write wins',
    store: class extends TextStore {
      override async save(document: SessionDocument): Promise<void> {
        if (this.find(document.id) === undefined) throw this.conflict(document.id)
        this.write(document)
      }
    },
    caughtBy: [
      'save under a stale revision is a conflict and leaves every byte',
      'save under a revision that never was is a conflict and leaves every byte',
      'unreadable: a save under a revision that never was does not overwrite it',
      'save again with the same revision and another content changes nothing',
      'of two handles that save at once exactly one wins',
      'of twenty writers over one handle exactly one wins',
      'handles: one that loaded before the other saved is stale, and its save a conflict',
      'four workers that try again after each conflict lose no turn and double none',
      'engine: two that race on one session lose no acknowledged turn and double none',
    ],
  },
  {
    what: 'a save brings a deleted session back',
    store: class extends TextStore {
      override async save(document: SessionDocument, expected: string): Promise<void> {
        return this.find(document.id) === undefined ? this.write(document) : super.save(document, expected)
      }
    },
    caughtBy: [
      'save of a document that was never created is a conflict and stores nothing',
      'a late save does not bring a deleted session back',
      'a repeated save does not bring a deleted session back',
      'of a save and a delete at once exactly one wins',
    ],
  },
  {
    what: 'a save under an empty revision creates',
    store: class extends TextStore {
      override async save(document: SessionDocument, expected: string): Promise<void> {
        return expected === '' ? this.create(document) : super.save(document, expected)
      }
    },
    caughtBy: ['save under an empty revision does not create'],
  },
  {
    what: 'a create overwrites',
    store: class extends TextStore {
      override async create(document: SessionDocument): Promise<void> {
        this.find(document.id)
        this.write(document)
      }
    },
    caughtBy: [
      'create of an ID that exists under another revision is a conflict and changes nothing',
      'create again with the same revision and another content changes nothing',
      'of twenty creates of one ID exactly one wins',
      'unreadable: a create does not overwrite it',
    ],
  },
  {
    what: 'a repeated create is a conflict',
    store: class extends TextStore {
      override async create(document: SessionDocument): Promise<void> {
        if (this.find(document.id) !== undefined) throw this.conflict(document.id)
        this.write(document)
      }
    },
    caughtBy: [
      'create twice with one revision succeeds twice',
      'one create sent many times at once succeeds each time',
    ],
  },
  {
    what: 'a repeated save is a conflict',
    store: class extends TextStore {
      override async save(document: SessionDocument, expected: string): Promise<void> {
        if (this.find(document.id)?.revision !== expected) throw this.conflict(document.id)
        this.write(document)
      }
    },
    caughtBy: [
      'save twice with one revision succeeds twice',
      'save of the stored revision succeeds without a change, whatever it expects',
      'one save sent many times at once succeeds each time and is stored once',
    ],
  },
  {
    what: 'a repeated save overwrites',
    store: class extends TextStore {
      override async save(document: SessionDocument, expected: string): Promise<void> {
        if (this.find(document.id)?.revision === document.revision) return this.write(document)
        return super.save(document, expected)
      }
    },
    caughtBy: ['save again with the same revision and another content changes nothing'],
  },
  {
    what: 'revisions are compared by their count alone',
    store: class extends TextStore {
      override isSame(stored: string, expected: string): boolean {
        return Number.parseInt(stored, 10) === Number.parseInt(expected, 10)
      }
    },
    caughtBy: [
      'revisions of one count and another token are different',
      'a save from before a delete does not reach the session created after it',
      'a delete from before a delete does not reach the session created after it',
    ],
  },
  {
    what: 'revisions are compared as numbers',
    store: class extends TextStore {
      override isSame(stored: string, expected: string): boolean {
        return stored === expected || Number(stored) === Number(expected)
      }
    },
    caughtBy: ['revisions that are equal as numbers are different'],
  },
  {
    what: 'revisions are compared without case and trailing spaces, as a database may',
    store: class extends TextStore {
      override isSame(stored: string, expected: string): boolean {
        return stored.trimEnd().toLowerCase() === expected.trimEnd().toLowerCase()
      }
    },
    caughtBy: [
      'revisions that differ in case or accents are different',
      'revisions that differ in spaces at their ends are different',
    ],
  },
  {
    what: 'the compare and the swap are two steps',
    store: class extends TextStore {
      override async save(document: SessionDocument, expected: string): Promise<void> {
        const entry = this.find(document.id)
        await Promise.resolve()
        if (entry?.revision === document.revision) return
        if (entry?.revision !== expected) throw this.conflict(document.id)
        this.write(document)
      }
    },
    caughtBy: [
      'of two handles that save at once exactly one wins',
      'of twenty writers over four handles exactly one wins',
      'of a save and a delete at once exactly one wins',
    ],
  },
  {
    what: 'a create looks first and writes later',
    store: class extends TextStore {
      override async create(document: SessionDocument): Promise<void> {
        const entry = this.find(document.id)
        await Promise.resolve()
        if (entry !== undefined && entry.revision !== document.revision) throw this.conflict(document.id)
        this.write(document)
      }
    },
    caughtBy: ['of twenty creates of one ID exactly one wins'],
  },
  {
    what: 'a revision that was ever stored counts as stored',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        super.write(document)
        this.data.set(`once ${document.id} ${document.revision}`, { revision: '', text: '' })
      }
      wasStored({ id, revision }: SessionDocument): boolean {
        return this.find(`once ${id} ${revision}`) !== undefined
      }
      override async create(document: SessionDocument): Promise<void> {
        if (!this.wasStored(document)) await super.create(document)
      }
      override async save(document: SessionDocument, expected: string): Promise<void> {
        if (!this.wasStored(document)) await super.save(document, expected)
      }
    },
    caughtBy: [
      'create of an ID that was saved since is a conflict and changes nothing',
      'create after a delete succeeds under the revision that was deleted',
      'a save that is repeated after another save is a conflict',
      'a repeated save does not bring a deleted session back',
    ],
  },
  {
    what: 'a handle stays in conflict with a session after its first conflict',
    store: class extends TextStore {
      readonly lost = new Set<string>()
      override conflict(sessionId: string): Error {
        this.lost.add(sessionId)
        return super.conflict(sessionId)
      }
      override async save(document: SessionDocument, expected: string): Promise<void> {
        if (this.lost.has(document.id)) throw this.conflict(document.id)
        return super.save(document, expected)
      }
    },
    caughtBy: [
      'after a conflict the session goes on: load, then save',
      'revisions that differ in spaces at their ends are different',
      'a failed delete leaves the session to be saved',
    ],
  },
  {
    what: 'a handle believes its own last save, whatever came after it',
    store: class extends TextStore {
      readonly saved = new Map<string, string>()
      override async save(document: SessionDocument, expected: string): Promise<void> {
        if (this.saved.get(document.id) === expected) this.write(document)
        else await super.save(document, expected)
        this.saved.set(document.id, document.revision)
      }
    },
    caughtBy: ['handles: one that saved last is stale after the other saved'],
  },
]

describe('a store in which', () => {
  test.each(broken)('$what', (store) => expectCaught(store))
})
