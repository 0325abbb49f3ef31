/**
 * Several things at once: turns, deletes, an outsider's writes and the passing of time, on two sessions and two engines,
 * in every order that fast-check's scheduler finds. A store's request and its answer are two separate moments.
 */
import fc from 'fast-check'
import type { ExecuteDeleteResult, ExecuteResult, FlowRunInput, SessionStore } from '../../../src/index.js'
import { photoOf } from './flows.js'
import { defaultRules } from './model-lists.js'
import type { FlowName, Rules, Verb } from './model-types.js'
import { readTurn } from './read-turn.js'
import { type Fault, turnTimeoutMs } from './reference-model.js'
import { rules } from './rules.js'
import { type Span, Timeline } from './timeline.js'
import { type SeatIndex, settle, World } from './world.js'

/** One of the two sessions that are there at the start, or a new one. */
type Place = 0 | 1 | 'new'

/** Nobody reads the turn while it runs; or a reader reads its stream to the end, or stops after that many events. */
type Reader = 'none' | 'to the end' | number

interface TurnAction {
  readonly kind: 'turn'
  readonly seat: SeatIndex
  readonly place: Place
  readonly verb: Verb
  readonly hasPhoto: boolean
  readonly reader: Reader
  /** It has the message and the photo of the turn before it, which goes to the other engine. */
  readonly isTwin?: boolean
}

export type Action =
  | TurnAction
  | { readonly kind: 'delete'; readonly seat: SeatIndex; readonly place: 0 | 1 }
  | { readonly kind: 'write'; readonly place: 0 | 1 }
  | { readonly kind: 'wait'; readonly ms: number }

export interface Plan {
  readonly rules: Rules
  readonly flow: FlowName
  readonly actions: readonly Action[]
  readonly faults: readonly (Fault & { readonly seat: SeatIndex })[]
}

/** The result of the plan. */
export interface PlayedPlan {
  readonly plan: Plan
  readonly world: World
  readonly timeline: Timeline
  /** The IDs of the two sessions. */
  readonly sessions: readonly string[]
  /** By action: the message of a turn, its moments, and the answer. Absent: it was not answered. */
  readonly messages: readonly string[]
  /** By ID of a turn: its action. */
  readonly actionOf: ReadonlyMap<string, number>
  readonly spans: ReadonlyMap<number, Span>
  readonly turns: ReadonlyMap<number, ExecuteResult>
  /** The turns whose readers stopped. */
  readonly left: ReadonlySet<number>
  readonly deletes: ReadonlyMap<number, ExecuteDeleteResult>
  /** The calls that rejected, which none may do. */
  readonly rejections: readonly unknown[]
}

const seat: fc.Arbitrary<SeatIndex> = fc.constantFrom<SeatIndex>(0, 1)
const place: fc.Arbitrary<0 | 1> = fc.constantFrom<0 | 1>(0, 0, 1)

const turn: fc.Arbitrary<TurnAction> = fc.record({
  kind: fc.constant('turn' as const),
  seat,
  place: fc.oneof({ weight: 8, arbitrary: place }, { weight: 1, arbitrary: fc.constant('new' as const) }),
  verb: fc.constantFrom<Verb>('say', 'say', 'say', 'csv', 'sheet', 'move', 'end', 'boom'),
  hasPhoto: fc.constantFrom(false, false, true),
  reader: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<Reader>('none', 'to the end') },
    { weight: 1, arbitrary: fc.nat({ max: 5 }) },
  ),
})

/** The same message to both engines. As time stands still, the turns differ in nothing but their IDs. */
const twins: fc.Arbitrary<Action[]> = turn.map((one) => [one, { ...one, seat: one.seat === 0 ? 1 : 0, isTwin: true }])

const other: fc.Arbitrary<Action> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete'), seat, place }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('write'), place }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait'), ms: fc.constantFrom(5_000, turnTimeoutMs) }) },
)

/** One action, or two. */
const someActions: fc.Arbitrary<readonly Action[]> = fc.oneof(
  { weight: 6, arbitrary: turn.map((one) => [one]) },
  { weight: 2, arbitrary: twins },
  { weight: 4, arbitrary: other.map((one) => [one]) },
)

