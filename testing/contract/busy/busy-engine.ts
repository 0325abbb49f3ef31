/** Plays a schedule on a real engine over a memory store. Gates in the store and in the flow say how far its turns get. */
import {
  type ExecuteResult,
  type FlowConstructor,
  FlowEngine,
  MemorySessionStore,
  reply,
  type SessionDocument,
} from '../../../src/index.js'
import { VirtualClock } from '../../index.js'
import { flowOf, type Gate, gate } from '../engine-harness.js'
import { maxQueued, type Outcome } from './busy-model.js'
import type { Happening, Schedule } from './schedule.js'

/** A memory store whose operations on one session wait. */
class GatedStore extends MemorySessionStore {
  session: string | undefined
  readonly loads: Gate[] = []
  readonly saves: Gate[] = []
  readonly clock: VirtualClock

  constructor(clock = new VirtualClock()) {
    super({ clock })
    this.clock = clock
  }

  override async load(sessionId: string): Promise<SessionDocument | undefined> {
    if (sessionId === this.session) await waitAt(this.loads)
    return super.load(sessionId)
  }

  override async save(...args: Parameters<MemorySessionStore['save']>): Promise<void> {
    if (args[0].id === this.session) await waitAt(this.saves)
    return super.save(...args)
  }
}

function waitAt(gates: Gate[]): Promise<void> {
  const one = gate()
  gates.push(one)
  return one.opened
}

function ignore(): void {}

function openAll(gates: Gate[]): void {
  for (const one of gates.splice(0)) one.open()
}

/** One turn of the event loop: by then every chain of settled promises has run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** What the engine does with a schedule. */
export async function outcomeOfEngine(schedule: Schedule, end: readonly Happening[]): Promise<Outcome> {
  const played = await begin(schedule)
  for (const group of schedule.groups) {
    for (const happening of group) played.happen(happening)
    await settled()
  }
  for (const happening of end) {
    if (played.isOver()) break
    played.happen(happening)
    await settled()
  }
  return played.outcome()
}

/** A turn that waits in its step, and how it goes on. */
interface Working {
  readonly reply: () => void
  readonly fail: () => void
}

function talk(working: Set<Working>): FlowConstructor {
  const flow = flowOf('Talk', async (turn) => {
    if (turn.message === 'start' || turn.session.owner !== 'ada') return reply(turn.message)
    return new Promise((resolve, reject) => {
      const one: Working = {
        reply: () => resolve(reply(turn.message)),
        fail: () => reject(new Error('broken')),
      }
      // One that was superseded stays where it is.
      turn.signal.addEventListener('abort', () => working.delete(one))
      working.add(one)
    })
  })
  flow.prototype.merge = (messages: readonly string[]) => messages.join('+')
  return flow
}

function engineOf({ busy, busyOfOther }: Schedule, sessionStore: GatedStore, working: Set<Working>): FlowEngine {
  const other = Object.assign(
    flowOf('Other', (turn) => reply(turn.message)),
    { busy: busyOfOther },
  )
  other.prototype.merge = (messages: readonly string[]) => messages.join('+')
  let turnCount = 0
  return new FlowEngine({
    clock: sessionStore.clock,
    sessionStore,
    flows: [talk(working), other],
    busy,
    onTurnError: 'rollback',
    limits: { maxQueuedTurnsPerSession: maxQueued },
    // A full queue is logged.
    logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    generateId: (kind) => (kind === 'turn' ? `m${turnCount++ - 1}` : crypto.randomUUID()),
  })
}

async function begin(schedule: Schedule) {
  const sessionStore = new GatedStore()
  const working = new Set<Working>()
  const engine = engineOf(schedule, sessionStore, working)
  const { session } = await engine.run({ flowName: 'Talk', userMessage: 'start', owner: 'ada' })
  sessionStore.session = session
  const turns: (string | undefined)[] = []
  const cancelled: boolean[] = []
  const superseded: string[] = []
  const works: Gate[] = []
  let pending = 0
  engine.on('turn:superseded', ({ turnId, byTurnId }) => superseded.push(`${turnId} by ${byTurnId}`))

  function count<T>(promise: Promise<T>, use: (value: T) => void = () => undefined): void {
    pending++
    void promise.then((value) => {
      pending--
      use(value)
    })
  }

  function say({ flow: flowName, owner }: Happening & { readonly kind: 'message' }): void {
    const number = turns.push(undefined) - 1
    const turn = engine.execute({ flowName, userMessage: `m${number}`, sessionId: session, owner })
    count(turn, (result) => {
      turns[number] = textOf(result)
    })
  }

  function cancel(owner: string | undefined): void {
    const index = cancelled.push(false) - 1
    count(engine.cancel(session, owner === undefined ? undefined : { owner }), (isCancelled) => {
      cancelled[index] = isCancelled
    })
  }

  function goOn(how: keyof Working): void {
    for (const one of working) one[how]()
    working.clear()
  }

  const others: Readonly<Record<Exclude<Happening['kind'], 'message' | 'cancel'>, () => void>> = {
    work: () => count(engine.getFlowSession().withSessionLock(session, () => waitAt(works))),
    worked: () => openAll(works),
    loaded: () => openAll(sessionStore.loads),
    saved: () => openAll(sessionStore.saves),
    replied: () => goOn('reply'),
    failed: () => goOn('fail'),
  }

  function happen(happening: Happening): void {
    if (happening.kind === 'message') say(happening)
    else if (happening.kind === 'cancel') cancel(happening.owner)
    else others[happening.kind]()
  }

  return {
    happen,
    isOver: () => pending === 0,
    async outcome(): Promise<Outcome> {
      sessionStore.session = undefined
      const { history = [] } = (await engine.getSession(session)) ?? {}
      const messages = history.map(({ message }) => message).slice(1)
      await engine.close()
      return { turns, cancelled, superseded: superseded.sort(), history: messages }
    },
  }
}

function textOf({ response, error }: ExecuteResult): string {
  return error === undefined ? `ok: ${response.message}` : error.code
}
