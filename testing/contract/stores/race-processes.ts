/** Runs race-worker.ts in processes of their own, all started at the same moment. They end by themselves. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { RaceOrder } from './race-worker.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** What one process tells in the end. */
export interface RaceReport {
  readonly pid: number
  readonly conflicts: number
}

/** Races `count` processes; resolves to what each tells. */
export async function raceProcesses(
  count: number,
  order: Omit<RaceOrder, 'sqlitePackage'>,
): Promise<readonly RaceReport[]> {
  // Below node_modules: the worker's packages are found from there.
  const folder = await mkdtemp(join(root, 'node_modules', '.race-'))
  const children: ChildProcess[] = []
  try {
    const worker = join(folder, 'race-worker.mjs')
    const entry = fileURLToPath(new URL('race-worker.ts', import.meta.url))
    await build({
      entryPoints: [entry],
      outfile: worker,
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
    })
    for (let started = 0; started < count; started++) children.push(fork(worker, { execArgv: [] }))
    const sqlitePackage = fileURLToPath(new URL('../sqlite/package.json', import.meta.url))
    await Promise.all(children.map((child) => ask(child, { ...order, sqlitePackage })))
    return await Promise.all(
      children.map(async (child) => ({
        pid: child.pid as number,
        conflicts: (await ask(child, 'begin')).conflicts ?? 0,
      })),
    )
  } finally {
    for (const child of children) {
      const gone = once(child, 'exit')
      if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await gone
    }
    await rm(folder, { recursive: true, force: true })
  }
}

interface Answer {
  readonly conflicts?: number
  readonly error?: string
}

async function ask(child: ChildProcess, question: RaceOrder | 'begin'): Promise<Answer> {
  const answered = new Promise<Answer>((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', (code) => reject(new Error(`A racing process ended with code ${code}.`)))
  })
  child.send(question)
  const answer = await answered
  if (answer.error !== undefined) throw new Error(`A racing process failed: ${answer.error}`)
  return answer
}
