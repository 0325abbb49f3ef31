/**
 * All benches, or those named: `node examples/bench/bench.mjs turn heap`. With `--strict` it ends with 1 where a target
 * was missed.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const all = ['turn', 'growth', 'heap', 'lock', 'http', 'import', 'conversation', 'stream', 'store']
const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'))
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))

const unknown = named.filter((name) => !all.includes(name))
if (unknown.length > 0) {
  console.error(`There is no bench '${unknown.join("', '")}'. Benches: ${all.join(', ')}.`)
  process.exit(2)
}

for (const name of named.length === 0 ? all : named) {
  const file = fileURLToPath(new URL(`./${name}.mjs`, import.meta.url))
  const child = spawn(process.execPath, [file, ...flags], { stdio: 'inherit' })
  const code = await new Promise((resolve) => child.on('close', resolve))
  if (code !== 0) process.exitCode = 1
}
