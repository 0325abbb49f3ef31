/**
 * A conversation with one flow, as a page or a program has it: the turns, the session that the next message goes to, and the
 * messages that have no outcome yet.
 */
import { type ChatOutcome, type ChatTurnEvent, outcomeOf } from './chat-events.js'
import { ChatListeners } from './chat-listeners.js'
import { type ChatOptions, checkOptions } from './chat-options.js'
import type { ChatAttachment, ChatMessage, Delivery } from './chat-request.js'
import { ChatServer } from './chat-server.js'
import type { ChatEvents, ChatState } from './chat-state.js'
import { ChatRecord } from './chat-storage.js'
import { afterEvent, type ChatTurn, type ChatTurnStatus, turnOf } from './chat-turn.js'
import { sendMessage } from './send-message.js'
import { readConversation, withOpenTurns } from './stored-turns.js'

/** A message that has no outcome yet, or may be sent again. */
interface Entry extends Delivery {
  /** As it is shown. */
  turn: ChatTurn
  message: ChatMessage
  stopping: AbortController
  /** Where it began after it was stopped: whether the server cancelled its turn then. */
  cancelled?: Promise<boolean>
  /** Of the turn under way. */
  session: string
  conversation: Conversation
}

/** What the messages between two calls of `startOver` or `end` share. A turn that outlives it says nothing about the next one. */
interface Conversation {
  /** Empty if the next message starts one. */
  session: string
  /** Settles when the newest turn and all before it are settled. It holds none of them: they may have megabytes attached. */
  newest: Promise<unknown>
  lastFailure?: string | undefined
}

const ended: readonly string[] = ['completed', 'aborted', 'none']
const underWay: readonly ChatTurnStatus[] = ['waiting', 'running']
const withoutOutcome: readonly ChatTurnStatus[] = [...underWay, 'unanswered']
/** Of a conversation without an outcome. */
const nothingSaid = { hasEnded: false, hasRestarted: false, isStuck: false }

/** See {@link createChat}. */
export class Chat {
  readonly #server: ChatServer
  readonly #options: ChatOptions
  readonly #record: ChatRecord
  readonly #listeners = new ChatListeners()
  /** By the ID of the turn: those under way, and those that may be sent again. */
  readonly #entries = new Map<string, Entry>()
  #conversation: Conversation
  #state: ChatState

