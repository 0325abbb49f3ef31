/**
 * Checks what importing the root loads and does: nothing of Node's, and nothing at all. And how many
 * files it and the harness are.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createContext, Script } from 'node:vm'
import { build } from 'esbuild'
import { expect, inject, test } from 'vitest'
import { project, run } from './run.js'

/** A loader that prints every module asked for during an import. */
const hook = `
import { writeSync } from 'node:fs'
export async function resolve(specifier, context, next) {
  const { url } = await next(specifier, context)
  writeSync(1, JSON.stringify({ specifier, url }) + '\\n')
  return { url, shortCircuit: true }
}
`

/** The addresses that Node loads for an entry point. */
function loadedFor(specifier: string): string[] {
  const folder = project(`graph-${specifier.replaceAll('/', '-')}`, {
    'hook.mjs': hook,
    'start.mjs': `
import { register } from 'node:module'
register('./hook.mjs', import.meta.url)
await import('${specifier}')
`,
  })
  const { failed, output } = run(folder, 'start.mjs')
  expect({ failed, output }).toMatchObject({ failed: false })
  const lines = output.trim().split('\n')
  return lines.map((line) => (JSON.parse(line) as { url: string }).url)
}

/**
 * The files of the package among them, in the order of the alphabet, with `*` for the digest in the name of a chunk.
 */
function filesFor(specifier: string): string[] {
  const files = loadedFor(specifier).map((url) => /\/node_modules\/turnkeeper\/(.*)/.exec(url)?.[1] ?? url)
  return [...new Set(files)].map((file) => file.replace(/chunk-\w+/, 'chunk-*')).sort()
}

test('the graph that Node loads for the root holds no module of Node', () => {
  const loaded = loadedFor('turnkeeper')
  expect(loaded.filter((url) => !url.startsWith('file:'))).toEqual([])
  const packages = new Set(loaded.map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]))
  expect([...packages].filter((name) => !['turnkeeper'].includes(String(name)))).toEqual([])
  expect(packages.has('turnkeeper')).toBe(true)
})

// Each file more costs a third of a millisecond of every start: .config/scripts/bundle.mjs.
test.each([
  ['turnkeeper', ['dist/chunks/core.js', 'dist/chunks/engine.js', 'dist/src/index.node.js']],
  // The chunks: what the judge, the flow service for MSW, the matchers and the reporter of vitest, the scenarios, and forms
  // share with it. One holds the open conversations, which the matchers close, so it must be one file for both.
  [
    'turnkeeper/testing',
    [
      'dist/chunks/chunk-*.js',
      'dist/chunks/chunk-*.js',
      'dist/chunks/chunk-*.js',
      'dist/chunks/chunk-*.js',
      'dist/chunks/chunk-*.js',
      'dist/chunks/chunk-*.js',
      'dist/chunks/chunk-*.js',
      'dist/chunks/chunk-*.js',
      'dist/chunks/chunk-*.js',
      'dist/chunks/chunk-*.js',
      'dist/chunks/core.js',
      'dist/chunks/engine.js',
      'dist/src/index.js',
      'dist/testing/index.js',
    ],
  ],
  // A configuration does not load the engine.
  ['turnkeeper/testing/vitest/plugin', ['dist/testing/vitest/plugin/index.js']],
])('%s is few files', (specifier, files) => {
  expect(filesFor(specifier).filter((file) => file.startsWith('dist/'))).toEqual(files)
})

test('what every process loads is ASCII, which V8 keeps and reads as one byte for each character', () => {
  const dist = join(inject('consumer'), 'node_modules/turnkeeper/dist')
  for (const file of ['chunks/core.js', 'chunks/engine.js', 'src/index.node.js', 'src/index.js', 'testing/index.js']) {
    const text = readFileSync(join(dist, file), 'utf8')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant.
    expect({ file, others: text.match(/[^\x00-\x7f]/g) }).toEqual({ file, others: null })
  }
})

test('no file of that graph imports a module of Node, under any condition', async () => {
  for (const condition of ['node', 'browser', 'workerd', 'deno', 'bun', 'default']) {
    const { metafile } = await build({
      stdin: { contents: "export * from 'turnkeeper'", resolveDir: inject('consumer') },
      bundle: true,
      format: 'esm',
      platform: 'neutral',
      conditions: [condition, 'import'],
      external: ['node:*'],
      packages: 'bundle',
      write: false,
      metafile: true,
      logLevel: 'silent',
    })
    const outside = Object.values(metafile.inputs).flatMap(({ imports }) => imports.filter(({ external }) => external))
    expect({ condition, outside }).toEqual({ condition, outside: [] })
  }
})

test('require() works', () => {
  const folder = project('require', {
    'use.cjs': "const { FlowEngine } = require('turnkeeper')\nprocess.stdout.write(typeof FlowEngine.create)\n",
  })
  expect(run(folder, '--no-warnings', 'use.cjs')).toEqual({ failed: false, output: 'function' })
})

/** Runs the bundled root in a realm whose globals are all watched, and returns those that were used. */
async function doorsUsed(contents: string): Promise<string[]> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: inject('consumer') },
    bundle: true,
    format: 'iife',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['node', 'import'],
    // Nothing that would run may be dropped as unused.
    treeShaking: false,
    ignoreAnnotations: true,
    write: false,
    logLevel: 'silent',
  })
  const used: string[] = []
  const watched = (name: string): object =>
    new Proxy(
      {},
      {
        get(_, key) {
          return typeof key === 'symbol' ? undefined : () => used.push(`${name}.${key}`)
        },
      },
    )
  const door = (name: string) => (): void => {
    used.push(name)
  }
  const doors = [
    'setTimeout',
    'setInterval',
    'setImmediate',
    'queueMicrotask',
    'fetch',
    'structuredClone',
    'addEventListener',
  ]
  const env = new Proxy({}, { get: (_, key) => void used.push(`process.env.${String(key)}`) })
  const realm = createContext({
    AbortController,
    AbortSignal,
    TextEncoder,
    TextDecoder,
    URL,
    crypto: watched('crypto'),
    performance: { now: door('performance.now') },
    console: watched('console'),
    process: { env, on: door('process.on'), emitWarning: door('process.emitWarning') },
    ...Object.fromEntries(doors.map((name) => [name, door(name)])),
    used,
  })
  const watchers = `
    for (const [object, name] of [[Date, 'now'], [Math, 'random']]) {
      object[name] = () => { used.push(name); return 0 }
    }
    globalThis.Date = new Proxy(Date, { construct() { used.push('new Date'); return {} } })
    globalThis.Promise = new Proxy(Promise, { construct() { used.push('new Promise'); return {} } })
  `
  new Script(watchers).runInContext(realm)
  new Script(outputFiles[0]?.text ?? 'throw new Error("esbuild wrote no file")').runInContext(realm)
  return used
}

test('importing the root does no work: no timer, no environment, no random, no clock, no network', async () => {
  expect(await doorsUsed("export * from 'turnkeeper'")).toEqual([])
})

test.each([
  ['setTimeout', 'setTimeout(() => {}, 1)'],
  ['crypto.getRandomValues', 'crypto.getRandomValues(new Uint8Array(1))'],
  ['process.env.HOME', 'globalThis.process?.env.HOME'],
  ['now', 'Date.now()'],
  ['random', 'Math.random()'],
  ['new Date', 'globalThis.at = new Date()'],
  ['fetch', "fetch('x')"],
])('the probe itself can fail: it sees %s', async (door, statement) => {
  expect(await doorsUsed(statement)).toEqual([door])
})
