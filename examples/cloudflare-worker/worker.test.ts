// The worker of this folder on Cloudflare's own runtime, twice in one Miniflare: two isolates over the same objects.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Readable } from 'node:stream'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe } from 'vitest'
import { deploymentCases } from '../serverless/cases.ts'
import { isMissing, pathOf } from '../serverless/processes.ts'

const runtimes = 'testing/contract/runtimes'
const leftOut = isMissing(`${runtimes}/node_modules/miniflare`) ? ` (left out: npm ci --prefix ${runtimes})` : ''

/** What this test uses of Miniflare, which is not installed at the root. */
interface Runtime {
  readonly ready: Promise<URL>
  unsafeGetDirectURL(worker: string): Promise<URL>
  dispose(): Promise<void>
}

interface Settings {
  readonly compatibility_date: string
  readonly compatibility_flags: readonly string[]
  readonly durable_objects: { readonly bindings: readonly [{ readonly name: string; readonly class_name: string }] }
}

/** The worker as one file, as wrangler makes it. */
async function bundleWorker(): Promise<string> {
  const result = await build({
    entryPoints: [pathOf('examples/cloudflare-worker/worker.ts')],
    bundle: true,
    keepNames: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser', 'import'],
    write: false,
    logLevel: 'silent',
  })
  return result.outputFiles[0]?.text ?? ''
}

describe.skipIf(leftOut !== '')(`on Cloudflare Workers${leftOut}`, () => {
  let runtime: Runtime
  let urls: [string, string]

  beforeAll(async () => {
    const settings = JSON.parse(readFileSync(pathOf('examples/cloudflare-worker/wrangler.json'), 'utf8')) as Settings
    const [{ name, class_name: className }] = settings.durable_objects.bindings
    const load = createRequire(pathOf(`${runtimes}/package.json`))
    const { Miniflare } = load('miniflare') as { Miniflare: new (options: object) => Runtime }
    const worker = {
      modules: [{ type: 'ESModule', path: 'worker.js', contents: await bundleWorker() }],
      compatibilityDate: settings.compatibility_date,
      compatibilityFlags: settings.compatibility_flags,
      unsafeDirectSockets: [{}],
    }
    runtime = new Miniflare({
      workers: [
        { ...worker, name: 'first', durableObjects: { [name]: { className, useSQLite: true } } },
        { ...worker, name: 'second', durableObjects: { [name]: { className, useSQLite: true, scriptName: 'first' } } },
      ],
      // What workerd prints when a client leaves.
      handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
        stdout.resume()
        stderr.resume()
      },
    })
    await runtime.ready
    const [first, second] = await Promise.all(['first', 'second'].map((worker) => runtime.unsafeGetDirectURL(worker)))
    urls = [`${first}ai`, `${second}ai`]
  })

  afterAll(() => runtime?.dispose())

  deploymentCases(() => urls)
})