  /** @throws `TypeError` if an option is missing, or is not what it must be. */
  constructor(options: ChatOptions) {
    checkOptions(options)
    const { url, flow, storage, storageKey = `turnkeeper:${url}:${flow}` } = options
    this.#options = options
    this.#server = new ChatServer(options)
    this.#record = new ChatRecord(storage, storageKey)
    const { session, pending } = this.#record.read()
    this.#conversation = { session, newest: Promise.resolve() }
    const turns = Object.freeze(pending.map((message) => this.#addEntry(message, 'unanswered').turn))
    this.#state = Object.freeze({ session, turns, isBusy: false, ...nothingSaid })
  }

  /** The chat now. */
  get state(): ChatState {
    return this.#state
  }

  /**
   * Calls a listener at each event of a name, until the returned function is called. With `change` it follows the chat as a whole.
   *
   * @example
   * ```ts
   * chat.on('change', ({ turns, isBusy }) => render(turns, isBusy))
   * chat.on('tool-start', ({ tool }) => showStatus(`Looking: ${tool}`))
   * ```
   */
  on<Name extends keyof ChatEvents>(name: Name, listener: (payload: ChatEvents[Name]) => void): () => void {
    return this.#listeners.add(name, listener)
  }

  /**
   * Sends a message. Resolves to its turn when that is settled, whatever became of it: `status` says it.
   *
   * A user need not wait for a reply: what becomes of a message for a busy session is for the flow to say. Only the first message of
   * a conversation is waited for, because its outcome has the ID of the session.
   *
   * @param attachments - What `attachmentOf` made. Default: none.
   * @throws `TypeError` (rejected) if `attachments` is not a list of attachments: then nothing is sent.
   */
  async send(message: string, attachments: readonly ChatAttachment[] = []): Promise<ChatTurn> {
    // A `File`, and the promise of an attachment, have no media type.
    if (!Array.isArray(attachments) || attachments.some(({ mediaType }) => !mediaType))
      throw new TypeError('attachments must be a list of what `await attachmentOf(file)` returns.')
    // A new message takes the place of those that were not answered.
    for (const { turn } of this.#repeatable()) this.#entries.delete(turn.id)
    const sent: ChatMessage = {
      key: crypto.randomUUID(),
      text: message,
      ...(attachments.length > 0 && { attachments }),
      config: this.#options.config,
    }
    const entry = this.#addEntry(sent, 'waiting')
    this.#change({ turns: [...this.#state.turns, entry.turn] })
    return this.#take(entry)
  }

  /**
   * After a reload: sends the messages again that had no outcome. Each that was answered meanwhile gets its reply; none runs twice. One
   * whose place a newer message took is left out.
   */
  resume(): Promise<readonly ChatTurn[]> {
    const unanswered = this.#repeatable().filter(({ turn }) => turn.status === 'unanswered')
    return Promise.all(unanswered.map(({ turn }) => this.retry(turn.id)))
  }

  /**
   * After a reload: shows the conversation as the server has it. The stored turns take the place of those that are answered here; the
   * server needs the option `session`. It may be called while turns run: they stay where they are, and it resolves when they are
   * settled. Call `resume` first. A turn that is still `unanswered` is shown beside its stored copy, if it has one.
   *
   * @throws `Error` (rejected) if the server was not reached or refused: then nothing changes.
   */
  async history(): Promise<readonly ChatTurn[]> {
    // A turn that waits may be stored already, and would be shown twice. With its first event its reply comes, or it runs.
    await this.#reaches(({ turns }) => turns.every(({ status }) => status !== 'waiting'))
    const { isBusy } = this.#state
    await this.#showStored()
    if (isBusy) {
      // So may one that ran while the stored turns were read.
      await this.#reaches((state) => !state.isBusy)
      await this.#showStored()
    }
    return this.#state.turns
  }

  /**
   * Sends a message again that failed, was stopped or has no outcome. The server recognises one that it answered already. Where the
   * failure itself was recorded, the message gets a new key.
   *
   * @param id - Of the turn. Default: the newest one that is not under way.
   * @throws `TypeError` (rejected) if there is no such turn, because it was answered or a newer message took its place, or if it is under way.
   */
  async retry(id?: string): Promise<ChatTurn> {
    const entry = id === undefined ? this.#repeatable().at(-1) : this.#entries.get(id)
    if (entry === undefined) throw new TypeError('There is no turn to try again.')
    if (isUnderWay(entry)) throw new TypeError('The turn is under way already.')
    entry.stopping = new AbortController()
    entry.session = ''
    delete entry.cancelled
    // One that was sent to no session may begin one.
    if (!entry.message.session) entry.conversation = this.#conversation
    const { failure: _failure, ...turn } = entry.turn
    this.#replace(entry, { ...turn, status: 'waiting', text: '' })
    return this.#take(entry)
  }

  /**
   * Stops what is under way. Resolves to whether the server cancelled a turn: not one that was being stored, nor one whose server was
   * not reached. A message without an event so far is waited for. Nothing that was stopped is sent again by itself.
   */
  async stop(): Promise<boolean> {
    const bySession = new Map<string, Entry[]>()
    for (const entry of this.#entries.values()) {
      if (!isUnderWay(entry)) continue
      entry.stopping.abort()
      const session = entry.session || entry.conversation.session
      bySession.set(session, [...(bySession.get(session) ?? []), entry])
    }
    const answers = await Promise.all(Array.from(bySession, (each) => this.#cancelAll(...each)))
    return answers.includes(true)
  }

  /**
   * Forgets the conversation: the next message starts a new one, also while a turn is under way. The turns so far are still shown until
   * a reload; the server keeps the session.
   */
  startOver(): void {
    this.#begin(this.#state.turns)
  }

  /**
   * Deletes the session on the server, and forgets the conversation and its turns. A conversation that began meanwhile stays.
   *
   * @throws `Error` (rejected) with the server's sentence, if it sent one, where it was not deleted: then nothing is forgotten.
   */
  async end(): Promise<void> {
    const conversation = this.#conversation
    const shown = this.#state.turns.map(({ id }) => id)
    await this.stop()
    await conversation.newest
    const { session } = conversation
    if (session !== '') await this.#server.ask('POST', 'end', session)
    // Another conversation may have begun meanwhile.
    const isNewest = conversation === this.#conversation
    const turns = isNewest ? [] : this.#state.turns.filter(({ id }) => !shown.includes(id))
    for (const { turn } of this.#entries.values()) if (!turns.includes(turn)) this.#entries.delete(turn.id)
    if (isNewest) this.#begin(turns)
    else this.#change({ turns })
  }

  #begin(turns: readonly ChatTurn[]): void {
    this.#conversation = { session: '', newest: Promise.resolve() }
    this.#change({ turns, ...nothingSaid })
  }

  async #showStored(): Promise<void> {
    const { session } = this.#state
    if (session === '') return
    const { turns, sessionState } = await readConversation(this.#server, session)
    // A message that was sent meanwhile may have begun another conversation.
    if (session !== this.#state.session) return
    const isOver = ended.includes(sessionState)
    if (isOver) this.#conversation.session = ''
    this.#change({ turns: withOpenTurns(turns, this.#state.turns), ...(isOver && { hasEnded: true }) })
  }

  /** Resolves once the chat has such a state. */
  #reaches(isReached: (state: ChatState) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isReached(this.#state)) return
        off()
        resolve()
      }
      const off = this.on('change', look)
      look()
    })
  }

  #addEntry(message: ChatMessage, status: ChatTurnStatus): Entry {
    const entry: Entry = {
      turn: Object.freeze(turnOf(message, status)),
      message,
      stopping: new AbortController(),
      // One of an earlier page has a session if it was on its way.
      mayBeStored: message.session !== undefined,
      session: '',
      conversation: this.#conversation,
    }
    this.#entries.set(entry.turn.id, entry)
    return entry
  }

  /** What may be sent again, oldest first. */
  #repeatable(): Entry[] {
    return [...this.#entries.values()].filter((entry) => !isUnderWay(entry))
  }

  #take(entry: Entry): Promise<ChatTurn> {
    const { conversation } = entry
    const before = conversation.newest
    const taken = this.#run(entry, before)
    conversation.newest = Promise.all([before, taken]).then(() => {})
    return taken
  }

