/** Cases of memory: namespaces that come, stay apart and go. */
import type { SessionDocument } from '../../../../src/index.js'
import type { CheckedStore } from '../bench/checked-store.js'
import { newSession, nextTurn, withMemory } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'

/** A session whose turns go to different namespaces, saved with hints, read through two handles. */
async function converse(bench: SuiteBench, turns: readonly (readonly string[])[]): Promise<void> {
  const store = await bench.open()
  const [firstTurn = [], ...laterTurns] = turns
  let last: SessionDocument = newSession(bench.newId(), { namespaces: firstTurn })
  await store.create(last)
  await store.holds(last)
  for (const namespaces of laterTurns) {
    last = await say(store, last, namespaces)
    await store.holds(last)
  }
  const other = await bench.another(store)
  await other.holds(last)
  last = await say(other, await other.load(last.id), turns.flat())
  await store.holds(last)
}

async function say(
  store: CheckedStore,
  base: SessionDocument,
  namespaces: readonly string[],
): Promise<SessionDocument> {
  const turn = nextTurn(base, { namespaces })
  await store.save(turn.document, turn.expectedRevision, turn.hint)
  return turn.document
}

function namespaceCase(what: string, ...turns: readonly (readonly string[])[]): SuiteCase {
  return { name: `memory: ${what}`, rule: rules.hint, run: (bench) => converse(bench, turns) }
}

/** Each namespace alone, then together with another. */
function namedCase(what: string, ...names: readonly string[]): SuiteCase {
  return namespaceCase(what, ['Ask'], ...names.map((name) => [name]), names, ['Ask', ...names])
}

/** The cases, in the order in which they are registered. */
export const memoryCases: readonly SuiteCase[] = [
  namespaceCase('several namespaces grow in turn', ['Ask'], ['Plan'], ['Ask', 'Plan'], ['Ask'], ['Plan']),
  namespaceCase('a namespace appears later', ['Ask'], ['Ask'], ['Ask', 'Late'], ['Late']),
  namespaceCase('a turn that no namespace gets', ['Ask'], [], ['Ask'], []),
  namespaceCase('the first namespace comes after the first turn', [], [], ['Ask'], ['Ask']),
  namedCase(
    'namespaces named __proto__ and other inherited names',
    '__proto__',
    'constructor',
    'toString',
    'prototype',
  ),
  namedCase(
    'namespaces named like parts of a document',
    'history',
    'memory',
    'messages',
    'head',
    'revision',
    'sequence',
  ),
  namedCase('namespaces named with colons, hashes and slashes', 'memory:Ask', 'Ask:1', 'a:b', 'a#b', 'a/b', ':', '#0'),
  namedCase('namespaces named alike', 'ask', 'ASK', 'Ask ', ' Ask', 'Ask\0', '\u00e9', 'e\u0301'),
  namedCase('namespaces named by nothing or a number', '', ' ', '0', '1', '01', '-1'),
  {
    name: 'memory: thirty namespaces',
    rule: rules.hint,
    run: (bench) => {
      const names = Array.from({ length: 30 }, (_, index) => `Namespace ${index}`)
      return converse(bench, [names, names.slice(0, 3), names])
    },
  },
  {
    name: 'memory: a namespace without messages is kept',
    rule: rules.load,
    async run(bench) {
      const store = await bench.open()
      const first = withMemory(newSession(bench.newId()), { Ask: { messages: [] }, Plan: { messages: [] } })
      await store.create(first)
      await store.holds(first)
      await store.holds(await say(store, first, ['Ask']))
    },
  },
  {
    name: 'memory: a namespace that vanishes without a hint is gone, and can come back',
    rule: rules.save,
    async run(bench) {
      const store = await bench.open()
      const first = newSession(bench.newId(), { namespaces: ['Ask', 'Plan'] })
      await store.create(first)
      const { document } = nextTurn(first)
      const { Plan: _, ...rest } = document.flow.memory
      const without = withMemory(document, rest)
      await store.save(without, first.revision)
      await store.holds(without)
      await store.holds(await say(store, without, ['Plan']))
    },
  },
]
