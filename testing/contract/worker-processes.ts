/** Processes of a test: bundles a worker, starts it, and ends what it started. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'

const root = fileURLToPath(new URL('../../', import.meta.url))
const sqlitePackage = fileURLToPath(new URL('./sqlite/package.json', import.meta.url))

/** `@keyv/sqlite` is installed in a separate folder, because its native module is compiled on installation. */
const sqliteElsewhere: Plugin = {
  name: 'sqlite',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^@keyv\/sqlite$/ }, ({ path }) => ({ path, namespace: 'sqlite' }))
    onLoad({ filter: /./, namespace: 'sqlite' }, ({ path }) => ({
      contents: `import { createRequire } from 'node:module'
        export default createRequire(${JSON.stringify(sqlitePackage)})(${JSON.stringify(path)}).default`,
    }))
  },
}

/** The processes of one test. */
export interface WorkerProcesses {
  /** A folder of this test, removed in the end. */
  readonly folder: string
  /**
   * Starts one more. What it writes to its standard error is shown. @param execArgv - Options of Node. Default: none.
   */
  start(execArgv?: readonly string[], stderr?: 'inherit' | 'ignore'): ChildProcess
  /** Ends those that still run, each by its own ID, and removes the folder. */
  close(): Promise<void>
}

/** Bundles a worker, so that Node can run it. @param source - Its TypeScript file. */
export async function createProcesses(source: URL): Promise<WorkerProcesses> {
  // Below node_modules: the worker's packages are found from there.
  const folder = await mkdtemp(join(root, 'node_modules', '.worker-'))
  const script = join(folder, 'worker.mjs')
  const children = new Set<ChildProcess>()
  const close = async (): Promise<void> => {
    await Promise.all(Array.from(children, endProcess))
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await build({
      entryPoints: [fileURLToPath(source)],
      outfile: script,
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      plugins: [sqliteElsewhere],
    })
  } catch (error) {
    await close()
    throw error
  }
  return {
    folder,
    close,
    start(execArgv = [], stderr = 'inherit') {
      const child = fork(script, { execArgv: [...execArgv], stdio: ['ignore', 'ignore', stderr, 'ipc'] })
      // A message to a process that was killed is lost, and no more.
      child.on('error', () => undefined)
      child.once('exit', () => children.delete(child))
      children.add(child)
      return child
    },
  }
}

/** Ends a process at once; resolves when it is gone. */
export async function endProcess(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** Whether the process is gone. */
export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}
