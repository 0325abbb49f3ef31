/**
 * Runs with every file of the unit project. Its files share one process, so what one leaves behind would make another
 * fail. A global or an environment variable that is not put back fails the file that changed it.
 */
import { afterAll, vi } from 'vitest'
import { forgetHarnesses } from '../testing/contract/engine-harness.js'

const names = ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'fetch', 'process', 'Date'] as const
const before = names.map((name) => globalThis[name])
const environment = JSON.stringify(process.env)

forgetHarnesses()
afterAll(() => {
  if (vi.isFakeTimers()) throw new Error('Fake timers are still in use: call vi.useRealTimers().')
  vi.restoreAllMocks()
  for (const [index, name] of names.entries()) {
    if (globalThis[name] !== before[index]) throw new Error(`${name} was replaced and not restored.`)
  }
  if (JSON.stringify(process.env) !== environment) throw new Error('An environment variable was changed.')
})
