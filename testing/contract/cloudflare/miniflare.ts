/** Starts Cloudflare's runtime, which is installed in testing/contract/runtimes and not at the root. */
import { existsSync, statfsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build } from 'esbuild'
import { describe, type SuiteAPI } from 'vitest'

const runtimes = fileURLToPath(new URL('../runtimes/', import.meta.url))
const isInstalled = existsSync(join(runtimes, 'node_modules'))

/** As `describe`; on a laptop without Miniflare it is left out by name. In CI it fails. */
export function describeWithMiniflare(name: string, tests: () => void): void {
  const left: SuiteAPI | SuiteAPI['skip'] = isInstalled || process.env.CI === 'true' ? describe : describe.skip
  left(isInstalled ? name : `${name} (left out: Miniflare is not installed)`, tests)
}

/** What the tests use of Miniflare. */
interface Miniflare {
  readonly ready: Promise<URL>
  unsafeGetDirectURL(worker: string): Promise<URL>
  dispose(): Promise<void>
}

/** A runtime with workers. */
export interface Runtime {
  /** The address of each worker, by name. */
  readonly urls: Readonly<Record<string, URL>>
  /** The address of the runtime itself, in front of the first worker. */
  readonly front: URL
  dispose(): Promise<void>
}

/**
 * Starts workers, each with its bindings as Miniflare takes them. All have the same module.
 *
 * @param source - Its TypeScript, or an entry point for esbuild. Default: worker.ts of this folder.
 */
export async function startWorkers(
  workers: Readonly<Record<string, object>>,
  source: string | BuildOptions = "export * from './worker.ts'; export { default } from './worker.ts'",
): Promise<Runtime> {
  const load = createRequire(join(runtimes, 'package.json'))
  const { Miniflare } = load('miniflare') as { Miniflare: new (options: object) => Miniflare }
  const contents = await bundleWorker(typeof source === 'string' ? fromSources(source) : source)
  const folder = await mkdtemp(join(hasRoomInMemory() ? memory : tmpdir(), 'turnkeeper-miniflare-'))
  const miniflare = new Miniflare({
    defaultPersistRoot: folder,
    // What workerd prints if a test makes an object fail.
    handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
      stdout.resume()
      stderr.resume()
    },
    // The front has the path that calls `scheduled`.
    unsafeTriggerHandlers: true,
    workers: Object.entries(workers).map(([name, bindings]) => ({
      name,
      modules: [{ type: 'ESModule', path: 'worker.js', contents }],
      compatibilityDate: '2026-04-01',
      unsafeDirectSockets: [{ port: 0 }],
      ...bindings,
    })),
  })
  const front = await miniflare.ready
  const urls: Record<string, URL> = {}
  for (const name of Object.keys(workers)) urls[name] = await miniflare.unsafeGetDirectURL(name)
  async function dispose(): Promise<void> {
    await miniflare.dispose()
    await rm(folder, { recursive: true, force: true })
  }
  return { urls, front, dispose }
}

/** Linux keeps the files below it in memory. Each object has a database, which waits for the disk at each write. */
const memory = '/dev/shm'

function hasRoomInMemory(): boolean {
  if (!existsSync(memory)) return false
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize > 1_000_000_000
}

/** A module of this folder, with the sources of the package. */
function fromSources(contents: string): BuildOptions {
  const root = fileURLToPath(new URL('../../../', import.meta.url))
  return {
    stdin: { contents, loader: 'ts', resolveDir: fileURLToPath(new URL('.', import.meta.url)) },
    alias: {
      turnkeeper: `${root}src/index.ts`,
      'turnkeeper/d1': `${root}adapters/d1/index.ts`,
      'turnkeeper/durable-object': `${root}adapters/durable-object/index.ts`,
      'turnkeeper/fetch': `${root}adapters/fetch/index.ts`,
    },
  }
}

/** The worker as one file, as wrangler makes it. */
async function bundleWorker(entry: BuildOptions): Promise<string> {
  const result = await build({
    ...entry,
    bundle: true,
    keepNames: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser', 'import'],
    write: false,
    logLevel: 'silent',
  })
  return result.outputFiles?.[0]?.text ?? ''
}
