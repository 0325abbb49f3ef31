// The fuzzer itself, in small runs: it finds nothing in the handlers as they are, and each fault
// that is there on purpose.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { caseOf, classNames } from './cases.js'
import { faults } from './faults.js'
import { flatBytes, growthOf } from './figures.js'

const script = fileURLToPath(new URL('./fuzz.mjs', import.meta.url))

function fuzz(...flags: string[]): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve) => {
    const env = flags.includes('hang') ? { ...process.env, FUZZ_BOUND_MS: '3000' } : process.env
    execFile(process.execPath, [script, ...flags], { maxBuffer: 64 * 1024 * 1024, env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, output: stdout + stderr })
    })
  })
}

test('nothing is wrong in a small run', { timeout: 120_000 }, async () => {
  const { code, output } = await fuzz('--requests', '600', '--seed', '3')
  expect(output).toMatch(/^seed 3: \d+ requests in \d+ s, 0 findings$/m)
  expect(code).toBe(0)
})

const found = {
  status: 'undocumented status 500',
  field: 'wrong envelope',
  header: 'injected header: x-canary',
  hang: 'hang: no reply within',
  rejection: 'unhandled rejection: Error: This rejection is not handled.',
  leak: 'the heap of the server grew by',
}

test.each(faults)(
  'a handler with the fault %s is found, and the seed replays it',
  { timeout: 120_000 },
  async (fault) => {
    const { code, output } = await fuzz('--requests', '600', '--seed', '3', '--fault', fault)
    expect([code, output]).toEqual([1, expect.stringContaining(found[fault])])
    const number = new RegExp(`${found[fault]}.*\\n +npm run fuzz -- --seed 3 --only (\\d+)`).exec(output)?.[1]
    // A leak and a rejection are of the process, and not of one request.
    expect(number !== undefined).toBe(!['leak', 'rejection'].includes(fault))
    if (number === undefined) return
    const again = await fuzz('--seed', '3', '--only', number, '--fault', fault)
    expect([again.code, again.output]).toEqual([1, expect.stringContaining(found[fault])])
  },
)

test('a seed and a number are always the same case, and all classes come', () => {
  const seen = new Set<string>()
  for (let number = 0; number < 3000; number++) {
    const { handler: _, ...fuzzCase } = caseOf(7, number)
    const { handler: __, ...again } = caseOf(7, number)
    expect(again).toEqual(fuzzCase)
    seen.add(fuzzCase.name)
  }
  expect([...seen].sort()).toEqual([...classNames].sort())
})

test('a heap is judged by its last two thirds', () => {
  const samples = (sizes: readonly number[]) =>
    sizes.map((size, index) => ({ requests: index * 100, bytes: size * flatBytes }))
  expect(growthOf(samples([1, 5, 9, 9, 9.1, 8.9, 9, 9, 9]))).toBeLessThan(flatBytes)
  expect(growthOf(samples([1, 1, 1, 1, 1.3, 1.6, 1.9, 2.2, 2.5]))).toBeGreaterThan(flatBytes)
})