const fault: fc.Arbitrary<Plan['faults'][number]> = fc.record({
  seat,
  operation: fc.constantFrom('load', 'create', 'save', 'delete'),
  effect: fc.constantFrom('fail-before', 'fail-after'),
  nth: fc.constantFrom(1, 2, 3),
  times: fc.constantFrom(1, 2, 3),
})

const actions = fc.array(someActions, { minLength: 2, maxLength: 6, size: 'max' }).map((parts) => parts.flat())
const faults = fc.array(fault, { maxLength: 2 })

/** Turns of one session, whose memory is soon too long: summaries are written beside them. */
const summarizedPlan: fc.Arbitrary<Plan> = fc.record({
  rules: fc.constantFrom(1, 2).map((keep) => ({ ...defaultRules, compaction: { kind: 'summary', above: 3, keep } })),
  flow: fc.constant('Talk'),
  actions: fc
    .tuple(fc.array(turn, { minLength: 2, maxLength: 4, size: 'max' }), actions)
    .map(([turns, more]) => [...turns.map((one): Action => ({ ...one, verb: 'say', place: 0 })), ...more]),
  faults,
})

export const plan: fc.Arbitrary<Plan> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ rules, flow: fc.constantFrom<FlowName>('Notes', 'Ledger', 'Talk'), actions, faults }),
  },
  { weight: 2, arbitrary: summarizedPlan },
)

/**
 * Runs a plan in the order that `scheduler` decides on.
 *
 * @param onShortened - As in {@link WorldOptions}; called with `beside` if a session was changed while a summary of it was written.
 */
export function play(
  plan: Plan,
  scheduler: fc.Scheduler,
  onShortened: (what: string) => void = () => undefined,
): Promise<PlayedPlan> {
  return new Player(plan, scheduler, onShortened).play()
}

class Player implements PlayedPlan {
  readonly plan: Plan
  readonly world: World
  readonly timeline: Timeline = new Timeline()
  readonly sessions: string[] = []
  readonly messages: string[] = []
  readonly actionOf: Map<string, number> = new Map()
  readonly spans: Map<number, Span> = new Map()
  readonly turns: Map<number, ExecuteResult> = new Map()
  readonly left: Set<number> = new Set()
  readonly deletes: Map<number, ExecuteDeleteResult> = new Map()
  readonly rejections: unknown[] = []
  readonly #scheduler: fc.Scheduler
  /** The action whose input an engine has just read: it makes the ID of the turn next. */
  #reading: number | undefined
  #isLive = false
  /** The summaries that models are writing. */
  readonly #summaries = new Set<string>()
  readonly #onShortened: (what: string) => void

