/**
 * Plays a plan on two engines, in every order that fast-check's scheduler finds. A store's request and its answer are
 * two separate moments. `promises.ts` checks the result.
 */
import type fc from 'fast-check'
import type { ExecuteDeleteResult, ExecuteResult, FlowRunInput, SessionStore } from '../../../src/index.js'
import { type Gate, gate } from '../engine-harness.js'
import { photoOf } from './flows.js'
import { type Action, isForeign, ownerNamedBy, type Plan, siteOf, type TurnAction } from './plans.js'
import { askedFor, committedAction, type PlayedPlan, unheardOf } from './played-plan.js'
import { readTurn } from './read-turn.js'
import { turnTimeoutMs } from './reference-model.js'
import type { Requests } from './requests.js'
import { type Span, Timeline } from './timeline.js'
import { type SeatIndex, settle, World } from './world.js'

/** What a plan is played with. */
interface PlayOptions {
  /** As in `WorldOptions`; called with `beside` if a session was changed while a summary of it was written. */
  readonly onShortened?: ((what: string) => void) | undefined
  /** For plans in which requests are dropped. Default: each goes on. */
  readonly requests?: Requests | undefined
}

/** Runs a plan in the order that `scheduler` decides on. */
export function play(plan: Plan, scheduler: fc.Scheduler, options: PlayOptions = {}): Promise<PlayedPlan> {
  return new Player(plan, scheduler, options).play()
}

/** Longer than a lock can be kept from those who wait: `turnTimeoutMs` and 11 times `storeTimeoutMs`. */
const untilTakenMs = turnTimeoutMs + 60_000

class Player implements PlayedPlan {
  readonly plan: Plan
  readonly world: World
  readonly timeline: Timeline = new Timeline()
  readonly sessions: Map<number, string> = new Map()
  readonly messages: string[] = []
  readonly actionOf: Map<string, number> = new Map()
  readonly spans: Map<number, Span> = new Map()
  readonly turns: Map<number, ExecuteResult> = new Map()
  readonly left: Set<number> = new Set()
  readonly deletes: Map<number, ExecuteDeleteResult> = new Map()
  readonly rejections: unknown[] = []
  endedAt: number = Number.POSITIVE_INFINITY
  readonly taken: Set<number>
  readonly dropped: Set<number>
  readonly #scheduler: fc.Scheduler
  readonly #requests: Requests | undefined
  /** By {@link siteOf} of a turn that starts a session: opened when its reader has learnt the ID, or never will. */
  readonly #learnt = new Map<number, Gate>()
  /** By action. */
  readonly #ends: Promise<unknown>[] = []
  /** The action whose input an engine has just read: it makes the ID of the turn next. */
  #reading: number | undefined
  #isLive = false
  /** The summaries that models are writing. */
  readonly #summaries = new Set<string>()
  readonly #onShortened: (what: string) => void

