/**
 * The servers that the bench `store` measures with, on free ports of 127.0.0.1 and with data in a temporary folder, and
 * a proxy that counts what goes over the wire. Each is ended by its process ID. Lists the servers that are missing on
 * this machine.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

const path = (process.env.PATH ?? '').split(delimiter)
const debian = '/usr/lib/postgresql'
const versions = existsSync(debian) ? readdirSync(debian).sort((left, right) => Number(right) - Number(left)) : []
const postgresFolder = [...path, ...versions.map((name) => join(debian, name, 'bin'))].find((folder) =>
  existsSync(join(folder, 'initdb')),
)
const sqlitePackage = findSqlite()

/** Why each backend is left out; a backend that is there has no entry. */
export const missing = new Map([
  ...(path.some((folder) => existsSync(join(folder, 'redis-server'))) ? [] : [['redis', 'redis-server is not there']]),
  ...(sqlitePackage === undefined ? [['sqlite', '@keyv/sqlite is not there']] : []),
  ...(postgresFolder === undefined ? [['postgres', 'PostgreSQL is not there']] : []),
])

/** Found among the packages of the application, or where the tests of this repository install it. */
function findSqlite() {
  const places = [import.meta.url, new URL('../../testing/contract/sqlite/package.json', import.meta.url)]
  for (const place of places) {
    const load = createRequire(place)
    try {
      return { KeyvSqlite: load('@keyv/sqlite').default, sqlite3: load('sqlite3') }
    } catch {
      // Not there, or not built there.
    }
  }
  return undefined
}

/** The adapter's class, and the native module that it works through. */
export function loadSqlite() {
  return sqlitePackage
}

/** A folder that is removed by `remove`. */
export function makeFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-bench-'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Redis without persistence. */
export async function startRedis() {
  const port = await freePort()
  const { folder, remove } = makeFolder()
  const words = ['--port', port, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no']
  const child = spawn('redis-server', words.map(String), { stdio: 'ignore' })
  await answers(port, child, (socket) => socket.write('*1\r\n$4\r\nPING\r\n'), '+')
  return { port, url: `redis://127.0.0.1:${port}`, stop: () => stop(child, 'SIGKILL', remove) }
}

/** PostgreSQL as it is set up by default. It refuses to run as root, so there it runs as the user `postgres`. */
export async function startPostgres() {
  const port = await freePort()
  const { folder, remove } = makeFolder()
  chmodSync(folder, 0o777)
  const data = join(folder, 'data')
  const program = (name) => join(postgresFolder, name)
  const initdb = run(program('initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale'])
  const [code] = await once(initdb, 'exit')
  if (code !== 0) throw new Error(`initdb ended with ${code}.`)
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=']
  const child = run(program('postgres'), ['-D', data, ...settings.flatMap((setting) => ['-c', setting])])
  await answers(port, child, (socket) => socket.write(startupMessage()), 'R')
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    stop: () => stop(child, 'SIGQUIT', remove),
  }
}

/** Not `runuser`, which stays as a separate process: this one becomes the program. */
const asPostgres = ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', '--pdeathsig=QUIT']

function run(program, words) {
  const isRoot = process.getuid?.() === 0
  const [command, ...rest] = [...(isRoot ? asPostgres : []), program, ...words]
  return spawn(command, rest, { stdio: 'ignore', cwd: tmpdir() })
}

async function stop(child, signal, remove) {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }
  remove()
}

/** Polls until the server answers with `reply`, or has ended. */
async function answers(port, child, ask, reply) {
  let problem
  child.once('error', (error) => {
    problem = error
  })
  process.once('exit', () => child.kill('SIGKILL'))
  while (!(await answersOnce(port, ask, reply))) {
    if (problem !== undefined) throw problem
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}.`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function answersOnce(port, ask, reply) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => ask(socket))
    socket.once('data', (data) => {
      resolve(data.toString('latin1').startsWith(reply))
      socket.destroy()
    })
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
  })
}

function startupMessage() {
  const words = Buffer.from('user\0postgres\0database\0postgres\0\0')
  const length = Buffer.alloc(8)
  length.writeInt32BE(8 + words.length)
  length.writeInt32BE(0x0003_0000, 4)
  return Buffer.concat([length, words])
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

/** A proxy before a Redis server. `take()` gives the bytes and the commands since the last call. */
export async function startProxy(targetPort) {
  let bytes = 0
  let commands = 0
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1')
    client.on('data', (data) => {
      bytes += data.length
      // A command begins with the number of its words; the texts of this bench contain no such line.
      commands += data.toString('latin1').match(/\*\d+\r\n\$/g)?.length ?? 0
      target.write(data)
    })
    target.on('data', (data) => {
      bytes += data.length
      client.write(data)
    })
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ]) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => other.destroy())
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `redis://127.0.0.1:${server.address().port}`,
    take() {
      const taken = { bytes, commands }
      bytes = 0
      commands = 0
      return taken
    },
    stop: () => void server.close(),
  }
}
