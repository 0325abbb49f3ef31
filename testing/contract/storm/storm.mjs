// Runs the storm, the contention, or the storm of repeats in ../retries, for as long as one likes: the tests,
// with settings from flags.
//
//   npm run storm                                  10 seconds, a random seed
//   npm run storm -- --seconds 300 --seed 7
//   npm run storm -- --retries --seconds 300       clients that repeat blindly under keys, on each backend
//   npm run storm -- --contention                  4 x 2 000 turns on one session, on each backend
//   npm run storm -- --contention --turns 500 --seed 7
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const { values } = parseArgs({
  options: {
    contention: { type: 'boolean', default: false },
    retries: { type: 'boolean', default: false },
    turns: { type: 'string' },
    seconds: { type: 'string' },
    seed: { type: 'string' },
  },
})
for (const name of ['turns', 'seconds', 'seed']) {
  if (values[name] !== undefined && !(Number(values[name]) > 0)) {
    console.error(`--${name} must be a number above 0; got ${values[name]}.`)
    process.exit(2)
  }
}

const { contention, retries, seconds, seed, turns = '2000' } = values
const settings = contention
  ? { CONTENTION_TURNS: turns, CONTENTION_SEED: seed }
  : { [retries ? 'RETRY_STORM_SECONDS' : 'STORM_SECONDS']: seconds, STORM_SEED: seed }
const given = Object.entries(settings).filter(([, value]) => value !== undefined)
const name = contention ? 'storm/contention' : retries ? 'retries/retry-storm' : 'storm/storm'
const file = `testing/contract/${name}.test.ts`
const words = ['run', '--config', '.config/vitest.config.ts', '--project', 'outages', file]
const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', ...words], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, ...Object.fromEntries(given) },
})
child.once('exit', (code) => {
  process.exitCode = code ?? 1
})
