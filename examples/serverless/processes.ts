/** Starts the servers of the examples as processes, for their tests. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A server in a separate process. */
export interface ServerProcess {
  /** Its URL, without a slash at the end. */
  readonly url: string
  /** SIGTERM; resolves to the exit code. */
  stop(): Promise<number | null>
}

/**
 * Whether tests that need this file are left out, because a laptop does not have it. If `CI` is set, they run and fail.
 */
export function isMissing(path: string): boolean {
  return process.env.CI === undefined && !existsSync(pathOf(path))
}

/** The path of a file of the repository. */
export function pathOf(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url))
}

interface Started {
  readonly folder?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a server, and waits until it prints its URL. */
export async function startServer(
  program: string,
  words: readonly string[],
  started: Started = {},
): Promise<ServerProcess> {
  const { folder = pathOf(''), env = {} } = started
  const child = spawn(program, words, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const killAtExit = (): boolean => child.kill('SIGKILL')
  process.once('exit', killAtExit)
  const ended = once(child, 'exit').finally(() => process.off('exit', killAtExit))
  return {
    url: await printedUrl(child),
    async stop() {
      child.kill('SIGTERM')
      const [code] = (await ended) as [number | null]
      return code
    },
  }
}

function printedUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = ''
    function read(data: Buffer): void {
      printed += data.toString()
      const url = /(http:\/\/(?:127\.0\.0\.1|localhost):\d+)/.exec(printed)?.[1]
      if (url !== undefined) resolve(url)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`The server ended with code ${code}: ${printed}`)))
  })
}
