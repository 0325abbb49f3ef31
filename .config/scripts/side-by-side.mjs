/**
 * Runs npm scripts at the same time and prints what each one printed when it ends. Exits with 1 if one of them fails.
 *
 *     node .config/scripts/side-by-side.mjs types unit
 */
import { spawn } from 'node:child_process'

async function run(script) {
  const child = spawn(`npm run ${script}`, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  process.stdout.write(Buffer.concat(output))
  return code
}

const codes = await Promise.all(process.argv.slice(2).map(run))
process.exitCode = codes.every((code) => code === 0) ? 0 : 1
