// Clients that hold conversations with the example without a pause, and see in each reply whether a
// turn was lost or doubled.
import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { until } from '../servers/until.js'

/** How clients send. */
export interface Sending {
  /** Whether each message has a key and is sent again if no outcome came. */
  readonly repeats: boolean
}

/** What the clients saw. */
export interface Talked {
  turns: number
  /** Requests that were sent again. */
  repeated: number
  /** Repeats that got the recorded reply of the first request. */
  replayed: number
  readonly problems: string[]
}

/** Clients that talk until they are stopped. */
export interface Talkers {
  readonly talked: Talked
  /** Resolves when all but the given number of current requests have their replies. */
  answered(but: () => number): Promise<void>
  /** Each client ends its turn, and asks for all that it had asked before. */
  stop(): Promise<void>
}

type Post = (headers: Record<string, string>, message: string) => Promise<Reply>

const maxAttempts = 50
/** No reply, and what nginx and a process that is closing answer. */
const passing = new Set([0, 502, 503, 504])

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** Starts so many clients of the server at a port. */
export function startTalkers(port: number, count: number, sending: Sending): Talkers {
  const talked: Talked = { turns: 0, repeated: 0, replayed: 0, problems: [] }
  const underWay = new Set<Promise<Reply>>()
  const post: Post = (headers, message) => {
    const reply = postTo(port, headers, message)
    underWay.add(reply)
    return reply.finally(() => underWay.delete(reply))
  }
  let isOver = false
  const clients = Array.from({ length: count }, async (_, client) => {
    const send = createClient(post, sending, talked)
    const asked: string[] = []
    try {
      await send('')
      while (!isOver) {
        const parcel = `p${client}-${asked.length}`
        asked.push(parcel)
        expectText(await send(parcel), `Parcel ${asked.length}, ${parcel}, is at the door.`)
      }
      expectText(await send('all'), asked.join(', '))
    } catch (error) {
      talked.problems.push(`Client ${client}, after ${asked.length} turns: ${(error as Error).message}`)
    }
  })
  return {
    talked,
    async answered(but) {
      const now = [...underWay]
      await until(() => now.filter((reply) => underWay.has(reply)).length <= but())
    },
    async stop() {
      isOver = true
      await Promise.all(clients)
    },
  }
}

function expectText(got: string, wanted: string): void {
  if (got !== wanted) throw new Error(`got '${got}' and not '${wanted}'.`)
}

/** Sends messages of one conversation, and returns what is answered. */
function createClient(post: Post, { repeats }: Sending, talked: Talked): (message: string) => Promise<string> {
  let session = ''
  return async function send(message) {
    const key = repeats ? { 'Idempotency-Key': randomUUID() } : {}
    const headers = { ...key, ...(session === '' ? {} : { CHAT_SESSION_ID: session }) }
    let reply = await post(headers, message)
    for (let attempt = 1; repeats && attempt < maxAttempts && passing.has(reply.status); attempt++) {
      talked.repeated += 1
      await new Promise((resolve) => setTimeout(resolve, 50))
      reply = await post(headers, message)
    }
    if (reply.status !== 200) throw new Error(`status ${reply.status}: ${reply.text}`)
    session = String(reply.headers.chat_session_id)
    talked.turns += 1
    if (reply.headers['chat-replayed'] === 'true') talked.replayed += 1
    return (JSON.parse(reply.text) as { message: string }).message
  }
}

/** One request on a new connection. Status 0 if there was no reply. */
function postTo(port: number, headers: Record<string, string>, message: string): Promise<Reply> {
  return new Promise((resolve) => {
    const failed = (error: Error): void => resolve({ status: 0, headers: {}, text: error.message })
    const options = { method: 'POST', agent: false, headers: { 'Content-Type': 'application/json', ...headers } }
    const sent = request(`http://127.0.0.1:${port}/ai/run`, options, (reply) => {
      let text = ''
      reply.setEncoding('utf8')
      reply.on('data', (piece: string) => {
        text += piece
      })
      reply.on('end', () => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text }))
      reply.on('error', failed)
    })
    sent.on('error', failed)
    sent.end(JSON.stringify({ flowName: 'Parcels', message }))
  })
}
