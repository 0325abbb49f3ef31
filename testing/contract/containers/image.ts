// The example of examples/docker, built once for the tests of this folder from the packed package, and processes of it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '../servers/until.js'
import { type BuiltImage, build, run } from './dockerfile.js'

/** The example as it is in the repository. */
export const exampleFolder: string = fileURLToPath(new URL('../../../examples/docker/', import.meta.url))

/**
 * Builds the example in an empty folder as in docs/deploy.md, beside the tarball of the package. Everything else comes
 * from the configured registry.
 *
 * @param consumer - the folder in which the package was packed
 */
export async function buildExample(consumer: string, folder: string): Promise<BuiltImage> {
  const tarball = readdirSync(consumer).find((name) => name.endsWith('.tgz')) ?? ''
  const [context, app] = [join(folder, 'context'), join(folder, 'app')]
  cpSync(exampleFolder, context, { recursive: true })
  cpSync(join(consumer, tarball), join(context, tarball))
  mkdirSync(app)
  const quiet = { npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_loglevel: 'error' }
  // The lock is the application's own. It is made by this command on its developer's machine.
  await run(['npm', 'install', '--package-lock-only', '--ignore-scripts'], context, quiet)
  // An image has no cache of npm: one would also have the tarball, whether it was copied or not.
  return await build(context, app, { ...quiet, npm_config_cache: join(folder, 'npm-cache') })
}

/** A process of the image. */
export interface ImageProcess {
  readonly port: number
  readonly child: ChildProcess
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>
}

/** Starts a process as the image does, and waits until it is ready, as a readiness probe does. */
export async function startProcess(
  image: BuiltImage,
  port: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<ImageProcess> {
  const [program = '', ...words] = image.command
  const child = spawn(program, words, {
    cwd: image.folder,
    env: { PATH: process.env.PATH, ...image.environment, HOST: '127.0.0.1', PORT: String(port), ...settings },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  const tooEarly = ended.then((code) => Promise.reject(new Error(`The process ended with ${code}.`)))
  await Promise.race([until(async () => (await fetch(`http://127.0.0.1:${port}/ai/health`)).ok), tooEarly])
  tooEarly.catch(() => undefined)
  return { port, child, ended }
}

/** Ends a process that a test has left behind. */
export async function killProcess({ child, ended }: ImageProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  await ended
}

/** Removes what was built. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}
