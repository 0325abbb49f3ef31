/**
 * Plays a schedule on a real engine over a memory store. Gates in the store and in the flow say how far its turns get.
 */
import { type ExecuteResult, type FlowConstructor, FlowEngine, type FlowRunInput, reply } from '../../../src/index.js'
import { flowOf, type Gate } from '../engine-harness.js'
import { maxQueued, type Outcome } from './busy-model.js'
import { GatedStore, openAll, settled, waitAt } from './gated-store.js'
import { isRepeatable, type Schedule, type ScheduleEvent } from './schedule.js'

function ignore(): void {}

/** What the engine does with a schedule. */
export async function outcomeOfEngine(schedule: Schedule, end: readonly ScheduleEvent[]): Promise<Outcome> {
  const sessionStore = new GatedStore()
  const working = new Set<Working>()
  const engine = engineOf(schedule, sessionStore, working)
  const { session } = await engine.run(start)
  const played = new Played(engine, sessionStore, working, session)
  for (const group of schedule.groups) {
    for (const event of group) {
      const going = played.happen(event)
      if (going !== undefined) await going
    }
    await settled()
  }
  for (const event of end) {
    if (played.isOver) break
    await played.happen(event)
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
  return flowOf('Talk', async (turn) => {
    if (turn.message === 'start' || turn.session.owner !== 'ada') return reply(turn.message)
    return new Promise((resolve, reject) => {
      const one: Working = {
        reply: () => resolve(reply(turn.message)),
        fail: () => reject(new Error('broken')),
      }
      // A superseded one stays in place.
      turn.signal.addEventListener('abort', () => working.delete(one))
      working.add(one)
    })
  })
}

function engineOf(schedule: Schedule, sessionStore: GatedStore, working: Set<Working>): FlowEngine {
  const other = Object.assign(
    flowOf('Other', (turn) => reply(turn.message)),
    { busy: schedule.busyOfOther },
  )
  let turnCount = 0
  return new FlowEngine({
    clock: sessionStore.clock,
    sessionStore,
    flows: [talk(working), other],
    busy: schedule.busy,
    onTurnError: 'rollback',
    limits: { maxQueuedTurnsPerSession: maxQueued, maxReceipts: 1_000 },
    // A full queue is logged.
    logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    generateId: (kind) => (kind === 'turn' ? `m${turnCount++ - 1}` : crypto.randomUUID()),
  })
}

/** The message that made the session. */
const start: FlowRunInput = { flowName: 'Talk', userMessage: 'start', owner: 'ada', idempotencyKey: keyOf('start') }

function keyOf(message: string): string {
  return `the-key-of-message-${message}`
}

/** A schedule that is being played. */
class Played {
  readonly #engine: FlowEngine
  readonly #store: GatedStore
  readonly #working: Set<Working>
  readonly #session: string
  readonly #repeatable: FlowRunInput[]
  readonly #turns: (string | undefined)[] = []
  readonly #cancelled: boolean[] = []
  readonly #superseded: string[] = []
  readonly #works: Gate[] = []
  #pending = 0

  constructor(engine: FlowEngine, store: GatedStore, working: Set<Working>, session: string) {
    this.#engine = engine
    this.#store = store
    this.#working = working
    this.#session = session
    this.#repeatable = [{ ...start, sessionId: session }]
    store.gated = session
    engine.on('turn:superseded', ({ turnId, byTurnId }) => this.#superseded.push(`${turnId} by ${byTurnId}`))
  }

  get isOver(): boolean {
    return this.#pending === 0
  }

  happen(event: ScheduleEvent): Promise<void> | undefined {
    if (event.kind === 'loaded') return this.#endLoads(event.newestFirst)
    if (event.kind === 'message') this.#say(event)
    else if (event.kind === 'repeat') this.#repeat(event)
    else if (event.kind === 'cancel') this.#cancel(event)
    else this.#others[event.kind]()
    return undefined
  }

  readonly #others: Readonly<Record<'work' | 'worked' | 'saved' | 'replied' | 'failed', () => void>> = {
    work: () => this.#count(this.#engine.getFlowSession().withSessionLock(this.#session, () => waitAt(this.#works))),
    worked: () => openAll(this.#works),
    saved: () => openAll(this.#store.saves),
    replied: () => this.#goOn('reply'),
    failed: () => this.#goOn('fail'),
  }

  async outcome(): Promise<Outcome> {
    this.#store.gated = undefined
    const { history = [] } = (await this.#engine.getSession(this.#session)) ?? {}
    const messages = history.map(({ message }) => message).slice(1)
    await this.#engine.close()
    const superseded = this.#superseded.sort()
    return { turns: this.#turns, cancelled: this.#cancelled, superseded, history: messages }
  }

  #say(event: ScheduleEvent & { readonly kind: 'message' }): void {
    const { flow: flowName, owner, isKeyed } = event
    const userMessage = `m${this.#turns.length}`
    const message = { flowName, userMessage, sessionId: this.#session, owner }
    const input = isKeyed ? { ...message, idempotencyKey: keyOf(userMessage) } : message
    if (isRepeatable(event)) this.#repeatable.push(input)
    this.#send(input)
  }

  #repeat({ of, namesSession }: ScheduleEvent & { readonly kind: 'repeat' }): void {
    const input = this.#repeatable[of % this.#repeatable.length] as FlowRunInput
    this.#send(input.userMessage === 'start' && !namesSession ? start : input)
  }

  #send(input: FlowRunInput): void {
    const number = this.#turns.push(undefined) - 1
    this.#count(this.#engine.execute(input), (result) => {
      this.#turns[number] = outcomeOf(result)
    })
  }

  #cancel({ owner }: ScheduleEvent & { readonly kind: 'cancel' }): void {
    const index = this.#cancelled.push(false) - 1
    const cancelling = this.#engine.cancel(this.#session, owner === undefined ? undefined : { owner })
    this.#count(cancelling, (isCancelled) => {
      this.#cancelled[index] = isCancelled
    })
  }

  /** One after the other, so that the schedule decides the order, not the engine's promises. */
  async #endLoads(newestFirst: boolean): Promise<void> {
    const gates = this.#store.loads.splice(0)
    for (const one of newestFirst ? gates.reverse() : gates) {
      one.open()
      await settled()
    }
  }

  #goOn(how: keyof Working): void {
    for (const one of this.#working) one[how]()
    this.#working.clear()
  }

  #count<T>(promise: Promise<T>, use: (value: T) => void = ignore): void {
    this.#pending++
    void promise.then((value) => {
      this.#pending--
      use(value)
    })
  }
}

function outcomeOf({ response, error, replayed }: ExecuteResult): string {
  const outcome = error === undefined ? `ok: ${response.message}` : error.code
  return replayed === true ? `again ${outcome}` : outcome
}
