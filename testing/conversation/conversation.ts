/// <reference lib="esnext.disposable" preserve="true" />
/**
 * A conversation with a flow, as tests use it: say something, expect something. `conversation/conversation-talk.ts`
 * runs the turns, `conversation/world/conversation-world.ts` makes the surroundings (engine, data, clock, models), and
 * `conversation/expect` has the expectations.
 */
import type {
  FlowConstructor,
  FlowEngine,
  FlowErrorCode,
  JsonValue,
  ReplyPart,
  SessionDocument,
  StateOf,
  StepConstructor,
} from '../../src/index.js'
import { checkOptionNames } from '../../src/util/options.js'
import { callPlace } from '../expectations/call-place.js'
import { checkFlow } from '../expectations/check-flow.js'
import { ExpectationError, show } from '../expectations/expectation-error.js'
import type { FakeSessionStore } from '../fake-session-store/fake-session-store.js'
import { checkAsked, type ExpectedRequest } from '../scripted-model/expected-request.js'
import type { RecordedRequest, ScriptedModel } from '../scripted-model/scripted-model.js'
import type { ToolDoubles } from '../tool-doubles/tool-doubles.js'
import type { VirtualClock } from '../virtual-clock/virtual-clock.js'
import { checkCallers, checkConversationOptions, checkStart, checkStepOrId, startNames } from './check-options.js'
import type {
  ConversationOptions,
  EventInput,
  MessageAtOnce,
  SayInput,
  StartedConversationOptions,
} from './conversation-options.js'
import type { ConversationRecord } from './conversation-record.js'
import type { ConversationStream } from './conversation-stream.js'
import { ConversationTalk } from './conversation-talk.js'
import { type FieldNameOf, type FieldValueOf, type FormConstructor, fieldProblem } from './expect/form-field.js'
import { meaningProblem } from './expect/judged-meaning.js'
import { type ExpectedOutcome, outcomesProblem } from './expect/outcomes.js'
import { partsProblem } from './expect/parts.js'
import { failureInstead, type Problem, unreadProblem } from './expect/problem.js'
import { errorProblem, type ReplySchema, replayedProblem, replyProblem } from './expect/reply.js'
import { completedProblem, type PartOf, stateProblem, stepProblem } from './expect/session.js'
import { type ExpectedToolCall, toolCallsProblem } from './expect/tool-calls.js'
import { eventsProblem, timersProblem } from './expect/waiting.js'
import { noteClosed, noteOpen } from './open-conversations.js'
import type { SessionStart } from './session-start.js'
import {
  type ConversationReply,
  type ConversationToolCall,
  type ConversationTurn,
  toolCallsOf,
} from './turns/conversation-turn.js'
import type { RunningEngine } from './world/conversation-engines.js'
import type { ConversationWorld } from './world/conversation-world.js'
import type { DeathBefore } from './world/effect-log.js'

