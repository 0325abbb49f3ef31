/** Records the turns of an engine as the studio shows them: from its events, its models, and what its store gets. */
import type { EngineEventMap, FlowEngine, JsonValue, SessionDocument, SessionStore } from '../../../src/index.js'
import type { LoggedCall } from '../../conversation/turns/conversation-turn.js'
import { authorFrames } from '../../expectations/author-frames.js'
import type { EffectCall, ModelCall, StoredTurn, TurnInput } from '../api/types.js'
import { belowHere } from './environment.js'

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] }
interface OpenTurn extends Writable<Omit<StoredTurn, 'calls' | 'models' | 'trace' | 'path'>> {
  readonly calls: EffectCall[]
  readonly models: Writable<ModelCall>[]
  readonly trace: [name: string, payload: object][]
  readonly path: string[]
}

/** What coverage counts. */
const traced: readonly (keyof EngineEventMap)[] = [
  'turn:start',
  'step:resume',
  'step:enter',
  'step:exit',
  'model:start',
  'tool:end',
  'turn:content',
  'turn:end',
]

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
  readonly #calls = new Map<LoggedCall, { readonly call: Writable<ModelCall>; readonly started: number }>()
  /** The model that the engine asks now. */
  #asked = { provider: '', model: '' }
  #turn: OpenTurn | undefined
  /** Of the last turn: a summary is asked for after its end. */
  #models: OpenTurn['models'] | undefined
  #started = 0

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

  addModelCall(logged: LoggedCall, event: 'asked' | 'answered'): void {
    if (event === 'asked') {
      const { system, messages, tools, origin } = logged.request
      const call = {
        ...this.#asked,
        step: origin.stepId,
        ...(system === undefined ? {} : { system }),
        messages,
        tools,
      }
      this.#calls.set(logged, { call, started: performance.now() })
      this.#models?.push(call)
      return
    }
    const { call, started } = this.#calls.get(logged) ?? {}
    if (call === undefined || started === undefined) return
    call.answer = logged.response?.parts ?? []
    call.durationMs = Math.round(performance.now() - started)
  }

  watch(engine: FlowEngine): void {
    engine.on('turn:start', () => this.#begin())
    for (const name of ['step:enter', 'step:resume'] as const) {
      engine.on(name, ({ step }) => {
        if (this.#turn === undefined) return
        this.#turn.path.push(step)
        this.#turn.step = step
      })
    }
    engine.on('model:start', ({ provider, model }) => {
      this.#asked = { provider, model }
    })
    engine.on('model:end', ({ inputTokens, outputTokens, cost }) => {
      const call = this.#models?.at(-1)
      if (call !== undefined) Object.assign(call, { inputTokens, outputTokens }, cost === undefined ? {} : { cost })
    })
    engine.on('turn:content', ({ entry }) => this.#content(entry))
    engine.on('turn:error', ({ error }) => {
      if (this.#turn === undefined) return
      const { code, message, cause } = error
      const frames = [...authorFrames(error), ...authorFrames(cause)]
      const reason = cause instanceof Error && cause.message !== message ? `\n${cause.message}` : ''
      this.#turn.error = { code, text: `${message}${reason}`, frames: [...new Set(frames)].map(belowHere) }
    })
    // Before the turn is handed on.
    for (const name of traced) engine.on(name, (payload) => this.#turn?.trace.push([name, tracedOf(payload)]))
    engine.on('turn:end', () => this.#end())
  }

  #begin(): void {
    this.#started = performance.now()
    const input = this.input ?? { text: '', sender: 'clock' }
    const reply = { reply: '', contentType: 'text/plain', step: '', durationMs: 0 }
    this.#turn = { input, at: this.#receiver.now(), ...reply, calls: [], models: [], trace: [], path: [] }
    this.#models = this.#turn.models
  }

  #content(entry: EngineEventMap['turn:content']['entry']): void {
    const turn = this.#turn
    if (turn === undefined || entry === undefined) return
    const { reply, contentType, encoding, parts, step, turn: number, event, message } = entry
    Object.assign(turn, { reply, contentType, step, number }, encoding && { encoding }, parts && { parts })
    // What the flow has hidden must not be shown, nor written into a test.
    const { payload = null } = turn.input.event ?? {}
    const isLong = Buffer.byteLength(JSON.stringify(payload)) > 1024
    turn.input = { ...turn.input, text: message, ...(event && { event: { ...event, ...(isLong && { payload }) } }) }
  }

  #end(): void {
    const turn = this.#turn
    if (turn === undefined) return
    this.#turn = undefined
    // An event that was not taken changes nothing, and is no turn.
    const { code = '' } = turn.error ?? {}
    if (turn.input.event !== undefined && ['EVENT_NOT_TAKEN', 'INVALID_INPUT'].includes(code)) return
    turn.durationMs = Math.round(performance.now() - this.#started)
    this.#receiver.onTurn({ ...turn, ...(this.document && { document: this.document }) })
  }
}

/** The payload without the texts of the conversation. */
function tracedOf(payload: object): object {
  if (!('entry' in payload)) return payload
  const { step, event } = (payload.entry ?? {}) as { readonly step?: string; readonly event?: JsonValue }
  return { ...payload, entry: { step, event } }
}