  constructor(plan: Plan, scheduler: fc.Scheduler, onShortened: (what: string) => void) {
    this.plan = plan
    this.#onShortened = onShortened
    this.#scheduler = scheduler
    this.world = new World({
      rules: plan.rules,
      onShortened,
      unknownSession: ['new', 'new'],
      underFaults: (store, data, writer) => this.timeline.recording(store, data, writer),
      wrap: (store, index) => scheduled(store, `engine ${index}`, (label) => this.#moment(label)),
      during: (token, seat, sessionId) => this.#during(token, seat, sessionId),
      beforeSummary: (sessionId, seat) => this.#beforeSummary(sessionId, seat),
    })
    this.world.onTurn = (id) => {
      if (this.#reading !== undefined) this.actionOf.set(id, this.#reading)
      this.#reading = undefined
    }
  }

  async play(): Promise<PlayedPlan> {
    const { plan, world, sessions, messages } = this
    for (const message of ['say first', 'say second']) {
      sessions.push((await world.seats[0].engine.run({ flowName: plan.flow, userMessage: message })).session)
    }
    for (const { seat, ...fault } of plan.faults) world.seats[seat].store.inject(fault)
    for (const action of plan.actions) {
      const isTwin = action.kind === 'turn' && action.isTwin === true
      const text = action.kind === 'turn' ? `${action.verb} ${world.nextToken()}` : ''
      messages.push(isTwin ? (messages.at(-1) ?? text) : text)
    }
    this.#isLive = true
    plan.actions.forEach((action, index) => {
      this.#launch(action, index).catch((error: unknown) => this.rejections.push(error))
    })
    // One moment after another, each only when everything that the last one started waits for another.
    for (await settle(); this.#scheduler.count() > 0; await settle()) await this.#scheduler.waitOne()
    return this
  }

  async #moment(label: string): Promise<void> {
    if (this.#isLive) await this.#scheduler.schedule(Promise.resolve(), label)
  }

  /** In the middle of the flow code of a turn. Of turns with the same message, each engine runs one. */
  async #during(token: string, seat: SeatIndex, sessionId: string): Promise<void> {
    const isIts = (action: Action, index: number): boolean =>
      action.kind === 'turn' && action.seat === seat && this.messages[index]?.endsWith(` ${token}`) === true
    const span = this.spans.get(this.plan.actions.findIndex(isIts))
    span?.entered.push(this.timeline.tick())
    if (span !== undefined) span.sessionId = sessionId
    await this.#moment(`flow code of ${token}`)
    if (span !== undefined) span.left = this.timeline.tick()
  }

  /** The model begins to summarize a session: two at once only if the first one was aborted. */
  async #beforeSummary(sessionId: string, seat: SeatIndex): Promise<void> {
    const summary = `summary of ${sessionId} in engine ${seat}`
    const mayTimeOut = this.plan.actions.some(({ kind }) => kind === 'wait')
    if (this.#summaries.has(summary) && !mayTimeOut) this.rejections.push(`second ${summary}`)
    this.#summaries.add(summary)
    const before = this.timeline.effects.length
    await this.#moment(summary)
    const isOvertaken = this.timeline.effects.slice(before).some((effect) => effect.sessionId === sessionId)
    if (isOvertaken) this.#onShortened('beside')
    this.#summaries.delete(summary)
  }

  async #launch(action: Action, index: number): Promise<void> {
    await this.#moment(`action ${index}: ${JSON.stringify(action)}`)
    const span = this.timeline.begin()
    this.spans.set(index, span)
    await this.#run(action, index)
    span.replied = this.timeline.tick()
  }

  async #run(action: Action, index: number): Promise<void> {
    const { world, sessions } = this
    if (action.kind === 'wait') return world.clock.jump(action.ms)
    if (action.kind === 'turn') return this.#runTurn(action, index)
    const sessionId = sessions[action.place] as string
    if (action.kind === 'write') return world.disturb(sessionId, 'write').catch(() => undefined)
    this.deletes.set(index, await world.seats[action.seat].engine.executeDelete(sessionId))
  }

  async #runTurn(action: TurnAction, index: number): Promise<void> {
    const { engine } = this.world.seats[action.seat]
    const input = this.#inputOf(action, index)
    const { reader } = action
    const answer = await (reader === 'none'
      ? engine.execute(input)
      : readTurn(engine.stream(input), async (pieces) => {
          if (pieces > 0) await this.#moment(`reader of action ${index} goes on after ${pieces} pieces`)
          return pieces === reader
        }))
    if (answer === undefined) this.left.add(index)
    else this.turns.set(index, answer)
  }

  #inputOf({ place, hasPhoto }: TurnAction, index: number): FlowRunInput {
    const message = this.messages[index] as string
    const beginReading = (): void => {
      this.#reading = index
    }
    return {
      flowName: this.plan.flow,
      get userMessage(): string {
        beginReading()
        return message
      },
      ...(place === 'new' ? {} : { sessionId: this.sessions[place] as string }),
      ...(hasPhoto ? { attachments: [photoIn(message)] } : {}),
    }
  }
}

/** The photo that comes with a message, if one does. */
export function photoIn(message: string): { type: 'image'; mediaType: string; data: string } {
  return { type: 'image', mediaType: 'image/png', data: photoOf(message.split(' ')[1] ?? '') }
}

/** A store whose requests and answers wait for the scheduler. */
function scheduled(store: SessionStore, name: string, moment: (label: string) => Promise<void>): SessionStore {
  const call = async <T>(operation: string, sessionId: string, run: () => Promise<T>): Promise<T> => {
    await moment(`${name} asks to ${operation} ${sessionId}`)
    try {
      return await run()
    } finally {
      await moment(`${name} is answered on ${operation} ${sessionId}`)
    }
  }
  return {
    guarantees: store.guarantees,
    load: (sessionId) => call('load', sessionId, () => store.load(sessionId)),
    create: (document) => call('create', document.id, () => store.create(document)),
    save: (document, expected, hint) => call('save', document.id, () => store.save(document, expected, hint)),
    delete: (sessionId, expected) => call('delete', sessionId, () => store.delete(sessionId, expected)),
    close: () => store.close(),
  }
}
