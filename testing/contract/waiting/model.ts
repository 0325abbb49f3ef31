/** What a session that waits must look like, and what each message, event and wake does to it: as plainly as possible. */
import { delays } from './flow.js'

/** A session, in as few fields as distinguish one from another. */
export interface ModelSession {
  readonly id: string
  readonly completed: boolean
  readonly step: 'Ask' | 'Rest' | 'End'
  /** Which entry of the step it is. */
  readonly entry: number
  readonly reminded: number
  readonly timers: ReadonlyMap<string, number>
  /** A line for each turn: the message or the event, and the reply. */
  readonly history: readonly string[]
}

/** What somebody gets. */
export interface Outcome {
  /** The text of the reply; absent if it failed. */
  readonly text?: string
  readonly code?: string
  readonly replayed?: true
}

/** An event of the application or of the clock. */
export interface ModelEvent {
  readonly name: string
  readonly payload?: unknown
  readonly by?: string
  readonly key?: string
}

/** What a turn does. */
interface ModelTurn {
  /** What it was sent. */
  readonly line: string
  /** The name of its event, if it took one. */
  readonly event?: string
  readonly text: string
  /** The step that it enters. */
  readonly to?: ModelSession['step'] | undefined
  /** The timer that it sets. */
  readonly timer?: keyof typeof delays
}

const ofAsk = ['decision', 'remind', 'nag', 'expired']
const ofFlow = ['ping', 'quiet']

export class WaitingModel {
  session: ModelSession | undefined
  #sessions = 0
  /** The events with a key that were taken, in the present session. */
  #receipts = new Map<string, { readonly request: string; readonly outcome: Outcome }>()

  say(message: string, now: number): Outcome {
    const before = this.session
    if (before === undefined || before.completed) {
      const id = `session-${++this.#sessions}`
      this.#receipts = new Map()
      const none = { id, completed: false, step: 'Ask', entry: 0, reminded: 0, timers: new Map(), history: [] } as const
      return this.#commit(none, { line: message, text: 'asked', to: 'Ask' }, now)
    }
    if (message === 'fail') return { code: 'FLOW_ERROR' }
    if (message === 'end') return this.#commit(before, { line: message, text: 'bye', to: 'End' }, now)
    const texts = { Ask: 'asked', Rest: 'resting' }
    const to = message === 'ask' ? 'Ask' : message === 'rest' ? 'Rest' : undefined
    const text = to === undefined ? `${texts[before.step as 'Ask']} ${message}` : texts[to]
    return this.#commit(before, { line: message, text, to }, now)
  }

  send(event: ModelEvent, now: number): Outcome {
    const { key, ...request } = event
    const receipt = key === undefined ? undefined : this.#receipts.get(key)
    if (receipt !== undefined) {
      const isSame = receipt.request === JSON.stringify(request)
      return isSame ? { ...receipt.outcome, replayed: true } : { code: 'IDEMPOTENCY_MISMATCH' }
    }
    const outcome = this.#take(event, now)
    if (key !== undefined && outcome.code === undefined) {
      this.#receipts.set(key, { request: JSON.stringify(request), outcome })
    }
    return outcome
  }

  /** The outcomes of the timers that are due. */
  wake(now: number): readonly Outcome[] {
    const outcomes: Outcome[] = []
    const tried = new Set<string>()
    for (;;) {
      const { timers = new Map<string, number>() } = this.session ?? {}
      const due = [...timers].filter(([name, at]) => at <= now && !tried.has(`${name} ${this.session?.entry}`))
      due.sort(([, one], [, other]) => one - other)
      const [name] = due[0] ?? []
      if (name === undefined) return outcomes
      tried.add(`${name} ${this.session?.entry}`)
      outcomes.push(this.#take({ name }, now))
    }
  }

  #take({ name, payload, by }: ModelEvent, now: number): Outcome {
    const before = this.session
    const taken = before === undefined || before.completed ? [] : [...(before.step === 'Ask' ? ofAsk : []), ...ofFlow]
    if (before === undefined || !taken.includes(name)) return { code: 'EVENT_NOT_TAKEN' }
    const { approved } = (payload ?? {}) as { approved?: unknown }
    if (name === 'decision' && typeof approved !== 'boolean') return { code: 'INVALID_INPUT' }
    if (name === 'nag') return { code: 'FLOW_ERROR' }
    const words = [
      name,
      ...(payload === undefined ? [] : [JSON.stringify(payload)]),
      ...(by === undefined ? [] : ['by', by]),
    ]
    return this.#run(before, { line: words.join(' '), event: name }, approved === true, now)
  }

  #run(
    before: ModelSession,
    event: { readonly line: string; readonly event: string },
    isApproved: boolean,
    now: number,
  ): Outcome {
    switch (event.event) {
      case 'decision':
        return this.#commit(
          before,
          { ...event, ...(isApproved ? { text: 'resting', to: 'Rest' } : { text: 'declined' }) },
          now,
        )
      case 'expired':
        return this.#commit(before, { ...event, text: 'expired', to: 'End' }, now)
      case 'remind': {
        const reminded = before.reminded + 1
        const timer = reminded < 3 ? { timer: 'remind' as const } : {}
        return this.#commit({ ...before, reminded }, { ...event, text: '', ...timer }, now)
      }
      default:
        return this.#commit(before, { ...event, text: event.event === 'ping' ? 'pong' : '' }, now)
    }
  }

  #commit(before: ModelSession, turn: ModelTurn, now: number): Outcome {
    const { line, event, text, to } = turn
    const completed = to === 'End'
    this.session = {
      ...before,
      completed,
      step: to ?? before.step,
      entry: before.entry + (to === undefined ? 0 : 1),
      timers: completed ? new Map() : timersAfter(before, turn, now),
      history: [...before.history, `${event === undefined ? 'User' : 'Event'}: ${line} -> ${text}`],
    }
    return { text }
  }
}

function timersAfter(
  { timers: before }: ModelSession,
  { event, to, timer }: ModelTurn,
  now: number,
): Map<string, number> {
  const timers = new Map(before)
  if (event !== undefined) timers.delete(event)
  if (to !== undefined) for (const name of ofAsk) timers.delete(name)
  if (to === 'Ask') for (const name of ['remind', 'nag', 'expired'] as const) timers.set(name, now + delays[name])
  if (timer !== undefined) timers.set(timer, now + delays[timer])
  if (event === undefined) timers.set('quiet', now + delays.quiet)
  return timers
}
