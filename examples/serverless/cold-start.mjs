/**
 * The cost of a cold start of each example: the size of its code as one file, and the time to import that file. Prints
 * the figures and stores them in cold-start.json, the source for docs/deploy.md. Needs a build, and the folders of
 * testing/contract/runtimes.
 *
 *     node examples/serverless/cold-start.mjs
 *
 * Times are medians of pairs of new processes that alternate: one imports the file, the other an empty one.
 * Milliseconds depend on the machine and its load; the ratio to the start of an empty process depends less. workerd
 * shows no clock while it starts, so the worker's file is imported by Node, as those of Next.js are.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const pairs = 21
const here = fileURLToPath(new URL('.', import.meta.url))
const runtimes = fileURLToPath(new URL('../../testing/contract/runtimes/node_modules/', import.meta.url))

/** @type {{ name: string, program: string, words: string[] }} */
const node = { name: 'Node', program: process.execPath, words: [] }
const deno = { name: 'Deno', program: `${runtimes}@deno/linux-x64-glibc/deno`, words: ['run', '--allow-all'] }
/** @type {typeof node} */
const bun = { name: 'Bun', program: `${runtimes}@oven/bun-linux-x64/bin/bun`, words: [] }

const flows = "export { Guide, Notes, localModels } from './flows.ts'; export { FlowEngine } from 'turnkeeper';"
const fetchHandler = `${flows} export { createFetchHandler } from 'turnkeeper/fetch';`
const redis =
  "export { createRedisKeyv, KeyvSessionStore } from 'turnkeeper/keyv'; export * as a from 'keyv'; export * as b from '@keyv/redis';"
const upstash = "export { createUpstashStore } from 'turnkeeper/upstash'; export { Redis } from '@upstash/redis';"
const objects = "export { DurableObjectSessionStore, SessionObject } from 'turnkeeper/durable-object';"
const lambda =
  "export { Hono } from 'hono'; export { handle, streamHandle } from 'hono/aws-lambda'; export { flowRoutes } from 'turnkeeper/hono';"

/** The imports of each example. */
const examples = [
  { name: 'Cloudflare Workers', contents: `${fetchHandler} ${objects}`, runtime: node },
  { name: 'Lambda', contents: `${flows} ${lambda} ${redis}`, runtime: node },
  { name: 'Next.js, Node', contents: `${fetchHandler} ${redis}`, runtime: node },
  { name: 'Next.js, edge', contents: `${fetchHandler} ${upstash}`, runtime: node },
  { name: 'Deno', contents: `${fetchHandler} ${redis}`, runtime: deno },
  { name: 'Bun', contents: `${fetchHandler} ${redis}`, runtime: bun },
]

const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-cold-start-'))
const timer = join(folder, 'timer.mjs')
writeFileSync(
  timer,
  'const began = performance.now(); await import(process.argv[2]); console.log(performance.now() - began); process.exit(0)',
)
try {
  const rows = []
  for (const example of examples) rows.push(await measure(example))
  writeFileSync(
    join(here, 'cold-start.json'),
    `${JSON.stringify({ date: new Date().toISOString().slice(0, 10), rows }, null, 2)}\n`,
  )
  console.table(rows)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** @param {typeof examples[number]} example */
async function measure({ name, contents, runtime }) {
  const file = join(folder, 'example.mjs')
  await build({
    stdin: { contents, resolveDir: here, loader: 'ts' },
    outfile: file,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'es2022',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    external: ['@keyv/postgres', '@keyv/sqlite', 'pg'],
    logLevel: 'silent',
  })
  const { outputFiles } = await build({ entryPoints: [file], write: false, logLevel: 'silent' })
  /** @type {ReturnType<typeof start>[]} */
  const empty = []
  /** @type {ReturnType<typeof start>[]} */
  const own = []
  for (let pair = 0; pair < pairs; pair++) {
    empty.push(start(runtime, 'data:text/javascript,'))
    own.push(start(runtime, file))
  }
  return {
    name,
    kibibytes: Math.round(gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).byteLength / 1024),
    runtime: runtime.name,
    milliseconds: Math.round(
      median(own.map(({ imported }) => imported)) - median(empty.map(({ imported }) => imported)),
    ),
    timesEmpty: Math.round((median(own.map(({ whole }) => whole)) / median(empty.map(({ whole }) => whole))) * 10) / 10,
  }
}

/**
 * Milliseconds of the import, and of the whole process.
 *
 * @param {typeof node} runtime
 * @param {string} specifier
 */
function start({ program, words }, specifier) {
  const began = performance.now()
  const imported = Number(execFileSync(program, [...words, timer, specifier], { encoding: 'utf8' }))
  return { imported, whole: performance.now() - began }
}

/** @param {number[]} values */
function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
