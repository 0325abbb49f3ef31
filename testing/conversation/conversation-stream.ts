/// <reference lib="esnext.disposable" preserve="true" />
/**
 * A turn of a conversation that a test reads event by event. Reading fails if the stream breaks its promises. The
 * conversation starts the turn and stores its result: `conversation/conversation.ts`.
 */
import type { FlowStream, FlowStreamEvent } from '../../src/index.js'
import { show } from '../expectations/expectation-error.js'
import type { Problem } from './expect/problem.js'
import { StreamCheck } from './stream-check.js'
import type { ConversationReply, TurnEnd } from './turns/conversation-turn.js'

/** The functions that a stream needs from its conversation. */
export interface StreamedTurn {
  readonly said: string
  /** Begins the turn. */
  open(): Promise<FlowStream>
  /** Waits for a promise of the turn. The clock advances while only delays of the test are pending. */
  drive<T>(something: Promise<T>): Promise<T>
  /** The same for one event; models answer only during this wait. */
  read<T>(piece: Promise<T>): Promise<T>
  /** Records the finished turn: its reply, or the point where it was stopped. Rejects if the test is at fault. */
  settle(end: TurnEnd): Promise<void>
  /** Drops a turn that never began. */
  forget(): void
  /** Fails, with the transcript so far. */
  fail(problem: Problem): never
}

/**
 * One turn, read event by event: with {@link next} and {@link until}, in a `for await` loop, or all at once with
 * {@link reply}. Models answer only while the test reads: between two events the turn stands still.
 *
 * @example
 * ```ts
 * const stream = conversation.stream('Hello')
 * await stream.until('text-delta')
 * expect(stream.text).toBe('What')
 * await stream.reply()
 * conversation.expectReply('What is your name?')
 * ```
 */
export class ConversationStream implements AsyncIterable<FlowStreamEvent>, AsyncDisposable {
  readonly #turn: StreamedTurn
  readonly #check = new StreamCheck()
  #stream: FlowStream | undefined
  /** Settles when {@link next} has opened the stream. */
  #opening: Promise<FlowStream> | undefined
  #isReading = false
  #isOver = false
  #reply: ConversationReply | undefined

  /** Made by `Conversation.stream`. */
  constructor(turn: StreamedTurn) {
    this.#turn = turn
  }

  /** The events that were read so far. */
  get events(): readonly FlowStreamEvent[] {
    return this.#check.events
  }

  /** The valid text so far, as a page would show it. A `reset` empties it. */
  get text(): string {
    return this.#check.text
  }

  /**
   * Reads one event; `undefined` after the last one. The first call begins the turn.
   *
   * @throws `ExpectationError` (rejects) if the stream breaks its promise, and, with the last event, if the script
   * or a double does not fit.
   */
  async next(): Promise<FlowStreamEvent | undefined> {
    if (this.#isOver) return undefined
    if (this.#isReading)
      return this.#fail('next() was called before the last call of next() resolved: await each call.')
    this.#isReading = true
    try {
      this.#opening ??= this.#open()
      this.#stream = await this.#opening
      // Stopped before it began.
      if (this.#isOver) return undefined
      const { value, done } = await this.#turn.read(this.#stream.next())
      // Stopped meanwhile.
      if (this.#isOver) return undefined
      if (done === true)
        return await this.#fail(`The stream ended without result and error. Its events: ${this.#check.pieces}.`)
      const problem = this.#check.see(value)
      if (problem !== undefined) return await this.#fail(problem)
      if (value.type === 'result' || value.type === 'error') await this.#end(value)
      return value
    } finally {
      this.#isReading = false
    }
  }

  /**
   * Reads up to the next event of this type.
   *
   * @throws `ExpectationError` (rejects) if the stream ends before.
   * @example
   * ```ts
   * await stream.until('tool-end') // { type: 'tool-end', tool: 'capture_name', success: true, ... }
   * ```
   */
  async until<Type extends FlowStreamEvent['type']>(type: Type): Promise<Extract<FlowStreamEvent, { type: Type }>> {
    for (;;) {
      const event = await this.next()
      if (event?.type === type) return event as Extract<FlowStreamEvent, { type: Type }>
      if (event !== undefined) continue
      const last = this.events.at(-1)
      const failure =
        last?.type === 'error' ? `\nThe turn failed with ${last.error.code}: ${last.response.message}` : ''
      return this.#fail(
        `Expected an event '${type}' in the stream of ${show(this.#turn.said, 60)}, but the stream ended without another one. Its events: ${this.#check.pieces}.${failure}`,
      )
    }
  }

  /**
   * Reads to the end, and resolves to the reply, as `say` does.
   *
   * @throws `ExpectationError` (rejects) if the stream was stopped.
   */
  async reply(): Promise<ConversationReply> {
    while (!this.#isOver) await this.next()
    return this.#reply ?? this.#fail(`The stream of ${show(this.#turn.said, 60)} was stopped: it has no reply.`)
  }

  /**
   * Stops the turn, like a user who presses stop, even while the test waits for an event. Resolves when the turn has
   * ended; nothing is stored unless its commit had begun. After the last event it does nothing.
   */
  async stop(): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#opening === undefined) return this.#turn.forget()
    // Otherwise the turn would begin after the stop. If opening failed, the pending next() rejects with the reason.
    this.#stream = await this.#opening.catch(() => undefined)
    if (this.#stream === undefined) return
    await this.#leave()
    await this.#turn.settle({ session: this.#check.session, stoppedAfter: this.text })
  }

  /** For `for await`. Leaving the loop early is {@link stop}. */
  async *[Symbol.asyncIterator](): AsyncGenerator<FlowStreamEvent, undefined, void> {
    try {
      for (let event = await this.next(); event !== undefined; event = await this.next()) yield event
    } finally {
      await this.stop()
    }
    return undefined
  }

  /** {@link stop}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #end(last: Extract<FlowStreamEvent, { type: 'result' | 'error' }>): Promise<void> {
    // Read like any other event, because a model may have to answer before the end.
    const after = await this.#turn.read((this.#stream as FlowStream).next())
    if (after.done !== true) await this.#fail(`The stream went on after '${last.type}', with '${after.value.type}'.`)
    this.#isOver = true
    const { type: _type, response, ...more } = last
    const reply: ConversationReply = { ...response, ...more }
    this.#reply = reply
    await this.#turn.settle({ reply })
  }

  async #open(): Promise<FlowStream> {
    try {
      return await this.#turn.open()
    } catch (error) {
      this.#isOver = true
      this.#turn.forget()
      throw error
    }
  }

  async #leave(): Promise<void> {
    if (this.#stream?.return !== undefined) await this.#turn.drive(this.#stream.return())
  }

  async #fail(text: string): Promise<never> {
    if (!this.#isOver) {
      this.#isOver = true
      await this.#leave()
    }
    return this.#turn.fail({ text })
  }
}
