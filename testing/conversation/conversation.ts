/// <reference lib="esnext.disposable" preserve="true" />
/**
 * A whole conversation with a flow, as a test writes it: say something, expect something. It keeps the turns and their
 * results, and fails with the transcript so far. Its surroundings (engine, data, clock, models) are in
 * `conversation/conversation-world.ts`, the expectations in `conversation/expectations.ts`.
 */
import type {
  FlowConstructor,
  FlowEngine,
  FlowErrorCode,
  FlowRunInput,
  JsonObject,
  SessionDocument,
  StateOf,
  StepConstructor,
} from '../../src/index.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import type { FakeSessionStore } from '../fake-session-store/fake-session-store.js'
import { checkAsked, type ExpectedRequest } from '../scripted-model/expected-request.js'
import type { RecordedRequest, ScriptedModel } from '../scripted-model/scripted-model.js'
import type { ToolDoubles } from '../tool-doubles/tool-doubles.js'
import type { VirtualClock } from '../virtual-clock/virtual-clock.js'
import { ConversationRecord, type Saying } from './conversation-record.js'
import { ConversationStream } from './conversation-stream.js'
import {
  type ConversationReply,
  type ConversationToolCall,
  type ConversationTurn,
  type RunningTurn,
  type TurnEnd,
  toolCallsOf,
} from './conversation-turn.js'
import { ConversationWorld, type ConversationWorldOptions } from './conversation-world.js'
import {
  completedProblem,
  type ExpectedToolCall,
  errorProblem,
  type PartOf,
  type Problem,
  type ReplySchema,
  replyProblem,
  stateProblem,
  stepProblem,
  toolCallsProblem,
} from './expectations.js'

/** The options of {@link Conversation}, including those of the engine. */
export interface ConversationOptions extends ConversationWorldOptions {
  /** The `config` of the session's first turn. Default: none. */
  readonly config?: JsonObject
  /** The principal of every turn. Default: none. */
  readonly owner?: string
}

/** What `say` takes with the text, for this turn only. */
export type SayInput = Partial<Omit<FlowRunInput, 'flowName' | 'userMessage'>>

/**
 * A conversation with one flow, over a model that follows a script, a clock that a test moves, and a store that fails on
 * request. `say` and `close` are asynchronous; everything that begins with `expect` checks the last turn synchronously and
 * can be chained.
 *
 * A turn that failed must be expected with `expectError` before the next `say` or `close`. If a model or a tool is called
 * in a way that the test did not prepare, the `say` itself fails.
 *
 * @example
 * ```ts
 * await using conversation = new Conversation(Onboarding, {
 *   script: ['What is your name?', { toolCalls: [{ name: 'capture_name', input: { name: 'Ada Lovelace' } }] }],
 * })
 * await conversation.say('Hello')
 * conversation.expectReply('What is your name?').expectStep(AskName)
 * await conversation.say('Ada Lovelace')
 * conversation.expectToolCalls(['capture_name']).expectState(AskName, { name: 'Ada Lovelace' }).expectCompleted()
 * ```
 */
export class Conversation implements AsyncDisposable {
  /** The session of the next `say`; empty before the first. Set it to continue in another one. */
  sessionId = ''
  readonly #flow: FlowConstructor
  readonly #options: ConversationOptions
  #world: ConversationWorld
  readonly #record: ConversationRecord
  #restarted = false
  #streaming: ConversationStream | undefined
  #closed: Promise<void> | undefined
  #forks = 0

  constructor(flow: FlowConstructor, options: ConversationOptions = {}) {
    this.#flow = flow
    this.#options = options
    this.#world = new ConversationWorld(flow, worldOptions(options))
    this.#record = new ConversationRecord(flow.id)
  }

  /** The model that follows the script. */
  get model(): ScriptedModel {
    return this.#world.model
  }

  /** The doubles for tools, with their calls. */
  get tools(): ToolDoubles {
    return this.#world.tools
  }

  /** The clock. */
  get clock(): VirtualClock {
    return this.#world.clock
  }

  /** The current store, for faults and the journal: a new one after each `restart`. Open the conversation first. */
  get store(): FakeSessionStore {
    return this.#opened().store
  }

  /** The current engine: a new one after each `restart`. Open the conversation first. */
  get engine(): FlowEngine {
    return this.#opened().engine
  }

  /** The last reply. */
  get reply(): ConversationReply {
    return this.#record.last('reply').reply
  }

