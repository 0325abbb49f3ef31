/**
 * The runtime's global process object, if it has one. Only this module names it. It imports nothing, so it loads in any
 * runtime.
 */

/** The members that are used. */
interface RuntimeProcess {
  readonly env?: Readonly<Record<string, string | undefined>>
  /** In Node since 20.16, and in runtimes that follow it. */
  getBuiltinModule?(name: string): unknown
}

/** Node's `process`, or another runtime's equivalent. A runtime may throw when its fields are read. */
export function runtimeProcess(): RuntimeProcess | undefined {
  return (globalThis as { process?: RuntimeProcess }).process
}
