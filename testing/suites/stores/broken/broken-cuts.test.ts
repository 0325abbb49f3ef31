// Stores that trust what a hint says was removed, or know only some lists: each fails the cases that are there for it.
import { describe, test } from 'vitest'
import type { Message, SessionDocument, SessionSaveHint } from '../../../../src/index.js'
import {
  type BrokenStore,
  expectCaught,
  readingThrough,
  type TextEntry,
  TextStore,
} from '../../../contract/text-store.js'

/** A document as JSON. */
type Fields = Record<string, unknown>

/** What makes a list that is stored, of the one that is stored already and the given one. */
type Keep = (stored: readonly unknown[], given: readonly unknown[], name: string, hint: SessionSaveHint) => unknown[]

function storedIn(entry: TextEntry | undefined): SessionDocument | undefined {
  return entry === undefined ? undefined : JSON.parse(entry.text)
}

/** A store that makes the history and the messages of a memory itself. */
function keeping(keep: Keep, unhinted?: SessionSaveHint): BrokenStore['store'] {
  return class extends TextStore {
    override write(document: SessionDocument, hint = unhinted): void {
      const stored = storedIn(this.find(document.id))
      if (stored === undefined || hint === undefined) {
        super.write(document)
        return
      }
      const memory = Object.entries(document.flow.memory).map(([name, { messages }]) => {
        const before = stored.flow.memory[name]?.messages ?? []
        return [name, { messages: keep(before, messages, `memory:${name}`, hint) as Message[] }]
      })
      const history = keep(stored.history, document.history, 'history', hint) as unknown as SessionDocument['history']
      super.write({ ...document, history, flow: { ...document.flow, memory: Object.fromEntries(memory) } })
    }
  }
}

/** The end of a list that a hint counts as appended. */
function appendedTo(given: readonly unknown[], name: string, { appended }: SessionSaveHint): readonly unknown[] {
  return given.slice(given.length - (appended[name] ?? 0))
}

/** A store that changes the whole document, with the stored one at hand. */
function merging(
  merge: (given: Fields, stored: Fields, hint: SessionSaveHint | undefined) => Fields,
): BrokenStore['store'] {
  return class extends TextStore {
    override write(document: SessionDocument, hint?: SessionSaveHint): void {
      const stored = storedIn(this.find(document.id)) ?? {}
      super.write(merge(document as unknown as Fields, stored as Fields, hint) as unknown as SessionDocument)
    }
  }
}

const broken: readonly BrokenStore[] = [
  {
    what: 'a list never loses entries',
    store: keeping((stored, given, name, hint) => [...stored, ...appendedTo(given, name, hint)]),
    caughtBy: [
      'cut: lists lose their first entries and gain new ones in one save',
      'cut: a save that only cuts',
      'cut: lists that lose everything stay, and go on',
      'cut: again and again, by two handles in turn, until nothing of the first list is left',
      'cut: what another handle cut and appended is seen by one that knew the list before',
      'cut: a save that is refused cuts nothing, and one that is repeated cuts once',
      'cut: one list is cut, and another one is rewritten',
      'cut: with a hint that does not mention it',
      'engine: a memory that is cut to a window, by two in turn',
    ],
  },
  {
    what: 'a list is as long as before where there is no hint',
    store: keeping((stored, given) => [...stored.slice(0, Math.max(0, stored.length - given.length)), ...given], {
      appended: {},
    }),
    caughtBy: ['cut: without a hint'],
  },
  {
    what: 'the counts of a hint are believed',
    store: keeping((stored, given, name, hint) => [
      ...stored.slice(hint.removed?.[name] ?? 0),
      ...appendedTo(given, name, hint),
    ]),
    caughtBy: [
      'cut: one list is cut, and another one is rewritten',
      'cut: with a hint that does not mention it',
      'cut: with a hint that counts too few removed entries',
      'cut: with a hint that counts too many removed entries',
      'cut: with a hint whose counts agree in their sum only',
    ],
  },
  {
    what: 'a list that a hint names is made',
    store: merging((given, _stored, hint) => {
      const named = Object.keys(hint?.removed ?? {}).filter((name) => !name.startsWith('memory:'))
      return { ...Object.fromEntries(named.map((name) => [name, []])), ...given }
    }),
    caughtBy: ['cut: with a hint that names lists that are not there'],
  },
  {
    what: 'fields that a document no longer has stay',
    store: merging((given, stored) => ({ ...stored, ...given })),
    caughtBy: ['lists: one that a document no longer has is gone, and may come again'],
  },
  {
    what: 'effects are never changed',
    store: merging((given, stored) => ({
      ...given,
      ...(given.effects === undefined ? {} : { effects: { ...given.effects, ...(stored.effects ?? {}) } }),
    })),
    caughtBy: ['lists: an effect that changed between two that did not, and names that a record may have'],
  },
  readingThrough(
    'lists that the store does not know are lost',
    (key, value) => (['attachments', 'receipts', 'effects'].includes(key) ? undefined : value),
    'lists: attachments, receipts and effects come back as they were given',
    'lists: they grow, and lose their first entries',
    'lists: they come with a later turn, and lose everything',
  ),
  readingThrough(
    'an empty list is taken for none',
    (key, value) =>
      ['attachments', 'receipts'].includes(key) && !(value as readonly unknown[]).length ? undefined : value,
    'lists: those that are absent stay absent, those that are empty stay empty',
  ),
  {
    what: 'documents have the version that the store knows',
    store: merging((given) => ({ ...given, version: 2 })),
    caughtBy: ['lists: a document of either version'],
  },
]

describe('a store in which', () => {
  test.each(broken)('$what', expectCaught)
})
