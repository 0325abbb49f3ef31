/**
 * CPU time that a server spends on one request: Turnkeeper's routes behind Hono on Node, against a bare Hono route that
 * reads a JSON body and answers with one, and against the floor F1 behind such a route; with 32 and with 256 connections. The
 * servers are processes of their own; they take turns under the same load. Then the time until the first of 16 requests at
 * once is answered, where each takes 3 ms of CPU time.
 *
 * The load generator runs on the same machine, and sleeps while it has nothing to read. The server that writes wakes it, and
 * pays for that; the faster server seldom finds it asleep. In the rows `awake` it never sleeps: use them on a quiet machine.
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
const loads = [
  { name: '32', connections: 32, awake: false },
  { name: '256', connections: 256, awake: false },
  { name: '32 awake', connections: 32, awake: true },
]
const heavyAtOnce = 16

bench({
  url: import.meta.url,
  title: `http: CPU microseconds of the server for one request (${rounds} interleaved rounds of ${secondsPerRound} s)`,
  runs: 1,
  async once() {
    const figures = {}
    for (const load of loads) Object.assign(figures, await measure(load))
    for (const kind of ['heavy-echo', 'heavy']) figures[kind] = await firstOfMany(kind)
    return figures
  },
  rows: [
    ...loads.flatMap(({ name, awake }) => [
      { label: `${name}: bare Hono echo`, figure: `${name} echo`, unit: 'us' },
      { label: `${name}: F1 behind Hono`, figure: `${name} f1`, unit: 'us' },
      { label: `${name}: flowRoutes`, figure: `${name} turnkeeper`, unit: 'us' },
      { label: `${name}: F1 over the echo`, figure: `${name} f1 ratio`, unit: 'x' },
      {
        label: `${name}: flowRoutes over the echo`,
        figure: `${name} turnkeeper ratio`,
        unit: 'x',
        ...(awake ? {} : { target: 2.5 }),
      },
    ]),
    { label: `first of ${heavyAtOnce} at once, 3 ms each: bare route`, figure: 'heavy-echo', unit: 'ms' },
    { label: `first of ${heavyAtOnce} at once, 3 ms each: a flow`, figure: 'heavy', unit: 'ms' },
  ],
})

async function measure({ name, connections, awake }) {
  const servers = await Promise.all(kinds.map(start))
  const times = new Map(kinds.map((kind) => [kind, []]))
  const sleep = awake ? stayAwake() : () => {}
  for (const server of servers) await load(server, connections, 2)
  for (let round = 0; round < rounds; round++) {
    for (const server of servers) times.get(server.kind).push(await cpuPerRequest(server, connections))
  }
  sleep()
  for (const { process: child } of servers) child.disconnect()
  const [echo, ...others] = kinds.map((kind) => median(times.get(kind)))
  return {
    [`${name} echo`]: echo,
    ...Object.fromEntries(
      kinds.slice(1).flatMap((kind, index) => [
        [`${name} ${kind}`, others[index]],
        [`${name} ${kind} ratio`, others[index] / echo],
      ]),
    ),
  }
}

/** Keeps the event loop of this process turning. Returns a function that ends it. */
function stayAwake() {
  let awake = true
  function turn() {
    if (awake) setImmediate(turn)
  }
  turn()
  return () => {
    awake = false
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
 * Holds conversations of 20 turns for so many seconds, as many at a time as there are connections. Every reply is checked.
 * Returns how many there were.
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
