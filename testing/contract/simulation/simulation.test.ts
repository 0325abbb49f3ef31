// The engine against a small reference model: thousands of random runs, and not one difference.
//
// SIMULATION_RUNS  how many, in all. Default: 1 000.
// SIMULATION_SEED  which ones; each test prints its own, and it repeats them exactly. Default: random.
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { commands } from './commands.js'
import { type Action, type Plan, plan, setClock } from './plans.js'
import { type PlayedPlan, rareOutcomes } from './played-plan.js'
import { checkPromises } from './promises.js'
import { ReferenceModel } from './reference-model.js'
import { rules } from './rules.js'
import { play } from './schedules.js'
import { World } from './world.js'

const runs = Math.ceil(Number(process.env.SIMULATION_RUNS ?? 1_000) / 2)
const seed = Number(process.env.SIMULATION_SEED ?? Math.floor(Math.random() * 2 ** 31))
/** Ends a run that hangs; no run is timed. */
const longestMs = 600_000
/** In few runs not everything comes up that can. */
const isLarge = runs >= 400

afterEach(() => {
  vi.restoreAllMocks()
})

function logSeed(name: string): void {
  console.log(`${runs} simulated runs, ${name}. Seed: SIMULATION_SEED=${seed}`)
}

function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1)
}

/** Shows how often lists were shortened, and fails if one of them never was. */
function checkShortened(counts: ReadonlyMap<string, number>, more: readonly string[] = []): void {
  console.log(`Shortened: ${[...counts].map(([what, times]) => `${what} ${times} times`).join(', ')}`)
  if (isLarge) expect([...counts.keys()].sort()).toEqual(['attachments', ...more, 'history', 'memory', 'summary'])
}

/** Shows how often rare things happened, and fails if one of them never did. */
function checkRare(counts: ReadonlyMap<string, number>, all: readonly string[]): void {
  console.log(`Rare: ${[...counts].map(([what, times]) => `${what} ${times} times`).join(', ')}`)
  if (isLarge) expect([...counts.keys()].sort()).toEqual(all)
}

test(
  '[2.1-5 2.6-2 3-1 3-2 3-3 3-4 3-5 3-6 3-7 4.5-2 4.5-4 4.5-5 4.5-6 4.6-1 4.6-2 7.3-2 7.3-3] one thing after another, with faults: every answer and every stored document is the reference model’s',
  async () => {
    logSeed('one thing after another')
    const codes = new Set<string | undefined>()
    const shortened = new Map<string, number>()
    const property = fc.asyncProperty(rules, commands, (ofRun, list) => {
      const model = new ReferenceModel(ofRun, (code) => codes.add(code))
      const real = new World({ rules: ofRun, onShortened: (what) => count(shortened, what) })
      return fc.asyncModelRun(() => ({ model, real }), list)
    })
    await fc.assert(property, { numRuns: runs, seed })
    checkShortened(shortened)
    if (isLarge)
      expect([...codes].sort()).toEqual(
        [
          ...everyCode,
          'SESSION_FLOW_INVARIANT',
          'SESSION_FLOW_MISMATCH',
          'SESSION_NOT_FOUND',
          'TURN_ABORTED',
          undefined,
        ].sort(),
      )
  },
  longestMs,
)

test(
  '[4.8-1 4.8-3 4.8-5 7.2-1] many things at once, in any order, on two engines: no turn is lost, doubled, halved or told otherwise than it was stored',
  async () => {
    logSeed('many things at once')
    const codes = new Set<string | undefined>()
    const shortened = new Map<string, number>()
    const rare = new Map<string, number>()
    const property = fc.asyncProperty(plan, fc.scheduler(), async (planned, scheduler) => {
      const played = await play(planned, scheduler, { onShortened: (what) => count(shortened, what) })
      checkPromises(played)
      for (const { error } of played.turns.values()) codes.add(error?.code)
      for (const what of rareOutcomes(played)) count(rare, what)
    })
    await fc.assert(property, { numRuns: runs, seed })
    if (isLarge) expect([...codes].sort()).toEqual([...everyCode, undefined].sort())
    checkShortened(shortened, ['beside'])
    checkRare(rare, ['continued early', 'deleted early', 'stranger answered'])
  },
  longestMs,
)

const everyCode = ['FLOW_ERROR', 'LIMIT_EXCEEDED', 'SESSION_CONFLICT', 'SESSION_STORE_ERROR', 'TURN_TIMEOUT']

test('a seed repeats a run exactly, for the engine takes nothing from the machine', async () => {
  const taken = [
    vi.spyOn(Math, 'random'),
    vi.spyOn(Date, 'now'),
    vi.spyOn(crypto, 'getRandomValues'),
    vi.spyOn(globalThis, 'setTimeout'),
  ]
  const [first, second] = [await playSome(50), await playSome(50)]
  expect(first).toHaveLength(50)
  expect(second).toEqual(first)
  for (const source of taken) expect(source).not.toHaveBeenCalled()
})

test('a wall clock that is set forward or back at any moment changes no outcome', async () => {
  const numRuns = Math.max(50, Math.ceil(runs / 20))
  const shifts = fc.array(setClock, { minLength: 1, maxLength: 4 })
  const stand = (action: Action): Action => (action.kind === 'set clock' ? { ...action, ms: 0 } : action)
  const withShifts = fc.tuple(plan, shifts).map(([one, more]): Plan => ({ ...one, actions: [...one.actions, ...more] }))
  const withoutShifts = withShifts.map((one): Plan => ({ ...one, actions: one.actions.map(stand) }))
  expect(await playSome(numRuns, withShifts)).toEqual(await playSome(numRuns, withoutShifts))
})

async function playSome(numRuns: number, plans: fc.Arbitrary<Plan> = plan): Promise<readonly string[]> {
  const traces: string[] = []
  for (const [planned, scheduler] of fc.sample(fc.tuple(plans, fc.scheduler()), { numRuns, seed })) {
    traces.push(traceOf(await play(planned, scheduler)))
  }
  return traces
}

function traceOf({ timeline, turns, deletes, world }: PlayedPlan): string {
  return JSON.stringify([timeline.effects, [...turns], [...deletes], world.clock.monotonic()])
}
