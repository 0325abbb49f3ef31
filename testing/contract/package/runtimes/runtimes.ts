/// <reference types="node" />
// The runtimes that the packed package is tested on: how each is started, and how a request reaches
// it. Each is started once.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { inject } from 'vitest'
import { project } from '../run.js'
import { openPageRuntime, pageProgram } from './page-runtime.js'
import type { Running } from './running.js'

/** A runtime of the matrix. */
export interface Runtime {
  /** What the table calls it. */
  readonly name: string
  /** The file or folder that must be there. */
  readonly needs: string
  /** Whether it can import modules of Node. */
  readonly hasNode: boolean
  readonly start: () => Promise<Running>
}

const here = fileURLToPath(new URL('.', import.meta.url))
const manifest = fileURLToPath(new URL('../../runtimes/package.json', import.meta.url))
const installed = join(dirname(manifest), 'node_modules')
const nodeServer = createRequire(import.meta.url)
  .resolve('@hono/node-server')
  .replace(/cjs$/, 'mjs')

/** The servers, in a folder of the consumer: there `turnkeeper` is the packed package. */
function copyServers(): string {
  const folder = join(here, 'servers')
  const files = readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), 'utf8')])
  return project('runtimes', Object.fromEntries(files))
}

/** A server and the packed package in one file. Fails if that would need a Node module. */
async function bundle(entry: string, conditions: readonly string[], format: 'esm' | 'iife'): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(copyServers(), entry)],
    bundle: true,
    format,
    platform: 'neutral',
    conditions: [...conditions, 'import'],
    write: false,
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
}

/** Starts a program that prints its port and version as one line of JSON, and ends it by its process id. */
async function startProgram(command: string, words: readonly string[]): Promise<Running> {
  const { NODE_OPTIONS: _options, VITEST: _vitest, ...env } = process.env
  const child = spawn(command, words, {
    cwd: copyServers(),
    env: { ...env, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { port, version } = JSON.parse(await firstLine(child)) as { port: number; version: string }
  return {
    version,
    send: (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init),
    close: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve())
        child.kill('SIGKILL')
      }),
  }
}

function firstLine(child: ChildProcess): Promise<string> {
  let errors = ''
  child.stderr?.on('data', (chunk) => {
    errors += String(chunk)
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`The program ended with code ${code}: ${errors}`)))
    if (child.stdout === null) throw new Error('The program has no output.')
    createInterface(child.stdout).on('line', resolve)
  })
}

/** What is used of Miniflare, which is not installed at the root. */
interface Worker {
  readonly ready: Promise<URL>
  dispose(): Promise<void>
}

async function startWorkerd(compatibilityFlags: readonly string[]): Promise<Running> {
  const load = createRequire(manifest)
  const { Miniflare } = load('miniflare') as { Miniflare: new (options: object) => Worker }
  const contents = await bundle('worker.js', ['workerd', 'worker', 'browser'], 'esm')
  const worker = new Miniflare({
    modules: [{ type: 'ESModule', path: 'worker.js', contents }],
    compatibilityDate: '2026-04-01',
    compatibilityFlags: [...compatibilityFlags],
    // What workerd prints when a client leaves.
    handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
      stdout.resume()
      stderr.resume()
    },
  })
  const url = await worker.ready
  const { version } = load('workerd/package.json') as { version: string }
  return {
    version,
    send: (path, init) => fetch(new URL(path, url), init),
    close: () => worker.dispose(),
  }
}

async function startEdgeRuntime(): Promise<Running> {
  const program = join(inject('consumer'), 'edge-program.js')
  writeFileSync(program, await bundle('edge.js', ['edge-light', 'worker', 'browser'], 'iife'))
  return startProgram(process.execPath, ['edge-host.js', manifest, program])
}

function node(name: string, folder: string): Runtime {
  const program = join(installed, folder, 'bin/node')
  return { name, needs: program, hasNode: true, start: () => startProgram(program, ['node.js', nodeServer]) }
}

const bun = join(installed, '@oven/bun-linux-x64/bin/bun')
const deno = join(installed, '@deno/linux-x64-glibc/deno')
const denoRights = ['--allow-read', '--allow-env', '--allow-net', '--node-modules-dir=manual']

/** In the order of the table. The first one runs the tests as well. */
export const runtimes: readonly Runtime[] = [
  {
    name: 'Node 20',
    needs: process.versions.node.startsWith('20.') ? process.execPath : 'Node 20, which runs the tests',
    hasNode: true,
    start: () => startProgram(process.execPath, ['node.js', nodeServer]),
  },
  node('Node 22', 'node22'),
  node('Node 24', 'node24'),
  node('Node 26', 'node26'),
  { name: 'Bun 1.4.5', needs: bun, hasNode: true, start: () => startProgram(bun, ['bun.js']) },
  {
    name: 'Deno 2.9.6',
    needs: deno,
    hasNode: true,
    start: () => startProgram(deno, ['run', ...denoRights, 'deno.js']),
  },
  {
    name: 'workerd',
    needs: join(installed, 'miniflare'),
    hasNode: false,
    start: () => startWorkerd([]),
  },
  {
    name: 'workerd, `enable_request_signal`',
    needs: join(installed, 'miniflare'),
    hasNode: false,
    start: () => startWorkerd(['enable_request_signal']),
  },
  {
    name: 'edge-runtime 4.0.1',
    needs: join(installed, 'edge-runtime'),
    hasNode: false,
    start: startEdgeRuntime,
  },
  {
    name: 'Chromium',
    needs: pageProgram,
    hasNode: false,
    start: async () => openPageRuntime(await bundle('page.js', ['browser'], 'iife')),
  },
]

/** Whether what a runtime needs is there. */
export function isInstalled({ needs }: Runtime): boolean {
  return existsSync(needs)
}