/**
 * A conversation with one flow, over a model that follows a script, a clock that a test moves, and a store that fails
 * on request. `say` and `close` are asynchronous; everything that begins with `expect` checks the last turn
 * synchronously and can be chained.
 *
 * A turn that failed must be expected with `expectError` before the next `say` or `close`. If a model or a tool is
 * called in a way that the test did not prepare, the `say` itself fails.
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
  readonly #flow: FlowConstructor
  #talk: ConversationTalk

  constructor(flow: FlowConstructor, options: ConversationOptions = {}) {
    checkFlow('Conversation', flow)
    checkConversationOptions('Conversation', options)
    this.#flow = flow
    this.#talk = new ConversationTalk(flow, options)
    noteOpen(this)
  }

  /**
   * A conversation that begins in the middle: at a step, with the states and messages of earlier turns. The first `say`
   * continues in the step, as after a restart: its `turn.entered` is false. The timers of the step begin now.
   *
   * @throws `ExpectationError` for a step that the flow does not have, for an end step, for a state that is not plain
   * JSON, and for the `memory` of a step without a model.
   * @example
   * ```ts
   * await using conversation = Conversation.at(Onboarding, {
   *   step: Confirm,
   *   stateOf: [[AskName, { name: 'Ada Lovelace' }]],
   * })
   * await conversation.say('yes')
   * ```
   */
  static at<Target extends StepConstructor | string, const Others extends readonly StepConstructor[] = []>(
    flow: FlowConstructor,
    options: StartedConversationOptions<Target, Others>,
  ): Conversation {
    checkFlow('Conversation.at', flow)
    checkConversationOptions('Conversation.at', options, { step: true, callers: true, ...startNames })
    checkStepOrId('Conversation.at', options.step)
    checkCallers('Conversation.at', options.callers)
    checkStart('Conversation.at', options as SessionStart)
    const { step, callers, state, stateOf, history, memory, ...rest } = options
    const conversation = new Conversation(flow, rest)
    const start = { state, stateOf, history, memory } as SessionStart
    conversation.#talk.beginAt('Conversation.at', { step, callers }, start)
    conversation.#record.beginsAt = conversation.#record.start?.flow.currentStep ?? undefined
    return conversation
  }

  /** The session of the next `say`; empty before the first. Set it to continue in another one. */
  get sessionId(): string {
    return this.#talk.sent.sessionId
  }

  set sessionId(sessionId: string) {
    this.#talk.sent.sessionId = sessionId
  }

  get #world(): ConversationWorld {
    return this.#talk.world
  }

  get #record(): ConversationRecord {
    return this.#talk.record
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
    await this.#record.placed(this.#world.engines.open())
    return this
  }

  /**
   * Sends a message, and waits for the reply. A turn that fails resolves too; expect it with {@link expectError}.
   *
   * @throws `ExpectationError` (rejects) if the script or a double does not fit, or an earlier turn failed
   * unexpectedly.
   */
  say(text: string, input: SayInput = {}): Promise<ConversationReply> {
    return this.#talk.say(text, input)
  }

  /**
   * Presses a button of the newest reply that had `choices`, as a page does: sends its label as the message, with its
   * `choice`. After a later reply it may be an old button, which is text for the flow.
   *
   * @throws `ExpectationError` (rejects) as {@link say} does, and if there is no such button.
   * @example
   * ```ts
   * await conversation.say('I want to come on a weekday.')
   * await conversation.choose('Tuesday')
   * ```
   */
  choose(label: string, input: Omit<SayInput, 'choice'> = {}): Promise<ConversationReply> {
    return this.#talk.choose(label, input)
  }

  /**
   * Fills in the form that is open: says each answer when its question is asked, as a user does. A field that the form
   * does not ask next is said in its words for corrections, `change day to Friday`. It stops before the review, which
   * the test answers. Without a session, it begins one with an empty message. The model of a `ModelFormStep` gets these
   * messages too, so a script must answer each.
   *
   * @param answers - What the user says, by field: texts, or numbers and booleans as texts. `undefined` or `null` leaves
   * an optional field empty, with the form's word for it.
   * @param input - The options of {@link say} for each message, if they make sense for several.
   * @returns The last reply.
   * @throws `ExpectationError` (rejects) as {@link say} does; if no form is open; for an unknown field; and if the form
   * does not take an answer, with what it said.
   * @example
   * ```ts
   * await conversation.say('I need an appointment.')
   * await conversation.fill({ day: 'Friday', time: '10', name: 'Ada Lovelace', phone: undefined })
   * conversation.expectReply('Friday at 10, for Ada Lovelace. Right?')
   * ```
   */
  fill(
    answers: Readonly<Record<string, string | number | boolean | null | undefined>>,
    input: Omit<SayInput, 'key' | 'fault' | 'event' | 'choice' | 'attachments' | 'sessionId'> = {},
  ): Promise<ConversationReply> {
    return this.#talk.fill(answers, input)
  }

  /**
   * Sends an event of the application to the session, as `engine.sendEvent` does, and waits for the reply. A turn that
   * fails resolves too; expect it with {@link expectError}.
   *
   * @throws `ExpectationError` (rejects) as {@link say} does, and if there is no session yet.
   * @example
   * ```ts
   * await conversation.sendEvent('decision', { approved: true }, { by: 'Ada Meier' })
   * conversation.expectReply('Paid.').expectCompleted()
   * ```
   */
  sendEvent(name: string, payload?: JsonValue, options: EventInput = {}): Promise<ConversationReply> {
    return this.#talk.sendEvent(name, payload, options)
  }

  /**
   * Sends messages at the same time, in this order, and waits for all replies. The option `busy` of the flow or the
   * engine and the messages' keys decide the outcomes; without a session, each message begins a new one. Check the
   * outcomes with {@link expectReplies}; other expectations check the last message that became a turn.
   *
   * @returns The replies, in the order of the messages.
   * @example
   * ```ts
   * await conversation.atOnce(['Pay', 'No, wait', { text: 'Pay', key: 'pay' }])
   * conversation.expectReplies([{ code: 'TURN_SUPERSEDED' }, { code: 'TURN_SUPERSEDED' }, 'Paid.'])
   * ```
   */
  atOnce(messages: readonly MessageAtOnce[]): Promise<readonly ConversationReply[]> {
    return this.#talk.atOnce(messages)
  }

  /**
   * Sends a message, and reads the turn event by event. The turn begins with the first read. Models stream if they can.
   * After the last event, expectations check this turn as after {@link say}.
   *
   * @throws `ExpectationError` if an earlier turn failed unexpectedly, or is still running.
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
    return this.#talk.stream(text, input)
  }

  /** Expects the reply: its whole text, a RegExp for a part, or a Standard Schema for the JSON in it. */
  expectReply(expected: string | RegExp | ReplySchema): this {
    return this.#expect(replyProblem(this.#record.last('expectReply'), expected))
  }

  /**
   * Expects that a statement about the reply is true. The `judge` of the conversation decides, from recordings or with
   * a model.
   *
   * @param meaning - A sentence about the reply, such as `'It apologises, and asks for the order number.'`
   * @throws `ExpectationError` (rejects) if the statement is false, has no recording, or the judge does not answer in
   * time.
   */
  async expectMeaning(meaning: string): Promise<this> {
    const turn = this.#record.last('expectMeaning')
    const { judge } = this.#talk
    if (typeof meaning !== 'string' || meaning.trim() === '') {
      const text = `expectMeaning needs a sentence about the reply; got ${show(meaning)}.`
      return this.#record.fail({ text, turn })
    }
    if (judge === undefined) {
      const text = 'expectMeaning needs a judge: new Conversation(Flow, { judge: new Judge({ ... }) }).'
      return this.#record.fail({ text, turn })
    }
    const { said: message, reply } = turn
    const failure = failureInstead(turn, `a reply that means ${show(meaning)}`)
    const judging = { meaning, turn, place: callPlace() }
    this.#record.judging.add(judging)
    const problem = failure ?? (await meaningProblem(judge, { meaning, message, reply: reply.message }))
    // The conversation ended meanwhile, and failed because of this question.
    if (!this.#record.judging.delete(judging)) return this
    // Meanwhile another message may have been sent.
    return this.#expect(problem && { ...problem, turn })
  }

  /**
   * Expects the parts of the reply: all of them, in order, each whole or with some of its fields. `[]`: the reply has
   * none.
   *
   * @example
   * ```ts
   * conversation.expectParts([{ type: 'choices', name: 'day' }, { type: 'card', title: /^Order/ }])
   * conversation.expectParts([choices('day', days)])
   * ```
   */
  expectParts(parts: readonly PartOf<ReplyPart>[]): this {
    return this.#expect(partsProblem(this.#record.last('expectParts'), parts))
  }

  /** Expects that the message was a repeat by its key: it got the reply of an earlier turn, and no turn ran. */
  expectReplayed(): this {
    return this.#expect(replayedProblem(this.#record.last('expectReplayed')))
  }

  /**
   * Expects the outcome of each message of the last {@link atOnce}, in their order: a reply as in {@link expectReply},
   * or a failure by its code.
   */
  expectReplies(outcomes: readonly ExpectedOutcome[]): this {
    this.#record.requireIdle('expectReplies')
    const { atOnce } = this.#record
    if (atOnce === undefined) {
      const text = 'expectReplies needs messages that were sent at once: await conversation.atOnce([...]) first.'
      return this.#record.fail({ text })
    }
    this.#record.check(outcomesProblem(atOnce, outcomes))
    this.#record.unexpected = undefined
    return this
  }

  /**
   * Expects that an effect ran exactly once in the whole conversation, across retries and restarts: the work of
   * `turn.once` with this name, or the tool with this name. A run that threw does not count.
   */
  expectRanOnce(name: string): this {
    this.#record.requireIdle('expectRanOnce')
    return this.#expect(this.#world.effects.onceProblem(name))
  }

  /**
   * Expects the current step: a class or its ID. A step of a flow among the steps has an ID such as `Address/Street`.
   *
   * @throws `InvalidInputError` for a class that is in the flow more than once: name one by its ID.
   */
  expectStep(step: StepConstructor | string): this {
    const turn = this.#record.last('expectStep')
    return this.#expect(unreadProblem(turn) ?? stepProblem(turn.document, this.#flow, step))
  }

  /**
   * Expects part of a step's stored state: use `undefined` for a property that must be missing, a RegExp for a part of
   * a text.
   *
   * @param step - Its class, or its ID.
   * @throws `InvalidInputError` for a class that is in the flow more than once: name one by its ID.
   * @example
   * ```ts
   * conversation.expectState(AskName, { name: 'Ada Lovelace' })
   * ```
   */
  expectState<Target extends StepConstructor | string>(step: Target, state: PartOf<StateOf<Target>>): this {
    const turn = this.#record.last('expectState')
    return this.#expect(
      unreadProblem(turn) ?? stateProblem(turn.document, this.#flow, step, state, this.tools.answered),
    )
  }

  /**
   * Expects the value of a field: whole, or in part as in {@link expectState}. `undefined`: the field has none.
   *
   * @param form - The form's class, or its ID.
   * @throws `InvalidInputError` for a class that is in the flow more than once: name one by its ID.
   * @example
   * ```ts
   * conversation.expectField(Booking, 'day', 'Friday').expectField(Booking, 'phone', undefined)
   * ```
   */
  expectField<Target extends FormConstructor | string, Name extends FieldNameOf<Target>>(
    form: Target,
    name: Name,
    value: PartOf<FieldValueOf<Target, Name>> | undefined,
  ): this {
    const turn = this.#record.last('expectField')
    return this.#expect(
      unreadProblem(turn) ??
        fieldProblem({ ...this.#talk.formPlace(), document: turn.document }, { form, name, expected: value }),
    )
  }

  /** Expects that the turn reached an end step, and that the session is stored as completed. */
  expectCompleted(): this {
    return this.#expect(completedProblem(this.#record.last('expectCompleted')))
  }

  /** Expects the tool calls of the model in the turn: all of them, in order, by name or with more. */
  expectToolCalls(calls: readonly ExpectedToolCall[]): this {
    return this.#expect(toolCallsProblem(this.#record.last('expectToolCalls'), calls))
  }

  /** Expects the request that the model received in the turn: the last one, or the one selected by `call`. */
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

  /**
   * Expects the events that the session takes now: of its step, of the steps that wait for a return, and of the flows.
   * All their names, in any order.
   */
  expectEvents(names: readonly string[]): this {
    const turn = this.#record.last('expectEvents')
    return this.#expect(unreadProblem(turn) ?? eventsProblem(turn.document, this.#flow.id, this.#world.declared, names))
  }

  /**
   * Expects the timers that run now: all of them, by the names of their events, with the milliseconds from now. If two
   * open steps have a timer of the same name, write `AskDay.remind`.
   *
   * @example
   * ```ts
   * conversation.expectTimers({ remind: day, expired: 7 * day })
   * ```
   */
  expectTimers(timers: Readonly<Record<string, number>>): this {
    const turn = this.#record.last('expectTimers')
    return this.#expect(unreadProblem(turn) ?? timersProblem(turn.document, this.clock.now(), timers))
  }

  /**
   * Advances the clock by `ms` milliseconds: from timer to timer of the session, each of which becomes a turn. During a
   * turn only time passes. A `say` that only waits for a delay of the script does not need it.
   *
   * A turn that failed must be expected before the next one, as after `say`. Its timer stays due until the next `advance`
   * or the next timer.
   *
   * @returns The replies of these turns; `message` is `''` if a turn said nothing.
   * @throws `ExpectationError` (rejects) as {@link say} does.
   */
  advance(ms: number): Promise<readonly ConversationReply[]> {
    return this.#talk.advance(ms)
  }

  /**
   * Kills the process, as with `kill -9`, after the next run of an effect: the work of `turn.once` with this name, or
   * the tool with this name. The client gets no reply; a new process continues over the same data, as after a
   * {@link restart}.
   *
   * @param options - `before`: the write that the death prevents. `'commit'`: the turn is lost. `'result'`: the result
   * of the effect is lost too, so a repeat of its work gets `uncertain`. Default `'commit'`.
   * @example
   * ```ts
   * conversation.dieAfterEffect('refund')
   * await conversation.say('Refund it', { key: 'refund', fault: retryAs('same-key') })
   * conversation.expectReply('Refunded.').expectRanOnce('refund')
   * ```
   */
  dieAfterEffect(name: string, options: { readonly before?: DeathBefore } = {}): this {
    this.#record.requireOpen('dieAfterEffect')
    checkOptionNames('dieAfterEffect', options, { before: true })
    const { before = 'commit' } = options
    if (typeof name !== 'string' || (before !== 'commit' && before !== 'result')) {
      const text = `dieAfterEffect needs the name of an effect, and 'commit' or 'result' as before; got ${show(name)} and ${show(before)}.`
      return this.#record.fail({ text })
    }
    this.#world.dieAfter(name, before)
    return this
  }

  /** Closes the engine and its connections, and makes new ones over the same data, as a new process would. */
  async restart(): Promise<this> {
    await this.#talk.restart()
    return this
  }

  /**
   * Another conversation that continues from this point with a copy of the session, to test two endings of one
   * beginning.
   *
   * @param options - The options that differ. Default: none; scripts continue from their current reply, and the clock
   * from the same time.
   */
  async fork(options: ConversationOptions = {}): Promise<Conversation> {
    checkConversationOptions('fork', options)
    const fork = new Conversation(this.#flow)
    fork.#talk = await this.#talk.fork(options)
    return fork
  }

  /**
   * The currently stored session, read without the faults and the journal of `store`. It first waits for summaries that
   * outlive their turns, as `say`, `stream`, `fork`, `restart` and `close` do.
   */
  async document(): Promise<SessionDocument> {
    this.#record.requireOpen('document')
    if (this.sessionId === '') {
      this.#record.fail({
        text: 'document() needs a session, and none is stored yet: await conversation.say(...) first.',
      })
    }
    await this.#talk.settled()
    const document = await this.#record.placed(this.#world.engines.load(this.sessionId))
    if (document !== undefined) return document
    return this.#record.fail({ text: `Nothing is stored under the session ID '${this.sessionId}'.` })
  }

  /** Fails like an expectation, with the place and the transcript. For the runner of scenarios. @internal */
  fail(problem: string): never {
    return this.#record.fail({ text: problem })
  }

  /** The states that a step has had so far, by its ID. For the runner of scenarios. @internal */
  statesOf(id: string): readonly object[] {
    return this.#record.turns.map(({ document }) => document?.flow.steps[id]?.state ?? {})
  }

  /**
   * The conversation so far as Markdown. It does not depend on IDs and times, so the same conversation gives the same
   * text.
   */
  transcript(): string {
    return this.#record.transcript()
  }

  /**
   * Stops an unfinished stream, closes the engine, and fails if there are leftovers: an unexpected failed turn, unused
   * replies of the script, unused results of a double, a double that no step offered, a fault that never struck, a
   * listener that threw. Then it closes the forks of this conversation that are still open.
   *
   * @throws `ExpectationError` (rejects)
   */
  close(): Promise<void> {
    noteClosed(this)
    return this.#talk.close()
  }

  /**
   * Runs the body of a test, and then {@link close}. If the body fails, its error is thrown, and leftovers are ignored.
   * It needs no `await using`.
   *
   * @returns The result of the body.
   * @example
   * ```ts
   * test('asks for the name', () =>
   *   new Conversation(Onboarding, { script: ['What is your name?'] }).use(async (conversation) => {
   *     await conversation.say('Hello')
   *     expect(conversation.reply.message).toBe('What is your name?')
   *   }))
   * ```
   */
  async use<T>(body: (conversation: this) => T | Promise<T>): Promise<T> {
    if (typeof body !== 'function') {
      throw new ExpectationError(
        `use() needs the body of the test, a function that gets the conversation; got ${show(body)}.`,
      )
    }
    let result: T
    try {
      result = await body(this)
    } catch (error) {
      this.#record.hasFailed = true
      // Leftovers, and an error while closing, follow from the failure.
      await this.close().catch(() => undefined)
      throw error
    }
    // The body caught its failure; leftovers are still wrong.
    this.#record.hasFailed = false
    await this.close()
    return result
  }

  /** {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #opened(): RunningEngine {
    const { current } = this.#world.engines
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
