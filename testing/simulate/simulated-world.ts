/**
 * Runs a plan: one user, or two at once, in one conversation over a store that fails as planned, on a clock that does
 * not move by itself. The same plan always has the same result. The promises and the invariants decide what is a
 * failure.
 */
import {
  type ExecuteResult,
  type FlowConstructor,
  FlowEngine,
  type FlowEngineOptions,
  type FlowErrorCode,
  type FlowLogger,
  type FlowRunInput,
  type JsonValue,
  MemorySessionStore,
  type ModelRequest,
  type SessionDocument,
  type SessionStore,
  type StepConstructor,
} from '../../src/index.js'
import { eventsOf, playTimers, timersOf } from '../conversation/turns/timers.js'
import type { IdKind } from '../conversation/world/conversation-data.js'
import { fixedRandom, modelsOfPolicies } from '../conversation/world/conversation-engines.js'
import { ConversationWorld } from '../conversation/world/conversation-world.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import type { FakeSessionStore } from '../fake-session-store/fake-session-store.js'
import { instrumentFlow } from '../flow-coverage/instrumented-flow.js'
import { type ListedStep, listedSteps, stepIdIn } from '../flow-steps/flow-steps.js'
import { type FormOfSession, formOf, isForm } from '../flow-steps/form-steps.js'
import type { ScriptedReply } from '../scripted-model/scripted-model.js'
import type { ToolDoubles } from '../tool-doubles/tool-doubles.js'
import { unlessHanging } from '../virtual-clock/hang-watch.js'
import { VirtualClock } from '../virtual-clock/virtual-clock.js'
import { formModel, messageTo, submissionOf } from './form-user.js'
import {
  type Actor,
  type ActorView,
  type Plan,
  type PlannedAction,
  type PlannedFault,
  type PlannedSpeech,
  picker,
} from './plan.js'
import { Promises, type Violation } from './promises.js'
import {
  type Invariant,
  type PlayedAction,
  type SimulatedTurn,
  type SimulationSurroundings,
  turnOf,
} from './simulated-turn.js'

/** A turn that runs alone, without its outcome. */
type SentAlone =
  | Pick<Extract<PlayedAction, { kind: 'say' }>, 'kind' | 'said' | 'choice'>
  | Pick<Extract<PlayedAction, { kind: 'event' }>, 'kind' | 'name' | 'payload'>

/** A button of an open list. */
interface Button {
  readonly label: string
  readonly choice: NonNullable<FlowRunInput['choice']>
}

/** What all conversations of a simulation share. */
export interface WorldOptions extends SimulationSurroundings {
  readonly actors: readonly Actor[]
  readonly invariants: Readonly<Record<string, Invariant>>
  readonly model:
    | ((request: ModelRequest, pick: ActorView['pick']) => ScriptedReply | Promise<ScriptedReply>)
    | undefined
  readonly payloads: Readonly<Record<string, (pick: ActorView['pick']) => JsonValue>>
  readonly mayFail: readonly FlowErrorCode[]
  readonly wrapStore: (store: SessionStore) => SessionStore
  readonly hangAfterMs: number
}

/** One conversation of a simulation. */
export class SimulatedWorld {
  readonly transcript: SimulatedTurn[] = []
  readonly played: PlayedAction[] = []
  /** The answers of the models. */
  readonly script: ScriptedReply[] = []
  /** The providers that the flow names. */
  readonly providers: Set<string> = new Set()
  /** The events that were not sent, because they need a payload. */
  readonly unsent: Set<string> = new Set()
  /** Whether it could not go on because a turn or an invariant hangs. */
  isHanging = false
  readonly #flow: FlowConstructor
  /** The same flow as it was given. */
  readonly #given: FlowConstructor
  readonly #options: WorldOptions
  readonly #world: ConversationWorld
  readonly #promises: Promises
  readonly #engineOptions: Pick<FlowEngineOptions, 'services' | 'limits' | 'onTurnError' | 'logger'>
  readonly #input: Pick<FlowRunInput, 'config' | 'owner'>
  #sessionId = ''
  #ids = 0
  /** The IDs of turns that the engines made, in their order. */
  readonly #turnIds: string[] = []
  #modelPick: ActorView['pick'] = picker([])
  /** The forms of the flow. */
  #forms: readonly ListedStep[] | undefined
  /** The field that a form has asked before the last message. */
  #asked: string | undefined

