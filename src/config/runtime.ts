/**
 * The runtime's own global object, where it has one: the only place that names it. Nothing is imported,
 * so any runtime loads this.
 */

/** The part that is used. */
interface RuntimeProcess {
  readonly env?: Readonly<Record<string, string | undefined>>
  /** In Node since 20.16, and in runtimes that follow it. */
  getBuiltinModule?(name: string): unknown
}

/** Node's `process`, or what another runtime has in its place. A runtime may throw when its fields are read. */
export function runtimeProcess(): RuntimeProcess | undefined {
  return (globalThis as { process?: RuntimeProcess }).process
}
