// Stores that take one ID for another, as file systems, databases and plain objects do: each fails the cases that are
// there for it.
import { createHash } from 'node:crypto'
import { describe, test } from 'vitest'
import type { SessionDocument } from '../../../../src/index.js'
import { type BrokenStore, expectCaught, type TextEntry, TextStore } from '../../../contract/text-store.js'

/** A store that keeps a session under something else than its ID. */
function keyedBy(what: string, keyOf: (sessionId: string) => string, ...caughtBy: readonly string[]): BrokenStore {
  const store = class extends TextStore {
    override keyOf(sessionId: string): string {
      return keyOf(sessionId)
    }
  }
  return { what, store, caughtBy: caughtBy.map((name) => `IDs: ${name}`) }
}

const wildcard = /[%*?_[]/

const broken: readonly BrokenStore[] = [
  keyedBy('case does not count', (id) => id.toLowerCase(), 'upper and lower case', 'sharp s', 'constructor'),
  keyedBy('case folds as in German', (id) => id.toUpperCase(), 'sharp s', 'look-alikes', 'i with a dot and without'),
  keyedBy('spaces at the ends do not count', (id) => id.trim(), 'trailing spaces', 'leading spaces', 'spaces alone'),
  keyedBy('trailing spaces do not count', (id) => id.replace(/ +$/, ''), 'trailing spaces', 'spaces alone'),
  keyedBy('spaces are one', (id) => id.replace(/\s+/g, ' '), 'tabs and spaces', 'line breaks'),
  keyedBy('line breaks are cut off', (id) => id.replace(/[\r\n]+$/, ''), 'line breaks'),
  keyedBy('a text ends at NUL', (id) => id.split('\0')[0] ?? '', 'NUL'),
  keyedBy('control characters are dropped', (id) => id.replace(/\p{Cc}/gu, ''), 'control characters', 'line breaks'),
  keyedBy(
    'invisible characters are dropped',
    (id) => id.replace(/\p{Cf}/gu, ''),
    'characters of no width',
    'directions of text',
    'emoji',
  ),
  keyedBy('accents are composed', (id) => id.normalize('NFC'), 'accents, composed and not', 'one letter of three ohms'),
  keyedBy('look-alikes are one', (id) => id.normalize('NFKC'), 'look-alikes', 'tabs and spaces'),
  keyedBy('accents do not count', (id) => id.normalize('NFD').replace(/\p{M}/gu, ''), 'accents, composed and not'),
  keyedBy(
    'lone surrogates are replaced',
    (id) => new TextDecoder().decode(new TextEncoder().encode(id)),
    'lone surrogates',
  ),
  keyedBy(
    'keys are cut at 255 characters',
    (id) => id.slice(0, 255),
    '256 characters',
    '70 KB',
    '1 000 characters that differ in the last',
  ),
  keyedBy('keys are cut at 64 KB', (id) => id.slice(0, 65_536), '70 KB'),
  keyedBy('keys are URLs, decoded', (id) => decoded(id), 'escapes of a URL', 'plus signs'),
  keyedBy('keys are paths, resolved', (id) => new URL(`file:///data/${id}`).pathname, 'paths', 'URLs'),
  keyedBy(
    'keys have an affinity to numbers',
    (id) => (id.trim() !== '' && Number.isFinite(Number(id)) ? String(Number(id)) : id),
    'numbers',
    'numbers too big to be exact',
  ),
  keyedBy('punctuation becomes an underscore', (id) => id.replace(/[^\w-]/g, '_'), 'separators'),
  keyedBy('quotes are doubled by hand', (id) => id.replaceAll("''", "'"), 'single quotes'),
  keyedBy('backslashes escape', (id) => id.replaceAll('\\\\', '\\'), 'backslashes'),
  keyedBy('IDs are read as JSON', (id) => asJson(id), 'JSON', 'numbers'),
  keyedBy('a hash tag is the key', (id) => /\{(.+?)\}/.exec(id)?.[1] ?? id, 'hash tags of a cluster'),
  keyedBy('a list takes its first', (id) => id.split(/[,;]/)[0] ?? id, 'commas and lists', 'statements'),
  keyedBy(
    'keys are cut at 64 KB of UTF-8',
    (id) => Buffer.from(id).subarray(0, 65_536).toString(),
    '70 KB',
    '70 KB in two bytes each',
  ),
  keyedBy('variables are filled in', (id) => id.replace(/\$\{(\w+)\}/, '$1'), 'backticks and dollars'),
  keyedBy('colons are one', (id) => id.replace(/:+/g, ':'), 'colons'),
  keyedBy('dots are one', (id) => id.replace(/\.+/g, '.'), 'dots and operators'),
  keyedBy('double quotes are doubled by hand', (id) => id.replaceAll('""', '"'), 'double quotes'),
  keyedBy('dots at the end do not count, as on Windows', (id) => id.replace(/[. ]+$/, ''), 'paths of Windows'),
  keyedBy(
    'a prefix is added where there is none',
    (id) => `session:${id.replace(/^session:/, '')}`,
    'prefixes that a store may use',
  ),
  keyedBy(
    'words for nothing are not IDs',
    (id) => (/^(?:null|undefined|None)$/.test(id) ? '' : id),
    'words of a language',
  ),
  keyedBy(
    'only IDs that are not plain are hashed',
    (id) => (/^\w+$/.test(id) ? id : sha256(id)),
    'the digests of other IDs',
  ),
  keyedBy('base64 is compared without its padding', (id) => id.replace(/=+$/, ''), 'base64'),
  {
    what: 'the Map is a plain object',
    store: class extends TextStore {
      override find(sessionId: string): TextEntry | undefined {
        const found = super.find(sessionId)
        const inherited: unknown = Object.prototype[sessionId as keyof object]
        return found ?? (inherited as TextEntry | undefined)
      }
    },
    caughtBy: ['IDs: __proto__', 'IDs: constructor', 'IDs: toString and other inherited names'],
  },
  {
    what: 'an ID is a pattern when it is deleted',
    store: class extends TextStore {
      override async delete(sessionId: string, expected?: string): Promise<void> {
        await super.delete(sessionId, expected)
        if (!wildcard.test(sessionId)) return
        const start = sessionId.split(wildcard)[0] ?? ''
        for (const key of this.data.keys()) if (key.startsWith(start)) this.data.delete(key)
      }
    },
    caughtBy: ['asterisks', 'percent signs', 'question marks', 'square brackets', 'underscores'].map(
      (name) => `IDs: ${name}`,
    ),
  },
  {
    what: 'the parts of a session have keys that are IDs, too',
    store: class extends TextStore {
      override write(document: SessionDocument): void {
        super.write(document)
        this.data.set(`${document.id}:history`, { revision: document.revision, text: '[]' })
      }
    },
    caughtBy: ['IDs: names that a store may give to its parts'],
  },
]

function sha256(id: string): string {
  return createHash('sha256').update(id).digest('hex')
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id.replaceAll('+', ' '))
  } catch {
    return id
  }
}

function asJson(id: string): string {
  try {
    return String(JSON.parse(id))
  } catch {
    return id
  }
}

describe('a store in which', () => {
  test.each(broken)('$what', (store) => expectCaught(store))
})