  constructor(flow: FlowConstructor, options: WorldOptions) {
    this.#options = options
    this.#given = flow
    this.#promises = new Promises(options.mayFail)
    this.#flow = instrumentFlow(flow, { onModel: ({ provider }) => void this.providers.add(provider) })
    const backing = new Map<string, SessionDocument>()
    const clock = new VirtualClock()
    const { services, limits, onTurnError, tools = {}, config, owner } = options
    this.#engineOptions = {
      ...(services === undefined ? {} : { services: services() }),
      ...(limits === undefined ? {} : { limits }),
      ...(onTurnError === undefined ? {} : { onTurnError }),
      logger: silent,
    }
    this.#input = { ...(config === undefined ? {} : { config }), ...(owner === undefined ? {} : { owner }) }
    this.#world = new ConversationWorld(this.#flow, {
      ...this.#engineOptions,
      tools,
      clock,
      hangAfterMs: options.hangAfterMs,
      generateId: (kind) => this.#newId(kind),
      createStore: () => this.#promises.watch(options.wrapStore(new MemorySessionStore({ backing, clock }))),
      script: async (request) => {
        const { model = formModel(this.#asked) } = options
        const reply = await model(request, this.#modelPick)
        this.script.push(reply)
        return reply
      },
    })
  }

  /** The doubles, and the tools that steps have offered. */
  get tools(): ToolDoubles {
    return this.#world.tools
  }

  /**
   * Runs the plan up to the first failure. Rejects with what code of the simulation throws, and if a turn or an
   * invariant hangs.
   */
  async play({ actions }: Plan): Promise<Violation | undefined> {
    try {
      for (const action of actions) {
        const before = this.transcript.length
        const { store } = await this.#world.engines.open()
        store.clearJournal()
        await this.#act(action, store)
        const problem = await this.#check(this.transcript.slice(before))
        if (problem !== undefined) return problem
      }
      return undefined
    } catch (error) {
      this.isHanging ||= this.#world.driver.hang !== undefined
      throw error
    } finally {
      await this.#world.engines.stop().catch(() => undefined)
    }
  }

