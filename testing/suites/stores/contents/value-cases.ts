/** Cases of values and keys: numbers, nesting, emptiness, and keys that mean something to JavaScript or a database. */
import type { JsonObject, JsonValue, Message, SessionDocument } from '../../../../src/index.js'
import { ensure, fail } from '../../cases/failure.js'
import { inShort } from '../../cases/same-json.js'
import { freezeDeep, newRevision, newSession, nextTurn, withContext, withMemory } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'

/** Stores `value` in context and state by create and by save, and expects it back. */
async function roundTrip(bench: SuiteBench, value: JsonValue): Promise<SessionDocument> {
  const store = await bench.open()
  const holding = (base: SessionDocument): SessionDocument => {
    const document = withContext(base, { value })
    return { ...document, flow: { ...document.flow, steps: { Ask: { state: { value } } } } }
  }
  const first = holding(newSession(bench.newId()))
  await store.create(first)
  await store.holds(first)
  const turn = nextTurn(first)
  const document = holding(turn.document)
  await store.save(document, turn.expectedRevision, turn.hint)
  await store.holds(document)
  return store.load(document.id)
}

/** An object of these keys, each an own property: `__proto__` as well. */
function objectOf(...keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.map((key, index) => [key, { key, index }]))
}

function valueCase(what: string, value: JsonValue): SuiteCase {
  return {
    name: `values: ${what}`,
    rule: rules.json,
    async run(bench) {
      await roundTrip(bench, value)
    },
  }
}

function nested(depth: number): JsonValue {
  let value: JsonValue = 'the innermost'
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { value }
  return value
}

const inherited = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '__defineGetter__', 'toJSON']

/** The cases, in the order in which they are registered. */
export const valueCases: readonly SuiteCase[] = [
  valueCase('whole numbers', [0, 1, -1, 42, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]),
  valueCase('floats', [0.1, 0.1 + 0.2, 1 / 3, -1.5, 1e21, 1.7e308, Number.MAX_VALUE, Number.MIN_VALUE, Number.EPSILON]),
  {
    name: 'values: a negative zero is read as 0',
    rule: rules.json,
    async run(bench) {
      const { flow } = await roundTrip(bench, [-0])
      ensure(inShort(flow.context.value) === '[0]', 'a list of 0', flow.context.value)
    },
  },
  valueCase('truth, null and their texts stay apart', [true, 'true', 1, '1', false, 'false', 0, '0', null, 'null', '']),
  valueCase('empty lists and objects', {
    list: [],
    object: {},
    nested: [[], {}, [[]], [{}]],
    in: { list: [], object: {} },
  }),
  valueCase('one entry is still a list', { one: ['a'], object: [{ a: 1 }], list: [['a']], nulls: [null, null] }),
  valueCase('nested 60 deep', nested(56)),
  valueCase(
    'objects of many keys',
    Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`key ${index}`, index])),
  ),
  valueCase('keys of inherited names', objectOf(...inherited)),
  valueCase('keys that are empty or of spaces', objectOf('', ' ', '  ', '\t', '\n', 'a ', ' a', 'a')),
  valueCase('keys that look like numbers', objectOf('2', '1', '0', '-1', '01', '1.5', '1e3', '4294967295', 'length')),
  valueCase(
    'keys with dots and dollars',
    objectOf('a.b', '.a', 'a.', '..', '$', '$set', '$where', 'a$b', '$ref', '@type'),
  ),
  valueCase(
    'keys with separators',
    objectOf('a:b', 'a/b', 'a#b', 'a[0]', 'a\\b', "a'b", 'a"b', 'a\0b', 'a\nb', '~1', '~0'),
  ),
  valueCase('keys that differ in case or accents', objectOf('a', 'A', '\u00e9', 'e\u0301', 'stra\u00dfe', 'STRASSE')),
  valueCase(
    'keys that serializers use',
    objectOf('json', 'value', 'expires', '_id', 'id', 'revision', 'type', 'data', '__type'),
  ),
  {
    name: 'values: steps of inherited names',
    rule: rules.json,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      const steps = Object.fromEntries(inherited.map((step, index) => [step, { state: { index } }]))
      const named = { ...document, flow: { ...document.flow, steps, currentStep: '__proto__' } }
      await store.create(named)
      await store.holds(named)
    },
  },
  {
    name: 'values: Object.prototype is untouched by whatever is stored',
    rule: rules.json,
    async run(bench) {
      const before = Reflect.ownKeys(Object.prototype).map(String).join()
      const polluting: JsonValue = JSON.parse(
        '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
      )
      const loaded = await roundTrip(bench, polluting)
      const probe: Record<string, unknown> = {}
      ensure(probe.polluted === undefined, 'a new object to have no property polluted', probe.polluted)
      const after = Reflect.ownKeys(Object.prototype).map(String).join()
      if (after !== before) fail('Object.prototype as it was', `its keys are ${after}`)
      const { polluted } = loaded.flow.context as { polluted?: unknown }
      ensure(polluted === undefined, 'a loaded object to inherit nothing that was stored', polluted)
    },
  },
  {
    name: 'values: optional fields come and go between saves',
    rule: rules.save,
    async run(bench) {
      const store = await bench.open()
      let last: SessionDocument = newSession(bench.newId())
      await store.create(last)
      for (let count = 0; count < 6; count++) {
        const { owner: _, ...unowned } = nextTurn(last).document
        const state = { count }
        const step = count % 3 === 0 ? { state, model: { provider: 'openai', name: 'small' } } : { state }
        const document: SessionDocument = {
          ...(count % 2 === 0 ? unowned : { ...unowned, owner: `user-${count}` }),
          flow: { ...unowned.flow, currentStep: count === 3 ? null : 'Ask', steps: { Ask: step } },
          error: count % 2 === 0 ? [] : [`Failure ${count}.`],
        }
        await store.save(document, last.revision)
        await store.holds(document)
        last = document
      }
    },
  },
  {
    name: 'values: tool calls, their results and replies in base64',
    rule: rules.json,
    async run(bench) {
      const store = await bench.open()
      const base = newSession(bench.newId())
      const call = { toolCallId: 'call-1', toolName: 'book' }
      const messages: readonly Message[] = [
        { role: 'user', parts: [{ type: 'text', text: 'Book a seat.' }], turn: 1 },
        { role: 'assistant', parts: [{ type: 'tool-call', ...call, input: { seats: [1, 2], at: null } }], turn: 1 },
        { role: 'tool', parts: [{ type: 'tool-result', ...call, output: 'Sold out.', isError: true }], turn: 1 },
        { role: 'assistant', parts: [], turn: 1 },
      ]
      const reply = { contentType: 'image/png', encoding: 'base64' as const, reply: 'aGVsbG8=' }
      const history = freezeDeep(base.history.map((entry) => ({ ...entry, ...reply })))
      const first = { ...withMemory(base, { Ask: { messages } }), history }
      await store.create(first)
      await store.holds(first)
      const turn = nextTurn(first)
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      await store.holds(turn.document)
    },
  },
  {
    name: 'values: usage and bytes are numbers, even if they are large or fractional',
    rule: rules.json,
    async run(bench) {
      const store = await bench.open()
      const usage = { inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: 0.5, modelCalls: 1e21 }
      const document = { ...newSession(bench.newId()), usage, bytes: 123_456_789_012 }
      await store.create(document)
      await store.holds(document)
      const revision = newRevision(2)
      await store.save({ ...document, usage: { ...usage, outputTokens: 0 }, revision }, document.revision)
      await store.holds({ ...document, usage: { ...usage, outputTokens: 0 }, revision })
    },
  },
]
