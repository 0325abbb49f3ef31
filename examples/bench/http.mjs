/**
 * CPU time that a server spends on one request: Turnkeeper's routes behind Hono on Node, against a bare Hono route that
 * reads a JSON body and answers with one, and against the floor F1 behind such a route; with 32 and with 256
 * connections. The servers run in separate processes and take turns under the same load. Then the time until the first
 * of 16 simultaneous requests is answered, if each takes 3 ms of CPU time.
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
const loads = [32, 256]
const heavyAtOnce = 16

bench({
  url: import.meta.url,
  title: `http: CPU microseconds of the server for one request (${rounds} interleaved rounds of ${secondsPerRound} s)`,
  runs: 1,
  async once() {
    const figures = {}
    for (const connections of loads) Object.assign(figures, await measure(connections))
    for (const kind of ['heavy-echo', 'heavy']) figures[kind] = await firstOfMany(kind)
    return figures
  },
  rows: [
    ...loads.flatMap((connections) => [
      { label: `${connections} connections: bare Hono echo`, figure: `${connections} echo`, unit: 'us' },
      { label: `${connections} connections: F1 behind Hono`, figure: `${connections} f1`, unit: 'us' },
      { label: `${connections} connections: flowRoutes`, figure: `${connections} turnkeeper`, unit: 'us' },
      { label: `${connections} connections: F1 over the echo`, figure: `${connections} f1 ratio`, unit: 'x' },
      {
        label: `${connections} connections: flowRoutes over the echo`,
        figure: `${connections} turnkeeper ratio`,
        unit: 'x',
        target: 2.5,
      },
    ]),
    { label: `first of ${heavyAtOnce} at once, 3 ms each: bare route`, figure: 'heavy-echo', unit: 'ms' },
    { label: `first of ${heavyAtOnce} at once, 3 ms each: a flow`, figure: 'heavy', unit: 'ms' },
  ],
})

async function measure(connections) {
  const servers = await Promise.all(kinds.map(start))
  const times = new Map(kinds.map((kind) => [kind, []]))
  for (const server of servers) await load(server, connections, 2)
  for (let round = 0; round < rounds; round++) {
    for (const server of servers) times.get(server.kind).push(await cpuPerRequest(server, connections))
  }
  for (const { process: child } of servers) child.disconnect()
  const [echo, ...others] = kinds.map((kind) => median(times.get(kind)))
  return {
    [`${connections} echo`]: echo,
    ...Object.fromEntries(
      kinds.slice(1).flatMap((kind, index) => [
        [`${connections} ${kind}`, others[index]],
        [`${connections} ${kind} ratio`, others[index] / echo],
      ]),
    ),
  }
}

/** Sends 16 requests at once, ten times; the median of the time until the first reply. */
async function firstOfMany(kind) {
  const { process: child, url } = await start(kind)
  const times = []
  for (let round = 0; round < 10; round++) {
    const begin = performance.now()
    let first
    const replies = Array.from({ length: heavyAtOnce }, async () => {
      const reply = await fetch(`${url}/ai/run`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ flowName: 'Support', message: 'Hello.' }),
      })
      first ??= performance.now() - begin
      if (!(await reply.text()).includes(answer)) throw new Error(`The server answered with status ${reply.status}.`)
    })
    await Promise.all(replies)
    times.push(first)
  }
  child.disconnect()
  return median(times)
}

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

async function cpuPerRequest(server, connections) {
  const before = await cpuUsed(server)
  const requests = await load(server, connections, secondsPerRound)
  return ((await cpuUsed(server)) - before) / requests
}

/**
 * Holds conversations of 20 turns for so many seconds, as many at a time as there are connections. Every reply is
 * checked. Returns how many there were.
 */
async function load({ url, waiting }, connections, seconds) {
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
