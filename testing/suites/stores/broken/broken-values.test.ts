// Stores that write down other values or keys than they were given: each fails the cases that are there for it.
import { describe, expect, test } from 'vitest'
import type { SessionDocument } from '../../../../src/index.js'
import {
  type BrokenStore,
  changedKeys,
  expectCaught,
  type Reviver,
  readingThrough,
  type TextEntry,
  TextStore,
  verdictOf,
  writingThrough,
} from '../../../contract/text-store.js'

const broken: readonly BrokenStore[] = [
  readingThrough(
    'truth is a number',
    (_key, value) => (typeof value === 'boolean' ? Number(value) : value),
    'values: truth, null and their texts stay apart',
  ),
  readingThrough(
    'null is nothing',
    (_key, value) => value ?? undefined,
    'values: truth, null and their texts stay apart',
  ),
  readingThrough(
    'numbers have single precision',
    (_key, value) => (typeof value === 'number' ? Math.fround(value) : value),
    'values: floats',
    'values: whole numbers',
  ),
  readingThrough(
    'numbers have 32 bits',
    (_key, value) => (Number.isInteger(value) ? Number(value) | 0 : value),
    'values: whole numbers',
    'values: usage and bytes are numbers, even if they are large or fractional',
  ),
  readingThrough(
    'empty lists are objects',
    (key, value) => (key !== 'error' && Array.isArray(value) && value.length === 0 ? {} : value),
    'values: empty lists and objects',
  ),
  readingThrough(
    'empty lists are left out',
    (key, value) => (key !== 'error' && Array.isArray(value) && value.length === 0 ? undefined : value),
    'values: empty lists and objects',
    'memory: a namespace without messages is kept',
  ),
  readingThrough(
    'one entry is not a list',
    (key, value) => (key === 'one' && Array.isArray(value) ? value[0] : value),
    'values: one entry is still a list',
  ),
  writingThrough(
    'keys that begin with a dollar are dropped',
    changedKeys((key) => (key.startsWith('$') ? undefined : key)),
    'values: keys with dots and dollars',
  ),
  writingThrough(
    'dots in keys are replaced',
    changedKeys((key) => key.replaceAll('.', '_')),
    'values: keys with dots and dollars',
  ),
  writingThrough(
    'keys have no case',
    changedKeys((key) => (key.length === 1 ? key.toLowerCase() : key)),
    'values: keys that differ in case or accents',
  ),
  writingThrough(
    'empty keys are dropped',
    changedKeys((key) => (key === '' ? undefined : key)),
    'values: keys that are empty or of spaces',
    'memory: namespaces named by nothing or a number',
  ),
  writingThrough(
    'keys named __proto__ are dropped',
    changedKeys((key) => (key === '__proto__' ? undefined : key)),
    'values: keys of inherited names',
    'values: steps of inherited names',
    'memory: namespaces named __proto__ and other inherited names',
  ),
  writingThrough(
    'keys of inherited names are dropped',
    changedKeys((key) => (key in {} ? undefined : key)),
    'values: keys of inherited names',
    'memory: namespaces named __proto__ and other inherited names',
  ),
  writingThrough(
    'keys in JSON paths lose their slashes',
    changedKeys((key) => key.replaceAll('/', '')),
    'values: keys with separators',
    'memory: namespaces named with colons, hashes and slashes',
  ),
  writingThrough(
    'a key _id is its own',
    changedKeys((key) => (key === '_id' ? undefined : key)),
    'values: keys that serializers use',
  ),
  writingThrough(
    'keys that are numbers are written as such',
    changedKeys((key) => (/^\d+$/.test(key) ? String(Number(key)) : key)),
    'values: keys that look like numbers',
  ),
  writingThrough(
    'names have no case and no spaces at their ends',
    changedKeys((key) => (/^\s*ask\s*$/i.test(key) ? 'Ask' : key)),
    'memory: namespaces named alike',
  ),
  writingThrough(
    'null is left out',
    (key, value) => (key === 'currentStep' && value === null ? undefined : value),
    'a document of every status is stored: running, completed, aborted, not yet in a step',
  ),
  {
    what: 'an object has at most 1 000 keys',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        const firstKeys: Reviver = (_key, value) =>
          isObject(value) ? Object.fromEntries(Object.entries(value).slice(0, 1_000)) : value
        super.write(JSON.parse(JSON.stringify(document, firstKeys)))
      }
    },
    caughtBy: ['values: objects of many keys'],
  },
  writingThrough(
    'the owner stays',
    (key, value) => (key === 'owner' ? 'user-7' : value),
    'values: optional fields come and go between saves',
  ),
  writingThrough(
    'the encoding is dropped',
    (key, value) => (key === 'encoding' ? undefined : value),
    'values: tool calls, their results and replies in base64',
  ),
  {
    what: 'a save is merged into what is stored',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        const stored = this.find(document.id)
        super.write(stored === undefined ? document : { ...JSON.parse(stored.text), ...document })
      }
    },
    caughtBy: ['what a save leaves out is gone', 'values: optional fields come and go between saves'],
  },
  {
    what: 'a value is copied as it is, a negative zero included',
    store: class extends TextStore {
      override read({ text }: TextEntry): SessionDocument {
        return JSON.parse(text, (key, value) => (value === 0 && key !== 'level' ? -0 : value))
      }
    },
    caughtBy: ['values: a negative zero is read as 0', 'values: whole numbers'],
  },
  {
    what: 'a document deeper than 32 levels is refused',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        if (depthOf(document) > 32) throw new Error('nested too deep')
        super.write(document)
      }
    },
    caughtBy: ['values: nested 60 deep'],
  },
  {
    what: 'a document over 512 KB is refused',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        if (JSON.stringify(document).length > 512 * 1024) throw new Error('too big')
        super.write(document)
      }
    },
    caughtBy: [
      'a document of 1 MB is created, saved and deleted',
      'a message of 1 MB is stored, and the turns after it',
    ],
  },
  {
    what: 'the oldest turns are dropped',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        super.write({ ...document, history: document.history.slice(-100) })
      }
    },
    caughtBy: [
      'a conversation of 5 000 messages goes on turn by turn',
      'a conversation of 200 turns, saved turn by turn, is read whole',
    ],
  },
]

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

describe('a store in which', () => {
  test.each(broken)('$what', (store) => expectCaught(store))
})

test('a store that pollutes Object.prototype is caught', async () => {
  class Polluting extends TextStore {
    override read(entry: TextEntry, sessionId: string): SessionDocument {
      if (entry.text.includes('polluted'))
        Object.defineProperty(Object.prototype, 'polluted', { value: true, configurable: true })
      return super.read(entry, sessionId)
    }
  }
  try {
    const name = 'values: Object.prototype is untouched by whatever is stored'
    expect(await verdictOf(name, Polluting)).toContain('a new object to have no property polluted; got true')
  } finally {
    Reflect.deleteProperty(Object.prototype, 'polluted')
  }
})
