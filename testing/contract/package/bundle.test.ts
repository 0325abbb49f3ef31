/**
 * Checks the sizes and the needs of the root and the other entry points when an application bundles
 * them, with no peer installed.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { type BuildResult, build } from 'esbuild'
import { describe, expect, inject, test } from 'vitest'
import { project, run } from './run.js'

type Platform = 'node' | 'browser' | 'neutral'
type Bundle = BuildResult<{ write: false; metafile: true }>

const targets: readonly (readonly [string, Platform, readonly string[]])[] = [
  ['node', 'node', ['node', 'import']],
  ['browser', 'browser', ['browser', 'import']],
  ['workerd', 'neutral', ['workerd', 'worker', 'browser', 'import']],
]
const subpaths = [
  'turnkeeper',
  'turnkeeper/compaction',
  'turnkeeper/forms',
  'turnkeeper/parts',
  'turnkeeper/prompt',
  'turnkeeper/d1',
  'turnkeeper/durable-object',
  'turnkeeper/fetch',
  'turnkeeper/openapi',
  'turnkeeper/client',
  'turnkeeper/ui-message',
  'turnkeeper/ag-ui',
  'turnkeeper/tickets',
  'turnkeeper/ai-sdk',
  'turnkeeper/upstash',
  'turnkeeper/diagram',
  'turnkeeper/testing',
]
/** Those that no application bundles. */
const ofTests = ['turnkeeper/diagram', 'turnkeeper/testing']
/** The bound of the whole root. docs/decisions/root-size.md lists what it grew for. */
const maximumBytes = 66.7 * 1024
/** The bound of what the root loads with the first outside event or timer. */
const maximumLateBytes = 8.8 * 1024

const wholeRoot = "export * from 'turnkeeper'"
const application = `
import { Flow, FlowEngine, LogicStep, Step, finish, go, reply, stay, tool } from 'turnkeeper'
export { Flow, FlowEngine, LogicStep, Step, finish, go, reply, stay, tool }`

interface BundleOptions {
  readonly external?: string[]
  readonly define?: Record<string, string>
  readonly splitting?: boolean
}

