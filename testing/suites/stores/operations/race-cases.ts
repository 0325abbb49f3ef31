/** Cases of many writers at once: over several handles, as processes do, and over one. */
import type { SessionDocument } from '../../../../src/index.js'
import { describeOutcome, ensure, fail, type Outcome } from '../../cases/failure.js'
import { findDifference } from '../../cases/same-json.js'
import type { CheckedStore } from '../bench/checked-store.js'
import { newRevision, newSession, nextTurn } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'

/** That many handles on the same data. */
async function openHandles(bench: SuiteBench, count: number): Promise<[CheckedStore, ...CheckedStore[]]> {
  const first = await bench.open()
  const handles: [CheckedStore, ...CheckedStore[]] = [first]
  while (handles.length < count) handles.push(await bench.another(first))
  return handles
}

/** Expects that exactly one candidate won, that each loser met a conflict, and that the winner is stored. */
async function expectOneWinner(
  reader: CheckedStore,
  candidates: readonly SessionDocument[],
  outcomes: readonly Outcome[],
): Promise<void> {
  const winners = candidates.filter((_, index) => outcomes[index]?.kind === 'done')
  const odd = outcomes.find(({ kind }) => kind !== 'done' && kind !== 'conflict')
  if (odd !== undefined) fail('each loser to meet the code SESSION_CONFLICT', describeOutcome(odd))
  const [winner] = winners
  if (winners.length !== 1 || winner === undefined) {
    return fail(`one winner of ${candidates.length} writers`, `${winners.length}`)
  }
  await reader.holds(winner)
}

/** Saves every candidate at once, over all handles, under the revision of `base`. */
async function raceSaves(handles: readonly CheckedStore[], base: SessionDocument, writers: number): Promise<void> {
  const turns = Array.from({ length: writers }, (_, index) => nextTurn(base, { message: `Writer ${index}` }))
  const outcomes = await Promise.all(
    turns.map(({ document, expectedRevision, hint }, index) => {
      const handle = handles[index % handles.length] as CheckedStore
      return handle.trySave(document, expectedRevision, hint)
    }),
  )
  const candidates = turns.map(({ document }) => document)
  for (const handle of handles) await expectOneWinner(handle, candidates, outcomes)
}

/** Races of that many writers, again and again on one session. */
async function raceOver(bench: SuiteBench, handleCount: number, writers: number, rounds: number): Promise<void> {
  const handles = await openHandles(bench, handleCount)
  const [first] = handles
  const document = newSession(bench.newId())
  await first.create(document)
  for (let round = 0; round < rounds; round++) {
    const base = await first.load(document.id)
    ensure(base.history.length === round + 1, `${round + 1} turns after ${round} races`, base.history.length)
    await raceSaves(handles, base, writers)
  }
}

/** Adds one turn, and tries again if another writer was faster. */
async function addTurn(handle: CheckedStore, sessionId: string, message: string): Promise<void> {
  for (;;) {
    const { document, expectedRevision, hint } = nextTurn(await handle.load(sessionId), { message })
    const outcome = await handle.trySave(document, expectedRevision, hint)
    if (outcome.kind === 'done') return
    if (outcome.kind !== 'conflict') return fail('a save to succeed or to meet a conflict', describeOutcome(outcome))
  }
}

