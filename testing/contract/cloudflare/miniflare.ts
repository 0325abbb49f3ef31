/** Starts Cloudflare's runtime, which is installed in testing/contract/runtimes and not at the root. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
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
  /** Where each worker answers, by name. */
  readonly urls: Readonly<Record<string, URL>>
  dispose(): Promise<void>
}

/** Starts workers, each with its bindings as Miniflare takes them. All have the module of worker.ts. */
export async function startWorkers(workers: Readonly<Record<string, object>>): Promise<Runtime> {
  const load = createRequire(join(runtimes, 'package.json'))
  const { Miniflare } = load('miniflare') as { Miniflare: new (options: object) => Miniflare }
  const contents = await bundleWorker()
  const miniflare = new Miniflare({
    // What workerd prints where a test makes an object fail.
    handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
      stdout.resume()
      stderr.resume()
    },
    workers: Object.entries(workers).map(([name, bindings]) => ({
      name,
      modules: [{ type: 'ESModule', path: 'worker.js', contents }],
      compatibilityDate: '2026-04-01',
      unsafeDirectSockets: [{ port: 0 }],
      ...bindings,
    })),
  })
  await miniflare.ready
  const urls: Record<string, URL> = {}
  for (const name of Object.keys(workers)) urls[name] = await miniflare.unsafeGetDirectURL(name)
  return { urls, dispose: () => miniflare.dispose() }
}

/** The worker as one file, with the sources of the package. */
async function bundleWorker(): Promise<string> {
  const result = await build({
    entryPoints: [fileURLToPath(new URL('worker.ts', import.meta.url))],
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser', 'import'],
    write: false,
    logLevel: 'silent',
  })
  return result.outputFiles[0]?.text ?? ''
}
