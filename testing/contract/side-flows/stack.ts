/** The open calls of the model, with their timers and states. */
import { quiet, ticks } from './flows.js'
import { around, firstOf, flowsOf, isFlow, nameOf } from './names.js'

/** An open call. If its step is left for another, another frame takes its place. */
export interface ModelFrame {
  readonly step: string
  /** Which entry of a step it is; 0 if it has called before it was entered. */
  readonly entry: number
  readonly called?: string | undefined
  readonly type?: string | undefined
  readonly timers: Map<string, number>
}

export interface ModelSession {
  readonly frames: ModelFrame[]
  readonly states: Map<string, number>
  entries: number
  /** When the user's last message came. */
  spokenAt: number
}

export class ModelStack {
  readonly session: ModelSession
  readonly #now: number

  /** @param before - It is not changed; `undefined` if the session begins. */
  constructor(before: ModelSession | undefined, now: number) {
    const frames = [{ step: 'Chat', entry: 0, timers: new Map() }]
    this.session = structuredClone(before ?? { frames, states: new Map(), entries: 0, spokenAt: 0 })
    this.#now = now
  }

  get frames(): ModelFrame[] {
    return this.session.frames
  }

  get top(): ModelFrame {
    return this.frames.at(-1) as ModelFrame
  }

  get last(): number {
    return this.frames.length - 1
  }

  /** Puts a frame for a step or a flow on top, which is not entered yet. @throws if that is not possible */
  push(called: string): void {
    const step = firstOf(called)
    const isAgain = this.frames.some((one) => one.step === step) || (isFlow(called) && this.#isOpen(called))
    if (nameOf(step) === 'End' || isAgain || this.frames.length === 8) throw new Error('The call is not possible.')
    this.#renew(step, called)
    // Since the last message, or since now if it would be over at once.
    const at = this.session.spokenAt + quiet.ms
    const timers = nameOf(called) === quiet.flow ? [['quiet', at > this.#now ? at : this.#now + quiet.ms] as const] : []
    this.frames.push({ step, entry: 0, called, timers: new Map(timers) })
  }

  #isOpen(flow: string): boolean {
    return this.frames.some((one) => flowsOf(one.step).includes(flow))
  }

  /** The outermost flow in which no step is open begins again. */
  #renew(step: string, called: string): void {
    const renewed = flowsOf(step).findLast((flow) => !this.#isOpen(flow))
    if (renewed === undefined) return
    if (!isFlow(called)) throw new Error('Its flow must be called.')
    const { states } = this.session
    for (const one of states.keys()) if (flowsOf(one).includes(renewed)) states.delete(one)
  }

  /** Has another step take the place of the top one. */
  enter(step: string, type?: string): void {
    const { called, timers: former } = this.frames.pop() as ModelFrame
    // The silence of a flow goes on.
    const timers = new Map([...former].filter(([name]) => name === 'quiet'))
    const after = ticks[nameOf(step)]?.after
    if (after !== undefined) timers.set('tick', this.#now + after)
    this.frames.push({ step, entry: ++this.session.entries, called, type, timers })
  }

  /** Drops what is above one of the open calls. */
  dropAbove(at: number): void {
    this.frames.length = at + 1
  }

  setTimer(at: number, hours: number | undefined): void {
    const { step, timers } = this.frames[at] as ModelFrame
    if (!(nameOf(step) in ticks)) throw new Error('The step has no tick.')
    if (hours === undefined) timers.delete('tick')
    else timers.set('tick', this.#now + hours)
  }

  /** Which open call the hooks of a flow are for. */
  placeOf(flow: string): number {
    if (flow === '') return 0
    const at = this.frames.findLastIndex(({ called }) => called === flow)
    return at === -1 ? this.last : at
  }

  /** Where the innermost called flow begins of those around `flow`, up to one of the open calls. */
  calledAt(flow: string, last: number): number | undefined {
    const places = around(flow).map((one) =>
      this.frames.findLastIndex(({ called }, index) => index <= last && called === one),
    )
    return places.find((place) => place !== -1)
  }

  /** The user has done something. */
  endSilence(): void {
    for (const { called = '', timers } of this.frames) {
      if (nameOf(called) === quiet.flow) timers.set('quiet', this.#now + quiet.ms)
    }
  }
}
