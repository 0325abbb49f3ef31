/** A Redis server for this check, configured for sessions, on a free port of this machine. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { delimiter, join } from 'node:path'

export const isRedisInstalled = (process.env.PATH ?? '')
  .split(delimiter)
  .some((folder) => existsSync(join(folder, 'redis-server')))

/** A running server. */
export interface Redis {
  readonly url: string
  /** Starts it again after `kill`, on the same port and folder. Resolves when it answers. */
  start(): Promise<void>
  /** SIGKILL: it cannot save anything more. Resolves when the process has ended. */
  kill(): Promise<void>
}

/**
 * Starts a server whose acknowledged writes survive its end, and which never removes a session when memory is short.
 *
 * @param folder - The folder for its data.
 */
export async function startRedis(folder: string): Promise<Redis> {
  const port = await freePort()
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: 'yes',
    appendfsync: 'always',
    'maxmemory-policy': 'noeviction',
  }
  const words = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    const starting = spawn('redis-server', words, { stdio: 'ignore' })
    child = starting
    const killAtExit = (): boolean => starting.kill('SIGKILL')
    process.once('exit', killAtExit)
    starting.once('exit', () => process.off('exit', killAtExit))
    while (!(await answers(port))) {
      if (starting.exitCode !== null) throw new Error(`redis-server ended with code ${starting.exitCode}.`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  async function kill(): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  await start()
  return { url: `redis://127.0.0.1:${port}`, start, kill }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

/** It answers with an error while it still loads its data. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    socket.once('data', (data) => {
      resolve(data.toString().startsWith('+PONG'))
      socket.destroy()
    })
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
  })
}