  constructor(plan: Plan, scheduler: fc.Scheduler, { onShortened = () => undefined, requests }: PlayOptions) {
    this.plan = plan
    this.#onShortened = onShortened
    this.#scheduler = scheduler
    this.#requests = requests
    this.taken = requests?.taken ?? new Set()
    this.dropped = requests?.dropped ?? new Set()
    this.world = new World({
      rules: plan.rules,
      clock: requests?.clock,
      onShortened,
      unknownSession: ['new', 'new'],
      underFaults: (store, data, writer) => this.timeline.recording(store, data, writer),
      wrap: (store, index) => this.#scheduled(store, `engine ${index}`),
      during: (token, seat, sessionId) => this.#during(token, seat, sessionId),
      beforeSummary: (sessionId, seat) => this.#beforeSummary(sessionId, seat),
    })
    this.world.onTurn = (id) => {
      if (this.#reading !== undefined) this.actionOf.set(id, this.#reading)
      this.#reading = undefined
    }
    for (const { engine } of this.world.seats) {
      engine.on('lock:taken', ({ turnId = '' }) => this.#onTaken(this.actionOf.get(turnId)))
    }
  }

  async play(): Promise<PlayedPlan> {
    const { plan, world, sessions } = this
    for (const [place, message] of ['say first', 'say second'].entries()) {
      sessions.set(place, (await world.seats[0].engine.run({ flowName: plan.flow, userMessage: message })).session)
    }
    for (const { seat, ...fault } of plan.faults) world.seats[seat].store.inject(fault)
    for (const [index, action] of plan.actions.entries()) this.#prepare(action, index)
    this.#isLive = true
    for (const [index, action] of plan.actions.entries()) {
      this.#ends.push(this.#launch(action, index).catch((error: unknown) => this.rejections.push(error)))
    }
    if (this.#requests === undefined) await this.#drain()
    else await this.#endDropped()
    return this
  }

  #prepare(action: Action, index: number): void {
    if (action.kind === 'turn' && action.place === 'new') this.#learnt.set(index + 2, gate())
    const isTwin = action.kind === 'turn' && action.isTwin === true
    const text = action.kind === 'turn' ? `${action.verb} ${this.world.nextToken()}` : ''
    this.messages.push(isTwin ? (this.messages.at(-1) ?? text) : text)
  }

  /** One moment after another, each only when everything that the last one started waits for another. */
  async #drain(): Promise<void> {
    for (await settle(); this.#scheduler.count() > 0; await settle()) await this.#scheduler.waitOne()
  }

  /**
   * No request waits for a dropped one for ever: those in the queue get the lock in time, and so does a delete that
   * comes last.
   */
  async #endDropped(): Promise<void> {
    const { world, dropped } = this
    const pass = async (): Promise<void> => {
      await this.#drain()
      for (let count = 0; count <= dropped.size && world.clock.pending > 0; count++) {
        world.clock.jump(untilTakenMs)
        await this.#drain()
      }
    }
    await pass()
    this.endedAt = this.timeline.tick()
    let unanswered = 0
    for (const { engine, store } of world.seats) {
      store.heal()
      for (const sessionId of [...world.issued, unheardOf]) {
        unanswered++
        engine.executeDelete(sessionId).then(() => unanswered--)
      }
    }
    await pass()
    if (unanswered > 0) this.rejections.push(`${unanswered} deletes wait for requests that were dropped`)
  }

  #onTaken(index: number | undefined): void {
    if (index === undefined) return
    this.taken.add(index)
    this.#requests?.take(index)
  }

  async #moment(label: string): Promise<void> {
    if (!this.#isLive) return
    await this.#requests?.pass((index) => this.#learnt.get(index + 2)?.open())
    await this.#scheduler.schedule(Promise.resolve(), label)
  }

  /** In the middle of the flow code of a turn. Of turns with the same message, each engine runs one. */
  async #during(token: string, seat: SeatIndex, sessionId: string): Promise<void> {
    const isIts = (action: Action, index: number): boolean =>
      action.kind === 'turn' && action.seat === seat && this.messages[index]?.endsWith(` ${token}`) === true
    const index = this.plan.actions.findIndex(isIts)
    const span = this.spans.get(index)
    span?.entered.push(this.timeline.tick())
    if (span !== undefined) span.sessionId = sessionId
    await this.#moment(`flow code of ${token}`)
    if (!isForeign(this.plan.actions[index])) await Promise.all(this.#awaitedBy(index, seat))
    if (span !== undefined) span.left = this.timeline.tick()
  }