  async #act(action: PlannedAction, store: FakeSessionStore): Promise<void> {
    if (action.kind === 'restart') {
      await this.#world.engines.stop().catch(() => undefined)
      this.played.push({ kind: 'restart' })
    } else if (action.kind === 'together') await this.#together(action, store)
    else if (action.kind === 'time') await this.#time(action)
    else if (action.kind === 'event') await this.#event(action, store)
    else {
      const { speech } = action
      const document = await this.#world.engines.load(this.#sessionId)
      const form = this.#formAt(document, document?.flow.currentStep)
      this.#asked = form?.asked
      const button = this.#button(document, speech, form)
      const said = button?.label ?? this.#sayTo(form, document, speech) ?? this.#say(speech)
      const choice = button?.choice
      const { engine } = await this.#world.engines.open()
      const execute = (): Promise<ExecuteResult> => this.#execute(engine, said, this.#sessionId, choice).executing
      await this.#alone({ kind: 'say', said, choice }, action.fault, store, execute)
    }
  }

  /** A button that the user presses in place of writing; `undefined` if the step offers none, and for half of them. */
  #button(
    document: SessionDocument | undefined,
    { picks: [number = 0], modelPicks }: PlannedSpeech,
    form: FormOfSession | undefined,
  ): Button | undefined {
    const open =
      document?.runStatus === 'running' ? document.flow.steps[document.flow.currentStep ?? '']?.choices : undefined
    if (open === undefined || number % 2 === 1) return undefined
    // The buttons of an earlier question of a form are still there.
    if (form !== undefined && open.name !== (form.asked ?? form.event)) return undefined
    this.#modelPick = picker(modelPicks)
    const { turn, name, options } = open
    const { label, value } = options[(number / 2) % options.length] as (typeof options)[number]
    return { label, choice: { turn, name, value } }
  }

  /** The form that an open step is; `undefined` if it is not one. */
  #formAt(document: SessionDocument | undefined, id: string | null | undefined): FormOfSession | undefined {
    if (document?.runStatus !== 'running') return undefined
    this.#forms ??= listedSteps('simulate', this.#given).filter(({ stepClass }) => isForm(stepClass))
    const step = this.#forms.find((one) => one.id === id)
    const turn = { now: this.#world.clock.now(), services: this.#engineOptions.services ?? {} }
    return step && formOf(step, { ...turn, context: document.flow.context }, document)
  }

  /** What a user says to the open question of a form; `undefined` if an actor speaks. */
  #sayTo(
    form: FormOfSession | undefined,
    document: SessionDocument | undefined,
    { picks: [number = 0, ...picks], modelPicks }: PlannedSpeech,
  ): string | undefined {
    if (form === undefined) return undefined
    this.#modelPick = picker(modelPicks)
    // Its lowest bit has decided that no button is pressed.
    const pick = picker([Math.floor(number / 2), ...picks])
    const choices = document?.flow.steps[form.id]?.choices
    const options = choices?.name === form.asked ? (choices?.options ?? []) : []
    const payload = this.#options.payloads[form.event]?.(pick)
    return messageTo({ form, reply: document?.history.at(-1)?.reply ?? '', options, payload }, pick)
  }

  /** What makes the payload of an event, if it is the submission of an open form. */
  #submission(
    document: SessionDocument | undefined,
    name: string,
  ): ((pick: ActorView['pick']) => JsonValue) | undefined {
    const open = document?.flow.frames?.toReversed().map(({ step }) => this.#formAt(document, step)) ?? []
    const form = open.find((one) => one?.event === name)
    return form && ((pick) => submissionOf(form, pick))
  }

  /** Runs one turn, with a fault of the store. */
  async #alone(
    sent: SentAlone,
    fault: PlannedFault | undefined,
    store: FakeSessionStore,
    execute: () => Promise<ExecuteResult>,
  ): Promise<void> {
    const to = this.#sessionId
    if (fault !== undefined) store.inject(fault)
    let result: ExecuteResult | undefined
    try {
      result = await this.#world.driver.drive(execute())
    } finally {
      const struck = store.journal.filter((entry) => entry.fault !== undefined).length
      store.heal()
      const faults = fault === undefined || struck === 0 ? [] : [{ ...fault, times: struck }]
      if (result !== undefined) {
        const [said, event] = sent.kind === 'say' ? [sent.said, {}] : ['', { event: sent.name }]
        const turnId = this.#turnIds.at(-1) ?? ''
        this.#answered([turnOf(said, to, result, { turnId, ...event, disturbed: struck > 0, together: false })])
      }
      this.played.push({ ...sent, faults, code: result?.error?.code })
    }
  }

  /** Sends one of the events that are taken now. */
  async #event(action: Extract<PlannedAction, { kind: 'event' }>, store: FakeSessionStore): Promise<void> {
    const { payloads } = this.#options
    const { engine } = await this.#world.engines.open()
    const document = await this.#world.engines.load(this.#sessionId)
    const events = eventsOf(document, this.#flow.id, this.#world.declared)
    const event = events[action.choice % events.length]
    if (event === undefined) return
    const { name, input } = event
    const make = payloads[name] ?? this.#submission(document, name)
    if (input !== undefined && make === undefined) {
      this.unsent.add(name)
      return
    }
    this.#modelPick = picker(action.speech.modelPicks)
    const payload = make?.(picker(action.speech.picks))
    const sent = { sessionId: this.#sessionId, event: name, ...(payload === undefined ? {} : { payload }) }
    await this.#alone({ kind: 'event', name, payload }, action.fault, store, () => engine.sendEvent(sent))
  }

  /** Lets time pass, and plays the timers that come due on the way, up to a number of them. */
  async #time({ jump, speech }: Extract<PlannedAction, { kind: 'time' }>): Promise<void> {
    const { clock, driver, engines } = this.#world
    this.#modelPick = picker(speech.modelPicks)
    const to = this.#sessionId
    const load = (): Promise<SessionDocument | undefined> => engines.load(to)
    const [first] = timersOf(await load())
    const ms = jump === 'timer' ? Math.max(0, (first?.at ?? clock.now()) - clock.now()) : jump
    const start = clock.monotonic()
    const turns: SimulatedTurn[] = []
    const play = async (due: readonly string[]): Promise<void> => {
      const { engine } = await engines.open()
      const before = this.#turnIds.length
      const { results } = await driver.drive(engine.wake({ sessionId: to }))
      const ids = this.#turnIds.slice(before)
      const history = (await load())?.history ?? []
      for (const [index, result] of results.entries()) {
        const turnId = ids[index] ?? ''
        const event = history.find(({ id }) => id === turnId)?.event?.name ?? due[index] ?? ''
        turns.push(turnOf('', to, result, { turnId, event, disturbed: false, together: false }))
      }
    }
    try {
      await playTimers(ms, { clock, advance: (left) => clock.advance(left), load, play })
    } finally {
      this.#answered(turns)
      this.played.push({ kind: 'time', ms: clock.monotonic() - start, code: turns.at(-1)?.code })
    }
  }

  async #together(
    { speeches, elsewhere, delays }: Extract<PlannedAction, { kind: 'together' }>,
    store: FakeSessionStore,
  ): Promise<void> {
    const said = speeches.map((speech) => this.#say(speech))
    const to = this.#sessionId
    for (const [index, latencyMs] of delays.entries()) {
      const operation = index < 2 ? 'load' : 'save'
      if (latencyMs > 0) store.inject({ operation, effect: 'latency', latencyMs, nth: (index % 2) + 1 })
    }
    const { engine } = await this.#world.engines.open()
    const other = elsewhere ? this.#anotherEngine(store) : engine
    const turns: SimulatedTurn[] = []
    const run = async (text: string, index: number): Promise<void> => {
      const { turnId, executing } = this.#execute(index === 0 ? engine : other, text, to)
      turns.push(turnOf(text, to, await executing, { turnId, disturbed: false, together: true }))
    }
    try {
      await this.#world.driver.drive(Promise.all(said.map(run)))
      // It serves one turn. Closing it would close the store that it shares with the first engine.
      if (elsewhere) await this.#world.driver.drive(other.settled(), { isAfterTurn: true })
    } finally {
      store.heal()
      this.transcript.push(...turns)
      const met = delays.map((ms, index) => {
        const calls = store.operations.filter((operation) => operation === (index < 2 ? 'load' : 'save'))
        return calls.length > index % 2 ? ms : 0
      })
      this.played.push({ kind: 'together', said, elsewhere, delays: met })
    }
  }

  /** A second engine over the same data, as another process has one. */
  #anotherEngine(sessionStore: FakeSessionStore): FlowEngine {
    const resolve = (): ConversationWorld['model'] => this.#world.model
    const flow = instrumentFlow(this.#flow, {
      onModel: ({ provider }) => engine.registerProvider({ provider, resolve }),
      replaceTools: (offered) => this.#world.tools.replace(offered),
    })
    const engine: FlowEngine = new FlowEngine({
      ...this.#engineOptions,
      flows: [flow],
      sessionStore,
      clock: this.#world.clock,
      schedule: () => undefined,
      random: fixedRandom,
      generateId: (kind) => this.#newId(kind),
    })
    for (const { provider } of modelsOfPolicies(this.#flow)) engine.registerProvider({ provider, resolve })
    this.#world.driver.watchRetries(engine)
    return engine
  }

  #say({ actor, picks, modelPicks }: PlannedSpeech): string {
    this.#modelPick = picker(modelPicks)
    const { actors } = this.#options
    const last = this.transcript.at(-1)
    const say = actors[actor % actors.length] as Actor
    return say({
      reply: last?.reply,
      success: last?.success ?? true,
      completed: last?.completed ?? false,
      turn: this.transcript.length + 1,
      pick: picker(picks),
    })
  }

  /** Begins a turn. Its ID is made at once. */
  #execute(
    engine: FlowEngine,
    userMessage: string,
    sessionId: string,
    choice?: FlowRunInput['choice'],
  ): { readonly turnId: string; readonly executing: Promise<ExecuteResult> } {
    const before = this.#turnIds.length
    const executing = engine.execute({
      flowName: this.#flow.id,
      userMessage,
      sessionId,
      ...(choice && { choice }),
      ...this.#input,
    })
    return { turnId: this.#turnIds[before] ?? '', executing }
  }

  #newId(kind: IdKind): string {
    const id = `${kind}-${++this.#ids}`
    if (kind === 'turn') this.#turnIds.push(id)
    return id
  }

  #answered(turns: readonly SimulatedTurn[]): void {
    this.transcript.push(...turns)
    // A client that got no session keeps the one it has.
    this.#sessionId = turns.at(-1)?.session || this.#sessionId
  }

  async #check(last: readonly SimulatedTurn[]): Promise<Violation | undefined> {
    const { complaint } = this.#world.model
    if (complaint !== undefined)
      return { promise: 'the model of the simulation fits the flow', text: messageOf(complaint) }
    const documents = new Map<string, SessionDocument>()
    for (const id of new Set(this.transcript.flatMap(({ to, session }) => [to, session]))) {
      const document = await this.#world.engines.load(id)
      if (document !== undefined) documents.set(id, document)
    }
    const problem = this.#promises.check(this.transcript, last, documents)
    if (problem !== undefined) return problem
    const document = documents.get(this.#sessionId)
    if (document === undefined || last.length === 0) return undefined
    for (const [promise, holds] of Object.entries(this.#options.invariants)) {
      const stateOf = (step: StepConstructor): object =>
        document.flow.steps[stepIdIn('stateOf', this.#given, step)]?.state ?? new step().initialState()
      const violation = await this.#violationOf(promise, async () => {
        return holds(document, this.transcript, stateOf as Parameters<Invariant>[2])
      })
      if (violation !== undefined) return violation
    }
    return undefined
  }

  /** What is wrong with an invariant. Rejects if it does not settle. */
  async #violationOf(promise: string, holds: () => Promise<unknown>): Promise<Violation | undefined> {
    const { hangAfterMs: afterMs } = this.#options
    const report = (): ExpectationError => {
      this.isHanging = true
      return new ExpectationError(
        `The invariant '${promise}' has not settled for ${afterMs} ms of real time. Settle the promise that it returns. If it is only slow, raise the option hangAfterMs.`,
      )
    }
    try {
      const result = await unlessHanging(holds(), { afterMs, progress: () => undefined, report })
      return result === false ? { promise, text: 'The invariant returned false.' } : undefined
    } catch (error) {
      if (this.isHanging) throw error
      return { promise, text: messageOf(error) }
    }
  }
}

/** A simulation fails with everything that is worth reading: what its conversations log would hide it. */
const silent: FlowLogger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
