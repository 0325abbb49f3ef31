/**
 * A line of the studio: one run of a conversation, which can be read at each of its turns. It has its own engine
 * and store, and a time that stands still until it is moved; so a fork can begin anywhere, and a saved test is exact.
 */
import type {
  ExecuteResult,
  FlowConstructor,
  FlowEngine,
  FlowStreamEvent,
  SessionDocument,
} from '../../../src/index.js'
import type { ConversationOptions } from '../../conversation/conversation-options.js'
import { playTimers, timersOf } from '../../conversation/turns/timers.js'
import type { EffectCall, LineSummary, Question, StoredTurn, TurnInput } from '../api/types.js'
import { differencesOf } from './differences.js'
import { EffectGuard, unusedCalls } from './effect-guard.js'
import { lineEngine } from './line-engine.js'
import { TurnRecorder } from './turn-recorder.js'

/** What is stored of a line. */
export interface StoredLine extends Omit<LineSummary, 'turns'> {
  readonly turns: StoredTurn[]
  readonly startedAt: number
  /** When the line was made, by the machine's clock. */
  readonly madeAt: number
  now: number
  /** What the earlier line did after the fork. Absent if it is no fork. */
  readonly recorded?: readonly EffectCall[]
  /** The developer has said that everything may run. */
  runsAll?: true
}

/** What a line tells the studio. */
export interface LineListener {
  /** Something has changed; `isStored` if a turn or the time has. */
  onChange(line: StudioLine, isStored: boolean): void
  onPiece(line: StudioLine, type: 'text' | 'reset' | 'tool', text: string): void
}

type Play = (engine: FlowEngine, signal: AbortSignal) => Promise<Partial<ExecuteResult> | undefined>

/** Some 300 years: dates end later. */
const maximumMs = 1e13

/** One run of a conversation. */
export class StudioLine {
  readonly stored: StoredLine
  readonly flow: FlowConstructor | undefined
  /** What waits for the developer's answer. */
  question: Question | undefined
  isBusy = false
  readonly #setup: ConversationOptions
  readonly #listener: LineListener
  readonly #recorder: TurnRecorder
  #engine: FlowEngine | undefined
  #stopping: AbortController | undefined
  #answer: ((may: boolean) => void) | undefined
  /** The answer to the last question. */
  #asked = Promise.resolve(true)

