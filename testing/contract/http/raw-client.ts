/// <reference types="node" />
// A client that writes bytes to a socket as they are, for requests that no HTTP client would send.
import { connect, type Socket } from 'node:net'

/** A reply as it came over the wire. */
export interface RawReply {
  readonly status: number
  /** Header lines as sent, without the status line. */
  readonly headers: string
  readonly body: string
}

/** A connection; `readReply` takes the next reply off it. */
export interface RawClient {
  /** Writes without waiting for anything. */
  write(data: string | Uint8Array): void
  /** The next reply, by its Content-Length. Rejects when the connection closes first. */
  readReply(): Promise<RawReply>
  /** Everything off it up to a text, that one included. Rejects when the connection closes first. */
  readUntil(text: string): Promise<string>
  /** Resolves when the connection is closed, by either side and in any way. */
  readonly closed: Promise<void>
  /** Cuts the connection. */
  destroy(): void
  /** Cuts it without a word, as a machine that has lost power does once it is back. */
  reset(): void
}

/** Connects to a server on this machine. */
export async function connectRaw(port: number): Promise<RawClient> {
  const socket = await new Promise<Socket>((resolve) => {
    const connecting = connect(port, '127.0.0.1', () => resolve(connecting))
  })
  let received = Buffer.alloc(0)
  let isClosed = false
  let wake: () => void = () => {}
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    wake()
  })
  // A reset after the reply is what a closed connection looks like to a client that is still writing.
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      isClosed = true
      wake()
      resolve()
    })
  })

  function takeUntil(text: string): string | undefined {
    const found = received.indexOf(text)
    if (found === -1) return undefined
    const end = found + Buffer.byteLength(text)
    const taken = received.subarray(0, end).toString('utf8')
    received = received.subarray(end)
    return taken
  }

  function takeReply(): RawReply | undefined {
    const headEnd = received.indexOf('\r\n\r\n')
    if (headEnd === -1) return undefined
    const [statusLine = '', ...lines] = received.subarray(0, headEnd).toString('latin1').split('\r\n')
    const length = Number(/^content-length: *(\d+)$/im.exec(lines.join('\n'))?.[1] ?? 0)
    if (received.length < headEnd + 4 + length) return undefined
    const body = received.subarray(headEnd + 4, headEnd + 4 + length).toString('utf8')
    received = received.subarray(headEnd + 4 + length)
    return { status: Number(statusLine.split(' ')[1]), headers: lines.join('\n'), body }
  }

  async function take<Taken>(attempt: () => Taken | undefined): Promise<Taken> {
    while (true) {
      const taken = attempt()
      if (taken !== undefined) return taken
      if (isClosed)
        throw new Error(`The connection closed before a reply; received ${JSON.stringify(received.toString('latin1'))}`)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }

  return {
    write: (data) => void socket.write(data),
    readReply: () => take(takeReply),
    readUntil: (text) => take(() => takeUntil(text)),
    closed,
    destroy: () => void socket.destroy(),
    reset: () => void socket.resetAndDestroy(),
  }
}
