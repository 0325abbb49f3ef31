/**
 * CPU time that a server spends on one request: Turnkeeper's routes behind Hono on Node, against a bare Hono route that
 * reads a JSON body and answers with one, and against the floor F1 behind such a route. The servers are processes of
 * their own; they take turns under the same load.
 */
import { fork } from 'node:child_process'
import { once as event } from 'node:events'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { bench, median } from './harness.mjs'
import { answer, turnsPerConversation, userMessage } from './work.mjs'

const kinds = ['echo', 'f1', 'turnkeeper']
const rounds = 5
const secondsPerRound = 2
const connections = 32

bench({
  url: import.meta.url,
  title: `http: CPU microseconds of the server for one request (${rounds} interleaved rounds of ${secondsPerRound} s)`,
  runs: 1,
  async once() {
    const servers = await Promise.all(kinds.map(start))
    const times = new Map(kinds.map((kind) => [kind, []]))
    for (const server of servers) await load(server, 2)
    for (let round = 0; round < rounds; round++) {
      for (const server of servers) times.get(server.kind).push(await cpuPerRequest(server))
    }
    for (const { process: child } of servers) child.disconnect()
    const [echo, f1, ours] = kinds.map((kind) => median(times.get(kind)))
    return { echo, f1, ours, floorRatio: f1 / echo, ratio: ours / echo }
  },
  rows: [
    { label: 'bare Hono echo', figure: 'echo', unit: 'us' },
    { label: 'F1 behind Hono', figure: 'f1', unit: 'us' },
    { label: 'flowRoutes', figure: 'ours', unit: 'us' },
    { label: 'F1 over the echo', figure: 'floorRatio', unit: 'x' },
    { label: 'flowRoutes over the echo', figure: 'ratio', unit: 'x', target: 2.5 },
  ],
})

async function start(kind) {
  const child = fork(fileURLToPath(new URL('./http-server.mjs', import.meta.url)), [kind])
  const [{ port }] = await event(child, 'message')
  return { kind, process: child, waiting: [], url: `http://127.0.0.1:${port}` }
}

async function cpuUsed({ process: child }) {
  const reply = event(child, 'message')
  child.send('cpu')
  const [{ cpuMicroseconds }] = await reply
  return cpuMicroseconds
}

async function cpuPerRequest(server) {
  const before = await cpuUsed(server)
  const requests = await load(server, secondsPerRound)
  return ((await cpuUsed(server)) - before) / requests
}

/**
 * Holds conversations of 20 turns for so many seconds, as many at a time as there are connections. Every reply is looked
 * at. Returns how many there were.
 */
async function load({ url, waiting }, seconds) {
  let replies = 0
  let wrong
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    requests: [
      {
        method: 'POST',
        path: '/ai/run',
        setupRequest(request, context) {
          const conversation = waiting.shift() ?? { turn: 0, sessionId: undefined }
          context.conversation = conversation
          conversation.turn++
          const headers = { ...request.headers, 'content-type': 'application/json' }
          if (conversation.sessionId !== undefined) headers.CHAT_SESSION_ID = conversation.sessionId
          const flowName = 'Support'
          return { ...request, headers, body: JSON.stringify({ flowName, message: userMessage(conversation.turn) }) }
        },
        onResponse(status, body, context, headers) {
          replies++
          if (status !== 200 || !body.includes(answer)) wrong ??= `${status} ${body}`
          const { conversation } = context
          const sessionId = headers.chat_session_id ?? headers.CHAT_SESSION_ID
          if (sessionId === undefined) wrong ??= 'a reply without a session'
          if ((conversation.sessionId ?? sessionId) !== sessionId) wrong ??= 'a session that was not continued'
          conversation.sessionId = sessionId
          if (conversation.turn < turnsPerConversation) waiting.push(conversation)
        },
      },
    ],
  })
  if (wrong !== undefined || result.errors > 0) throw new Error(`The load got ${wrong ?? `${result.errors} errors`}.`)
  return replies
}
