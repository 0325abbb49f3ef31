/** The stores of one case: made by the caller's functions, and closed when the case has ended. */
import type { SessionStore } from '../../../../src/index.js'
import { CheckedStore } from './checked-store.js'
import { newSession, randomToken } from './documents.js'
import { SuiteCalls } from './suite-calls.js'
import type { SuiteBench } from './suite-case.js'
import type { SessionStoreSuiteOptions } from './suite-options.js'

/** A bench, and a function that closes it. */
export interface ClearableBench extends SuiteBench {
  readonly calls: SuiteCalls
  /** Closes every handle, and ignores its result. */
  clear(): Promise<void>
}

/** Makes the bench of one case. */
export function createBench(
  createStore: () => SessionStore | Promise<SessionStore>,
  options: SessionStoreSuiteOptions,
): ClearableBench {
  const opened: CheckedStore[] = []
  const calls = new SuiteCalls()
  let cleared = false

  async function keep(making: SessionStore | Promise<SessionStore>): Promise<CheckedStore> {
    const store = new CheckedStore(await making, calls)
    // A case that timed out may still open handles; only this code closes them.
    if (cleared) await store.tryClose()
    else opened.push(store)
    return store
  }

  return {
    calls,
    leaseTtlMs: options.leases?.ttlMs ?? 0,
    age: options.absoluteTtl ?? {},
    newId: () => randomToken(16),

    open: () => keep(createStore()),

    async another(first) {
      const made = options.reopen === undefined ? createStore() : options.reopen(first.store)
      const second = await keep(made)
      const probe = newSession(randomToken(16))
      await first.create(probe)
      const found = await second.tryLoad(probe.id)
      if (found.kind === 'done' && found.value === undefined) {
        const maker = options.reopen === undefined ? 'Another store of createStore' : 'The store of options.reopen'
        throw new Error(
          `${maker} does not see what the first one stored. Pass options.reopen: it makes another handle on the same data.`,
        )
      }
      await first.delete(probe.id)
      return second
    },

    async corrupt(sessionId, { store }) {
      await options.corrupt?.(sessionId, store)
    },

    async openAging(times) {
      if (options.absoluteTtl === undefined) throw new Error('options.absoluteTtl is missing.')
      return keep(options.absoluteTtl.createStore(times))
    },

    async openUnreachable() {
      const { createUnreachable } = options
      if (createUnreachable === undefined) throw new Error('options.createUnreachable is missing.')
      return keep(createUnreachable())
    },

    async clear() {
      cleared = true
      await Promise.all(opened.splice(0).map((store) => store.tryClose()))
    },
  }
}