  /** The strangers to a session that a turn waits for: it would never end if one of them waited for it. */
  #awaitedBy(index: number, seat: SeatIndex): Promise<unknown>[] {
    const { plan } = this
    return this.#ends.filter((_, other) => {
      const action = plan.actions[other]
      if (action === undefined || !('by' in action) || !isForeign(action)) return false
      const isAwaited = action.by === 'awaited stranger' && action.seat === seat
      return isAwaited && siteOf(plan, other) === siteOf(plan, index)
    })
  }

  /** The model begins to summarize a session: two at once only if the first one was aborted. */
  async #beforeSummary(sessionId: string, seat: SeatIndex): Promise<void> {
    const summary = `summary of ${sessionId} in engine ${seat}`
    const mayTimeOut = this.#requests !== undefined || this.plan.actions.some(({ kind }) => kind === 'wait')
    if (this.#summaries.has(summary) && !mayTimeOut) this.rejections.push(`second ${summary}`)
    this.#summaries.add(summary)
    const before = this.timeline.effects.length
    await this.#moment(summary)
    const isOvertaken = this.timeline.effects.slice(before).some((effect) => effect.sessionId === sessionId)
    if (isOvertaken) this.#onShortened('beside')
    this.#summaries.delete(summary)
  }

  async #launch(action: Action, index: number): Promise<void> {
    if ('place' in action && action.place === 'learnt') await this.#learnt.get(siteOf(this.plan, index) ?? -1)?.opened
    await this.#moment(`action ${index}: ${JSON.stringify(action)}`)
    const span = this.timeline.begin()
    this.spans.set(index, span)
    await this.#run(action, index)
    span.replied = this.timeline.tick()
  }

  async #run(action: Action, index: number): Promise<void> {
    const { world } = this
    if (action.kind === 'wait') return world.clock.jump(action.ms)
    if (action.kind === 'set clock') return world.clock.shiftWallTime(action.ms)
    if (action.kind === 'turn') {
      const run = (): Promise<void> => this.#runTurn(action, index)
      return this.#requests === undefined ? run() : this.#requests.run(index, action.drop, run)
    }
    const sessionId = askedFor(this, index) as string
    if (action.kind === 'write') return world.disturb(sessionId, 'write').catch(() => undefined)
    const owner = ownerNamedBy(action)
    const { engine } = world.seats[action.seat]
    this.deletes.set(index, await engine.executeDelete(sessionId, owner === undefined ? undefined : { owner }))
  }

  async #runTurn(action: TurnAction, index: number): Promise<void> {
    const { engine } = this.world.seats[action.seat]
    const input = this.#inputOf(action, index)
    const { reader } = action
    const answer = await (reader === 'none'
      ? engine.execute(input)
      : readTurn(engine.stream(input), async ([first, ...more]) => {
          if (first?.type === 'session' && action.place === 'new') this.#learn(index, first.session)
          const pieces = first === undefined ? 0 : more.length + 1
          if (pieces > 0) await this.#moment(`reader of action ${index} goes on after ${pieces} pieces`)
          return pieces === reader
        }))
    this.#learnt.get(index + 2)?.open()
    if (answer === undefined) this.left.add(index)
    else this.turns.set(index, answer)
  }

  /** The reader of a turn has learnt the ID of its new session. */
  #learn(index: number, sessionId: string): void {
    this.sessions.set(index + 2, sessionId)
    this.#learnt.get(index + 2)?.open()
  }

  #inputOf(action: TurnAction, index: number): FlowRunInput {
    const message = this.messages[index] as string
    const owner = ownerNamedBy(action)
    const sessionId = askedFor(this, index)
    const beginReading = (): void => {
      this.#reading = index
    }
    return {
      flowName: this.plan.flow,
      get userMessage(): string {
        beginReading()
        return message
      },
      ...(owner === undefined ? {} : { owner }),
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(action.hasPhoto ? { attachments: [photoIn(message)] } : {}),
    }
  }

  /**
   * A turn whose lock was taken writes no more. If it had sent its commit before, its summary may follow under a
   * separate lock.
   */
  #checkMayWrite(what: string): void {
    const index = this.#requests?.current ?? -1
    if (!this.taken.has(index)) return
    const isCommitted = this.timeline.effects.some((effect) => committedAction(this, effect) === index)
    if (!isCommitted) this.rejections.push(`a turn whose lock was taken asks to ${what}`)
  }

  /** A store whose requests and answers wait for the scheduler. */
  #scheduled(store: SessionStore, name: string): SessionStore {
    const call = async <T>(operation: string, sessionId: string, run: () => Promise<T>): Promise<T> => {
      if (operation !== 'load') this.#checkMayWrite(`${operation} ${sessionId}`)
      await this.#moment(`${name} asks to ${operation} ${sessionId}`)
      try {
        return await run()
      } finally {
        await this.#moment(`${name} is answered on ${operation} ${sessionId}`)
      }
    }
    const { claim, lease } = store
    return {
      ...(claim && { claim: (key, id, ttlMs) => call('claim', id, () => claim.call(store, key, id, ttlMs)) }),
      ...(lease && { lease: (id, ttlMs, signal) => lease.call(store, id, ttlMs, signal) }),
      guarantees: store.guarantees,
      load: (sessionId) => call('load', sessionId, () => store.load(sessionId)),
      create: (document) => call('create', document.id, () => store.create(document)),
      save: (document, expected, hint) => call('save', document.id, () => store.save(document, expected, hint)),
      delete: (sessionId, expected) => call('delete', sessionId, () => store.delete(sessionId, expected)),
      close: () => store.close(),
    }
  }
}

/** The photo that comes with a message, if one does. */
export function photoIn(message: string): { type: 'image'; mediaType: string; data: string } {
  return { type: 'image', mediaType: 'image/png', data: photoOf(message.split(' ')[1] ?? '') }
}
