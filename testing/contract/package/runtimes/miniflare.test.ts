/**
 * Miniflare with `modules: true`, which reads every import of a worker itself, and refuses one whose name is computed.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { project } from '../run.js'

const manifest = fileURLToPath(new URL('../../runtimes/package.json', import.meta.url))
const isLeftOut = process.env.CI !== 'true' && !existsSync(fileURLToPath(new URL('node_modules', `file://${manifest}`)))

interface Worker {
  dispatchFetch(url: string): Promise<{ json(): Promise<unknown> }>
  dispose(): Promise<void>
}

function worker(root: string, fetchEntry: string): string {
  return `
import { Flow, FlowEngine, LogicStep, reply } from '${root}'
import { createFetchHandler } from '${fetchEntry}'
class Say extends LogicStep { static id = 'Say'; run() { return reply('Hello.') } }
class Talk extends Flow { static id = 'Talk'; steps() { return [Say] } }
let handler
export default { fetch(request, _env, context) {
  handler ??= createFetchHandler(new FlowEngine({ flows: [Talk] }))
  return handler(request, context)
} }`
}

test.skipIf(isLeftOut).each([
  [
    'as it is, by its files',
    '../node_modules/turnkeeper/dist/src/index.js',
    '../node_modules/turnkeeper/dist/adapters/fetch/index.js',
  ],
  ['bundled for workers', 'turnkeeper', 'turnkeeper/fetch', 'neutral'],
  // As for the flag `nodejs_compat`: esbuild adds the condition `node`.
  ['bundled for workers, with the platform Node', 'turnkeeper', 'turnkeeper/fetch', 'node'],
] as const)(
  'takes the package %s',
  async (_what, root, fetchEntry, platform?: 'neutral' | 'node') => {
    const folder = project('miniflare', { 'worker.js': worker(root, fetchEntry) })
    let scriptPath = join(folder, 'worker.js')
    if (platform !== undefined) {
      const outfile = join(folder, 'bundled.js')
      const conditions = ['workerd', 'worker', 'browser', 'import']
      await build({ entryPoints: [scriptPath], outfile, bundle: true, format: 'esm', platform, conditions })
      scriptPath = outfile
    }
    const { Miniflare } = createRequire(manifest)('miniflare') as { Miniflare: new (options: object) => Worker }
    const miniflare = new Miniflare({
      modules: true,
      modulesRoot: join(folder, '..'),
      modulesRules: [{ type: 'ESModule', include: ['**/*.js'] }],
      scriptPath,
      compatibilityDate: '2026-04-01',
    })
    try {
      const reply = await miniflare.dispatchFetch('http://localhost/ai/flows')
      expect(await reply.json()).toEqual(['Talk'])
    } finally {
      await miniflare.dispose()
    }
  },
  20_000,
)
