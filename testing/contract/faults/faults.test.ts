// Faults between any two steps of a turn, in thousands of seeded runs, and not one broken promise.
//
// FAULT_RUNS  how many. Default: 2 000.
// FAULT_SEED  only one run, printed step by step: `FAULT_SEED=123 npx vitest run --config .config/vitest.config.ts
//             --project outages testing/contract/faults/faults.test.ts -t 'faults between'`
import { afterEach, expect, test, vi } from 'vitest'
import { check } from './check.js'
import { play } from './play.js'
import type { FaultKind } from './stage.js'

const runs = Number(process.env.FAULT_RUNS ?? 2_000)
const only = process.env.FAULT_SEED === undefined ? undefined : Number(process.env.FAULT_SEED)
/** Ends a run that hangs; no run is timed. */
const longestMs = 1_200_000
/** In few runs not everything comes up that can. */
const isLarge = runs >= 1_000 && only === undefined

afterEach(() => {
  vi.restoreAllMocks()
})

function replayLine(seed: number): string {
  return (
    `FAULT_SEED=${seed} npx vitest run --config .config/vitest.config.ts --project outages ` +
    "testing/contract/faults/faults.test.ts -t 'faults between'"
  )
}

test(
  '[4.8-1 4.8-3 4.8-5] faults between any two steps: whatever breaks where, no promise does',
  async () => {
    const faults = new Map<FaultKind, number>()
    const failures: string[] = []
    let [turns, commits, lateCreates, memory] = [0, 0, 0, 0]
    const seeds = only === undefined ? Array.from({ length: runs }, (_, index) => index + 1) : [only]
    for (const seed of seeds) {
      const played = await play(seed, only !== undefined)
      const verdict = check(played)
      if (only !== undefined) console.log(played.stage.trace.join('\n'))
      turns += verdict.turns
      commits += verdict.commits
      lateCreates += verdict.lateCreates
      if (played.store === 'memory') memory++
      for (const [kind, count] of played.stage.faults) faults.set(kind, (faults.get(kind) ?? 0) + count)
      if (verdict.violations.length > 0) failures.push([...verdict.violations, replayLine(seed)].join('\n'))
      if (failures.length >= 20) break
    }
    const byKind = [...faults].sort().map(([kind, count]) => `${kind} ${count}`)
    console.log(
      `${seeds.length} seeds (${memory} over memory, ${seeds.length - memory} over Keyv), ${turns} turns, ${commits} stored; ` +
        `faults: ${byKind.join(', ')}; ${lateCreates} late creates after a removal; ${failures.length} violations.`,
    )
    expect(failures.join('\n\n')).toBe('')
    if (isLarge) {
      expect([...faults.keys()].sort()).toEqual([
        'delay',
        'error after',
        'error before',
        'hang',
        'process gone',
        'stale read',
      ])
      expect(commits).toBeGreaterThan(turns / 4)
    }
  },
  longestMs,
)

test('a seed repeats a run exactly, for nothing in it comes from the machine', async () => {
  const taken = [
    vi.spyOn(Math, 'random'),
    vi.spyOn(Date, 'now'),
    vi.spyOn(crypto, 'getRandomValues'),
    vi.spyOn(globalThis, 'setTimeout'),
  ]
  const traces = async (): Promise<string[]> => {
    const played: string[] = []
    for (let seed = 1; seed <= 30; seed++) played.push((await play(seed, true)).stage.trace.join('\n'))
    return played
  }
  const first = await traces()
  expect(await traces()).toEqual(first)
  expect(new Set(first).size).toBe(30)
  for (const source of taken) expect(source).not.toHaveBeenCalled()
})
