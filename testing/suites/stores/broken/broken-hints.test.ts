// Stores that trust the append hint, or append on their own: each fails the cases that are there for it.
import { describe, test } from 'vitest'
import type { SessionDocument, SessionSaveHint, StoredMessage } from '../../../../src/index.js'
import { type BrokenStore, expectCaught, type TextEntry, TextStore } from '../../../contract/text-store.js'

/** The history that is stored. */
function storedHistory(entry: TextEntry | undefined): SessionDocument['history'] {
  return entry === undefined ? [] : JSON.parse(entry.text).history
}

/** What makes the messages of a memory that are stored, of those that are stored already and those that are given. */
type Keep = (
  stored: readonly StoredMessage[],
  given: readonly StoredMessage[],
  name: string,
  hint: SessionSaveHint,
) => readonly StoredMessage[]

/** A store that stores wrong messages if there is a hint. */
function keeping(keep: Keep): BrokenStore['store'] {
  return class extends TextStore {
    override write(document: SessionDocument, hint?: SessionSaveHint): void {
      const entry = this.find(document.id)
      const stored: SessionDocument['flow']['memory'] = entry === undefined ? {} : JSON.parse(entry.text).flow.memory
      const memory = Object.entries(document.flow.memory).map(([name, { messages }]) => {
        const before = stored[name]?.messages ?? []
        return [name, { messages: hint === undefined ? messages : keep(before, messages, `memory:${name}`, hint) }]
      })
      super.write({ ...document, flow: { ...document.flow, memory: Object.fromEntries(memory) } })
    }
  }
}