  /** The tool calls that the model made in the last turn. */
  get toolCalls(): readonly ConversationToolCall[] {
    return toolCallsOf(this.#record.last('toolCalls'))
  }

  /** Makes the engine now, to have `store` and `engine` before the first `say`. */
  async open(): Promise<this> {
    this.#record.requireOpen('open')
    await this.#world.open()
    return this
  }

  /**
   * Sends a message, and waits for the reply. A turn that fails resolves too; expect it with {@link expectError}.
   *
   * @throws `ExpectationError` (rejects) if the script or a double does not fit, or an earlier turn failed unexpectedly.
   */
  async say(text: string, input: SayInput = {}): Promise<ConversationReply> {
    this.#begin({ by: 'say', text })
    try {
      const { engine } = await this.#world.begin()
      const { response, ...more } = await this.#world.drive(engine.execute(this.#inputOf(text, input)))
      const reply = { ...response, ...more }
      await this.#settle(text, { reply })
      return reply
    } finally {
      this.#forget()
    }
  }

  /**
   * Sends a message, and reads the turn event by event. The turn begins when the first event is read. Models that can
   * stream do so. After the last event, expectations check this turn as they do after {@link say}.
   *
   * @throws `ExpectationError` if an earlier turn failed unexpectedly, or is under way.
   * @example
   * ```ts
   * const stream = conversation.stream('Hello')
   * await stream.until('text-delta')
   * await stream.stop()
   * await conversation.stream('Hello again').reply()
   * conversation.expectReply('What is your name?')
   * ```
   */
  stream(text: string, input: SayInput = {}): ConversationStream {
    const world = this.#world
    const afterRestart = this.#restarted
    const soFar = (): RunningTurn => ({ said: text, events: world.events, text: stream.text, afterRestart })
    this.#begin({ by: 'stream', text, soFar })
    const stream: ConversationStream = new ConversationStream({
      said: text,
      open: async () => {
        const { engine } = await world.begin()
        world.answerWhileRead()
        return engine.stream(this.#inputOf(text, input))
      },
      drive: (something) => world.drive(something),
      read: (piece) => world.read(piece),
      settle: (end) => this.#settle(text, end),
      forget: () => this.#forget(),
      fail: (problem) => {
        try {
          return this.#record.fail(problem)
        } finally {
          this.#forget()
        }
      },
    })
    this.#streaming = stream
    return stream
  }

  /** Expects the reply: its whole text, a RegExp for a part, or a Standard Schema for the JSON in it. */
  expectReply(expected: string | RegExp | ReplySchema): this {
    return this.#expect(replyProblem(this.#record.last('expectReply'), expected))
  }

  /** Expects the current step: a class or its ID. */
  expectStep(step: StepConstructor | string): this {
    return this.#expect(stepProblem(this.#record.last('expectStep').document, step, this.#world.steps))
  }

  /**
   * Expects part of a step's stored state: `undefined` for a property that must be missing, a RegExp for a part of a text.
   *
   * @example
   * ```ts
   * conversation.expectState(AskName, { name: 'Ada Lovelace' })
   * ```
   */
  expectState<Target extends StepConstructor>(step: Target, state: PartOf<StateOf<Target>>): this {
    return this.#expect(stateProblem(this.#record.last('expectState').document, step, state))
  }

  /** Expects that the turn reached an end step, and that the session is stored as completed. */
  expectCompleted(): this {
    return this.#expect(completedProblem(this.#record.last('expectCompleted')))
  }

  /** Expects the tool calls that the model made in the turn: all of them, in order, by name or with more. */
  expectToolCalls(calls: readonly ExpectedToolCall[]): this {
    return this.#expect(toolCallsProblem(this.#record.last('expectToolCalls'), calls))
  }

  /** Expects the request that the model received in the turn: the last one, or the one that `call` selects. */
  expectAsked(asked: ExpectedRequest): this {
    const requests = requestsOf(this.#record.last('expectAsked'))
    this.#record.checked(() => checkAsked(requests, asked))
    return this
  }

  /** Expects that the turn failed with this code, and with this text: the whole text, or a RegExp for a part. */
  expectError(code: FlowErrorCode, message?: string | RegExp): this {
    this.#record.check(errorProblem(this.#record.last('expectError'), code, message))
    this.#record.unexpected = false
    return this
  }

  /** Advances the clock by `ms` milliseconds. A `say` that only waits for a delay of the script does not need it. */
  advance(ms: number): Promise<void> {
    return this.#world.advance(ms)
  }

  /** Closes the engine and its connections, and makes new ones over the same data, as a new process would. */
  async restart(): Promise<this> {
    this.#record.requireOpen('restart')
    await this.#world.settled()
    // A process that ends does not check whether its connections closed well.
    await this.#world.stop().catch(() => undefined)
    await this.#world.open()
    this.#restarted = this.#record.turns.length > 0
    return this
  }

  /**
   * Another conversation that continues from this point, with a copy of the session: to test two endings of one beginning.
   *
   * @param options - What differs from now on. Default: nothing; scripts continue from their current reply, the clock from
   * the same time.
   */
  async fork(options: ConversationOptions = {}): Promise<Conversation> {
    this.#record.requireOpen('fork')
    await this.#world.settled()
    const { script: _script, tools: _tools, clock: _clock, ...inherited } = this.#options
    const changed = { ...inherited, ...options }
    const fork = new Conversation(this.#flow, changed)
    fork.#world = new ConversationWorld(this.#flow, worldOptions(changed), this.#world)
    fork.#record.turns.push(...this.#record.turns)
    const { inner } = await fork.#world.open()
    const document = await this.#world.load(this.sessionId)
    if (document === undefined) return fork
    fork.sessionId = `${this.sessionId}-fork-${++this.#forks}`
    await inner.create({ ...document, id: fork.sessionId })
    return fork
  }

  /**
   * The session as it is stored now, read without the faults and the journal of `store`. Summaries that turns have left behind
   * are waited for; `say`, `stream`, `fork`, `restart` and `close` wait for them too.
   */
  async document(): Promise<SessionDocument> {
    this.#record.requireOpen('document')
    await this.#world.settled()
    const document = await this.#world.load(this.sessionId)
    if (document === undefined)
      this.#record.fail({ text: `Nothing is stored under the session ID '${this.sessionId}'.` })
    return document
  }

  /** The conversation so far as Markdown: the same for the same conversation, with any IDs and times. */
  transcript(): string {
    return this.#record.transcript()
  }

  /**
   * Stops a stream that was not read to its end, closes the engine, and fails if something is left: a failed turn that
   * was not expected, replies of the script, results of a double, a double that no step offered, a fault that never struck.
   *
   * @throws `ExpectationError` (rejects)
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  /** {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    const { current } = this.#world
    const stream = this.#streaming
    // A user who leaves in the middle; one who never began is a mistake.
    const isLeft = stream !== undefined && stream.events.length > 0
    const { saying } = this.#record
    const text = saying === undefined || isLeft ? undefined : this.#record.busyText('close', saying)
    this.#record.closed = true
    try {
      await stream?.stop()
      if (saying === undefined) await this.#world.settled()
    } finally {
      const closing = this.#world.stop()
      // A turn that is still under way would be waited for; the time it is given has to pass.
      if (saying?.by === 'say') await this.#world.advance(current?.engine.limits.closeTimeoutMs ?? 0)
      await closing
    }
    if (this.#record.told) return
    if (text !== undefined) this.#record.fail({ text })
    this.#record.requireExpected(this.tools)
    for (const part of [this.model, this.tools]) this.#record.checked(() => part.assertDone())
    this.#record.checked(() => current?.store.assertFaultsUsed())
  }

  #begin(saying: Saying): void {
    this.#record.requireOpen(saying.by)
    this.#record.requireExpected(this.tools)
    this.#record.saying = saying
  }

  #inputOf(text: string, input: SayInput): FlowRunInput {
    const { config, owner } = this.#options
    return {
      flowName: this.#flow.id,
      userMessage: text,
      ...(this.sessionId === '' ? {} : { sessionId: this.sessionId }),
      ...(config === undefined ? {} : { config }),
      ...(owner === undefined ? {} : { owner }),
      ...input,
    }
  }

  /** No turn is under way any more. */
  #forget(): void {
    this.#record.saying = undefined
    this.#streaming = undefined
    this.#world.answerFreely()
  }

  /** A turn is over: remembers it, and fails if the script or a double did not fit. */
  async #settle(said: string, end: TurnEnd): Promise<void> {
    try {
      const turn = await this.#world.turnOf(said, end, this.sessionId)
      if (turn.reply.session !== '') this.sessionId = turn.reply.session
      this.#record.turns.push({ ...turn, afterRestart: this.#restarted })
      this.#restarted = false
      this.#record.unexpected = !turn.reply.success && turn.stoppedAfter === undefined
    } finally {
      this.#forget()
    }
    this.#record.requireNo(this.model.complaint ?? this.tools.complaint)
  }

  #opened(): NonNullable<ConversationWorld['current']> {
    const { current } = this.#world
    if (current !== undefined) return current
    throw new ExpectationError(
      'The conversation has no engine and no store yet: they are made at the first say(). To have them before, await conversation.open().',
    )
  }

  #expect(problem: Problem | undefined): this {
    this.#record.check(problem)
    return this
  }
}

function requestsOf({ events }: ConversationTurn): RecordedRequest[] {
  return events.flatMap((event) => (event.kind === 'asked' ? [event.call.request] : []))
}

/** The options without those of the turns, which the engine would refuse. */
function worldOptions({ config: _config, owner: _owner, ...options }: ConversationOptions): ConversationWorldOptions {
  return options
}
