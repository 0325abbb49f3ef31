/** The example server as a separate process, and the carrier that it asks for parcels. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A running example server. */
export interface ChildServer {
  readonly process: ChildProcess
  readonly url: string
  /** What it has printed so far, line by line. */
  readonly lines: readonly string[]
  /** Resolves once it has printed a line with `text` in it; rejects if it ends before. */
  printed(text: string): Promise<void>
  /** Resolves to its exit code, or to the signal that killed it. */
  readonly ended: Promise<number | string>
}

/**
 * Starts a built server on a free port.
 *
 * @param script - Default: the example server.
 */
export async function startChildServer(
  environment: Readonly<Record<string, string>>,
  script: URL = new URL('../main.js', import.meta.url),
): Promise<ChildServer> {
  const child = spawn(process.execPath, [fileURLToPath(script)], {
    env: { ...process.env, PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // If this process ends, for any reason, the server ends with it.
  const killAtExit = (): boolean => child.kill('SIGKILL')
  process.once('exit', killAtExit)
  child.once('exit', () => process.off('exit', killAtExit))
  const lines: string[] = []
  const waiting = new Set<() => void>()
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  let isOver = false
  const output = createInterface({ input: child.stdout })
  output.on('line', (line) => {
    lines.push(line)
    for (const look of waiting) look()
  })
  output.once('close', () => {
    isOver = true
    for (const look of waiting) look()
  })

  function printed(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = lines.some((line) => line.includes(text))
        if (!found && !isOver) return
        waiting.delete(look)
        if (found) resolve()
        else reject(new Error(`The server ended without printing '${text}'. It printed:\n${lines.join('\n')}`))
      }
      waiting.add(look)
      look()
    })
  }

  await printed('/ai/end')
  const url = /http:\/\/\S+?:\d+/.exec(lines[0] ?? '')?.[0] ?? ''
  return { process: child, url, lines, printed, ended }
}

/** A carrier that answers at once, or when the check lets it. */
export interface Carrier {
  readonly url: string
  /** Makes requests wait. Resolves when the first one has arrived. */
  hold(): Promise<void>
  /** Answers the waiting requests. */
  release(): void
  close(): void
}

export async function startCarrier(): Promise<Carrier> {
  let onQuestion: (() => void) | undefined
  const waiting: ServerResponse[] = []
  const server = createServer((_request, response) => {
    if (onQuestion === undefined) return void response.end('on the night train')
    waiting.push(response)
    onQuestion()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold: () =>
      new Promise((resolve) => {
        onQuestion = resolve
      }),
    release() {
      for (const response of waiting) response.end('at the door')
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