  /** @param flow - `undefined` for a session of a flow that is not here: it can only be read. */
  constructor(
    stored: StoredLine,
    flow: FlowConstructor | undefined,
    setup: ConversationOptions,
    listener: LineListener,
  ) {
    this.stored = stored
    this.flow = flow
    this.#setup = setup
    this.#listener = listener
    const { document } = stored.turns.findLast((turn) => turn.document !== undefined) ?? {}
    this.#recorder = new TurnRecorder(document, {
      now: () => this.stored.now,
      onTurn: (turn) => {
        this.turns.push(turn)
        this.#changed(false)
      },
    })
  }

  get id(): string {
    return this.stored.id
  }

  get turns(): StoredTurn[] {
    return this.stored.turns
  }

  /** The session as it is stored now; `undefined` before the first turn. */
  get document(): SessionDocument | undefined {
    return this.#recorder.document
  }

  /** What the turn under way was given, or the last one; `undefined` for one of the clock. */
  get input(): TurnInput | undefined {
    return this.#recorder.input
  }

  /** Sends a message, or an event of the user. Returns why there was no turn; `undefined` if there was one. */
  send({ text, choice, attachments, event }: TurnInput): Promise<string | undefined> {
    const more = { ...(choice && { choice }), ...(attachments && { attachments }), ...(event && { event }) }
    const sender = event === undefined ? {} : { sender: 'user' as const }
    return this.#run({ text, ...more, ...sender }, async (engine, signal) => {
      const { config, owner } = this.#setup
      const sessionId = this.document?.id
      const given = { ...(sessionId !== undefined && { sessionId }), ...(owner !== undefined && { owner }) }
      const input = {
        flowName: this.stored.flow,
        userMessage: text,
        ...more,
        ...given,
        ...(config && { config }),
        signal,
      }
      for await (const piece of engine.stream(input)) {
        this.#show(piece)
        if (piece.type === 'error') return piece
      }
      return undefined
    })
  }

  /** Sends an event of the application. */
  sendEvent(event: NonNullable<TurnInput['event']>): Promise<string | undefined> {
    const { name, ...more } = event
    return this.#run({ text: '', event, sender: 'application' }, (engine, signal) =>
      engine.sendEvent({ sessionId: this.document?.id ?? '', event: name, ...more, signal }),
    )
  }

  /** Moves the time, by default to the next timer, and plays each timer as a turn. */
  async advance(ms?: number): Promise<string | undefined> {
    const now = (): number => this.stored.now
    const [next] = timersOf(this.document)
    const move = ms ?? (next && Math.max(0, next.at - now()))
    if (move === undefined) return 'There is no timer.'
    if (!(move >= 0 && move < maximumMs)) return 'The time moves by 0 milliseconds or more.'
    const advance = async (left: number): Promise<void> => {
      this.stored.now += left
    }
    const sessionId = this.document?.id ?? ''
    return this.#run(undefined, async (engine, signal) => {
      // After a stop, no further timer is played.
      const play = async (): Promise<void> => void (signal.aborted || (await engine.wake({ sessionId })))
      const load = async (): Promise<SessionDocument | undefined> => this.document
      await playTimers(move, { clock: { now, monotonic: now }, advance, play, load })
      return undefined
    })
  }

  /** Cancels the turn under way. A question is answered with no. */
  async stop(): Promise<undefined> {
    this.#stopping?.abort()
    this.#answer?.(false)
  }

  /** Answers the open question. Returns why it cannot. */
  async answer(id: string, answer: string): Promise<string | undefined> {
    if (this.question?.id !== id) return 'This question is not open any more.'
    if (!['run', 'run-all', 'refuse'].includes(answer)) return 'The answer is run, run-all or refuse.'
    if (answer === 'run-all') this.stored.runsAll = true
    // An effect that must not happen ends its turn; of a tool, the model gets the refusal.
    const { kind, name } = this.question
    if (answer === 'refuse' && kind === 'once') this.#stopping?.abort(new Error(`You did not let ${name} run.`))
    this.#answer?.(answer !== 'refuse')
    return undefined
  }

  /** What a line is that goes on after a turn of this one: 0 is the beginning. */
  forked(after: number, id: string): StoredLine {
    const { flow, startedAt, turns: all } = this.stored
    const turns = all.slice(0, after)
    const done = callsOf(all.slice(this.stored.parent?.turn ?? 0))
    const recorded = [...callsOf(all.slice(after)), ...unusedCalls(this.stored.recorded ?? [], done)]
    const parent = { line: this.id, turn: after }
    return { id, flow, startedAt, now: turns.at(-1)?.at ?? startedAt, madeAt: Date.now(), turns, recorded, parent }
  }

  /** Plays turns of another line, at their times, and marks in which fields each differs. */
  async play(turns: readonly StoredTurn[]): Promise<void> {
    for (const turn of turns) {
      await this.#playAgain(turn)
      if (this.#stopping?.signal.aborted) return
    }
  }

  async #playAgain(turn: StoredTurn): Promise<void> {
    const before = this.turns.length
    const { sender, event } = turn.input
    if (turn.at > this.stored.now || sender === 'clock') await this.advance(Math.max(0, turn.at - this.stored.now))
    if (sender === 'application' && event) await this.sendEvent(event)
    else if (sender !== 'clock') await this.send(turn.input)
    const played = this.turns.at(-1)
    if (played === undefined || this.turns.length === before) return
    this.turns[this.turns.length - 1] = { ...played, differs: differencesOf(turn, played) }
    this.#changed(true)
  }

  /** Ends the engine of the line. */
  async close(): Promise<void> {
    await this.stop()
    await this.#engine?.close()
  }

  /** Runs turns, one caller after the other. Returns why there was none. */
  async #run(input: TurnInput | undefined, play: Play): Promise<string | undefined> {
    if (this.isBusy) return 'A turn is under way. Wait for it, or stop it.'
    if (this.stored.isReadOnly) return 'This session can only be read. Begin a new conversation.'
    const { runStatus = 'running' } = this.document ?? {}
    if (runStatus !== 'running') return `This conversation is ${runStatus}. Begin a new one, or go back a turn.`
    const before = this.turns.length
    this.isBusy = true
    this.#stopping = new AbortController()
    this.#changed(false)
    try {
      this.#engine ??= await this.#open()
      const engine = this.#engine
      this.#recorder.input = input
      const { error, response } = (await play(engine, this.#stopping.signal)) ?? {}
      // A summary belongs to the turn that left it behind.
      await engine.settled()
      if (this.turns.length === before) return error?.message
      const reply = error && response ? { reply: response.message } : {}
      const last = this.turns.pop() as StoredTurn
      this.turns.push({ ...last, ...reply, ...(this.document && { document: this.document }) })
      return undefined
    } finally {
      this.isBusy = false
      this.#answer?.(false)
      this.#changed(true)
    }
  }

  #show(piece: FlowStreamEvent): void {
    if (piece.type === 'text-delta') this.#listener.onPiece(this, 'text', piece.text)
    if (piece.type === 'reset') this.#listener.onPiece(this, 'reset', '')
    if (piece.type === 'tool-start') this.#listener.onPiece(this, 'tool', piece.tool)
  }

  #changed(isStored: boolean): void {
    this.#listener.onChange(this, isStored)
  }

  /** Asks one question after the other: a turn may run tools side by side. */
  #ask(question: Omit<Question, 'id'>): Promise<boolean> {
    this.#asked = this.#asked.then(() => {
      // The turn may have failed meanwhile.
      if (!this.isBusy || this.#stopping?.signal.aborted) return false
      if (this.stored.runsAll) return true
      return new Promise((resolve) => {
        this.question = { id: crypto.randomUUID(), ...question }
        this.#answer = (may) => {
          this.question = undefined
          this.#answer = undefined
          this.#changed(false)
          resolve(may)
        }
        this.#changed(false)
      })
    })
    return this.#asked
  }

  async #open(): Promise<FlowEngine> {
    const { recorded, parent } = this.stored
    const { turns, document } = this
    const guard = new EffectGuard({
      recorded: recorded ?? [],
      done: callsOf(turns.slice(parent?.turn ?? 0)),
      ...(recorded && { ask: (question) => this.#ask(question) }),
      log: (call) => this.#recorder.addCall(call),
      hide: (text) => this.#recorder.hide(text),
    })
    const parts = { flow: this.flow as FlowConstructor, setup: this.#setup, recorder: this.#recorder, guard, turns }
    const { engine, store } = lineEngine({ ...parts, now: () => this.stored.now })
    if (document !== undefined) await store.create(document)
    return engine
  }
}

function callsOf(turns: readonly StoredTurn[]): EffectCall[] {
  return turns.flatMap(({ calls }) => calls)
}
