/** A session of an engine beside the session of the model, after each turn. */
import { expect } from 'vitest'
import { type ExecuteResult, FlowEngine, MemorySessionStore, type SessionDocument } from '../../../src/index.js'
import { VirtualClock } from '../../index.js'
import type { Action } from './actions.js'
import { Shop, takers, ticks } from './flows.js'
import { ModelRun, type ModelTurn } from './model.js'
import { nameOf } from './names.js'
import type { ModelFrame, ModelSession } from './stack.js'

/** An engine, and what the model expects of its session. */
export class Play {
  readonly #clock = new VirtualClock()
  readonly #backing = new Map<string, SessionDocument>()
  readonly #count: (what: string) => void
  #engine = this.#open()
  #id = ''
  #entries: { readonly entry: string; readonly of: number }[] = []
  #session: ModelSession | undefined

  constructor(count: (what: string) => void) {
    this.#count = count
  }

  #open(): FlowEngine {
    return new FlowEngine({
      flows: [Shop],
      clock: this.#clock,
      sessionStore: new MemorySessionStore({ backing: this.#backing, clock: this.#clock }),
      onTurnError: 'rollback',
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      schedule: () => undefined,
    })
  }

  async act(action: Action): Promise<void> {
    if (action.kind === 'time') {
      await this.#clock.advance(action.ms)
      await this.#wake()
    } else if (action.kind === 'restart') {
      await this.#engine.close()
      this.#engine = this.#open()
    } else if (action.kind === 'say') {
      const { script: userMessage } = action
      this.#check(await this.#execute({ userMessage }), { script: userMessage })
    } else if (this.#session !== undefined) {
      const { name, from, script: payload } = action
      const sent =
        from === 'user'
          ? this.#execute({ userMessage: '', event: { name, payload } })
          : this.#engine.sendEvent({ sessionId: this.#id, event: name, payload })
      this.#check(await sent, { script: payload, event: { name, from } })
    }
    this.#compare()
  }

  #execute(input: { userMessage: string; event?: { name: string; payload: string } }): Promise<ExecuteResult> {
    return this.#engine.execute({ flowName: 'Shop', ...input, ...(this.#id !== '' && { sessionId: this.#id }) })
  }

  /** Each due timer is tried once, the soonest first. */
  async #wake(): Promise<void> {
    if (this.#session === undefined) return
    const { results } = await this.#engine.wake({ sessionId: this.#id })
    const tried = new Set<string>()
    for (const result of results) {
      const next = this.#nextDue(tried)
      tried.add(JSON.stringify(next))
      this.#count('a timer')
      const { name = '', at = 0 } = next ?? {}
      this.#check(result, { script: '', event: { name, from: 'timer', at } })
    }
    expect(this.#nextDue(tried)).toBeUndefined()
  }

  #nextDue(tried: ReadonlySet<string>) {
    const timers = (this.#session?.frames ?? []).flatMap(({ timers }, at) =>
      [...timers].map(([name, due]) => ({ name, due, at })),
    )
    const due = timers.filter((one) => one.due <= this.#clock.now() && !tried.has(JSON.stringify(one)))
    return due.sort((one, other) => one.due - other.due)[0]
  }

  /** The turn has done what the model does. */
  #check({ response, error }: ExecuteResult, turn: Omit<ModelTurn, 'now'>): void {
    const run = new ModelRun(this.#session, { ...turn, now: this.#clock.now() })
    const outcome = outcomeOf(run)
    this.#count(typeof outcome === 'string' ? outcome : 'ok')
    this.#id = response.session || this.#id
    expect(error?.code ?? { text: response.message, type: response.contentType }).toEqual(outcome)
    if (typeof outcome !== 'string') this.#session = run.session
  }

  /** The stored session is the model's. */
  #compare(): void {
    if (this.#session === undefined) return
    const document = this.#backing.get(this.#id) as SessionDocument
    this.#count(`${this.#session.frames.length} open`)
    expect(shapeOf(document)).toEqual(shapeOfModel(this.#session))
    this.#checkEntries(document, this.#session)
    if (document.runStatus === 'completed') [this.#session, this.#entries] = [undefined, []]
  }

  /** A frame keeps its entry exactly if it is the same entry of its step. */
  #checkEntries({ flow: { frames = [] } }: SessionDocument, { frames: ofModel }: ModelSession): void {
    const former = this.#entries
    this.#entries = frames.map(({ entry }, at) => ({ entry, of: (ofModel[at] as ModelFrame).entry }))
    for (const [at, { entry, of }] of this.#entries.entries()) {
      if (former[at] !== undefined) expect(former[at].entry === entry).toBe(former[at].of === of)
    }
    expect(new Set(frames.map(({ entry }) => entry)).size).toBe(frames.length)
  }
}

function outcomeOf(run: ModelRun): { readonly text: string; readonly type: string } | string {
  try {
    return run.play() ?? 'EVENT_NOT_TAKEN'
  } catch {
    return 'FLOW_ERROR'
  }
}

/** What a document has in common with the model. */
function shapeOf({ version, runStatus, flow }: SessionDocument) {
  const { currentStep, contentType, frames = [], steps } = flow
  const timersOf = (timers: NonNullable<typeof frames>[number]['timers'] = []) =>
    Object.fromEntries(timers.map(({ name, at }) => [name, Date.parse(at)]))
  return {
    version,
    completed: runStatus === 'completed',
    step: currentStep,
    type: contentType,
    frames: frames.map(({ step, called, contentType: type, timers }) => ({
      step,
      called,
      type,
      timers: timersOf(timers),
    })),
    states: Object.fromEntries(
      Object.entries(steps).flatMap(([id, { state }]) => ('n' in state && state.n !== 0 ? [[id, state.n]] : [])),
    ),
  }
}

function shapeOfModel({ frames, states }: ModelSession): ReturnType<typeof shapeOf> {
  const { step, type, entry, timers } = frames.at(-1) as ModelFrame
  const completed = step.endsWith('End')
  const takesEvents = takers.includes(nameOf(step)) || nameOf(step) in ticks
  const isKept = !completed && (frames.length > 1 || (entry > 0 && takesEvents) || timers.size > 0)
  return {
    version: isKept ? 3 : 2,
    completed,
    step: entry > 0 ? step : null,
    type,
    frames: (isKept ? frames : []).map((frame, at) => ({
      step: frame.step,
      called: frame.called,
      type: at === frames.length - 1 ? undefined : frame.type,
      timers: Object.fromEntries(frame.timers),
    })),
    states: Object.fromEntries([...states].filter(([, n]) => n !== 0)),
  }
}
