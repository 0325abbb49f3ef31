/** Cases of texts of all kinds: in messages, replies, states and the owner. */
import type { JsonObject, SessionDocument } from '../../../../src/index.js'
import { describeOutcome, fail } from '../../cases/failure.js'
import type { CheckedStore } from '../bench/checked-store.js'
import { newSession, nextTurn, withContext } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'

/** A session that has a text in every place that holds one. */
function sessionOfText(base: SessionDocument, text: string): SessionDocument {
  const context: JsonObject = { text, list: [text, [text]], nested: { text } }
  const withTexts = withContext(base, context)
  const { flow } = withTexts
  const model = { provider: 'openai', name: text, params: { stop: text } }
  return { ...withTexts, owner: text, error: [text], flow: { ...flow, steps: { Ask: { state: { text }, model } } } }
}

/** Creates a session with a text, saves a turn with it, and expects both times what was given. */
async function roundTrip(store: CheckedStore, sessionId: string, text: string): Promise<void> {
  const first = sessionOfText(newSession(sessionId, { message: text, reply: text }), text)
  await store.create(first)
  await store.holds(first)
  const turn = nextTurn(first, { message: text, reply: text })
  const document = sessionOfText(turn.document, text)
  await store.save(document, turn.expectedRevision, turn.hint)
  await store.holds(document)
}

function textCase(what: string, texts: readonly string[]): SuiteCase {
  return {
    name: `texts: ${what}`,
    rule: rules.json,
    async run(bench) {
      const store = await bench.open()
      for (const text of texts) await roundTrip(store, bench.newId(), text)
    },
  }
}

/** Expects that a text with lone surrogates is read as it was written, or refused whole. */
async function roundTripOrRefuse(bench: SuiteBench, text: string): Promise<void> {
  const store = await bench.open()
  const first = newSession(bench.newId())
  await store.create(first)
  const turn = nextTurn(first, { message: text, reply: text })
  const outcome = await store.trySave(turn.document, turn.expectedRevision, turn.hint)
  if (outcome.kind === 'conflict') fail('a save to succeed, or to reject with no conflict', describeOutcome(outcome))
  await store.holds(outcome.kind === 'done' ? turn.document : first)
}

/** The cases, in the order in which they are registered. */
export const textCases: readonly SuiteCase[] = [
  textCase('that begin with a colon', [':', '::', ':a', ':base64:', ':base64:aGVsbG8=', '::base64:', 'a:base64:b']),
  textCase('that look like JSON', ['{}', '[]', '{"a":1}', '"quoted"', '{"value":"x","expires":1}', '[object Object]']),
  textCase('that look like values', ['undefined', 'null', 'true', 'false', 'NaN', 'Infinity', '-0']),
  textCase('that look like numbers', ['0', '007', '1.0', '1e3', '0x10', '9007199254740993', ' 1', '1n']),
  textCase('that look like dates', [
    '2026-01-01',
    '2026-01-01T00:00:00.000Z',
    'Thu, 01 Jan 1970 00:00:00 GMT',
    '12:30',
  ]),
  textCase('that are empty or of spaces', ['', ' ', '   ', '\t', '\n', '\r\n', ' a ', 'a\n', '\u00a0', '\ufeffa']),
  textCase('of quotes and escapes', [
    "'",
    '"',
    '`',
    '\\',
    '\\n',
    '\\u0000',
    "''",
    '\\"',
    "'; DROP TABLE sessions; --",
    '%s ? $1 :a',
  ]),
  textCase('of control characters', ['\0', 'a\0b', '\x01\x02\x1f', '\x7f', '\b\f\v', '\u0085']),
  textCase('of line and paragraph separators', ['\u2028', '\u2029', 'a\u2028b\u2029c', 'a\r\nb\rc\nd']),
  textCase('of every plane of Unicode', [
    '\u00e9',
    'e\u0301',
    '\u4e2d\u6587',
    '\u{1f44d}\u{1f3fd}',
    '\u{10ffff}',
    '\ufffe\uffff',
    '\u202eabc',
  ]),
  textCase('of 100 000 characters', ['x'.repeat(100_000), '\u4e2d'.repeat(100_000), '\\"'.repeat(50_000)]),
  {
    name: 'texts: lone surrogates are read as they were written, or refused whole',
    rule: rules.json,
    async run(bench) {
      for (const text of ['\ud800', '\udfff', 'a\ud800b', '\udc00\ud800']) await roundTripOrRefuse(bench, text)
    },
  },
]
