/**
 * The store of the page, in Deno: the store suite, a race of two processes, and a killed process. Deno KV needs the
 * flag `--unstable-kv`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const source = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))
/** Installed by `npm ci --prefix testing/contract/runtimes`. */
const deno = source('testing/contract/runtimes/node_modules/@deno/linux-x64-glibc/deno')
const isMissing = !existsSync(deno) && process.env.CI !== 'true'
const title = isMissing ? 'Deno KV (left out: Deno is not installed)' : 'Deno KV'
const turnsEach = 40

describe.skipIf(isMissing)(title, () => {
  let folder = ''
  let database = ''
  const started = new Set<ChildProcess>()

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnkeeper-deno-'))
    database = join(folder, 'sessions.db')
    await build({
      entryPoints: [source('examples/deno-kv/check.ts')],
      outfile: join(folder, 'check.mjs'),
      bundle: true,
      format: 'esm',
      platform: 'neutral',
      mainFields: ['module', 'main'],
      external: ['fast-check'],
      alias: { 'turnkeeper/testing/suites': source('testing/suites/index.ts'), turnkeeper: source('src/index.ts') },
    })
  })

  afterAll(async () => {
    for (const child of started) child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  })

  /** Starts a process. `lines` is what it wrote by the time it ended; `onLine` gets each line as it comes. */
  function start(words: readonly string[], onLine: (line: string, child: ChildProcess) => void = () => undefined) {
    const [command = '', ...rest] = words
    const check = ['run', '--no-lock', '--unstable-kv', '-A', join(folder, 'check.mjs'), command, database, ...rest]
    const child = spawn(deno, check, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NO_COLOR: '1' } })
    started.add(child)
    const lines: string[] = []
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line)
      onLine(line, child)
    })
    const ended = once(child, 'close').then(([code]) => {
      started.delete(child)
      return { code: code as number | null, lines }
    })
    return ended
  }

  const stored = (lines: readonly string[]): string[] =>
    lines.flatMap((line) => /^stored (\S+)/.exec(line)?.slice(1) ?? [])

  test('passes the suite for stores', async () => {
    const { code, lines } = await start(['suite'])
    expect(lines.filter((line) => line.startsWith('failed'))).toEqual([])
    expect(lines.filter((line) => line.startsWith('passed')).length).toBeGreaterThan(200)
    expect(code).toBe(0)
  })

  test('two processes in one session lose no turn and double none, though one is killed and replaced', async () => {
    const first = await start(['talk', '', 'first', '1'])
    const session = /in (\S+)$/.exec(first.lines.join())?.[1] ?? ''
    let seen = 0
    const killHalfway = (_line: string, child: ChildProcess): void => {
      seen++
      if (seen === turnsEach / 2) child.kill('SIGKILL')
    }
    const killed = start(['talk', session, 'killed', '1000'], killHalfway)
    const replaced = killed.then(() => start(['talk', session, 'second', String(turnsEach)]))
    const others = await Promise.all([start(['talk', session, 'third', String(turnsEach)]), killed, replaced])
    const { lines } = await start(['read', session])
    const read = lines.flatMap((line) => /^read (\S+)/.exec(line)?.slice(1) ?? [])
    const acknowledged = [first, ...others].flatMap((one) => stored(one.lines))
    expect(others.map(({ code }) => code)).toEqual([0, null, 0])
    expect(acknowledged.length).toBeGreaterThan(2 * turnsEach)
    expect(read.length).toBe(new Set(read).size)
    expect(acknowledged.filter((message) => !read.includes(message))).toEqual([])
    // The last turn of the killed process may be stored although its reply was lost.
    expect(read.filter((message) => !acknowledged.includes(message)).length).toBeLessThanOrEqual(1)
    for (const name of ['first', 'killed', 'second', 'third']) {
      const own = read.filter((message) => message.startsWith(`${name}#`))
      expect(own).toEqual(own.map((_, index) => `${name}#${index + 1}`))
    }
    const conflicts = others.flatMap((one) => one.lines.filter((line) => line.startsWith('conflict')))
    expect(conflicts.length).toBeGreaterThan(0)
    expect(lines.at(-1)).toMatch(/^swept \d+ and 0$/)
  })
})

test('the store has at most 150 lines', () => {
  expect(readFileSync(source('examples/deno-kv/deno-kv-store.ts'), 'utf8').split('\n').length).toBeLessThanOrEqual(151)
})
