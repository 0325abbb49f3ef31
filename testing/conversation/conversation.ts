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
import { type ClientFault, keyOf, type SentMessage, send, sendAtOnce, sendTwice } from './client.js'
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
import type { DeathBefore } from './effect-log.js'
import {
  completedProblem,
  type ExpectedOutcome,
  type ExpectedToolCall,
  errorProblem,
  outcomesProblem,
  type PartOf,
  type Problem,
  type ReplySchema,
  replayedProblem,
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
export interface SayInput extends Partial<Omit<FlowRunInput, 'flowName' | 'userMessage' | 'idempotencyKey'>> {
  /**
   * The idempotency key of the message. Any short name will do: one that has not the shape of a key stands for the same key each
   * time. Default: none.
   */
  readonly key?: string
  /** What happens to the message on its way: see {@link retryAs}. Of `say` alone. Default: nothing. */
  readonly fault?: ClientFault
}

/** A message of `atOnce`: its text, or more of it. */
export type MessageAtOnce = string | ({ readonly text: string } & Omit<SayInput, 'fault'>)

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
  async say(text: string, { fault, ...input }: SayInput = {}): Promise<ConversationReply> {
    this.#begin({ by: 'say', text })
    try {
      const request = this.#inputOf(text, input)
      const sent = await (fault === undefined ? send(this.#world, request) : sendTwice(this.#world, request, fault))
      for (const one of sent) this.#add(one)
      this.#requireFit()
      return (sent.at(-1) as SentMessage).reply
    } catch (error) {
      // A script that does not fit is more likely the reason.
      if (!this.#record.told) this.#requireFit()
      throw error
    } finally {
      this.#forget()
    }
  }

  /**
   * Sends messages at the same time, in this order, and waits for all replies. What becomes of them is up to `busy` of the flow or the
   * engine, and to their keys; without a session yet each begins one of its own. Expect the outcomes with {@link expectReplies}; other
   * expectations check the last one that became a turn.
   *
   * @returns The replies, in the order of the messages.
   * @example
   * ```ts
   * await conversation.atOnce(['Pay', 'No, wait', { text: 'Pay', key: 'pay' }])
   * conversation.expectReplies([{ code: 'TURN_SUPERSEDED' }, { code: 'TURN_SUPERSEDED' }, 'Paid.'])
   * ```
   */
  async atOnce(messages: readonly MessageAtOnce[]): Promise<readonly ConversationReply[]> {
    const inputs = messages.map((message) => {
      const { text, ...input } = typeof message === 'string' ? { text: message } : message
      return this.#inputOf(text, input)
    })
    if (inputs.length === 0) throw new ExpectationError('atOnce() needs one message or more.')
    this.#begin({ by: 'atOnce', text: inputs.map(({ userMessage }) => userMessage).join(', ') })
    try {
      const sent = await sendAtOnce(this.#world, inputs)
      this.#record.atOnce = this.#addInOrder(sent)
      this.#requireFit()
      return sent.map(({ sent: { reply } }) => reply)
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
  stream(text: string, input: Omit<SayInput, 'fault'> = {}): ConversationStream {
    const world = this.#world
    const afterRestart = this.#restarted
    const soFar = (): RunningTurn => ({ said: text, events: world.events, text: stream.text, afterRestart })
    this.#begin({ by: 'stream', text, soFar })
    const stream: ConversationStream = new ConversationStream({
      said: text,
      open: async () => {
        const { engine } = await world.begin()
        world.answerWhileRead()
        // Stopping a stream cancels its turn, also where the message has a key.
        return engine.stream(world.mortal(this.#inputOf(text, input)), { onDisconnect: 'cancel' })
      },
      drive: (something) => world.drive(something),
      read: (piece) => world.read(piece),
      settle: (end) => this.#settle(text, end, input.key),
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

  /** Expects that the message was a repeat, by its key: it got the reply of an earlier turn, and nothing was run for it. */
  expectReplayed(): this {
    return this.#expect(replayedProblem(this.#record.last('expectReplayed')))
  }

  /**
   * Expects what became of each message of the last {@link atOnce}, in their order: a reply as in {@link expectReply}, or a failure by
   * its code.
   */
  expectReplies(outcomes: readonly ExpectedOutcome[]): this {
    this.#record.requireIdle('expectReplies')
    const { atOnce } = this.#record
    if (atOnce === undefined) {
      throw new ExpectationError(
        'expectReplies needs messages that were sent at once: await conversation.atOnce([...]) first.',
      )
    }
    this.#record.check(outcomesProblem(atOnce, outcomes))
    this.#record.unexpected = undefined
    return this
  }

  /**
   * Expects that an effect ran exactly once in the whole conversation, over retries and restarts: the work of `turn.once` of this name,
   * or the tool of this name. What threw does not count.
   */
  expectRanOnce(name: string): this {
    this.#record.requireIdle('expectRanOnce')
    return this.#expect(this.#world.effects.onceProblem(name))
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
    this.#record.unexpected = undefined
    return this
  }

  /** Advances the clock by `ms` milliseconds. A `say` that only waits for a delay of the script does not need it. */
  advance(ms: number): Promise<void> {
    return this.#world.advance(ms)
  }

  /**
   * Has the process die, as with `kill -9`, after the next run of an effect: the work of `turn.once` of this name, or the tool of this
   * name. The client gets no reply; a new process goes on over the same data, as after a {@link restart}.
   *
   * @param options - `before`: what is not stored any more. `'commit'`: the turn; `'result'`: the result of the effect either, so that
   * the repeat of its work gets `uncertain`. Default `'commit'`.
   * @example
   * ```ts
   * conversation.dieAfterEffect('refund')
   * await conversation.say('Refund it', { key: 'refund', fault: retryAs('same-key') })
   * conversation.expectReply('Refunded.').expectRanOnce('refund')
   * ```
   */
  dieAfterEffect(name: string, options: { readonly before?: DeathBefore } = {}): this {
    this.#record.requireOpen('dieAfterEffect')
    this.#world.dieAfter(name, options.before ?? 'commit')
    return this
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
      if (saying !== undefined && saying.by !== 'stream')
        await this.#world.advance(current?.engine.limits.closeTimeoutMs ?? 0)
      await closing
    }
    if (this.#record.told) return
    if (text !== undefined) this.#record.fail({ text })
    this.#record.requireExpected(this.tools)
    for (const part of [this.model, this.tools]) this.#record.checked(() => part.assertDone())
    this.#record.checked(() => current?.store.assertFaultsUsed())
    const { awaited } = this.#world.effects
    if (awaited !== undefined) {
      this.#record.fail({
        text: `The process was to die after '${awaited}', which did not run: let the conversation come that far, or take dieAfterEffect() out of the test.`,
      })
    }
  }

  #begin(saying: Saying): void {
    this.#record.requireOpen(saying.by)
    this.#record.requireExpected(this.tools)
    this.#record.saying = saying
    this.#record.atOnce = undefined
  }

  #inputOf(text: string, { key, ...input }: Omit<SayInput, 'fault'>): FlowRunInput {
    const { config, owner } = this.#options
    return {
      flowName: this.#flow.id,
      userMessage: text,
      ...(this.sessionId === '' ? {} : { sessionId: this.sessionId }),
      ...(config === undefined ? {} : { config }),
      ...(owner === undefined ? {} : { owner }),
      ...(key === undefined ? {} : { idempotencyKey: keyOf(key) }),
      ...input,
    }
  }

  /** No turn is under way any more. */
  #forget(): void {
    this.#record.saying = undefined
    this.#streaming = undefined
    this.#world.answerFreely()
  }

  /** A streamed turn is over: remembers it, and fails if the script or a double did not fit. */
  async #settle(said: string, end: TurnEnd, key: string | undefined): Promise<void> {
    try {
      const diedAfter = await this.#world.bury()
      const died = diedAfter === undefined ? end : { session: '', stoppedAfter: '', diedAfter }
      const turn = await this.#world.turnOf(said, died, this.sessionId)
      this.#add(key === undefined ? turn : { ...turn, key: keyOf(key) })
    } finally {
      this.#forget()
    }
    this.#requireFit()
  }

  /** Remembers what became of a message. */
  #add(sent: SentMessage): ConversationTurn {
    const { reply, stoppedAfter, diedAfter } = sent
    if (reply.session !== '') this.sessionId = reply.session
    const turn = { ...sent, afterRestart: this.#restarted && diedAfter === undefined }
    this.#record.turns.push(turn)
    this.#restarted = diedAfter !== undefined
    this.#record.unexpected = reply.success || stoppedAfter !== undefined ? undefined : turn
    return turn
  }

  /**
   * Remembers what became of messages that were sent at once, in the order of their turns; those that became none keep their places.
   *
   * @returns The same in the order of the messages.
   */
  #addInOrder(sent: Awaited<ReturnType<typeof sendAtOnce>>): readonly ConversationTurn[] {
    const numbered = sent.filter(({ number }) => number !== undefined)
    const isOneSession = new Set(numbered.map((one) => one.sent.reply.session)).size === 1
    if (isOneSession) numbered.sort((one, other) => (one.number as number) - (other.number as number))
    const inOrder = sent.map((one) => (one.number === undefined ? one : (numbered.shift() as typeof one)))
    const turns = new Map(inOrder.map((one) => [one, this.#add(one.sent)] as const))
    const outcomes = sent.map((one) => turns.get(one) as ConversationTurn)
    this.#record.unexpected = outcomes.find(({ reply, stoppedAfter }) => !reply.success && stoppedAfter === undefined)
    return outcomes
  }

  /** Fails if the script or a double does not fit. */
  #requireFit(): void {
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
