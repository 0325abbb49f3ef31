// Sends mutated requests to a real server, by sockets, and to the handlers in the process;
// fails if a reply is wrong.
//
//   npm run fuzz                                   60 seconds, a random seed
//   npm run fuzz -- --seconds 600 --seed 7
//   npm run fuzz -- --requests 1000000
//   npm run fuzz -- --seed 7 --only 1234 the request 1234 of that seed again; several, with commas, one after the other
//   npm run fuzz -- --fault header                 a handler that is wrong on purpose: it must be found
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const { values } = parseArgs({
  options: {
    requests: { type: 'string' },
    seconds: { type: 'string' },
    seed: { type: 'string' },
    only: { type: 'string' },
    fault: { type: 'string' },
  },
})
for (const name of ['requests', 'seconds', 'seed']) {
  if (values[name] !== undefined && !(Number(values[name]) > 0)) {
    console.error(`--${name} must be a number above 0; got ${values[name]}.`)
    process.exit(2)
  }
}

const settings = {
  seed: Number(values.seed ?? 1 + Math.floor(Math.random() * 1_000_000)),
  ...(values.requests === undefined ? {} : { requests: Number(values.requests) }),
  ...(values.seconds === undefined ? {} : { seconds: Number(values.seconds) }),
  ...(values.only === undefined ? {} : { only: values.only.split(',').map(Number) }),
  ...(values.fault === undefined ? {} : { fault: values.fault }),
}
console.log(`seed ${settings.seed}`)
// Below node_modules: the packages are found from there.
const folder = await mkdtemp(join(root, 'node_modules', '.fuzz-'))
try {
  await build({
    entryPoints: ['run.ts', 'fuzz-server.ts'].map((file) => fileURLToPath(new URL(file, import.meta.url))),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  })
  const child = spawn(process.execPath, ['--expose-gc', join(folder, 'run.mjs'), JSON.stringify(settings)], {
    stdio: 'inherit',
  })
  process.exitCode = await new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
} finally {
  await rm(folder, { recursive: true, force: true })
}
