/**
 * All benches, or those named: `node examples/bench/bench.mjs turn heap`. At the end it prints one table of them all.
 * With `--strict` it exits with 1 if a target was missed.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { columns, printTable } from './harness.mjs'

const all = [
  'turn',
  'otel',
  'open-sessions',
  'at-once',
  'cold',
  'growth',
  'heap',
  'lock',
  'http',
  'requests',
  'import',
  'conversation',
  'stream',
  'store',
  'keys',
  'listing',
]
const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'))
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))

const unknown = named.filter((name) => !all.includes(name))
if (unknown.length > 0) {
  console.error(`There is no bench '${unknown.join("', '")}'. Benches: ${all.join(', ')}.`)
  process.exit(2)
}

const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-bench-'))
const table = join(folder, 'table')
writeFileSync(table, '')
for (const name of named.length === 0 ? all : named) {
  const file = fileURLToPath(new URL(`./${name}.mjs`, import.meta.url))
  const child = spawn(process.execPath, [file, ...flags], {
    stdio: 'inherit',
    env: { ...process.env, BENCH_TABLE: table },
  })
  const code = await new Promise((resolve) => child.on('close', resolve))
  if (code !== 0) process.exitCode = 1
}
const lines = readFileSync(table, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
rmSync(folder, { recursive: true })
console.log('\nAll of them, with the floors that they are compared with:')
printTable(
  ['bench', '', ...columns],
  lines.map((line) => JSON.parse(line)),
)
