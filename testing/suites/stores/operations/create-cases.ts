/** Cases of `create` and `load`, and of `guarantees`: one handle, one thing after the other. */

import { ensure } from '../../cases/failure.js'
import { newRevision, newSession, nextTurn } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteCase } from '../bench/suite-case.js'

/** The cases, in the order in which they are registered. */
export const createCases: readonly SuiteCase[] = [
  {
    name: 'guarantees are well-formed',
    rule: rules.guarantees,
    async run(bench) {
      const { guarantees } = (await bench.open()).store
      ensure(typeof guarantees === 'object' && guarantees !== null, 'guarantees to be an object', guarantees)
      const { compareAndSwap, durable } = guarantees
      ensure(['backend', 'process'].includes(compareAndSwap), "compareAndSwap 'backend' or 'process'", compareAndSwap)
      ensure(typeof durable === 'boolean', 'durable true or false', durable)
    },
  },
  {
    name: 'load gives undefined for an ID that was never stored',
    rule: rules.load,
    async run(bench) {
      const store = await bench.open()
      await store.holdsNothing(bench.newId())
    },
  },
  {
    name: 'load gives what create stored',
    rule: rules.load,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      await store.holds(document)
    },
  },
  {
    name: 'load changes nothing: it gives the same each time',
    rule: rules.load,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      for (let count = 0; count < 3; count++) await store.holds(document)
      await store.save(nextTurn(document).document, document.revision)
    },
  },
  {
    name: 'create of an ID that exists under another revision is a conflict and changes nothing',
    rule: rules.create,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      await store.refusesCreate(newSession(document.id, { message: 'Somebody else' }))
      await store.holds(document)
    },
  },
  {
    name: 'create of an ID that was saved since is a conflict and changes nothing',
    rule: rules.create,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      const { document: saved } = nextTurn(document)
      await store.save(saved, document.revision)
      await store.refusesCreate(document)
      await store.holds(saved)
    },
  },
  {
    name: 'create twice with one revision succeeds twice',
    rule: rules.create,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      await store.create(document)
      await store.holds(document)
    },
  },
  {
    name: 'create again with the same revision and another content changes nothing',
    rule: rules.create,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      const { revision } = document
      await store.create({ ...newSession(document.id, { message: 'Something else' }), revision })
      await store.holds(document)
    },
  },
  {
    name: 'create after a delete succeeds under the revision that was deleted',
    rule: rules.create,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      await store.delete(document.id, document.revision)
      if (await store.recreates(document)) await store.holds(document)
    },
  },
  {
    name: 'create after a delete stores the new document alone',
    rule: rules.create,
    async run(bench) {
      const store = await bench.open()
      const first = newSession(bench.newId(), { namespaces: ['Ask', 'Plan'] })
      await store.create(first)
      const { document: longer } = nextTurn(first, { namespaces: ['Ask', 'Plan'] })
      await store.save(longer, first.revision)
      await store.delete(first.id, longer.revision)
      const second = newSession(first.id, { message: 'A new beginning' })
      if (await store.recreates(second)) await store.holds(second)
    },
  },
  {
    name: 'sessions stand side by side: what happens to one leaves the others alone',
    rule: rules.load,
    async run(bench) {
      const store = await bench.open()
      const [first, second, third] = [newSession(bench.newId()), newSession(bench.newId()), newSession(bench.newId())]
      for (const document of [first, second, third]) await store.create(document)
      const { document: saved } = nextTurn(second)
      await store.save(saved, second.revision)
      await store.delete(third.id, third.revision)
      await store.holds(first)
      await store.holds(saved)
      await store.holdsNothing(third.id)
    },
  },
  {
    name: 'a document of every status is stored: running, completed, aborted, not yet in a step',
    rule: rules.load,
    async run(bench) {
      const store = await bench.open()
      const running = newSession(bench.newId())
      const completed = { ...newSession(bench.newId()), runStatus: 'completed' as const }
      const failed = { ...newSession(bench.newId()), runStatus: 'aborted' as const, error: ['It failed.', 'Again.'] }
      const unentered = newSession(bench.newId())
      const { flow } = unentered
      const notEntered = { ...unentered, flow: { ...flow, currentStep: null, sequence: [], steps: {} }, history: [] }
      // The flow answered its first turn for itself.
      const answered = { ...notEntered, id: bench.newId(), history: unentered.history }
      for (const document of [running, completed, failed, notEntered, answered]) {
        await store.create(document)
        await store.holds(document)
        const revision = newRevision(2)
        await store.save({ ...document, revision }, document.revision)
        await store.holds({ ...document, revision })
      }
    },
  },
]
