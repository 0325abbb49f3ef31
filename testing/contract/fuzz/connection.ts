/**
 * One connection of the fuzzer: writes bytes as they are, and waits for replies, for the end, or for
 * nothing, each at most so long.
 */
import { connect, type Socket } from 'node:net'
import type { SeenReply } from './oracle.js'
import { ReplyReader } from './reply-reader.js'

/** No request may take longer. A real hang has no end, and a machine that does something else is slow. */
export const boundMs: number = Number(process.env.FUZZ_BOUND_MS ?? 30_000)

export class Connection {
  readonly #socket: Socket
  readonly #reader = new ReplyReader()
  #closed = false
  #wake: () => void = () => {}

  private constructor(socket: Socket) {
    this.#socket = socket
    const wake = (): void => this.#wake()
    socket.setEncoding('latin1')
    socket.on('data', (bytes: string) => {
      this.#reader.push(bytes)
      wake()
    })
    // A server that closes while the client still writes resets the connection.
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#closed = true
      wake()
    })
    // Not `close`: the bytes of a server that has ended its side are all here.
    socket.on('end', () => {
      this.#closed = true
      wake()
    })
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true }, () => {
        socket.off('error', reject)
        resolve(new Connection(socket))
      })
      socket.once('error', reject)
    })
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** Bytes that arrived without a request. */
  get rest(): string {
    return this.#reader.rest
  }

  write(bytes: string): void {
    if (!this.#closed) this.#socket.write(bytes, 'latin1')
  }

  /** The next reply; `closed` if the connection ended before a reply, `late` if neither came in time. */
  async reply(method: string, withinMs: number = boundMs): Promise<SeenReply | 'closed' | 'late'> {
    const found = await this.#wait(
      () => this.#reader.take(method, this.#closed) ?? (this.#closed ? 'closed' : undefined),
      withinMs,
    )
    return found ?? 'late'
  }

  /** Whether any byte of a reply came in time. */
  async begun(): Promise<boolean> {
    return (await this.#wait(() => this.#closed || this.#reader.rest !== '', boundMs)) === true
  }

  /** Ends this side; whether the server ended the other in time. */
  async end(): Promise<boolean> {
    this.#socket.end()
    const hasClosed = await this.#wait(() => (this.#closed ? true : undefined), boundMs)
    this.cut()
    return hasClosed === true
  }

  /** Goes away at once. */
  cut(): void {
    this.#closed = true
    this.#socket.destroy()
  }

  async #wait<Found>(look: () => Found | undefined, withinMs: number): Promise<Found | undefined> {
    const deadline = performance.now() + withinMs
    while (true) {
      const found = look()
      if (found !== undefined && found !== false) return found
      const leftMs = deadline - performance.now()
      if (leftMs <= 0) return undefined
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
}
