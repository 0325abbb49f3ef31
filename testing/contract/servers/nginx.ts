/// <reference types="node" />
// A real nginx for tests: Debian's, in front of servers on this machine, with the configuration that a page of the
// documentation or an example shows. In the foreground, on a free port, ended by its own process id.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { freePort } from './redis-server.js'
import { until } from './until.js'

/** A running nginx. */
export interface Nginx {
  readonly port: number
  /**
   * Takes another configuration, as `nginx -s reload`. Resolves when no process with the old one
   * takes connections any more.
   */
  reload(configuration: string): Promise<void>
  close(): Promise<void>
}

// Debian installs it in a folder that is only in root's path.
const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
const binary = folders.map((folder) => join(folder, 'nginx')).find((path) => existsSync(path))

/** Whether tests that need nginx are left out: on a laptop without one. If `CI` is set they must run, and fail. */
export const isNginxMissing: boolean = process.env.CI === undefined && binary === undefined

/**
 * Starts nginx with a configuration in which `listen 8080` and the addresses of the servers are replaced.
 *
 * @param configuration - as in a page of the documentation or an example: what stands inside of `http`
 * @param upstreams - where the servers are, by the ports in the configuration; a number for `3000`
 */
export async function startNginx(
  configuration: string,
  upstreams: number | Readonly<Record<string, number>>,
): Promise<Nginx> {
  const ports = Object.entries(typeof upstreams === 'number' ? { 3000: upstreams } : upstreams)
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'turnkeeper-nginx-'))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder};`)
  const lines = ['daemon off;', 'worker_processes 1;', `pid ${folder}/pid;`, 'error_log stderr crit;', 'events {}']
  // Its workers could not read the folder otherwise.
  if (process.getuid?.() === 0) lines.unshift('user root;')
  const file = join(folder, 'nginx.conf')
  async function write(text: string): Promise<void> {
    let block = replaceOnce(text, 'listen 8080;', `listen 127.0.0.1:${port};`)
    for (const [from, to] of ports) block = replaceOnce(block, `127.0.0.1:${from}`, `127.0.0.1:${to}`)
    await writeFile(file, `${lines.join('\n')}\nhttp {\naccess_log off;\n${temporary.join('\n')}\n${block}\n}\n`)
  }
  await write(configuration)
  const child = spawn(binary ?? 'nginx', ['-p', folder, '-c', file, '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  async function close(): Promise<void> {
    await end(child)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const gone = new Promise<never>((_, reject) => {
      child.once('error', reject)
      child.once('exit', (code) => reject(new Error(`nginx ended with code ${code}.`)))
    })
    await Promise.race([until(() => listens(port)), gone])
  } catch (error) {
    await close()
    throw error
  }
  return {
    port,
    async reload(text) {
      const before = new Set(workersOf(child))
      await write(text)
      child.kill('SIGHUP')
      await until(() => {
        const now = workersOf(child)
        return now.length > 0 && !now.some((worker) => before.has(worker))
      })
    },
    close,
  }
}

/** The processes that take connections: not those that only finish what they have. */
function workersOf({ pid }: ChildProcess): string[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return children.filter((worker) => {
    const title = existsSync(`/proc/${worker}/cmdline`) ? readFileSync(`/proc/${worker}/cmdline`, 'utf8') : ''
    return /^nginx: worker process[\0 ]*$/.test(title)
  })
}

/**
 * The configuration of examples/nginx. The clients of a test share one address, so its rate is replaced.
 *
 * @param rate - how many requests an address may send; by default more than a test does
 */
export function nginxExample(rate = '100000r/s'): string {
  const text = readFileSync(new URL('../../../examples/nginx/turnkeeper.conf', import.meta.url), 'utf8')
  return replaceOnce(text, 'rate=10r/s', `rate=${rate}`)
}

/** The first nginx block of a page. */
export function nginxBlockOf(page: string): string {
  const text = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8')
  const block = /^```nginx\n([\s\S]*?)^```$/m.exec(text)?.[1]
  if (block === undefined) throw new Error(`${page} shows no configuration of nginx.`)
  return block
}

function replaceOnce(text: string, from: string, to: string): string {
  if (text.split(from).length !== 2) throw new Error(`The configuration should have '${from}' once:\n${text}`)
  return text.replace(from, to)
}

function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
  })
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
