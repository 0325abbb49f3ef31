// The worker of this folder on Cloudflare's own runtime, twice in one Miniflare: two isolates over the same objects.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll } from 'vitest'
import { describeWithMiniflare, type Runtime, startWorkers } from '../../testing/contract/cloudflare/miniflare.js'
import { deploymentCases } from '../serverless/cases.ts'
import { pathOf } from '../serverless/processes.ts'

interface Settings {
  readonly compatibility_date: string
  readonly compatibility_flags: readonly string[]
  readonly durable_objects: { readonly bindings: readonly [{ readonly name: string; readonly class_name: string }] }
}

describeWithMiniflare('on Cloudflare Workers', () => {
  let runtime: Runtime

  beforeAll(async () => {
    const settings = JSON.parse(readFileSync(pathOf('examples/cloudflare-worker/wrangler.json'), 'utf8')) as Settings
    const { compatibility_date: compatibilityDate, compatibility_flags: compatibilityFlags } = settings
    const [{ name, class_name: className }] = settings.durable_objects.bindings
    const worker = { compatibilityDate, compatibilityFlags }
    const objects = { className, useSQLite: true }
    runtime = await startWorkers(
      {
        first: { ...worker, durableObjects: { [name]: objects } },
        second: { ...worker, durableObjects: { [name]: { ...objects, scriptName: 'first' } } },
      },
      { entryPoints: [pathOf('examples/cloudflare-worker/worker.ts')] },
    )
  })

  afterAll(() => runtime?.dispose())

  deploymentCases(() => [`${runtime.urls.first}ai`, `${runtime.urls.second}ai`])
})
