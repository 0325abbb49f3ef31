/** Plays a schedule of repeats on two engines over one memory store, whose claims are shared as well. */
import { type ExecuteResult, type FlowConstructor, FlowEngine, MemorySessionStore, reply } from '../../../src/index.js'
import { flowOf } from '../engine-harness.js'
import { GatedStore, openAll, settled } from './gated-store.js'
import type { RepeatSchedule, ScheduleEvent, Side } from './repeats-schedule.js'

/** A message as its client keeps it. */
interface Sent {
  readonly text: string
  readonly key: string | undefined
  /** The ID that it was sent with at first. */
  readonly sessionId: string | undefined
  /** The session in which it ran last, as a stream says it before the reply. */
  itsSession?: string
}

/** What can be observed of a schedule. */
export interface RepeatOutcome {
  readonly results: readonly Result[]
  /** Of every session that is stored. */
  readonly histories: readonly (readonly string[])[]
  /** How many calls are not answered. */
  readonly pending: number
}

type Result = ExecuteResult & { readonly text: string }

/** A turn that waits in its step. */
interface Working {
  readonly reply: () => void
  readonly fail: () => void
}

/** One process. */
interface Process {
  readonly engine: FlowEngine
  readonly store: GatedStore
  readonly working: Set<Working>
  /** The sessions that turns of the process have seen. Until one is stored, other processes do not know it. */
  readonly sessions: Set<string>
}

function ignore(): void {}

function talk(
  { busy }: RepeatSchedule,
  sent: readonly Sent[],
  { working, sessions }: Pick<Process, 'working' | 'sessions'>,
): FlowConstructor {
  const flow = flowOf('Talk', (turn) => {
    for (const one of sent) if (one.text === turn.message) one.itsSession = turn.session.id
    sessions.add(turn.session.id)
    return new Promise((resolve, reject) => {
      const one = { reply: () => resolve(reply(turn.message)), fail: () => reject(new Error('broken')) }
      turn.signal.addEventListener('abort', () => working.delete(one))
      working.add(one)
    })
  })
  return Object.assign(flow, { busy })
}

function processOf(schedule: RepeatSchedule, backing: MemorySessionStore['backing'], sent: readonly Sent[]): Process {
  const store = new GatedStore(backing)
  store.gated = 'every'
  const seen = { working: new Set<Working>(), sessions: new Set<string>() }
  const engine = new FlowEngine({
    clock: store.clock,
    sessionStore: store,
    flows: [talk(schedule, sent, seen)],
    onTurnError: 'rollback',
    limits: { maxQueuedTurnsPerSession: 3, maxReceipts: 1_000 },
    logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  })
  return { engine, store, ...seen }
}

/** All that may be under way in a process goes on. */
const allProgress = ['claimed', 'loaded', 'replied', 'saved'] as const

/** What two engines do with a schedule. */
export async function playRepeats(schedule: RepeatSchedule): Promise<RepeatOutcome> {
  const { backing } = new MemorySessionStore()
  const clients = new Clients(schedule, backing)
  for (const group of schedule.groups) {
    for (const event of group) clients.happen(event)
    await settled()
  }
  for (let round = 0; clients.pending > 0 && round < 100; round++) {
    for (const kind of allProgress) {
      for (const process of clients.processes) goOn(process, kind)
      await settled()
    }
  }
  for (const { store, engine } of clients.processes) {
    store.gated = undefined
    await engine.close()
  }
  const { results, pending, processes } = clients
  const ids = new Set(processes.flatMap(({ sessions }) => [...sessions]))
  const histories = Array.from(ids, (id) => backing.get(id)?.history.map(({ message }) => message) ?? [])
  return { results, histories, pending }
}

/** All who send messages. */
class Clients {
  readonly results: Result[] = []
  pending = 0
  readonly processes: readonly [Process, Process]
  readonly #backing: MemorySessionStore['backing']
  readonly #sent: Sent[] = []

  constructor(schedule: RepeatSchedule, backing: MemorySessionStore['backing']) {
    this.#backing = backing
    this.processes = [processOf(schedule, backing, this.#sent), processOf(schedule, backing, this.#sent)]
  }

  happen(event: ScheduleEvent): void {
    const process = this.processes[event.side]
    if (event.kind === 'message') this.#say(event)
    else if (event.kind === 'repeat') this.#repeat(event)
    else if (event.kind === 'cancel') void process.engine.cancel(this.#sent[event.of]?.itsSession ?? '')
    else goOn(process, event.kind)
  }

  #say({ side, isKeyed, follows }: ScheduleEvent & { readonly kind: 'message' }): void {
    const text = `m${this.#sent.length}`
    const sessionId = follows === undefined ? undefined : this.#sent[follows % this.#sent.length]?.itsSession
    const one: Sent = { text, key: isKeyed ? `the-key-of-message-${text}` : undefined, sessionId }
    this.#sent.push(one)
    this.#send(side, one, sessionId)
  }

  #repeat({ side, of, namesItsSession }: ScheduleEvent & { readonly kind: 'repeat' }): void {
    const keyed = this.#sent.filter(({ key }) => key !== undefined)
    const one = keyed[of % keyed.length]
    if (one !== undefined) this.#send(side, one, namesItsSession ? (one.itsSession ?? one.sessionId) : one.sessionId)
  }

  #send(side: Side, { text, key }: Sent, sessionId: string | undefined): void {
    this.pending++
    const input = { flowName: 'Talk', userMessage: text, sessionId: sessionId as string }
    const { engine } = this.#processFor(side, sessionId)
    void engine.execute(key === undefined ? input : { ...input, idempotencyKey: key }).then((result) => {
      this.pending--
      this.results.push({ ...result, text })
    })
  }

  /** The process of that side, unless only the other one can know the session. */
  #processFor(side: Side, sessionId: string | undefined): Process {
    const [one, other] = side === 0 ? this.processes : [this.processes[1], this.processes[0]]
    const isOnlyThere = sessionId !== undefined && other.sessions.has(sessionId) && !one.sessions.has(sessionId)
    return isOnlyThere && this.#backing.get(sessionId) === undefined ? other : one
  }
}

function goOn(
  { store, working }: Process,
  kind: Exclude<ScheduleEvent['kind'], 'message' | 'repeat' | 'cancel'>,
): void {
  if (kind === 'claimed') openAll(store.claims)
  else if (kind === 'loaded') openAll(store.loads)
  else if (kind === 'saved') openAll(store.saves)
  else {
    for (const one of working) one[kind === 'replied' ? 'reply' : 'fail']()
    working.clear()
  }
}
