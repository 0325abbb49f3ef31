// `turnkeeper studio`: serves the studio. A second process runs the flows; this one keeps the address, and starts
// another when the code changes. `node --watch` loses a file that an editor replaces.
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, watch } from 'node:fs'
import { basename, dirname, sep } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { LoadingError, moduleIn } from './load-module.mjs'

export const usage = `Usage: turnkeeper studio <flows module> [--port <port>] [--folder <folder>]

Shows the flows that the module exports in the browser while they run, and starts again when their code changes. It writes below the folder only: turnkeeper-studio by default.`

/** Gives the process that runs the flows its port and token, as JSON. */
const variable = 'TURNKEEPER_STUDIO'
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']

export async function studio(argv) {
  const { positionals, values } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: { port: { type: 'string' }, folder: { type: 'string' } },
  })
  const module = moduleIn(positionals)
  if (process.env.NODE_ENV === 'production')
    throw new Error('The studio is for development, and NODE_ENV is production.')
  const place = process.env[variable]
  delete process.env[variable]
  if (place !== undefined) return await serve(module, values.folder, JSON.parse(place))
  const port = Number(values.port ?? 0)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`'${values.port}' is not a port.`)
  return await keepRunning(argv, module, { port, token: randomBytes(32).toString('base64url') })
}

/** Runs the flows, until a signal or the end of the first process. */
async function serve(module, folder, { port, token }) {
  const ending = new Promise((resolve) => {
    for (const event of [...signals, 'disconnect']) process.once(event, resolve)
  })
  const { createStudioHandler, listen } = await import('turnkeeper/studio')
  const { loadFlows } = await import('./load-flows.mjs')
  const { flows, setup, source } = await loadFlows(module)
  const handler = createStudioHandler({ flows, setup, source, token, ...(folder === undefined ? {} : { folder }) })
  const server = await listen(handler.fetch, port).catch((error) => {
    if (error.code !== 'EADDRINUSE') throw error
    throw new LoadingError(`Port ${port} is taken: choose another with --port.`, error)
  })
  process.send({ port: server.port, 'watch:require': [source.file] })
  await ending
  await Promise.all([handler.close(), server.close()])
  return 0
}

/** Keeps a process that runs the flows, until a signal. If the first one cannot serve, this one ends like it. */
async function keepRunning(argv, module, { port: wanted, token }) {
  const files = new LoadedFiles()
  const stopping = new Promise((resolve) => {
    for (const signal of signals) process.on(signal, resolve)
  })
  let port
  while (true) {
    const place = JSON.stringify({ port: port ?? wanted, token })
    const env = { ...process.env, [variable]: place, WATCH_REPORT_DEPENDENCIES: '1' }
    const child = fork(fileURLToPath(new URL('turnkeeper.mjs', import.meta.url)), ['studio', ...argv], { env })
    let hasServed = false
    child.on('message', (message) => {
      // The code of the flows may send anything.
      if (message !== Object(message)) return
      files.add(message)
      if (message.port === undefined) return
      hasServed = true
      if (port !== undefined) return
      port = message.port
      console.log(`Turnkeeper studio for ${basename(module)}: http://127.0.0.1:${port}/#${token}`)
    })
    const exit = once(child, 'exit')
    let reason = await Promise.race([exit, files.change(), stopping])
    if (child.exitCode === null && child.signalCode === null) {
      child.kill()
      const force = setTimeout(() => child.kill('SIGKILL'), 2000)
      await exit
      clearTimeout(force)
    } else if (port === undefined) return child.exitCode ?? 1
    else if (hasServed && !signals.includes(reason)) {
      const how = child.exitCode === null ? child.signalCode : `exit code ${child.exitCode}`
      console.log(`The process of the flows has ended (${how}): it starts again.`)
      continue
    } else {
      console.log('The studio starts again when the code changes.')
      reason = await Promise.race([files.change(), stopping])
    }
    if (signals.includes(reason)) return 0
    console.log(`${reason} has changed: the studio starts again.`)
  }
}

/** The files that the flows were loaded from, by their folders: a folder shows a file that was replaced, too. */
class LoadedFiles {
  #folders = new Map()
  #report = () => undefined
  #timer

  /** Takes what Node.js reports to a process that watches. It names files that are missing, too. */
  add({ 'watch:import': urls, 'watch:require': paths }) {
    // What Node.js has itself is null.
    const textsOf = (list) => [list].flat().filter((one) => typeof one === 'string')
    const imported = textsOf(urls)
      .filter((url) => url.startsWith('file:'))
      .map((url) => fileURLToPath(url))
    for (const file of [...imported, ...textsOf(paths)]) {
      const folder = dirname(file)
      if (file.includes(`${sep}node_modules${sep}`) || !existsSync(folder)) continue
      if (!this.#folders.has(folder)) this.#watch(folder)
      this.#folders.get(folder).add(basename(file))
    }
  }

  /** The name of the next file that changes. */
  change() {
    return new Promise((resolve) => {
      this.#report = resolve
    })
  }

  #watch(folder) {
    const names = new Set()
    this.#folders.set(folder, names)
    const look = (_type, name) => {
      if (!names.has(name)) return
      clearTimeout(this.#timer)
      // An editor writes a file in pieces.
      this.#timer = setTimeout(() => this.#report(name), 100)
    }
    watch(folder, look).on('error', () => undefined)
  }
}
