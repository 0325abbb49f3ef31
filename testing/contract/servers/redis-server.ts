/// <reference types="node" />
// A real Redis server for tests: Debian's redis-server on a free port of 127.0.0.1, with data in a temporary folder. It
// can be killed, paused and started again on the same port, and ends by its own process id.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** How a server is set up. */
export interface RedisServerOptions {
  /** `appendfsync` of the append-only file. Default: nothing is kept over a restart. */
  readonly appendOnly?: 'always' | 'everysec'
  /** Makes it a Sentinel that watches the master on this port, under the name `sessions`. */
  readonly sentinelFor?: number
  /** Further settings, as in redis.conf. */
  readonly settings?: Readonly<Record<string, string>>
}

/** A server under a test's control. */
export interface RedisServer {
  readonly port: number
  readonly url: string
  /** Sends one command over a new connection; returns the reply in protocol form. */
  command(...words: readonly string[]): Promise<string>
  /** Starts it again after `kill`, on the same port and folder. Resolves when it answers. */
  start(): Promise<void>
  /** SIGKILL. Resolves when the process is gone. */
  kill(): Promise<void>
  /** SIGSTOP: connections stay open, and nothing answers. */
  pause(): void
  /** SIGCONT. */
  resume(): void
  /** Ends it for good and removes its folder. */
  close(): Promise<void>
}

/**
 * Whether tests that need a server are left out: on a laptop without one. If `CI` is set they must run, and fail.
 */
export const isRedisMissing: boolean = process.env.CI === undefined && !onPath('redis-server')

/** Starts a server. */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'turnkeeper-redis-'))
  const settings: Record<string, string> = {
    port: String(port),
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    daemonize: 'no',
    ...(options.appendOnly === undefined ? {} : { appendonly: 'yes', appendfsync: options.appendOnly }),
    ...options.settings,
  }
  let words = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  if (options.sentinelFor !== undefined) {
    // A Sentinel writes to its configuration, so it needs a file.
    const file = join(folder, 'sentinel.conf')
    const monitor = `sentinel monitor sessions 127.0.0.1 ${options.sentinelFor} 1`
    await writeFile(file, `port ${port}\nbind 127.0.0.1\ndir ${folder}\n${monitor}\n`)
    words = [file, '--sentinel']
  }
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    const starting = spawn('redis-server', words, { stdio: ['ignore', 'ignore', 'inherit'] })
    child = starting
    const gone = new Promise<never>((_, reject) => {
      starting.once('error', reject)
      starting.once('exit', (code) => reject(new Error(`redis-server ended with code ${code}.`)))
    })
    const asking = new AbortController()
    try {
      await Promise.race([answers(port, asking.signal), gone])
    } finally {
      asking.abort()
    }
  }

  async function kill(): Promise<void> {
    const ending = child
    child = undefined
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return
    const gone = new Promise((resolve) => ending.once('exit', resolve))
    ending.kill('SIGKILL')
    await gone
  }

  async function close(): Promise<void> {
    await kill()
    await rm(folder, { recursive: true, force: true })
  }

  try {
    await start()
  } catch (error) {
    await close()
    throw error
  }
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    command: (...command) => sendOnce(port, command),
    start,
    kill,
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    close,
  }
}

/** Below the ports that systems give to clients: a connection of another test takes none of these. */
const [firstPort, lastPort] = [11_000, 32_000]

/** A port on which nothing listens at this moment. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = firstPort + Math.floor(Math.random() * (lastPort - firstPort))
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else reject(error)
    })
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

function onPath(binary: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, binary)))
}

/** Resolves when the server answers; asks again until then, or until the signal aborts. */
async function answers(port: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const reply = await sendOnce(port, ['PING']).catch(() => '')
    if (reply.startsWith('+PONG')) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** The first part of the reply: the whole of it for the short replies that tests ask for. */
function sendOnce(port: number, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('The server closed the connection.')))
    socket.once('data', (data) => {
      resolve(data.toString())
      socket.destroy()
    })
    const bulk = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`)
    socket.write(`*${words.length}\r\n${bulk.join('')}`)
  })
}