/** The cases, in the order in which they are registered. */
export const raceCases: readonly SuiteCase[] = [
  {
    name: 'of two handles that save at once exactly one wins',
    rule: rules.atomic,
    run: (bench) => raceOver(bench, 2, 2, 10),
  },
  {
    name: 'of twenty writers over four handles exactly one wins',
    rule: rules.atomic,
    run: (bench) => raceOver(bench, 4, 20, 3),
  },
  {
    name: 'of twenty writers over one handle exactly one wins',
    rule: rules.atomic,
    run: (bench) => raceOver(bench, 1, 20, 3),
  },
  {
    name: 'of twenty creates of one ID exactly one wins',
    rule: rules.atomic,
    async run(bench) {
      const handles = await openHandles(bench, 4)
      const sessionId = bench.newId()
      const candidates = Array.from({ length: 20 }, (_, index) => newSession(sessionId, { message: `Writer ${index}` }))
      const outcomes = await Promise.all(
        candidates.map((document, index) => (handles[index % 4] as CheckedStore).tryCreate(document)),
      )
      for (const handle of handles) await expectOneWinner(handle, candidates, outcomes)
    },
  },
  {
    name: 'one save sent many times at once succeeds each time and is stored once',
    rule: rules.atomic,
    async run(bench) {
      const handles = await openHandles(bench, 2)
      const document = newSession(bench.newId())
      await handles[0].create(document)
      const turn = nextTurn(document)
      await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          (handles[index % 2] as CheckedStore).save(turn.document, turn.expectedRevision, turn.hint),
        ),
      )
      for (const handle of handles) await handle.holds(turn.document)
    },
  },
  {
    name: 'one create sent many times at once succeeds each time',
    rule: rules.atomic,
    async run(bench) {
      const handles = await openHandles(bench, 2)
      const document = newSession(bench.newId())
      await Promise.all(Array.from({ length: 10 }, (_, index) => (handles[index % 2] as CheckedStore).create(document)))
      for (const handle of handles) await handle.holds(document)
    },
  },
  {
    name: 'of a save and a delete at once exactly one wins',
    rule: rules.atomic,
    async run(bench) {
      const [first, second] = (await openHandles(bench, 2)) as [CheckedStore, CheckedStore]
      for (let round = 0; round < 10; round++) {
        const document = newSession(bench.newId())
        await first.create(document)
        const turn = nextTurn(document)
        const save = () => first.trySave(turn.document, turn.expectedRevision, turn.hint)
        const remove = () => second.tryDelete(document.id, document.revision)
        // Each is sent first in turn: if a store does not wait anywhere, the first one wins.
        const removing = round % 2 === 0 ? undefined : remove()
        const [saved, deleted] = await Promise.all([save(), removing ?? remove()])
        const kinds = `${saved.kind}, ${deleted.kind}`
        const oneWon = kinds === 'done, conflict' || kinds === 'conflict, done'
        ensure(oneWon, 'one of save and delete to succeed and the other to meet a conflict', kinds)
        for (const handle of [first, second]) {
          await (saved.kind === 'done' ? handle.holds(turn.document) : handle.holdsNothing(document.id))
        }
      }
    },
  },
  {
    name: 'deletes at once all succeed',
    rule: rules.delete,
    async run(bench) {
      const handles = await openHandles(bench, 2)
      const document = newSession(bench.newId())
      await handles[0].create(document)
      await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          (handles[index % 2] as CheckedStore).delete(document.id, document.revision),
        ),
      )
      for (const handle of handles) await handle.holdsNothing(document.id)
    },
  },
  {
    name: 'four workers that try again after each conflict lose no turn and double none',
    rule: rules.atomic,
    async run(bench) {
      const handles = await openHandles(bench, 4)
      const document = newSession(bench.newId(), { message: 'The first' })
      await handles[0].create(document)
      const expected = ['The first']
      const workers = handles.map(async (handle, worker) => {
        for (let count = 0; count < 5; count++) {
          expected.push(`Worker ${worker}, turn ${count}`)
          await addTurn(handle, document.id, `Worker ${worker}, turn ${count}`)
        }
      })
      await Promise.all(workers)
      const { history } = await handles[0].load(document.id)
      const difference = findDifference(history.map(({ message }) => message).sort(), expected.sort(), 'history')
      if (difference !== undefined) fail('each turn in the history once', difference)
      await handles[1]?.holds(await handles[0].load(document.id))
    },
  },
  {
    name: 'sessions written at once do not mix',
    rule: rules.atomic,
    async run(bench) {
      const [first, second] = (await openHandles(bench, 2)) as [CheckedStore, CheckedStore]
      const written = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const handle = index % 2 === 0 ? first : second
          let last = newSession(bench.newId(), { message: `Session ${index}`, namespaces: [`N${index}`] })
          await handle.create(last)
          for (let count = 0; count < 5; count++) {
            const turn = nextTurn(last, { message: `Session ${index}, turn ${count}`, namespaces: [`N${index}`] })
            await handle.save(turn.document, turn.expectedRevision, turn.hint)
            last = turn.document
          }
          return last
        }),
      )
      for (const document of written) await second.holds(document)
    },
  },
  {
    name: 'a load during saves gives one whole document, never a mixture',
    rule: rules.atomic,
    async run(bench) {
      const [writer, reader] = (await openHandles(bench, 2)) as [CheckedStore, CheckedStore]
      const first = newSession(bench.newId())
      const written = new Map([[first.revision, first]])
      await writer.create(first)
      let over = false
      const write = async (): Promise<void> => {
        let last = first
        for (let count = 0; count < 30; count++) {
          // Every third save rewrites everything and has no hint, so that a reader could meet old entries next to new
          // ones.
          const turn = count % 3 === 2 ? { ...nextTurn(shrunk(last)), hint: undefined } : nextTurn(last)
          written.set(turn.document.revision, turn.document)
          await writer.save(turn.document, last.revision, turn.hint)
          last = turn.document
        }
      }
      const read = async (): Promise<void> => {
        do {
          const loaded = await reader.load(first.id)
          const expected = written.get(loaded.revision)
          if (expected === undefined) return fail('a revision that was written', loaded.revision)
          const difference = findDifference(loaded, expected)
          if (difference !== undefined) fail(`the document of revision ${loaded.revision}`, `it but ${difference}`)
        } while (!over)
      }
      const writing = write().finally(() => {
        over = true
      })
      await Promise.all([writing, read()])
    },
  },
]

/** The document as if its first turn had not been. */
function shrunk(document: SessionDocument): SessionDocument {
  return { ...document, revision: newRevision(1), history: Object.freeze(document.history.slice(1)) }
}
