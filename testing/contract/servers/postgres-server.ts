/// <reference types="node" />
// A real PostgreSQL for tests: Debian's package on a free port of 127.0.0.1, with data in a temporary folder. It can be
// killed, paused and started again on the same port, and ends by its own process id. It refuses to run as root, so
// there it runs as the user `postgres` that the package makes.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { freePort } from './redis-server.js'

/** A server under a test's control. */
export interface PostgresServer {
  readonly port: number
  readonly url: string
  /** Starts it again after `kill` or `stop`, on the same port and folder. Resolves when it answers. */
  start(): Promise<void>
  /** Every process of the server ends at once, in the middle of whatever it does; it recovers at the next start. */
  kill(): Promise<void>
  /** Ends it in order; open connections are cut. */
  stop(): Promise<void>
  /** SIGSTOP to every process of the server: connections stay open, and nothing answers. */
  pause(): void
  /** SIGCONT. */
  resume(): void
  /** Ends it for good and removes its folder. */
  close(): Promise<void>
}

const binaries = findBinaries()
const isRoot = process.getuid?.() === 0

/** Not `runuser`, which stays as a separate process: this one becomes the program. It ends with the tests' process. */
const asPostgres = ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', '--pdeathsig=QUIT'] as const

/**
 * Whether tests that need a server are left out: on a laptop without one. If `CI` is set they must run, and fail.
 */
export const isPostgresMissing: boolean = process.env.CI === undefined && binaries === undefined

/** Starts a server. */
export async function startPostgres(): Promise<PostgresServer> {
  if (binaries === undefined) throw new Error('PostgreSQL is not installed: apt-get install postgresql')
  const folder = await mkdtemp(join(tmpdir(), 'turnkeeper-postgres-'))
  const data = join(folder, 'data')
  const port = await freePort()
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    const settings = {
      port: String(port),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: '60',
      shared_buffers: '32MB',
      // A test kills the server, and never the machine: what was written is there without a wait for the disk.
      fsync: 'off',
    }
    const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const starting = run(join(binaries as string, 'postgres'), ['-D', data, ...words])
    child = starting
    const gone = new Promise<never>((_, reject) => {
      starting.once('error', reject)
      starting.once('exit', (code) => reject(new Error(`postgres ended with code ${code}.`)))
    })
    await Promise.race([answers(port), gone])
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const ending = child
    child = undefined
    if (ending?.pid === undefined || ending.exitCode !== null || ending.signalCode !== null) return
    const gone = new Promise((resolve) => ending.once('exit', resolve))
    const everyProcess = [ending.pid, ...childrenOf(ending.pid)]
    for (const pid of everyProcess) signalProcess(pid, 'SIGCONT')
    for (const pid of signal === 'SIGKILL' ? everyProcess : [ending.pid]) signalProcess(pid, signal)
    await gone
  }

  function signalAll(signal: NodeJS.Signals): void {
    if (child?.pid === undefined) return
    for (const pid of [child.pid, ...childrenOf(child.pid)]) signalProcess(pid, signal)
  }

  async function close(): Promise<void> {
    await end('SIGQUIT')
    await rm(folder, { recursive: true, force: true })
  }

  try {
    await chmod(folder, 0o777)
    const options = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync']
    await finished(run(join(binaries, 'initdb'), options))
    await start()
  } catch (error) {
    await close()
    throw error
  }
  return {
    port,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    start,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGINT'),
    pause: () => signalAll('SIGSTOP'),
    resume: () => signalAll('SIGCONT'),
    close,
  }
}

/** Starts a program, as an unprivileged user if this process runs as root. */
function run(program: string, words: readonly string[]): ChildProcess {
  const [command, ...rest] = isRoot ? [...asPostgres, program, ...words] : [program, ...words]
  return spawn(command as string, rest, { stdio: ['ignore', 'ignore', 'ignore'], cwd: tmpdir() })
}

function finished(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`initdb ended with code ${code}.`))))
  })
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It is gone already.
  }
}

/** From Linux's table of processes: the postmaster's children are the processes of this server only. */
function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return new RegExp(`\\) \\S ${parent} `).test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
      } catch {
        return false
      }
    })
}

function findBinaries(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((left, right) => Number(right) - Number(left)) : []
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...versions.map((name) => join(debian, name, 'bin'))]
  return folders.find((folder) => existsSync(join(folder, 'postgres')) && existsSync(join(folder, 'initdb')))
}

/** Resolves when the server takes a connection and speaks; asks again until then. */
async function answers(port: number): Promise<void> {
  while (!(await speaks(port))) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** Whether a login is answered with a request to go on. */
function speaks(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(startupMessage()))
    socket.once('data', (data) => {
      // 'R': the login may begin. 'E': it is starting up or shutting down.
      resolve(data.toString('latin1', 0, 1) === 'R')
      socket.destroy()
    })
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
  })
}

function startupMessage(): Uint8Array {
  const words = Buffer.from('user\0postgres\0database\0postgres\0\0')
  const length = Buffer.alloc(8)
  length.writeInt32BE(8 + words.length)
  length.writeInt32BE(0x0003_0000, 4)
  return Buffer.concat([length, words])
}
