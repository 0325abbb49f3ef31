/** Cases of big documents. */
import { longSession, newSession, nextTurn, withContext } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteCase } from '../bench/suite-case.js'

/** The cases, in the order in which they are registered. */
export const sizeCases: readonly SuiteCase[] = [
  {
    name: 'a document of 1 MB is created, saved and deleted',
    rule: rules.load,
    async run(bench) {
      const store = await bench.open()
      const pages = Array.from({ length: 1_000 }, (_, page) => `${page} ${'text \u00e9 '.repeat(140)}`)
      const first = withContext(newSession(bench.newId()), { pages })
      await store.create(first)
      await store.holds(first)
      const turn = nextTurn(first)
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      await store.holds(turn.document)
      await store.delete(first.id, turn.document.revision)
      await store.holdsNothing(first.id)
    },
  },
  {
    name: 'a message of 1 MB is stored, and the turns after it',
    rule: rules.load,
    async run(bench) {
      const store = await bench.open()
      let last = newSession(bench.newId(), { message: 'long '.repeat(200_000) })
      await store.create(last)
      await store.holds(last)
      for (let count = 0; count < 3; count++) {
        const turn = nextTurn(await store.load(last.id))
        await store.save(turn.document, turn.expectedRevision, turn.hint)
        last = turn.document
      }
      await store.holds(last)
    },
  },
  {
    name: 'a conversation of 5 000 messages goes on turn by turn',
    rule: rules.hint,
    async run(bench) {
      const store = await bench.open()
      const first = longSession(bench.newId(), 2_500)
      await store.create(first)
      await store.holds(first)
      let last = first
      for (let count = 0; count < 5; count++) {
        const turn = nextTurn(await store.load(first.id))
        await store.save(turn.document, turn.expectedRevision, turn.hint)
        last = turn.document
      }
      await store.holds(last)
      const other = await bench.another(store)
      await other.holds(last)
      await store.delete(first.id, last.revision)
      await other.holdsNothing(first.id)
    },
  },
  {
    name: 'a conversation of 200 turns, saved turn by turn, is read whole',
    rule: rules.hint,
    async run(bench) {
      const store = await bench.open()
      let last = newSession(bench.newId())
      await store.create(last)
      while (last.history.length < 200) {
        const { document, expectedRevision, hint } = nextTurn(last)
        await store.save(document, expectedRevision, hint)
        last = document
      }
      await store.holds(last)
      await (await bench.another(store)).holds(last)
    },
  },
]
