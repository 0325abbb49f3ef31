/**
 * One run of the fuzzer: starts the server, plays cases in both ways at once, measures the heaps between rounds, and
 * prints. Started by fuzz.mjs.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { caseOf, type FuzzCase } from './cases.js'
import type { Fault } from './faults.js'
import { Figures } from './figures.js'
import type { ServerMessage } from './fuzz-server.js'
import { HandlerPlayer } from './handler-player.js'
import { collectHeap, reportProblems } from './heap.js'
import type { Outcome } from './outcome.js'
import { type AppName, createServedApps } from './served-app.js'
import { SocketPlayer } from './socket-player.js'

/** What the flags of fuzz.mjs say. */
interface Settings {
  readonly seed: number
  readonly requests?: number
  readonly seconds?: number
  /** The numbers of the cases to play, one after the other, in place of a run. */
  readonly only?: readonly number[]
  readonly fault?: Fault
}

const rounds = 12
const socketLanes = 48
const handlerLanes = 16

const settings = JSON.parse(process.argv[2] ?? '') as Settings
const figures = new Figures()
/** The cases that are under way: a problem of a process belongs to one of them. */
const underWay = new Set<number>()

function reportOf(place: string): (text: string) => void {
  return (text) => figures.add({ text: `${place}: ${text}; under way: ${[...underWay].join(', ')}` })
}

async function startServer() {
  const script = fileURLToPath(new URL('./fuzz-server.mjs', import.meta.url))
  const child = fork(script, [settings.fault ?? ''], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const report = reportOf('the server')
  let receive: (message: ServerMessage) => void = () => {}
  child.on('message', (message: ServerMessage) => {
    if (message.kind === 'problem') report(message.text)
    else receive(message)
  })
  child.on('exit', (code, signal) => {
    report(`it ended with ${code ?? signal}`)
    finish()
  })
  const next = (): Promise<ServerMessage> =>
    new Promise((resolve) => {
      receive = resolve
    })
  const ready = await next()
  if (ready.kind !== 'ready') throw new Error('The server of the fuzzer did not start.')
  return {
    ports: ready.ports,
    async sampleHeap(): Promise<void> {
      const answer = next()
      child.send('heap')
      const message = await answer
      if (message.kind !== 'heap') return
      figures.sampleHeap('the server', message.heapBytes)
      if (message.turnsUnderWay !== 0) report(`${message.turnsUnderWay} turns are still under way`)
    },
    async stop(): Promise<void> {
      child.removeAllListeners('exit')
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}

const report = reportOf('the handlers')
reportProblems(report)
const served = createServedApps(report, settings.fault)
const handlers = new HandlerPlayer(served.apps)
const server = await startServer()

async function playOne(number: number, sockets: SocketPlayer): Promise<void> {
  const fuzzCase = caseOf(settings.seed, number)
  underWay.add(number)
  try {
    figures.count(fuzzCase, await play(fuzzCase, sockets))
  } catch (error) {
    figures.add({ number, text: `${fuzzCase.name}: the fuzzer itself failed: ${String(error)}` })
  } finally {
    underWay.delete(number)
  }
}

function play({ app, wire, handler }: FuzzCase, sockets: SocketPlayer): Promise<Outcome> {
  return wire === undefined ? handlers.play(app, handler) : sockets.play(app, wire)
}

/** The next number of each way. */
const nextNumbers = { socket: 0, handler: 1 }

async function playLane(way: 'socket' | 'handler', hasMore: () => boolean): Promise<void> {
  const sockets = new SocketPlayer(server.ports as Readonly<Record<AppName, number>>)
  while (hasMore()) {
    const number = nextNumbers[way]
    nextNumbers[way] += 2
    await playOne(number, sockets)
  }
  sockets.close()
}

async function sampleHeaps(): Promise<void> {
  figures.sampleHeap('the handlers', await collectHeap(served.turnsUnderWay))
  if (served.turnsUnderWay() !== 0) report(`${served.turnsUnderWay()} turns are still under way`)
  await server.sampleHeap()
}

/** Whether a round goes on: by the numbers that it may play, or by the time. */
function boundOf(round: number): () => boolean {
  const { requests, seconds = 60 } = settings
  const begun = (): number => (nextNumbers.socket + nextNumbers.handler - 1) / 2
  if (requests !== undefined) return () => begun() < (requests * (round + 1)) / rounds
  const deadline = performance.now() + (seconds * 1000) / rounds
  return () => performance.now() < deadline
}

async function playAll(): Promise<void> {
  // A run ends with the round in which something was found: the rest would find it again.
  for (let round = 0; round < rounds && figures.problems === 0; round++) {
    const hasMore = boundOf(round)
    await Promise.all([
      ...Array.from({ length: socketLanes }, () => playLane('socket', hasMore)),
      ...Array.from({ length: handlerLanes }, () => playLane('handler', hasMore)),
    ])
    await sampleHeaps()
  }
  figures.judgeHeaps()
}

async function playOnly(numbers: readonly number[]): Promise<void> {
  const sockets = new SocketPlayer(server.ports)
  for (const number of numbers) {
    console.log(JSON.stringify(caseOf(settings.seed, number), null, 2))
    await playOne(number, sockets)
  }
  sockets.close()
  await sampleHeaps()
}

function finish(): void {
  const { seed } = settings
  console.log(figures.print())
  for (const { number, text } of figures.findings) {
    console.log(`FOUND ${text}${number === undefined ? '' : `\n      npm run fuzz -- --seed ${seed} --only ${number}`}`)
  }
  const seconds = Math.round(performance.now() / 1000)
  console.log(`seed ${seed}: ${figures.requests} requests in ${seconds} s, ${figures.problems} findings`)
  process.exit(figures.problems === 0 ? 0 : 1)
}

if (settings.only === undefined) await playAll()
else await playOnly(settings.only)
await server.stop()
finish()
