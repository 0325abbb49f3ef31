/**
 * The model of `busy`: what becomes of each message of a schedule. One request has the lock, the others wait in a list; a message looks
 * at both when it comes. Nothing here is asynchronous: what happens at once is one group, after which the lock is passed on.
 */
import type { Policy } from '../busy-talk.js'
import type { FlowName, Happening, Owner, Schedule } from './schedule.js'

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

interface Turn {
  readonly number: number
  readonly flow: FlowName
  readonly owner: Owner
  /** The messages of turns that it superseded. */
  replaced: readonly number[]
  phase: 'loading' | 'working' | 'saving' | 'interrupted' | 'cancelled'
  fails: boolean
  hasLoaded: boolean
}

/** A turn, or the application. */
type Request = Turn | 'application'

/** What becomes of the messages of a schedule. */
export function outcomeOfModel({ busy, busyOfOther, groups }: Schedule, end: readonly Happening[]): Outcome {
  const model = new BusyModel({ Talk: busy, Other: busyOfOther })
  for (const group of [...groups, ...end.map((one) => [one])]) {
    for (const happening of group) model.happen(happening)
    model.passOn()
  }
  const { turns, cancelled, superseded, history } = model
  return { turns, cancelled, superseded: superseded.sort(), history }
}

class BusyModel {
  readonly turns: (string | undefined)[] = []
  readonly cancelled: boolean[] = []
  readonly superseded: string[] = []
  readonly history: string[] = []
  readonly #policies: Readonly<Record<FlowName, Policy>>
  #holder: Request | undefined
  #waiting: Request[] = []
  /** Turns that load without the lock: Bob's, once it is known that the session is Ada's. */
  #strangers: Turn[] = []

  constructor(policies: Readonly<Record<FlowName, Policy>>) {
    this.#policies = policies
  }

  happen(happening: Happening): void {
    const turn = this.#turn
    if (happening.kind === 'message') this.#arrive(happening)
    else if (happening.kind === 'cancel') this.#cancel(happening.owner)
    else if (happening.kind === 'work') this.#request()
    else if (happening.kind === 'loaded') this.#load()
    else if (happening.kind === 'worked' && this.#holder === 'application') this.#next()
    else if (happening.kind === 'saved' && turn?.phase === 'saving') this.#save(turn)
    else if ((happening.kind === 'replied' || happening.kind === 'failed') && turn?.phase === 'working') {
      turn.phase = 'saving'
      turn.fails = happening.kind === 'failed'
    }
  }

  /** All that a group started goes on. */
  passOn(): void {
    const turn = this.#turn
    if (turn?.phase === 'interrupted') this.#end(turn, 'TURN_SUPERSEDED')
    if (turn?.phase === 'cancelled') this.#end(turn, 'TURN_ABORTED')
  }

  /** The turn that has the lock. */
  get #turn(): Turn | undefined {
    return this.#holder === 'application' ? undefined : this.#holder
  }

  #arrive({ flow, owner }: { readonly flow: FlowName; readonly owner: Owner }): void {
    const number = this.turns.push(undefined) - 1
    const turn: Turn = { number, flow, owner, replaced: [], phase: 'loading', fails: false, hasLoaded: false }
    if (this.#holder === undefined) this.#holder = turn
    else if (owner === 'bob' && this.#turn?.hasLoaded === true) this.#strangers.push(turn)
    else this.#wait(turn, this.#policyFor(turn))
  }

  #policyFor({ flow, owner }: Turn): Policy {
    const holder = this.#turn
    if (holder?.owner !== owner) return 'queue'
    const policy = this.#policies[holder.flow]
    return policy === 'reject' || holder.flow === flow ? policy : 'queue'
  }

  #wait(turn: Turn, policy: Policy): void {
    const own = this.#waitingTurns().filter(({ owner }) => owner === turn.owner)
    const takesPlace = policy === 'interrupt' || policy === 'latest'
    const replaced = takesPlace ? own.filter(({ flow }) => flow === turn.flow) : []
    if (policy === 'reject') this.turns[turn.number] = 'SESSION_BUSY'
    else if (own.length - replaced.length >= maxQueued) this.turns[turn.number] = 'LIMIT_EXCEEDED'
    else {
      const holder = this.#turn
      const interrupted = policy === 'interrupt' && holder !== undefined && isAbortable(holder) ? [holder] : []
      this.#supersede(turn, [...interrupted, ...replaced], policy)
      this.#waiting = [...this.#waiting.filter((other) => !replaced.includes(other as Turn)), turn]
    }
  }

  #supersede(newer: Turn, turns: readonly Turn[], policy: Policy): void {
    for (const turn of turns) {
      this.superseded.push(`m${turn.number} by m${newer.number}`)
      if (turn === this.#holder) turn.phase = 'interrupted'
      else this.turns[turn.number] = 'TURN_SUPERSEDED'
      if (policy === 'interrupt') newer.replaced = [...newer.replaced, ...turn.replaced, turn.number].slice(-maxQueued)
    }
  }

  #cancel(owner: Owner | undefined): void {
    const turn = owner === undefined || this.#turn?.owner === owner ? this.#turn : undefined
    if (turn !== undefined && isAbortable(turn)) turn.phase = 'cancelled'
    this.cancelled.push(turn?.phase === 'cancelled')
  }

  #request(): void {
    if (this.#holder === undefined) this.#holder = 'application'
    else this.#waiting.push('application')
  }

  /** The documents of loads under way are there: it is known whose session it is, and of which flow. */
  #load(): void {
    for (const turn of this.#strangers) this.turns[turn.number] = `ok: ${textOf(turn)}`
    this.#strangers = []
    const turn = this.#turn
    if (turn?.phase !== 'loading') return
    turn.hasLoaded = true
    this.#strangers = this.#waitingTurns().filter(({ owner }) => owner === 'bob')
    this.#waiting = this.#waiting.filter((request) => !this.#strangers.includes(request as Turn))
    if (turn.owner === 'bob') this.#end(turn, `ok: ${textOf(turn)}`)
    else if (turn.flow === 'Other') this.#end(turn, 'SESSION_FLOW_MISMATCH')
    else turn.phase = 'working'
  }

  #save(turn: Turn): void {
    if (!turn.fails) this.history.push(textOf(turn))
    this.#end(turn, turn.fails ? 'FLOW_ERROR' : `ok: ${textOf(turn)}`)
  }

  #end(turn: Turn, outcome: string): void {
    this.turns[turn.number] = outcome
    this.#next()
  }

  #next(): void {
    this.#holder = this.#waiting.shift()
  }

  #waitingTurns(): Turn[] {
    return this.#waiting.filter((request) => request !== 'application')
  }
}

function isAbortable({ phase }: Turn): boolean {
  return phase === 'loading' || phase === 'working'
}

/** The message as it runs: merged with those that were superseded. */
function textOf({ replaced, number }: Turn): string {
  return [...replaced, number].map((one) => `m${one}`).join('+')
}
