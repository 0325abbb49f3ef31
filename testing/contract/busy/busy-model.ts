/**
 * The model of `busy`: the outcome of each message of a schedule. One request of each owner has the lock, or the
 * application has it alone; the others wait in a list; a message looks at both when it comes. Nothing here is
 * asynchronous: what happens at once is one group, after which the lock is passed on.
 */
import type { Policy } from '../busy-talk.js'
import { isAbortable, type Joined, mayBeRepeat, nameOf, type Turn, turnOf } from './model-turn.js'
import { type FlowName, isRepeatable, type Owner, type Schedule, type ScheduleEvent } from './schedule.js'

/** What can be observed of a schedule. */
export interface Outcome {
  /** By message, in the order in which they came: `ok: <reply>`, or the code of the failure. */
  readonly turns: readonly (string | undefined)[]
  readonly cancelled: readonly boolean[]
  /** Which message took whose place. */
  readonly superseded: readonly string[]
  /** The messages that the session has. */
  readonly history: readonly string[]
}

/** How many turns of an owner may wait. */
export const maxQueued = 3

/** A turn, or the application. */
type Request = Turn | 'application'

/** Whether two requests wait for each other: they name the same owner, or one is the application. */
function areExclusive(one: Request, other: Request): boolean {
  return one === 'application' || other === 'application' || one.owner === other.owner
}

/**
 * The outcomes of the messages of a schedule; `undefined` if they are not determined. Either the application cancels
 * while turns of both owners are about to load the session, and it is open which of them owns the session; or a repeat
 * whose turn gave it no answer comes again at the moment at which the lock is passed on.
 */
export function outcomeOfModel(schedule: Schedule, end: readonly ScheduleEvent[]): Outcome | undefined {
  const model = new BusyModel(schedule)
  for (const group of [...schedule.groups, ...end.map((one) => [one])]) {
    for (const event of group) model.happen(event)
    model.passOn()
  }
  if (model.isUndecided) return undefined
  const { turns, cancelled, superseded, history } = model
  return { turns, cancelled, superseded: superseded.sort(), history }
}

class BusyModel {
  readonly turns: (string | undefined)[] = []
  readonly cancelled: boolean[] = []
  readonly superseded: string[] = []
  readonly history: string[] = []
  /** See {@link outcomeOfModel}. */
  isUndecided = false
  readonly #policies: Readonly<Record<FlowName, Policy>>
  readonly #keyed: Turn[] = []
  /** What the messages were answered with that were stored, by message. */
  readonly #receipts = new Map<string, string>([['ada start', 'start']])
  #holders: Request[] = []
  #waiting: Request[] = []
  /** Messages that have not requested the lock. The first one of each owner checks whether it is a repeat. */
  #arriving: { readonly turn: Turn; readonly looks: boolean; isLooking?: boolean }[] = []
  readonly #joinable = new Map<string, Joined>()
  /** Repeats of the first message whose session will be known when the group has gone on. */
  #claiming: Turn[] = []
  /** Repeats that wait for a turn, in the order in which they began to. */
  readonly #waitingRepeats: Turn[] = []
  /** Loads under way, in the order in which they began. */
  #loads: (() => void)[] = []
  /** Turns that are over, for those that joined them. */
  #ended: { readonly turn: Turn; readonly outcome: string }[] = []

  constructor(schedule: Schedule) {
    this.#policies = { Talk: schedule.busy, Other: schedule.busyOfOther }
    this.#keyed.push(turnOf(-1, 'start', 'Talk', 'ada', true))
  }

  happen(event: ScheduleEvent): void {
    // Bob's turns have their answer as soon as they have loaded.
    const turn = this.#turnOf('ada')
    if (event.kind === 'message') this.#say(event)
    else if (event.kind === 'repeat') this.#repeat(event)
    else if (event.kind === 'cancel') this.#cancel(event.owner)
    else if (event.kind === 'work') this.#request('application')
    else if (event.kind === 'loaded') this.#endLoads(event.newestFirst)
    else if (event.kind === 'worked' && this.#holders[0] === 'application') this.#release('application')
    else if (event.kind === 'saved' && turn?.phase === 'saving') this.#save(turn)
    else if ((event.kind === 'replied' || event.kind === 'failed') && turn?.phase === 'working') {
      turn.phase = 'saving'
      turn.fails = event.kind === 'failed'
    }
  }

  /** All that a group started goes on. */
  passOn(): void {
    this.#settle()
    for (const { joined } of this.#claiming.splice(0)) {
      if (!this.#joinable.has('ada start')) this.#joinable.set('ada start', joined[0] as Joined)
    }
    this.#startLook()
    for (const turn of this.#turns()) {
      if (turn.phase === 'interrupted') this.#end(turn, 'TURN_SUPERSEDED')
      if (turn.phase === 'cancelled') this.#end(turn, 'TURN_ABORTED')
    }
    this.#settle()
    this.#startLook()
  }

  /** The first message of each owner looks, in the order in which they came. */
  #startLook(): void {
    const owners = new Set<Owner>()
    for (const one of this.#arriving) {
      const { owner } = one.turn
      const isFirst = !owners.has(owner)
      owners.add(owner)
      if (!isFirst || one.isLooking === true) continue
      one.isLooking = true
      this.#loads.push(() => this.#look(owner))
    }
  }

  /** The turns that have the lock. */
  #turns(): Turn[] {
    return this.#holders.filter((holder) => holder !== 'application')
  }