const broken: readonly BrokenStore[] = [
  {
    what: 'a list that was rewritten is put behind the stored one',
    store: keeping((stored, given, name, { rewritten }) => (rewritten?.includes(name) ? [...stored, ...given] : given)),
    caughtBy: [
      'hint: a list that was cut and is named is stored as given, and the others go on',
      'hint: a save that only cuts a list stores it once, or not at all',
      'hint: a list that is named and was not there, or is as it was',
      'engine: a memory that is summed up again and again, after each reply',
    ],
  },
  {
    what: 'a list that gained nothing, by the hint, is left as it is stored',
    store: keeping((stored, given, name, { appended }) => (appended[name] === undefined ? stored : given)),
    caughtBy: [
      'hint: a list that was cut and is named is stored as given, and the others go on',
      'hint: a save that only cuts a list stores it once, or not at all',
    ],
  },
  {
    what: 'of a list that was rewritten the end of the stored one stays where that is longer',
    store: keeping((stored, given, name, { rewritten }) =>
      rewritten?.includes(name) ? [...given, ...stored.slice(given.length)] : given,
    ),
    caughtBy: ['hint: a list that was cut and is named is stored as given, and the others go on'],
  },
  {
    what: 'a hint is believed: what it does not count is taken from the store',
    store: class extends TextStore {
      override write(document: SessionDocument, hint?: SessionSaveHint): void {
        const stored = storedHistory(this.find(document.id))
        const added = document.history.slice(document.history.length - (hint?.appended.history ?? 0))
        super.write(hint === undefined ? document : { ...document, history: [...stored, ...added] })
      }
    },
    caughtBy: ['hint: one beside lists that were cut or rewritten is not believed'],
  },
  {
    what: 'a hint is believed: only the messages that it counts are stored with a new namespace',
    store: class extends TextStore {
      override write(document: SessionDocument, hint?: SessionSaveHint): void {
        const stored = this.find(document.id)
        const before = stored === undefined ? {} : JSON.parse(stored.text).flow.memory
        const memory = Object.entries(document.flow.memory).map(([name, { messages }]) => {
          const count = hint?.appended[`memory:${name}`]
          const isNew = stored !== undefined && !Object.hasOwn(before, name)
          return [name, { messages: isNew && count !== undefined ? messages.slice(-count) : messages }]
        })
        super.write({ ...document, flow: { ...document.flow, memory: Object.fromEntries(memory) } })
      }
    },
    caughtBy: ['hint: one that counts too few entries loses none'],
  },
  {
    what: 'a save without a hint appends what is longer, and drops what is shorter',
    store: class extends TextStore {
      override write(document: SessionDocument, hint?: SessionSaveHint): void {
        const stored = storedHistory(this.find(document.id))
        const grew = document.history.length >= stored.length
        const history = grew ? [...stored, ...document.history.slice(stored.length)] : stored
        super.write(hint === undefined && stored.length > 0 ? { ...document, history } : document)
      }
    },
    caughtBy: [
      'hint: lists that shrank without one are stored as given',
      'hint: lists that were emptied without one are stored as given',
      'hint: lists that were rewritten without one are stored as given',
      'engine: a flow that cuts the lists in onRestore finds them cut',
    ],
  },
  {
    what: 'entries are appended before the revision is compared',
    store: class extends TextStore {
      override async save(document: SessionDocument, expected: string, hint?: SessionSaveHint): Promise<void> {
        const entry = this.find(document.id)
        if (entry !== undefined && hint !== undefined && entry.revision !== expected) {
          const stored = JSON.parse(entry.text)
          stored.history.push(...document.history.slice(-1))
          this.data.set(this.keyOf(document.id), { revision: entry.revision, text: JSON.stringify(stored) })
        }
        return super.save(document, expected, hint)
      }
    },
    caughtBy: [
      'save under a stale revision is a conflict and leaves every byte',
      'hint: a save that was refused leaves no entry for the next one',
      'hint: a save that is repeated appends once',
    ],
  },
  {
    what: 'only namespaces that the hint names are stored',
    store: class extends TextStore {
      override write(document: SessionDocument, hint?: SessionSaveHint): void {
        const named = ([name]: readonly [string, unknown]) => hint === undefined || `memory:${name}` in hint.appended
        const memory = Object.entries(document.flow.memory).filter(named)
        super.write({ ...document, flow: { ...document.flow, memory: Object.fromEntries(memory) } })
      }
    },
    caughtBy: [
      'memory: several namespaces grow in turn',
      'memory: a turn that no namespace gets',
      'hint: one that names no list, or one that gained nothing',
    ],
  },
  {
    what: 'only copies are stored whole',
    store: class extends TextStore {
      override write(document: SessionDocument, hint?: SessionSaveHint): void {
        const copied = hint !== undefined && !Object.isFrozen(document.history)
        super.write(copied ? { ...document, history: document.history.slice(-1) } : document)
      }
    },
    caughtBy: ['hint: lists that are copies of the loaded ones are stored as given'],
  },
  {
    what: 'the counted entries are added to those that the handle knows',
    store: class extends TextStore {
      readonly known = new Map<string, SessionDocument['history']>()
      override read(entry: TextEntry, sessionId: string): SessionDocument {
        const document = super.read(entry, sessionId)
        this.known.set(sessionId, document.history)
        return document
      }
      override write(document: SessionDocument, hint?: SessionSaveHint): void {
        const known = this.known.get(document.id) ?? []
        const added = document.history.slice(document.history.length - (hint?.appended.history ?? 0))
        super.write(hint === undefined ? document : { ...document, history: [...known, ...added] })
      }
    },
    caughtBy: ['hint: a save by a handle that never loaded the session'],
  },
  {
    what: 'a save with a hint appends one entry, whatever it counts',
    store: class extends TextStore {
      override write(document: SessionDocument, hint?: SessionSaveHint): void {
        const stored = storedHistory(this.find(document.id))
        const history = [...stored, ...document.history.slice(-1)]
        super.write(hint === undefined ? document : { ...document, history })
      }
    },
    caughtBy: ['hint: several entries of one list in one save'],
  },
  {
    what: 'a save with a hint counts wrong by one',
    store: class extends TextStore {
      override write(document: SessionDocument, hint?: SessionSaveHint): void {
        super.write(hint === undefined ? document : { ...document, history: document.history.slice(0, -1) })
      }
    },
    caughtBy: [
      'hint: a save with a right hint stores exactly the given document',
      'save after save: each expects the one before',
    ],
  },
  {
    what: 'a save without a hint leaves the lists as they are',
    store: class extends TextStore {
      override write(document: SessionDocument, hint?: SessionSaveHint): void {
        const stored = this.find(document.id)
        const isSave = stored !== undefined && hint === undefined
        super.write(isSave ? { ...document, history: storedHistory(stored) } : document)
      }
    },
    caughtBy: [
      'hint: a save without a hint stores exactly the given document',
      'hint: saves with and without a hint take turns',
      'save replaces the document that has the expected revision',
    ],
  },
  {
    what: 'a session has the namespaces that it began with',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        const stored = this.find(document.id)
        const before = stored === undefined ? document : (JSON.parse(stored.text) as SessionDocument)
        const memory = Object.entries(document.flow.memory).filter(([name]) => Object.hasOwn(before.flow.memory, name))
        super.write({ ...document, flow: { ...document.flow, memory: Object.fromEntries(memory) } })
      }
    },
    caughtBy: [
      'memory: a namespace appears later',
      'memory: the first namespace comes after the first turn',
      'engine: a flow whose step was renamed keeps its memory',
    ],
  },
  {
    what: 'a namespace is never dropped',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        const stored = this.find(document.id)
        const before = stored === undefined ? {} : JSON.parse(stored.text).flow.memory
        super.write({ ...document, flow: { ...document.flow, memory: { ...before, ...document.flow.memory } } })
      }
    },
    caughtBy: ['memory: a namespace that vanishes without a hint is gone, and can come back'],
  },
  {
    what: 'a namespace named like a part of the document is dropped',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        const memory = Object.entries(document.flow.memory).filter(([name]) => !(name in document))
        super.write({ ...document, flow: { ...document.flow, memory: Object.fromEntries(memory) } })
      }
    },
    caughtBy: ['memory: namespaces named like parts of a document'],
  },
  {
    what: 'a session has at most sixteen namespaces',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        const memory = Object.entries(document.flow.memory).slice(0, 16)
        super.write({ ...document, flow: { ...document.flow, memory: Object.fromEntries(memory) } })
      }
    },
    caughtBy: ['memory: thirty namespaces'],
  },
]

describe('a store in which', () => {
  test.each(broken)('$what', (store) => expectCaught(store))
})
