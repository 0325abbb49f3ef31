/**
 * Runs the turns of a conversation: sends the messages and ends the conversation. `conversation/sent-turns.ts` records
 * the results, `conversation/client.ts` sends, and `conversation/conversation.ts` is the documented API for tests.
 */
import type { FlowConstructor, FlowRunInput, JsonValue, SendEventInput } from '../../src/index.js'
import { checkNumber } from '../../src/util/options.js'
import { callPlace, placeText } from '../expectations/call-place.js'
import { ExpectationError, list, show } from '../expectations/expectation-error.js'
import { checkEventOptions, checkFill, checkMessage } from './check-options.js'
import {
  endedAtOnce,
  keyOf,
  moreIn,
  requireFault,
  type SentMessage,
  saidIn,
  send,
  sendAtOnce,
  sendTwice,
  wake,
} from './client.js'
import {
  type ConversationOptions,
  type EventInput,
  type FillInput,
  type MessageAtOnce,
  type SayInput,
  worldOptions,
} from './conversation-options.js'
import { ConversationRecord, type Saying } from './conversation-record.js'
import { ConversationStream } from './conversation-stream.js'
import type { ReplyJudge } from './expect/judged-meaning.js'
import { type Problem, unreadProblem } from './expect/problem.js'
import { SentTurns } from './sent-turns.js'
import { type SessionStart, type StartPlace, startedSession } from './session-start.js'
import type { ConversationReply, RunningTurn, TurnEnd } from './turns/conversation-turn.js'
import { answersProblem, type FormAnswers, type FormPlace, nextMessage, refusal } from './turns/filled-form.js'
import { pressed } from './turns/pressed-button.js'
import { playTimers } from './turns/timers.js'
import { knownSession } from './turns/turn-names.js'
import { type ConversationRequest, ConversationWorld, type RequestSoFar } from './world/conversation-world.js'

/** The turns of one conversation. */
export class ConversationTalk {
  readonly world: ConversationWorld
  readonly record: ConversationRecord
  readonly sent: SentTurns
  readonly #flow: FlowConstructor
  readonly #options: ConversationOptions
  #streaming: ConversationStream | undefined
  #closed: Promise<void> | undefined
  readonly #forks: ConversationTalk[] = []

  /** @param from - The talk that this one continues from its current point. */
  constructor(flow: FlowConstructor, options: ConversationOptions, from?: ConversationTalk) {
    this.#flow = flow
    this.#options = options
    this.world = new ConversationWorld(flow, worldOptions(options), from?.world)
    this.record = new ConversationRecord(flow.id)
    this.record.turns.push(...(from?.record.turns ?? []))
    this.record.beginsAt = from?.record.beginsAt
    this.record.start = from?.record.start
    this.sent = new SentTurns(this.record, options.coverage)
  }

  /** The judge of the conversation, if it has one. */
  get judge(): ReplyJudge | undefined {
    return this.#options.judge
  }

