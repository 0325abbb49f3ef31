/** Records the turns of an engine as the studio shows them: from its events, its models, and what its store gets. */
import type { EngineEventMap, FlowEngine, SessionDocument, SessionStore } from '../../../src/index.js'
import type { LoggedCall } from '../../conversation/turns/conversation-turn.js'
import { authorFrames } from '../../expectations/author-frames.js'
import type { EffectCall, ModelCall, StoredTurn, TurnInput, Writable } from '../api/types.js'
import { belowHere } from './environment.js'

interface OpenTurn extends Writable<Omit<StoredTurn, 'calls' | 'models' | 'path'>> {
  readonly calls: EffectCall[]
  readonly models: ModelCall[]
  readonly path: StoredTurn['path'][number][]
}

/** Who gets the turns. */
export interface TurnReceiver {
  now(): number
  /** Called with each turn when it has ended. */
  onTurn(turn: StoredTurn): void
}

/** The turns of one engine, one after the other. */
export class TurnRecorder {
  /** The session as it was stored last. */
  document: SessionDocument | undefined
  /** What the next turn is given. Default: it is one of the clock. */
  input: TurnInput | undefined
  readonly #receiver: TurnReceiver
  /** The call that waits for its `model:end`. */
  #logged: LoggedCall | undefined
  /** The model that the engine asks now. */
  #asked = { provider: '', model: '' }
  #turn: OpenTurn | undefined
  /** The calls of the last turn: a summary is asked for after its end. */
  #models: OpenTurn['models'] | undefined
  #started = 0
  /** The current step was left: the next one is a move or a return. */
  #hasLeft = false

  constructor(document: SessionDocument | undefined, receiver: TurnReceiver) {
    this.document = document
    this.#receiver = receiver
  }

  /** The same store; the recorder keeps what it saves. */
  store<Store extends SessionStore>(store: Store): Store {
    const { create, save } = store
    store.create = async (document, ...more) => {
      await create.call(store, document, ...more)
      this.document = document
    }
    store.save = async (document, ...more) => {
      await save.call(store, document, ...more)
      this.document = document
    }
    return store
  }

  addCall(call: EffectCall): void {
    this.#turn?.calls.push(call)
  }

  /** What the user sent must not be shown, nor written into a test. */
  hide(text: string): void {
    if (this.#turn === undefined) return
    const { event, ...input } = this.#turn.input
    const { payload: _payload, ...named } = event ?? { name: '' }
    this.#turn.input = { ...input, ...(event ? { event: named } : { text }), isHidden: true }
  }

  /** Keeps what a model is asked until its call has ended. */
  addModelCall(logged: LoggedCall): void {
    this.#logged = logged
  }

  watch(engine: FlowEngine): void {
    engine.on('turn:start', () => this.#begin())
    engine.on('step:exit', () => {
      this.#hasLeft = true
    })
    // A step that calls is not left.
    engine.on('step:enter', ({ step }) => this.#pass(step, this.#hasLeft ? 0 : 1))
    engine.on('step:resume', ({ step }) => this.#pass(step, this.#hasLeft ? -1 : 0))
    engine.on('model:start', ({ provider, model }) => {
      this.#asked = { provider, model }
    })
    engine.on('model:end', ({ inputTokens, outputTokens, cost, durationMs }) =>
      this.#endModelCall({ inputTokens, outputTokens, durationMs, ...(cost !== undefined && { cost }) }),
    )
    engine.on('turn:content', ({ entry }) => this.#content(entry))
    engine.on('turn:error', ({ error }) => {
      if (this.#turn === undefined) return
      const { code, message, cause } = error
      const frames = [...authorFrames(error), ...authorFrames(cause)]
      const reason = cause instanceof Error && cause.message !== message ? `\n${cause.message}` : ''
      this.#turn.error = { code, text: `${message}${reason}`, frames: [...new Set(frames)].map(belowHere) }
    })
    engine.on('turn:end', () => this.#end())
  }

  #begin(): void {
    this.#started = performance.now()
    const input = this.input ?? { text: '', sender: 'clock' }
    const reply = { reply: '', contentType: 'text/plain', step: '', durationMs: 0 }
    this.#turn = { input, at: this.#receiver.now(), ...reply, calls: [], models: [], path: [] }
    this.#models = this.#turn.models
  }

  #pass(step: string, change: number): void {
    const { path = [] } = this.#turn ?? {}
    const before = path.at(-1)
    path.push({ step, level: before === undefined ? 0 : before.level + change })
    if (this.#turn !== undefined) this.#turn.step = step
    this.#hasLeft = false
  }

  #content(entry: EngineEventMap['turn:content']['entry']): void {
    const turn = this.#turn
    if (turn === undefined || entry === undefined) return
    const { reply, contentType, encoding, parts, step, turn: number, event, message } = entry
    Object.assign(turn, { reply, contentType, step, number }, encoding && { encoding }, parts && { parts })
    const { event: sent, text } = turn.input
    // The history has no long payload.
    if (event !== undefined) turn.input = { ...turn.input, event: { ...(sent?.payload && sent), ...event } }
    else if (message !== text) turn.input = { ...turn.input, text: message, isHidden: true }
  }

  #endModelCall(used: Partial<ModelCall> = {}): void {
    const { request, response } = this.#logged ?? {}
    this.#logged = undefined
    if (request === undefined) return
    const { system, messages, tools, origin } = request
    const asked = { ...this.#asked, step: origin.stepId, ...(system !== undefined && { system }), messages, tools }
    this.#models?.push({ ...asked, ...(response && { answer: response.parts }), ...used })
  }

  #end(): void {
    const turn = this.#turn
    if (turn === undefined) return
    // A call that ignores that its turn was stopped has no end.
    this.#endModelCall()
    this.#turn = undefined
    // An event that was not taken changes nothing, and is no turn.
    const { code = '' } = turn.error ?? {}
    if (turn.input.event !== undefined && ['EVENT_NOT_TAKEN', 'INVALID_INPUT'].includes(code)) return
    turn.durationMs = Math.round(performance.now() - this.#started)
    this.#receiver.onTurn({ ...turn, ...(this.document && { document: this.document }) })
  }
}