  async #run(entry: Entry, before: Promise<unknown>): Promise<ChatTurn> {
    const { message, stopping, conversation } = entry
    try {
      if (message.session === undefined && conversation.session === '') await before
      stopping.signal.throwIfAborted()
      message.session ??= conversation.session
      this.#change({})
      for await (const event of sendMessage(this.#server, this.#options.flow, entry, stopping.signal)) {
        this.#receive(entry, event)
      }
    } catch {
      const isStopped = stopping.signal.aborted && !entry.mayBeStored
      // Otherwise nobody knows whether the message was answered: a turn that the server cancelled may be another one of the session.
      // To find out it is sent again, so it is kept.
      this.#replace(entry, { ...entry.turn, status: isStopped ? 'stopped' : 'unanswered' })
    }
    return entry.turn
  }

  #receive(entry: Entry, event: ChatTurnEvent): void {
    const next = afterEvent(entry.turn, event)
    const outcome = outcomeOf(event)
    // Who does not know the session, such as a proxy that refuses, says nothing of an earlier attempt. A first message has none yet.
    const isUnknown =
      entry.mayBeStored && next.status === 'failed' && ['unknown', 'none'].includes(outcome?.sessionState ?? '')
    this.#replace(entry, isUnknown ? { ...next, status: 'unanswered' } : next)
    if (event.type === 'session') {
      entry.session = event.data.session
      // Where the user pressed stop earlier, there was nothing to cancel yet.
      if (entry.stopping.signal.aborted) entry.cancelled = this.#cancel(entry.session)
    }
    if (outcome !== undefined) this.#settle(entry, outcome)
    this.#listeners.notify(event.type, { ...event.data, turn: entry.turn })
  }

  #settle(entry: Entry, outcome: ChatOutcome): void {
    const { session, sessionState, restarted, code } = outcome
    const { conversation, turn } = entry
    const had = conversation.session
    const isOver = ended.includes(sessionState)
    const isFailing = turn.status === 'failed'
    const isStuck = isFailing && sessionState === 'running' && code === conversation.lastFailure
    conversation.lastFailure = isFailing ? code : undefined
    // A reply that names no session says nothing about the ID that the chat has.
    conversation.session = isOver ? '' : session || had
    if (turn.status === 'answered' || turn.status === 'superseded') this.#entries.delete(turn.id)
    // What may be stored is found by the same key in the same session.
    else if (turn.status !== 'unanswered') entry.message = messageToRepeat(entry.message, outcome)
    entry.mayBeStored = turn.status === 'unanswered'
    if (conversation !== this.#conversation) return
    this.#change({
      hasEnded: isOver && (sessionState !== 'none' || had !== ''),
      hasRestarted: restarted !== undefined,
      isStuck,
    })
  }

  /** Cancels turns of a session one after the other. The server knows the one that runs; the others wait behind it. */
  async #cancelAll(session: string, entries: readonly Entry[]): Promise<boolean> {
    let isAnyCancelled = false
    for (const entry of entries) {
      if (!isUnderWay(entry)) continue
      const isCancelled = await this.#cancel(session)
      // The message may not have arrived. Where replies are streamed, its first event has it cancelled.
      if (!isCancelled) await this.#reaches(() => entry.turn.status !== 'waiting')
      if (isCancelled || (await entry.cancelled)) isAnyCancelled = true
    }
    return isAnyCancelled
  }

  async #cancel(session: string): Promise<boolean> {
    if (session === '') return false
    try {
      const { cancelled } = await this.#server.ask<{ readonly cancelled: boolean }>('POST', 'cancel', session)
      return cancelled
    } catch {
      return false
    }
  }

  #replace(entry: Entry, turn: ChatTurn): void {
    entry.turn = Object.freeze(turn)
    this.#change({ turns: this.#state.turns.map((each) => (each.id === turn.id ? turn : each)) })
  }

  /** Makes the next state, keeps what a reload needs, and reports it. */
  #change(changes: Partial<Omit<ChatState, 'session' | 'isBusy'>>): void {
    const turns = changes.turns === undefined ? this.#state.turns : Object.freeze(changes.turns)
    const isBusy = turns.some(({ status }) => underWay.includes(status))
    const { session } = this.#conversation
    this.#state = Object.freeze({ ...this.#state, ...changes, session, turns, isBusy })
    this.#keep()
    const state = this.#state
    this.#listeners.notify('change', state, () => state === this.#state)
  }

  #keep(): void {
    const entries = [...this.#entries.values()].filter(
      ({ turn, stopping, conversation }) =>
        withoutOutcome.includes(turn.status) && !stopping.signal.aborted && conversation === this.#conversation,
    )
    this.#record.keep({ session: this.#state.session, pending: entries.map(({ message }) => message) })
  }
}

function isUnderWay({ turn }: Entry): boolean {
  return underWay.includes(turn.status)
}

/** The message as it is sent again after a failure. */
function messageToRepeat(message: ChatMessage, { sessionState, code }: ChatOutcome): ChatMessage {
  // A failure that ended the session is recorded under its key, and a key that belongs to another message stays that one's.
  const needsKey = sessionState === 'aborted' || code === 'IDEMPOTENCY_MISMATCH'
  const { session, ...rest } = { ...message, ...(needsKey && { key: crypto.randomUUID() }) }
  // Where the conversation has ended, or never began, the message begins one.
  return ended.includes(sessionState) || session === undefined ? rest : { ...rest, session }
}