  /**
   * Begins with a stored session instead of a new one.
   *
   * @param operation - For error messages.
   */
  beginAt(operation: string, place: StartPlace, start: SessionStart): void {
    const { owner } = this.#options
    const id = this.world.newId('session')
    const document = startedSession(operation, this.#flow, { ...place, id, owner, at: this.world.clock.iso }, start)
    this.world.engines.beginWith(document)
    this.record.start = document
    this.sent.sessionId = id
  }

  /** Sends a message, and waits for the reply. */
  async say(text: string, options: SayInput = {}): Promise<ConversationReply> {
    checkMessage('say', options, { fault: true })
    const { fault, ...input } = options
    if (fault !== undefined) requireFault(fault)
    const request = this.#inputOf(text, input)
    this.#begin({ by: 'say', text, underWay: () => this.#underWay([request]) })
    return this.#run(async () => {
      const sent = await (fault === undefined ? send(this.world, request) : sendTwice(this.world, request, fault))
      return this.#added(sent)
    })
  }

  /** Presses a button of the newest reply that had some, and waits for the reply. */
  async choose(label: string, input: Omit<SayInput, 'choice'>): Promise<ConversationReply> {
    this.record.requireOpen('choose')
    const choice = pressed(label, this.record.turns)
    return typeof choice === 'string' ? this.record.fail({ text: choice }) : this.say(label, { ...input, choice })
  }

  /** Answers the open questions of a form, until all answers are said. Without a session it begins one. */
  async fill(answers: FormAnswers, input: FillInput): Promise<ConversationReply> {
    const place = callPlace()
    checkFill(input)
    this.record.requireOpen('fill')
    this.#requireNone(answersProblem(answers))
    const say = (text: string): Promise<ConversationReply> => {
      const replying = this.say(text, input)
      this.record.place = place
      return replying
    }
    let reply = this.sent.sessionId === '' ? await say('') : undefined
    for (const left = new Map(Object.entries(answers)); left.size > 0; ) {
      this.#requireRead()
      const next = nextMessage(this.formPlace(), left)
      if (typeof next === 'string') return this.record.fail({ text: next })
      left.delete(next.name)
      reply = await say(next.text)
      if (!reply.success) continue
      this.#requireRead()
      this.#requireNone(refusal(this.formPlace(), next, reply))
    }
    return reply as ConversationReply
  }

  /** The session as the last turn has left it, with its forms. */
  formPlace(): FormPlace {
    const { turns, start } = this.record
    const { sessionId: session } = this.sent
    const document = knownSession({ session }, { turns, start })
    const { services = {} } = this.#options
    const turn = { now: this.world.clock.now(), services, context: document?.flow.context ?? {} }
    return { flow: this.#flow, turn, document }
  }

  /** The last turn must not have failed unexpectedly, and its session must be known. */
  #requireRead(): void {
    const last = this.record.turns.at(-1)
    this.record.requireExpected(this.world.tools)
    this.record.check(last && unreadProblem(last))
  }

  #requireNone(problem: string | undefined): void {
    if (problem !== undefined) this.record.fail({ text: problem })
  }

  /** Sends an event of the application, and waits for the reply. */
  async sendEvent(name: string, payload: JsonValue | undefined, options: EventInput): Promise<ConversationReply> {
    checkEventOptions(options)
    const { key, ...input } = options
    const request: SendEventInput = {
      sessionId: this.sent.sessionId,
      event: name,
      ...(payload === undefined ? {} : { payload }),
      ...(key === undefined ? {} : { idempotencyKey: keyOf(key) }),
      ...input,
    }
    if (request.sessionId === '') {
      this.record.fail({ text: 'sendEvent needs a session: await conversation.say(...) first.' })
    }
    this.#begin({ by: 'sendEvent', text: name, underWay: () => this.#underWay([request]) })
    return this.#run(async () => this.#added(await send(this.world, request)))
  }

  /** Records the attempts at one message. Returns the last reply. */
  #added(sent: readonly SentMessage[]): ConversationReply {
    this.sent.addAttempts(sent)
    this.#requireFit()
    return (sent.at(-1) as SentMessage).reply
  }

  /** Runs the turns of a message, an event or a time. */
  async #run<T>(turns: () => Promise<T>): Promise<T> {
    try {
      return await turns()
    } catch (error) {
      // A script that does not fit is more likely the reason.
      if (!this.record.hasFailed) this.#requireFit()
      this.#requireNoHang(error)
      return this.record.rethrow(error)
    } finally {
      this.#forget()
    }
  }

  /**
   * Moves the clock from timer to timer of the session, and plays each as a turn. During a turn, and without a session,
   * only time passes.
   */
  async advance(ms: number): Promise<readonly ConversationReply[]> {
    checkNumber('advance', 'ms', ms, { min: 0, finite: true })
    const { world, record, sent } = this
    const { clock, driver, engines } = world
    const { sessionId } = sent
    const isBusy = record.saying !== undefined || record.restarting !== undefined || record.closed
    if (isBusy || sessionId === '') {
      await driver.advance(ms)
      return []
    }
    const place = callPlace()
    const replies: ConversationReply[] = []
    let playing: string | undefined
    const underWay = (): readonly RunningTurn[] => {
      if (playing === undefined) return []
      const { events } = world
      return [{ said: '', event: { name: playing }, session: sessionId, events, afterRestart: sent.restarted }]
    }
    record.saying = { by: 'advance', text: String(ms), underWay }
    const play = async (due: readonly string[]): Promise<void> => {
      this.#prepare()
      record.place = place
      playing = due[0] as string
      const played = await wake(world, sessionId, due)
      playing = undefined
      for (const turn of played) replies.push(this.#added([turn]))
    }
    return this.#run(async () => {
      await playTimers(ms, {
        clock,
        advance: (left) => driver.advance(left),
        load: () => engines.load(sessionId),
        play,
      })
      return replies
    })
  }

  /** Sends messages at the same time, in this order, and waits for all replies. */
  async atOnce(messages: readonly MessageAtOnce[]): Promise<readonly ConversationReply[]> {
    if (!Array.isArray(messages))
      throw new ExpectationError(`atOnce() needs a list of messages; got ${show(messages)}.`)
    const inputs = (messages as readonly MessageAtOnce[]).map((message) => {
      const { text, ...input } = typeof message === 'string' ? { text: message } : (message ?? {})
      if (typeof text !== 'string') {
        throw new ExpectationError(`atOnce() needs the text of each message; got ${show(message)}.`)
      }
      checkMessage('atOnce', input, { text: true })
      return this.#inputOf(text, input)
    })
    if (inputs.length === 0) throw new ExpectationError('atOnce() needs one message or more.')
    const text = inputs.map(({ userMessage }) => userMessage).join(', ')
    this.#begin({ by: 'atOnce', text, underWay: () => this.#underWay(inputs) })
    try {
      const sent = await sendAtOnce(this.world, inputs)
      this.record.atOnce = this.sent.addInOrder(sent)
      this.#requireFit()
      return sent.map(({ sent: { reply } }) => reply)
    } catch (error) {
      if (this.#isHang(error)) {
        this.sent.addInOrder(await endedAtOnce(this.world, inputs))
        // The hang is what the test must report.
        this.record.unexpected = undefined
      }
      this.#requireNoHang(error, this.#underWay(inputs, { isOpen: ({ end }) => end === undefined }))
      this.record.rethrow(error)
    } finally {
      this.#forget()
    }
  }

  /** Sends a message, and reads the turn event by event. */
  stream(text: string, input: Omit<SayInput, 'fault'> = {}): ConversationStream {
    checkMessage('stream', input)
    const world = this.world
    const underWay = () => this.#underWay([this.#inputOf(text, input)], { text: stream.text })
    this.#begin({ by: 'stream', text, underWay })
    const stream: ConversationStream = new ConversationStream({
      said: text,
      open: async () => {
        const { engine } = await this.#unlessHanging(world.begin())
        world.driver.answerWhileRead()
        // Stopping a stream cancels its turn, even if the message has a key.
        return engine.stream(world.death.withDeathSignal(this.#inputOf(text, input)), { onDisconnect: 'cancel' })
      },
      drive: (something) => world.driver.drive(something),
      read: (piece) => this.#unlessHanging(world.driver.read(piece)),
      settle: (end) => this.#settle(text, end, input),
      forget: () => this.#forget(),
      fail: (problem) => {
        try {
          return this.record.fail(problem)
        } finally {
          this.#forget()
        }
      },
    })
    this.#streaming = stream
    return stream
  }

  /** Waits for summaries that outlive their turns. */
  async settled(): Promise<void> {
    await this.#unlessHanging(this.world.settled())
  }

  /** The same before the engine is closed, but does not wait again for a summary that hangs. */
  async #settledBeforeEnd(): Promise<void> {
    if (this.world.driver.hang === undefined) await this.settled()
  }

  /** Closes the engine and its connections, and makes new ones over the same data. */
  async restart(): Promise<void> {
    this.record.requireOpen('restart')
    // The test goes on after a failure that it caught, so leftovers are checked again.
    this.record.hasFailed = false
    this.record.restarting = this.#restart()
    try {
      await this.record.restarting
    } finally {
      this.record.restarting = undefined
    }
  }

  async #restart(): Promise<void> {
    await this.#settledBeforeEnd()
    // An ending process does not check that its connections closed cleanly.
    await this.world.engines.stop().catch(() => undefined)
    await this.record.placed(this.world.engines.open())
    this.sent.restarted = this.record.turns.length > 0
  }

  /** Another talk that continues from this point, with a copy of the session. */
  async fork(options: ConversationOptions): Promise<ConversationTalk> {
    this.record.requireOpen('fork')
    await this.settled()
    const { script: _script, tools: _tools, clock: _clock, ...inherited } = this.#options
    const fork = new ConversationTalk(this.#flow, { ...inherited, ...options }, this)
    const number = this.#forks.push(fork)
    await this.record.placed(fork.world.engines.open())
    const document = await this.record.placed(this.world.engines.load(this.sent.sessionId))
    if (document === undefined) return fork
    fork.sent.sessionId = `${this.sent.sessionId}-fork-${number}`
    fork.record.start = { ...document, id: fork.sent.sessionId }
    await this.record.placed(fork.world.engines.create(fork.record.start))
    return fork
  }

  /** Ends the conversation, and fails if there are leftovers. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const stream = this.#streaming
    // An unfinished stream is a user who left; a stream that never began is a mistake.
    const isLeft = stream !== undefined && stream.events.length > 0
    const { saying } = this.record
    const busy = saying === undefined || isLeft ? undefined : { saying, text: this.record.busyText('close', saying) }
    const notAwaited = this.record.hasFailed ? undefined : this.record.notAwaited()
    this.record.closed = true
    this.record.judging.clear()
    try {
      await this.#closeThis(stream, saying, busy, notAwaited)
    } catch (error) {
      // The first failure counts.
      await Promise.allSettled(this.#openForks.map((fork) => fork.close()))
      throw error
    }
    for (const fork of this.#openForks) await fork.close()
  }

  get #openForks(): readonly ConversationTalk[] {
    return this.#forks.filter((fork) => fork.#closed === undefined)
  }

  async #closeThis(
    stream: ConversationStream | undefined,
    saying: Saying | undefined,
    busy: { readonly saying: Saying; readonly text: string } | undefined,
    notAwaited: Problem | undefined,
  ): Promise<void> {
    await this.#end(stream, saying)
    this.record.check(notAwaited)
    if (this.record.hasFailed) return
    if (busy !== undefined) {
      const problem = { text: `${busy.text}${placeText('said', this.record.place)}` }
      // Meanwhile it may have ended.
      if (this.record.saying === busy.saying) this.record.failUnderWay(busy.saying, problem)
      this.record.fail(problem)
    }
    this.#requireNothingLeft()
  }

  /** Stops running turns, and closes the engine. */
  async #end(stream: ConversationStream | undefined, saying: Saying | undefined): Promise<void> {
    // The engine that a restart makes must be closed too.
    await this.record.restarting?.catch(() => undefined)
    const { current } = this.world.engines
    try {
      await stream?.stop()
      if (saying === undefined) await this.#settledBeforeEnd()
    } finally {
      const closing = this.world.engines.end()
      // Closing waits for a running turn, so its grace period must pass on the clock.
      if (saying !== undefined && saying.by !== 'stream')
        await this.world.driver.advance(current?.engine.limits.closeTimeoutMs ?? 0)
      await this.record.placed(closing)
    }
  }

  #requireNothingLeft(): void {
    this.record.requireExpected(this.world.tools)
    const made = placeText('the conversation was made', this.world.made)
    this.record.requireNothingLeft(() => this.world.engines.assertListeners(), made)
    for (const part of [this.world.model, this.world.tools])
      this.record.requireNothingLeft(() => part.assertDone(), made)
    this.record.requireNothingLeft(() => this.world.engines.assertFaultsUsed(), made)
    const { awaited, ran } = this.world.effects
    if (awaited !== undefined) {
      const text = `The process was to die after '${awaited}', which did not run: let the conversation come that far, or take dieAfterEffect() out of the test. What ran: ${list(ran)}.${made}`
      this.record.fail({ text }, { isAfter: true })
    }
  }

  #begin(saying: Saying): void {
    const { by, text } = saying
    if (typeof text !== 'string') {
      const what = by === 'sendEvent' ? 'name of the event' : 'text of the message'
      throw new ExpectationError(`${by}() needs the ${what}; got ${show(text)}.`)
    }
    this.record.requireOpen(saying.by)
    this.#prepare()
    this.record.saying = saying
    this.record.place = callPlace()
  }

  /** Before a turn: the last one must not have failed unexpectedly. */
  #prepare(): void {
    this.record.requireExpected(this.world.tools)
    this.world.forget()
    this.record.hasFailed = false
    this.record.atOnce = undefined
  }

  #inputOf(text: string, { key, ...input }: Omit<SayInput, 'fault'>): FlowRunInput {
    const { config, owner } = this.#options
    return {
      flowName: this.#flow.id,
      userMessage: text,
      ...(this.sent.sessionId === '' ? {} : { sessionId: this.sent.sessionId }),
      ...(config === undefined ? {} : { config }),
      ...(owner === undefined ? {} : { owner }),
      ...(key === undefined ? {} : { idempotencyKey: keyOf(key) }),
      ...input,
    }
  }

  /** The running turn has ended. */
  #forget(): void {
    this.record.saying = undefined
    this.#streaming = undefined
    this.world.driver.answerFreely()
  }

  /** A streamed turn is over: remembers it, and fails if the script or a double did not fit. */
  async #settle(said: string, end: TurnEnd, input: Omit<SayInput, 'fault'>): Promise<void> {
    try {
      const diedAfter = await this.world.replaceDeadProcess()
      const died = diedAfter === undefined ? end : { session: '', stoppedAfter: '', diedAfter }
      const turn = await this.world.turnOf(said, died, this.sent.sessionId)
      const { key } = input
      this.sent.add({
        ...turn,
        ...(key === undefined ? {} : { key: keyOf(key) }),
        ...moreIn(this.#inputOf(said, input)),
      })
    } finally {
      this.#forget()
    }
    this.#requireFit()
  }

  /**
   * The events so far of messages that were sent together.
   *
   * @param options - `isOpen`: whether to show a message whose request was sent. `text`: the streamed text.
   */
  #underWay(
    inputs: readonly ConversationRequest[],
    { isOpen = () => true, text }: { isOpen?(request: RequestSoFar): boolean; readonly text?: string } = {},
  ): readonly RunningTurn[] {
    const { requests, events } = this.world
    return inputs.flatMap((input, index): readonly RunningTurn[] => {
      const { sessionId: session = '' } = input
      const request = requests[index]
      if (request !== undefined && !isOpen(request)) return []
      const own = inputs.length === 1 ? events : events.filter(({ turnId }) => turnId === request?.turnId)
      const streamed = text === undefined ? {} : { text }
      const sent = { said: saidIn(input), ...moreIn(input) }
      return [{ ...sent, session, events: own, afterRestart: this.sent.restarted, ...streamed }]
    })
  }

  /** Whether an error is the report of a hang, which no failure has shown yet. */
  #isHang(error: unknown): boolean {
    const { hang } = this.world.driver
    return hang !== undefined && (error as Error | undefined)?.message === hang.text
  }

  /**
   * Fails if nothing happens any more.
   *
   * @param error - The report of a hang, or another failure.
   * @param running - The running messages. Default: all that were sent.
   */
  #requireNoHang(error: unknown, running = this.record.saying?.underWay() ?? []): void {
    const { hang } = this.world.driver
    if (hang === undefined || !this.#isHang(error)) return
    const { text, isAfterTurn: isAfter } = hang
    this.record.fail({ text }, { isAfter, running: isAfter ? [] : running })
  }

  async #unlessHanging<T>(something: Promise<T>): Promise<T> {
    try {
      return await something
    } catch (error) {
      this.#requireNoHang(error)
      return this.record.rethrow(error)
    }
  }

  /** Fails if the script or a double does not fit, or the flow did not wait for an effect. */
  #requireFit(): void {
    const { model, tools, answeredAssertion } = this.world
    this.record.requireNo(model.complaint ?? tools.complaint ?? answeredAssertion)
    this.record.check(this.world.effects.awaitProblem(this.record.turns))
  }
}
