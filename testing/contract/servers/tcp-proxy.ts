/// <reference types="node" />
// A TCP proxy for tests, between a client and a server on 127.0.0.1: it counts bytes and Redis commands, and cuts
// connections on request.
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** What went through since the last look. */
export interface TcpTraffic {
  /** The first words of the Redis commands that clients sent, in order. */
  readonly commands: readonly string[]
  /** Bytes in both directions. */
  readonly bytes: number
}

/** A running proxy. */
export interface TcpProxy {
  readonly port: number
  /** What went through since the last call. */
  takeTraffic(): TcpTraffic
  /** Cuts every connection, at once and without a farewell. New ones are let through. */
  cut(): void
  close(): Promise<void>
}

/**
 * Starts a proxy before `targetPort`. @param countsCommands - Whether the server is a Redis whose commands are wanted.
 */
export async function startTcpProxy(targetPort: number, countsCommands = true): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let commands: string[] = []
  let bytes = 0
  const server: Server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1')
    const read = commandReader((command) => commands.push(command))
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (data) => {
        bytes += data.length
        if (countsCommands && from === client) read(data)
        to.write(data)
      })
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    takeTraffic() {
      const traffic = { commands, bytes }
      commands = []
      bytes = 0
      return traffic
    },
    cut,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        cut()
      }),
  }
}

/** Calls `onCommand` with the first word of each command in a stream of the Redis protocol. */
function commandReader(onCommand: (command: string) => void): (data: Buffer) => void {
  let rest = Buffer.alloc(0)
  return (data) => {
    rest = Buffer.concat([rest, data])
    for (;;) {
      const words = commandAt(rest)
      if (words === undefined) return
      onCommand(words.first)
      rest = rest.subarray(words.length)
    }
  }
}

function commandAt(data: Buffer): { readonly first: string; readonly length: number } | undefined {
  const lineAt = (from: number): { readonly text: string; readonly end: number } | undefined => {
    const end = data.indexOf('\r\n', from)
    return end === -1 ? undefined : { text: data.toString('latin1', from, end), end: end + 2 }
  }
  const head = lineAt(0)
  if (head === undefined) return undefined
  let first = ''
  let at = head.end
  for (let left = Number(head.text.slice(1)); left > 0; left--) {
    const size = lineAt(at)
    if (size === undefined) return undefined
    const length = Number(size.text.slice(1))
    if (data.length < size.end + length + 2) return undefined
    first ||= data.toString('latin1', size.end, size.end + length)
    at = size.end + length + 2
  }
  return { first, length: at }
}
