/** Plays a schedule on a real engine over a memory store. Gates in the store and in the flow say how far its turns get. */
import { type ExecuteResult, type FlowConstructor, FlowEngine, type FlowRunInput, reply } from '../../../src/index.js'
import { flowOf, type Gate } from '../engine-harness.js'
import { maxQueued, type Outcome } from './busy-model.js'
import { GatedStore, openAll, settled, waitAt } from './gated-store.js'
import type { Happening, Schedule } from './schedule.js'

function ignore(): void {}

/** What the engine does with a schedule. */
export async function outcomeOfEngine(schedule: Schedule, end: readonly Happening[]): Promise<Outcome> {
  const played = await begin(schedule)
  for (const group of schedule.groups) {
    for (const happening of group) {
      const going = played.happen(happening)
      if (going !== undefined) await going
    }
    await settled()
  }
  for (const happening of end) {
    if (played.isOver()) break
    await played.happen(happening)
    await settled()
  }
  return played.outcome()
}

/** A turn that waits in its step, and how it goes on. */
interface Working {
  readonly reply: () => void
  readonly fail: () => void
}

function talk({ merges }: Schedule, working: Set<Working>): FlowConstructor {
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
  if (merges) flow.prototype.merge = joined
  return flow
}

function joined(messages: readonly string[]): string {
  return messages.join('+')
}

function engineOf(schedule: Schedule, sessionStore: GatedStore, working: Set<Working>): FlowEngine {
  const other = Object.assign(
    flowOf('Other', (turn) => reply(turn.message)),
    { busy: schedule.busyOfOther },
  )
  other.prototype.merge = joined
  let turnCount = 0
  return new FlowEngine({
    clock: sessionStore.clock,
    sessionStore,
    flows: [talk(schedule, working), other],
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

async function begin(schedule: Schedule) {
  const sessionStore = new GatedStore()
  const working = new Set<Working>()
  const engine = engineOf(schedule, sessionStore, working)
  const { session } = await engine.run(start)
  sessionStore.gated = session
  const keyed = [{ ...start, sessionId: session }]
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

  function send(input: FlowRunInput): void {
    const number = turns.push(undefined) - 1
    count(engine.execute(input), (result) => {
      turns[number] = outcomeOf(result)
    })
  }

  function say({ flow: flowName, owner, isKeyed }: Happening & { readonly kind: 'message' }): void {
    const userMessage = `m${turns.length}`
    const input = { flowName, userMessage, sessionId: session, owner }
    if (!isKeyed) return send(input)
    const withKey = { ...input, idempotencyKey: keyOf(userMessage) }
    keyed.push(withKey)
    send(withKey)
  }

  function repeat({ of, namesSession }: Happening & { readonly kind: 'repeat' }): void {
    const input = keyed[of % keyed.length] as FlowRunInput
    send(input.userMessage === 'start' && !namesSession ? start : input)
  }

  function cancel({ owner }: Happening & { readonly kind: 'cancel' }): void {
    const index = cancelled.push(false) - 1
    count(engine.cancel(session, owner === undefined ? undefined : { owner }), (isCancelled) => {
      cancelled[index] = isCancelled
    })
  }

  function goOn(how: keyof Working): void {
    for (const one of working) one[how]()
    working.clear()
  }

  const others: Readonly<Record<Exclude<Happening['kind'], 'message' | 'repeat' | 'cancel' | 'loaded'>, () => void>> = {
    work: () => count(engine.getFlowSession().withSessionLock(session, () => waitAt(works))),
    worked: () => openAll(works),
    saved: () => openAll(sessionStore.saves),
    replied: () => goOn('reply'),
    failed: () => goOn('fail'),
  }

  async function load(newestFirst: boolean): Promise<void> {
    const gates = sessionStore.loads.splice(0)
    for (const one of newestFirst ? gates.reverse() : gates) {
      one.open()
      await settled()
    }
  }

  function happen(happening: Happening): Promise<void> | undefined {
    if (happening.kind === 'loaded') return load(happening.newestFirst)
    if (happening.kind === 'message') say(happening)
    else if (happening.kind === 'repeat') repeat(happening)
    else if (happening.kind === 'cancel') cancel(happening)
    else others[happening.kind]()
    return undefined
  }

  return {
    happen,
    isOver: () => pending === 0,
    async outcome(): Promise<Outcome> {
      sessionStore.gated = undefined
      const { history = [] } = (await engine.getSession(session)) ?? {}
      const messages = history.map(({ message }) => message).slice(1)
      await engine.close()
      return { turns, cancelled, superseded: superseded.sort(), history: messages }
    },
  }
}

function outcomeOf({ response, error, replayed }: ExecuteResult): string {
  const outcome = error === undefined ? `ok: ${response.message}` : error.code
  return replayed === true ? `again ${outcome}` : outcome
}
