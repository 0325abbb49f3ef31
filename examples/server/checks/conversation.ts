/** One conversation over HTTP, as a client holds it: the session ID of each reply goes into the next request. */
import assert from 'node:assert/strict'

/** A parsed reply. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
  readonly text: string
}

/** The envelope of contract 2.3. */
export interface Envelope {
  readonly success: boolean
  readonly completed: boolean
  readonly message: string
  readonly session: string
  readonly contentType: string
}

export class Conversation {
  session = ''
  readonly #url: string
  readonly #flowName: string
  readonly #config: object | undefined

  constructor(url: string, flowName: string, config?: object) {
    this.#url = url
    this.#flowName = flowName
    this.#config = config
  }

  /** Runs one turn and expects it to succeed. */
  async send(message: string): Promise<Reply> {
    const config = this.session === '' ? this.#config : undefined
    const reply = await post(`${this.#url}/ai/run`, this.session, { flowName: this.#flowName, message, config })
    assert.equal(reply.status, 200, reply.text)
    const session = reply.headers.get('CHAT_SESSION_ID') ?? ''
    assert.match(session, /^[\w-]{32}$/)
    if (this.session !== '') assert.equal(session, this.session)
    this.session = session
    return reply
  }

  /** Runs one turn and returns the text of its envelope. `completed` says whether the session should have ended. */
  async say(message: string, completed = false): Promise<string> {
    const reply = await this.send(message)
    const envelope: Envelope = JSON.parse(reply.text)
    assert.deepEqual(
      { ...envelope, message: '' },
      {
        success: true,
        completed,
        message: '',
        session: this.session,
        contentType: 'text/plain',
      },
    )
    console.log(`${this.#flowName} > ${message}\n    ${envelope.message}`)
    return envelope.message
  }
}

/** One request with a JSON body. An empty session is left out. */
export async function post(url: string, session: string, body?: object): Promise<Reply> {
  const headers = { ...(session === '' ? {} : { CHAT_SESSION_ID: session }), 'Content-Type': 'application/json' }
  const response = await fetch(url, {
    method: 'POST',
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const bytes = new Uint8Array(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, bytes, text: new TextDecoder().decode(bytes) }
}