function bundle(
  contents: string,
  platform: Platform,
  conditions: readonly string[],
  { external = [], define = {}, splitting = false }: BundleOptions = {},
): Promise<Bundle> {
  return build({
    stdin: { contents, resolveDir: inject('consumer') },
    bundle: true,
    format: 'esm',
    platform,
    conditions: [...conditions],
    external,
    define,
    splitting,
    outdir: 'out',
    minify: true,
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
}

/** The bytes that a page or a process loads at once, and those that it loads late. */
function loadedBytes({ metafile, outputFiles }: Bundle): { readonly atOnce: number; readonly late: number } {
  const atOnce = new Set(['out/stdin.js'])
  for (const path of atOnce) {
    for (const { path: next, kind } of metafile.outputs[path]?.imports ?? []) {
      if (kind === 'import-statement') atOnce.add(next)
    }
  }
  const isAtOnce = (path: string): boolean => atOnce.has(path.slice(path.indexOf('out/')).replaceAll('\\', '/'))
  const bytes = (files: typeof outputFiles): number => gzipped(Buffer.concat(files.map(({ contents }) => contents)))
  return {
    atOnce: bytes(outputFiles.filter(({ path }) => isAtOnce(path))),
    late: bytes(outputFiles.filter(({ path }) => !isAtOnce(path))),
  }
}

function gzipped(contents: Uint8Array): number {
  return gzipSync(contents, { level: 9 }).length
}

describe.each(targets)('for %s', (name, platform, conditions) => {
  test.each(subpaths)('%s bundles whole, with no import left over', async (subpath) => {
    const { metafile, outputFiles, warnings } = await bundle(`export * from '${subpath}'`, platform, conditions)
    expect(warnings).toEqual([])
    const left = Object.values(metafile.outputs).flatMap(({ imports }) =>
      imports.map(({ kind, path }) => `${kind} ${path}`),
    )
    // An optional package that `simulate` loads late.
    expect(left).toEqual(subpath === 'turnkeeper/testing' ? ['dynamic-import fast-check'] : [])
    expect(outputFiles[0]?.text).not.toMatch(/["'`]node:/)
  })

  test.each([
    ['what an application takes of the root', application],
    ['the whole root', wholeRoot],
  ])('%s, minified and gzipped, is within its bound', async (what, contents) => {
    const { atOnce, late } = loadedBytes(await bundle(contents, platform, conditions, { splitting: true }))
    console.log(`${what}, for ${name}: ${atOnce} bytes minified and gzipped (at most ${maximumBytes}), late: ${late}`)
    expect(atOnce).toBeLessThanOrEqual(maximumBytes)
    expect(late).toBeGreaterThan(1_000)
    expect(late).toBeLessThanOrEqual(maximumLateBytes)
  })
})

test('what the root is made of imports nothing', () => {
  const core = readFileSync(join(inject('consumer'), 'node_modules/turnkeeper/dist/chunks/core.js'), 'utf8')
  expect(core).not.toMatch(/^import /m)
})

test.each<Platform>(['neutral', 'browser'])(
  'turnkeeper/testing runs in a bundle for %s without import.meta.url, as Workers have it',
  async (platform) => {
    const contents = `
import { Flow, LogicStep, finish } from 'turnkeeper'
import { Conversation } from 'turnkeeper/testing'
class Only extends LogicStep { static id = 'Only'; run() { throw new Error('broken') } }
class Talk extends Flow { static id = 'Talk'; steps() { return [Only] } }
const conversation = new Conversation(Talk)
await conversation.say('Hello')
try { conversation.expectReply('x') } catch ({ message }) { console.log(message) }`
    const { outputFiles } = await bundle(contents, platform, ['workerd', 'worker', 'browser', 'import'], {
      external: ['fast-check'],
      define: { 'import.meta.url': 'undefined' },
    })
    const folder = project(`worker-${platform}`, { 'bundle.mjs': outputFiles[0]?.text ?? '' })
    expect(run(folder, 'bundle.mjs')).toEqual({ failed: false, output: expect.stringContaining('broken') })
  },
)

test('the probe itself can fail: hono is not installed, so its entry point does not bundle', async () => {
  await expect(bundle("export * from 'turnkeeper/hono'", 'node', ['node', 'import'])).rejects.toThrow(
    'Could not resolve "hono"',
  )
})

describe('the sizes of the entry points', () => {
  const read = (page: string): string =>
    readFileSync(fileURLToPath(new URL(`../../../${page}`, import.meta.url)), 'utf8')
  /**
   * Those of an entry point in the table of the page, in KiB: what it adds to an application that
   * has the root, and alone.
   */
  const listed = new Map(
    Array.from(
      read('docs/entry-points.md').matchAll(/^\| `(turnkeeper[\w/-]*)` \| ([\d.]+|-) \/ ([\d.]+) \|/gm),
      ([, subpath = '', added = '', alone = '']) => [subpath, [added, alone] as const] as const,
    ),
  )
  const measured = [...subpaths.filter((subpath) => !ofTests.includes(subpath)), 'turnkeeper/node']

  async function kibOf(...imported: string[]): Promise<number> {
    const contents = imported.map((subpath) => `export * from '${subpath}'`).join('\n')
    const external = ['node:*', '@hono/node-server']
    const conditions = ['workerd', 'worker', 'browser', 'import']
    return loadedBytes(await bundle(contents, 'neutral', conditions, { external, splitting: true })).atOnce / 1024
  }

  test('are on the page for each that needs no peer, and for that of Node', () => {
    expect([...listed.keys()].sort()).toEqual([...measured].sort())
  })

  test.each(measured)('%s is as large as the page says, to within 0.5 KiB', async (subpath) => {
    const alone = await kibOf(subpath)
    const added =
      subpath === 'turnkeeper' ? undefined : (await kibOf('turnkeeper', subpath)) - (await kibOf('turnkeeper'))
    const cell = `${added?.toFixed(1) ?? '-'} / ${alone.toFixed(1)}`
    console.log(`${subpath}: ${cell} KiB minified and gzipped (added to the root / alone)`)
    const [saidAdded, saidAlone] = listed.get(subpath) ?? []
    const differences = [Number(saidAlone) - alone, added === undefined ? 0 : Number(saidAdded) - added]
    const isRight = differences.every((difference) => Math.abs(difference) <= 0.5)
    expect(isRight, `Write \`${cell}\` in the row of ${subpath} in docs/entry-points.md, under "size".`).toBe(true)
  })

  // docs/decisions/client.md.
  test('turnkeeper/client is small enough for any page', async () => {
    expect(await kibOf('turnkeeper/client')).toBeLessThanOrEqual(5.5)
  })

  // docs/decisions/forms.md.
  test('turnkeeper/forms adds at most 6 KiB to the root', async () => {
    expect((await kibOf('turnkeeper', 'turnkeeper/forms')) - (await kibOf('turnkeeper'))).toBeLessThanOrEqual(6)
  })

  test('are the same in docs/serverless-stores.md', () => {
    const [, row = ''] = /^\| size, [^|]*\| (.*) \|$/m.exec(read('docs/serverless-stores.md')) ?? []
    const stores = ['turnkeeper/durable-object', 'turnkeeper/d1', 'turnkeeper/upstash']
    const cells = stores.map((subpath) => `${listed.get(subpath)?.join(' / ')} KiB`)
    expect(row, 'Write the figures of the table in docs/entry-points.md here, too.').toBe(cells.join(' | '))
  })
})