  #turnOf(owner: Owner): Turn | undefined {
    return this.#turns().find((turn) => turn.owner === owner)
  }

  /**
   * The holder of the lock that keeps a request waiting; if the request only waits behind the application, the first in
   * the queue.
   */
  #holderBefore(request: Request): Request | undefined {
    return this.#holders.find((holder) => areExclusive(holder, request)) ?? this.#holders[0]
  }

  /** That one, if it is a turn. */
  #turnBefore(turn: Turn): Turn | undefined {
    const holder = this.#holderBefore(turn)
    return holder === 'application' ? undefined : holder
  }

  #mustWait(request: Request): boolean {
    return [...this.#holders, ...this.#waiting].some((other) => areExclusive(other, request))
  }

  #say(event: ScheduleEvent & { readonly kind: 'message' }): void {
    const { flow, owner, isKeyed } = event
    const number = this.turns.push(undefined) - 1
    const turn = turnOf(number, `m${number}`, flow, owner, isKeyed)
    if (isRepeatable(event)) this.#keyed.push(turn)
    this.#arrive(turn)
  }

  #repeat({ of, namesSession }: ScheduleEvent & { readonly kind: 'repeat' }): void {
    const { text, flow, owner } = this.#keyed[of % this.#keyed.length] as Turn
    const turn = turnOf(this.turns.push(undefined) - 1, text, flow, owner, true)
    if (text === 'start' && !namesSession) this.#repeatStart(turn)
    else this.#arrive(turn)
  }

  /**
   * Without its session, the first message is looked up in the one that was claimed for it, even if another request has
   * the lock.
   */
  #repeatStart(turn: Turn): void {
    const joinable = this.#joinable.get('claim')
    if (joinable === undefined) {
      this.#join(turn, turn, 'claim')
      this.#claiming.push(turn)
      this.#loads.push(() => this.#give(turn, 'again ok: start'))
    } else this.#waitForTurn(turn, joinable)
  }

  /**
   * A repeat joins. If a message may be refused or affect other messages, the engine first checks whether it is a
   * repeat.
   */
  #arrive(turn: Turn): void {
    if (turn.isKeyed) {
      const joinable = this.#joinable.get(nameOf(turn))
      if (joinable !== undefined) {
        this.#waitForTurn(turn, joinable)
        return
      }
      this.#join(turn, turn)
    }
    const isBehind = this.#arriving.some((other) => other.turn.owner === turn.owner)
    const mustWait = this.#mustWait(turn) || isBehind
    const looks = turn.isKeyed && mustWait && Object.values(this.#policies).some((policy) => policy !== 'queue')
    if (looks || isBehind) this.#arriving.push({ turn, looks })
    else this.#request(turn)
  }

  #waitForTurn(repeat: Turn, { repeats }: Joined): void {
    repeats.push(repeat)
    this.#waitingRepeats.push(repeat)
  }

  /** From now on repeats of a message wait for this turn. */
  #join(message: Turn, turn: Turn, name: string = nameOf(message)): void {
    if (!message.isKeyed) return
    const joined = { message, turn, repeats: [] }
    turn.joined.push(joined)
    this.#joinable.set(name, joined)
  }

  #look(owner: Owner): void {
    const turn = this.#takeArriving(owner)
    const recorded = turn.owner === 'ada' ? this.#receipts.get(nameOf(turn)) : undefined
    if (recorded === undefined) this.#request(turn)
    else this.#give(turn, `again ok: ${recorded}`)
    while (this.#arriving.find((one) => one.turn.owner === owner)?.looks === false) {
      this.#request(this.#takeArriving(owner))
    }
  }

  #takeArriving(owner: Owner): Turn {
    const index = this.#arriving.findIndex(({ turn }) => turn.owner === owner)
    return (this.#arriving.splice(index, 1)[0] as { readonly turn: Turn }).turn
  }

  #request(request: Request): void {
    if (!this.#mustWait(request)) this.#acquire(request)
    else if (request === 'application') this.#waiting.push(request)
    // He waits behind the application, which waits for Ada.
    else if (request.owner === 'bob' && this.#turnBefore(request)?.hasLoaded === true) this.#runBesideLock(request)
    else this.#wait(request, this.#policyFor(request))
  }

  #acquire(request: Request): void {
    this.#holders.push(request)
    if (request === 'application') return
    request.phase = 'loading'
    this.#loads.push(() => this.#load(request))
  }

  #policyFor(turn: Turn): Policy {
    const { flow, owner } = turn
    const holder = this.#turnBefore(turn)
    if (holder?.owner !== owner || mayBeRepeat(holder) || this.#isRepeat(turn)) return 'queue'
    const policy = this.#policies[holder.flow]
    return policy === 'reject' || holder.flow === flow ? policy : 'queue'
  }

  #wait(turn: Turn, policy: Policy): void {
    const own = this.#waitingTurns().filter(({ owner }) => owner === turn.owner)
    const replaced = this.#replacedBy(turn, policy)
    if (policy === 'reject') this.#give(turn, 'SESSION_BUSY')
    else if (own.length - replaced.length >= maxQueued) this.#give(turn, 'LIMIT_EXCEEDED')
    else {
      const holder = this.#turnBefore(turn)
      if (mayBeRepeat(holder)) holder?.meanwhile.push(turn)
      this.#waiting.push(turn)
      this.#supersede(turn, policy)
    }
  }

  #replacedBy(turn: Turn, policy: Policy): Turn[] {
    if (policy !== 'interrupt') return []
    const others = this.#waitingTurns().filter((one) => one !== turn && !this.#isRepeat(one))
    return others.filter(({ owner, flow }) => owner === turn.owner && flow === turn.flow)
  }

  /**
   * Whether the message of a turn was answered before: it refuses, interrupts and supersedes nothing, and nothing does
   * that to it.
   */
  #isRepeat(turn: Turn): boolean {
    return turn.isKeyed && this.#receipts.has(nameOf(turn))
  }

  #supersede(newer: Turn, policy: Policy): void {
    const holder = this.#turnBefore(newer)
    const interrupted = policy === 'interrupt' && holder !== undefined && isAbortable(holder) ? [holder] : []
    const replaced = this.#replacedBy(newer, policy)
    const superseded = [...interrupted, ...replaced]
    this.#waiting = this.#waiting.filter((other) => !replaced.includes(other as Turn))
    if (policy === 'interrupt') {
      newer.replaced = superseded
        .flatMap((turn) => [...turn.replaced, ...(turn.isKeyed ? [turn] : [])])
        .slice(-maxQueued)
      for (const turn of newer.replaced) this.#join(turn, newer)
    }
    for (const turn of superseded) {
      this.superseded.push(`m${turn.number} by m${newer.number}`)
      if (turn === holder) turn.phase = 'interrupted'
      else this.#give(turn, 'TURN_SUPERSEDED')
    }
  }

  #cancel(owner: Owner | undefined): void {
    const index = this.cancelled.push(false) - 1
    const ofSession = this.#turns().find((turn) => turn.owner === 'ada' && turn.hasLoaded)
    const turn = owner === undefined ? (ofSession ?? this.#turns()[0]) : this.#turnOf(owner)
    if (owner === undefined && ofSession === undefined && this.#turns().length > 1) this.isUndecided = true
    if (turn === undefined) return
    // Whether there is something to cancel shows when it has loaded.
    if (mayBeRepeat(turn)) turn.meanwhile.push(index)
    else if (isAbortable(turn)) turn.phase = 'cancelled'
    if (turn.phase === 'cancelled') this.cancelled[index] = true
  }

  #endLoads(newestFirst: boolean): void {
    const loads = this.#loads.splice(0)
    for (const load of newestFirst ? loads.reverse() : loads) {
      load()
      this.passOn()
    }
  }

  /** The document is loaded: its owner, its flow, and whether the turn is a repeat are known. */
  #load(turn: Turn): void {
    if (turn.phase !== 'loading') return
    turn.hasLoaded = true
    // Bob's wait for his own turn, if he has one, and not for Ada's.
    const strangers = this.#waitingTurns().filter((one) => {
      return one.owner === 'bob' && (turn.owner === 'bob' || this.#turnOf('bob') === undefined)
    })
    this.#waiting = this.#waiting.filter((request) => !strangers.includes(request as Turn))
    for (const stranger of strangers) this.#runBesideLock(stranger)
    this.#pass()
    const recorded = turn.isKeyed ? this.#receipts.get(nameOf(turn)) : undefined
    if (turn.flow === 'Other' && turn.owner === 'ada') this.#end(turn, 'SESSION_FLOW_MISMATCH')
    else if (recorded !== undefined) this.#end(turn, `again ok: ${recorded}`)
    else {
      turn.phase = 'working'
      this.#goThrough(turn)
      if (turn.owner === 'bob' && turn.phase === 'working') this.#end(turn, `ok: ${this.#answer(turn)}`)
    }
  }

  /** Handles the events that arrived while it was open whether the turn is a repeat. */
  #goThrough(holder: Turn): void {
    let newest: Turn | undefined
    for (const one of holder.meanwhile) {
      if (typeof one === 'number') {
        if (newest === undefined || this.#policyFor(newest) !== 'interrupt') holder.phase = 'cancelled'
        this.cancelled[one] = holder.phase === 'cancelled'
      } else if (this.#waiting.includes(one)) newest = this.#reject(one) ?? newest
    }
    if (newest !== undefined) this.#supersede(newest, this.#policyFor(newest))
  }

  /**
   * Refuses a turn that waits, if the policy says so, and else gives it back if the policy lets it do something to
   * others.
   */
  #reject(turn: Turn): Turn | undefined {
    const policy = this.#policyFor(turn)
    if (policy !== 'reject') return policy === 'queue' ? undefined : turn
    this.#waiting = this.#waiting.filter((other) => other !== turn)
    this.#give(turn, 'SESSION_BUSY')
    return undefined
  }

  /** Bob's turn makes a new session. */
  #runBesideLock(turn: Turn): void {
    this.#loads.push(() => {
      const recorded = turn.isKeyed ? this.#receipts.get(nameOf(turn)) : undefined
      this.#give(turn, recorded === undefined ? `ok: ${this.#answer(turn)}` : `again ok: ${recorded}`)
    })
  }

  /** The reply, which is recorded if the message has a key. */
  #answer(turn: Turn): string {
    if (turn.isKeyed) this.#receipts.set(nameOf(turn), turn.text)
    return turn.text
  }

  #save(turn: Turn): void {
    const reply = turn.fails ? undefined : this.#answer(turn)
    if (reply !== undefined) this.history.push(reply)
    this.#end(turn, reply === undefined ? 'FLOW_ERROR' : `ok: ${reply}`)
  }

  #end(turn: Turn, outcome: string): void {
    this.#give(turn, outcome)
    this.#release(turn)
  }

  #release(holder: Request): void {
    this.#holders = this.#holders.filter((other) => other !== holder)
    this.#pass()
  }

  /** The requests that no longer wait for another one acquire the lock. */
  #pass(): void {
    const waiting = this.#waiting.splice(0)
    for (const request of waiting) {
      if (this.#mustWait(request)) this.#waiting.push(request)
      else this.#acquire(request)
    }
  }

  /** The outcome of a turn. Who joined it goes on after the others of the group. */
  #give(turn: Turn, outcome: string): void {
    this.turns[turn.number] = outcome
    this.#ended.push({ turn, outcome })
  }

  #settle(): void {
    for (const { turn, outcome } of this.#ended.splice(0)) {
      const again = turn.joined.flatMap((joined) => this.#settleRepeats(joined, outcome))
      // In the order in which they began to wait for the turn, regardless of the messages that they repeat.
      const settled = turn.joined.flatMap(({ repeats }) => repeats)
      const waiting = this.#waitingRepeats.splice(0)
      this.#waitingRepeats.push(...waiting.filter((repeat) => !settled.includes(repeat)))
      for (const repeat of waiting) if (again.includes(repeat)) this.#arriveAgain(repeat)
    }
  }

  /** Repeats get the outcome of the turn that they joined if it answers them. Returns those that it does not answer. */
  #settleRepeats(joined: Joined, outcome: string): Turn[] {
    const { message, turn, repeats } = joined
    for (const [name, one] of this.#joinable) if (one === joined) this.#joinable.delete(name)
    // A turn that was superseded itself is followed by the turn that superseded it.
    if (message !== turn) return repeats
    for (const repeat of repeats) {
      this.turns[repeat.number] = outcome.startsWith('again') ? outcome : `again ${outcome}`
    }
    return []
  }

  /** It may check before or after the next holder loads, if the running turn ends in this group. */
  #arriveAgain(repeat: Turn): void {
    if (this.#turns().some(({ phase }) => phase === 'interrupted' || phase === 'cancelled')) this.isUndecided = true
    this.#arrive(repeat)
  }

  #waitingTurns(): Turn[] {
    return this.#waiting.filter((request) => request !== 'application')
  }
}
