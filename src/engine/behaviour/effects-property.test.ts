// Whatever a flow does once, forgets and fails at, and however its turns end: what is kept, and how often work ran, is
// what a model of a few lines says.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { talking } from '../../../testing/contract/effects-harness.js'
import { never } from '../../../testing/contract/engine-harness.js'
import { reply } from '../../index.js'
import { bytesOfLists } from '../../session/document-bytes.js'

/** Work that fails when its turn is aborted: nobody knows what it has done by then. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}

/** What a turn does, one after the other. Work that hangs is the last that a turn does. */
interface Action {
  readonly does: 'once' | 'throw' | 'forget' | 'hang' | 'too large'
  readonly name: 'a' | 'b' | 'c'
  readonly durable: boolean
}
type Ending = 'commit' | 'fail' | 'answered' | 'cancel' | 'deadline' | 'conflict'
interface PlannedTurn {
  readonly actions: readonly Action[]
  readonly ending: Ending
}

const action: fc.Arbitrary<Action> = fc.record({
  does: fc.constantFrom('once', 'once', 'once', 'throw', 'forget', 'forget', 'hang', 'too large'),
  name: fc.constantFrom('a', 'b', 'c'),
  durable: fc.boolean(),
})
const plannedTurn: fc.Arbitrary<PlannedTurn> = fc.record({
  actions: fc.array(action, { maxLength: 5 }),
  ending: fc.constantFrom('commit', 'commit', 'fail', 'answered', 'cancel', 'deadline', 'conflict'),
})

/** What the session keeps of a name: the result, which is the number of the run, or that it is unknown. */
interface Kept {
  readonly result: number | 'unknown'
  readonly turn: number
}

/** The session in a few lines. */
class Model {
  kept: Record<string, Kept> = {}
  turns = 0
  runs = 0

  play({ actions, ending }: PlannedTurn): void {
    const turn = this.turns + 1
    let stored = this.kept
    const forgotten = new Set<string>()
    let end: Ending | 'hangs' | 'refused' = ending
    for (const { does, name, durable } of actions) {
      if (does === 'forget') {
        forgotten.add(name)
        continue
      }
      const former = this.kept[name]
      const isForgotten = forgotten.has(name) && former?.turn !== turn
      if (former !== undefined && !isForgotten && former.result !== 'unknown') {
        forgotten.delete(name)
        continue
      }
      this.runs++
      const isUncertain = former !== undefined && !isForgotten
      const begun = { result: 'unknown', turn: isUncertain ? former.turn : turn } as const
      // What throws leaves all as it was.
      if (does === 'throw') {
        if (durable) stored = isUncertain ? this.kept : { ...this.kept, [name]: begun }
        continue
      }
      forgotten.delete(name)
      this.kept = { ...this.kept, [name]: does === 'once' ? { ...begun, result: this.runs } : begun }
      if (durable) stored = this.kept
      if (does === 'once') continue
      end = does === 'hang' ? 'hangs' : 'refused'
      break
    }
    if (end === 'hangs') end = ending === 'deadline' ? 'deadline' : 'cancel'
    if (end === 'refused') end = ending === 'answered' ? 'answered' : 'fail'
    // A swap that is lost: only what was stored on the way stays. The intent of work that threw is one that is begun.
    if (end === 'conflict') this.kept = stored
    if (end === 'answered') forgotten.clear()
    if (end === 'commit')
      this.kept = Object.fromEntries(Object.entries(this.kept).filter(([name]) => !forgotten.has(name)))
    if (end === 'commit' || end === 'answered') this.turns++
  }
}

test('effects are what a model of a few lines says', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(plannedTurn, { minLength: 1, maxLength: 8 }), async (plan) => {
      const model = new Model()
      let runs = 0
      let rivals = 0
      let now: PlannedTurn | undefined
      let cancel = new AbortController()
      const talk = talking(
        async (turn) => {
          if (now === undefined) return reply('started')
          for (const { does, name, durable } of now.actions) {
            if (does === 'forget') turn.forget(name)
            else {
              const work = () => {
                runs++
                if (does === 'throw') throw new Error('No money.')
                return does === 'hang' ? untilAborted(turn.signal) : does === 'too large' ? 'x'.repeat(5_000) : runs
              }
              await turn.once(name, work, { durable }).catch((error: unknown) => {
                if (!(error instanceof Error && error.message === 'No money.')) throw error
              })
            }
          }
          if (now.ending === 'fail' || now.ending === 'answered') throw new Error('It broke.')
          // Another process saves the session.
          if (now.ending === 'conflict')
            await talk.rewrite(turn.session.id, (stored) => Object.assign(stored, { revision: `${++rivals}-other` }))
          return now.ending === 'commit' || now.ending === 'conflict' ? reply('Done.') : never()
        },
        { logger: { debug() {}, info() {}, warn() {}, error() {} } },
        { onError: () => (now?.ending === 'answered' ? reply('Sorry.') : undefined) },
      )
      const session = await talk.start('Talk')
      model.turns = 1
      for (const turn of plan) {
        now = turn
        cancel = new AbortController()
        const saying = talk.say('Hi', session, { signal: cancel.signal })
        await talk.clock.settle()
        if (turn.ending === 'deadline') await talk.clock.advance(talk.engine.limits.turnTimeoutMs)
        else cancel.abort()
        const result = await saying
        expect(result.sessionState).toBe('running')
        model.play(turn)
        const document = await talk.document(session)
        const kept = Object.entries(document.effects ?? {}).map(([name, { result = 'unknown', turn }]) => [
          name,
          { result, turn },
        ])
        expect(Object.fromEntries(kept)).toEqual(model.kept)
        expect([document.turns, runs]).toEqual([model.turns, model.runs])
        expect(document.bytes).toBe(bytesOfLists(document))
      }
      expect(talk.clock.pending).toBe(0)
    }),
    { numRuns: 400 },
  )
})
