/**
 * Takes replies out of the bytes of a connection (RFC 9112, section 6.3). Strict: what a client
 * could misread is an error.
 */
import type { SeenReply } from './oracle.js'

interface Head {
  readonly status: number
  readonly headers: SeenReply['headers']
  readonly end: number
}

/** The replies on one connection, in order. */
export class ReplyReader {
  #received = ''

  /** Bytes that belong to no reply yet. */
  get rest(): string {
    return this.#received
  }

  push(bytes: string): void {
    this.#received += bytes
  }

  /**
   * The next reply, if all of it has come. Interim replies (100) are dropped.
   *
   * @param method - the method of the request
   * @param closed - whether the server has closed the connection
   * @throws Error for bytes that are not a reply.
   */
  take(method: string, closed: boolean): SeenReply | undefined {
    const head = this.#head()
    if (head === undefined) return undefined
    if (head.status < 200) {
      this.#received = this.#received.slice(head.end)
      return this.take(method, closed)
    }
    const found = bodyOf(this.#received, head, method, closed)
    if (found === undefined) return undefined
    this.#received = this.#received.slice(found.end)
    return { status: head.status, headers: head.headers, body: Buffer.from(found.body, 'latin1').toString('utf8') }
  }

  #head(): Head | undefined {
    const end = this.#received.indexOf('\r\n\r\n')
    if (end === -1) return undefined
    const [statusLine = '', ...lines] = this.#received.slice(0, end).split('\r\n')
    const status = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/.exec(statusLine)?.[1]
    if (status === undefined) throw new Error(`a malformed status line: ${JSON.stringify(statusLine.slice(0, 200))}`)
    return { status: Number(status), headers: lines.map(splitLine), end: end + 4 }
  }
}

function splitLine(line: string): readonly [string, string] {
  const [, name, value] = /^([A-Za-z0-9_-]+): ?([^\r\n\0]*)$/.exec(line) ?? []
  if (name === undefined || value === undefined)
    throw new Error(`a malformed header line: ${JSON.stringify(line.slice(0, 200))}`)
  return [name, value]
}

interface FoundBody {
  readonly body: string
  readonly end: number
}

function bodyOf(text: string, head: Head, method: string, closed: boolean): FoundBody | undefined {
  const headerOf = (name: string): string | undefined => head.headers.find(([key]) => key.toLowerCase() === name)?.[1]
  if (method === 'HEAD' || head.status === 204 || head.status === 304) return { body: '', end: head.end }
  const length = headerOf('content-length')
  if (headerOf('transfer-encoding') !== undefined) {
    if (length !== undefined) throw new Error('a reply with both Content-Length and Transfer-Encoding')
    return chunkedBody(text, head.end)
  }
  if (length !== undefined) {
    const end = head.end + Number(length)
    return text.length < end ? undefined : { body: text.slice(head.end, end), end }
  }
  if (headerOf('connection') === 'close') return closed ? { body: text.slice(head.end), end: text.length } : undefined
  return { body: '', end: head.end }
}

function chunkedBody(text: string, start: number): FoundBody | undefined {
  let body = ''
  for (let at = start; ; ) {
    const lineEnd = text.indexOf('\r\n', at)
    if (lineEnd === -1) return undefined
    const size = text.slice(at, lineEnd)
    if (!/^[0-9a-f]{1,8}$/i.test(size))
      throw new Error(`a malformed chunk of a reply: ${JSON.stringify(size.slice(0, 200))}`)
    const length = Number.parseInt(size, 16)
    const end = lineEnd + 2 + length + 2
    if (text.length < end) return undefined
    if (text.slice(end - 2, end) !== '\r\n') throw new Error('a chunk of a reply without its end')
    if (length === 0) return { body, end }
    body += text.slice(lineEnd + 2, end - 2)
    at = end
  }
}
