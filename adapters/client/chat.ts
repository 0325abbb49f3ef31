/**
 * A conversation with one flow, in a page or a program: the turns, the session of the next message, and the unanswered
 * messages.
 */
import { type ChatOutcome, type ChatTurnEvent, outcomeOf } from './chat-events.js'
import type { ChatAttachment, ChatChoice, ChatMessage, Delivery } from './chat-message.js'
import { type ChatOptions, checkOptions } from './chat-options.js'
import { ChatServer } from './chat-server.js'
import { type ChatEvents, ChatListeners, type ChatState } from './chat-state.js'
import { ChatRecord } from './chat-storage.js'
import { afterEvent, type ChatTurn, type ChatTurnStatus, turnOf } from './chat-turn.js'
import { sendMessage } from './send-message.js'
import { readConversation, type StoredConversation, withOpenTurns } from './stored-turns.js'

/** A message that is unanswered or may be sent again. */
interface Entry extends Delivery {
  /** The turn that the page shows. */
  turn: ChatTurn
  message: ChatMessage
  readonly stopping: AbortController
  /** If the turn began after it was stopped: whether the server then cancelled it. */
  cancelled?: Promise<boolean>
  /** The ID of the session of the running turn, from the server. */
  session?: string
  readonly conversation: Conversation
}

/**
 * The state that messages between two calls of `startOver` or `end` share. A turn that outlives it does not affect the
 * next one.
 */
interface Conversation {
  /** Empty if the next message starts a session. */
  session: string
  /**
   * Settles when the newest turn and all before it are settled. It does not keep them in memory: their attachments may
   * be large.
   */
  newest: Promise<unknown>
  lastFailure?: string | undefined
  /** The answered turns of the present session of which the page has no stored copy. */
  readonly unread: Set<string>
  /** The state in the last outcome. */
  said: Pick<ChatState, 'hasEnded' | 'hasRestarted' | 'isStuck'>
  /** Settles when the deletion of the session has ended, successful or not. */
  ending?: Promise<void>
}

const ended: readonly string[] = ['completed', 'aborted', 'none']
const nothingSaid = { hasEnded: false, hasRestarted: false, isStuck: false }

/** See {@link createChat}. */
export class Chat {
  readonly #server: ChatServer
  readonly #options: ChatOptions
  readonly #record: ChatRecord
  readonly #listeners = new ChatListeners()
  /** The running messages and those that may be sent again, by turn ID. */
  readonly #entries = new Map<string, Entry>()
  #conversation: Conversation
  #state: ChatState
  #refreshing?: ReturnType<typeof setTimeout> | undefined

  /** @throws `TypeError` if an option is missing, or is not what it must be. */
  constructor(options: ChatOptions) {
    checkOptions(options)
    const { url, flow, storage, storageKey = `turnkeeper:${url}:${flow}` } = options
    this.#options = options
    this.#server = new ChatServer(options)
    this.#record = new ChatRecord(storage, storageKey)
    const { session, pending } = this.#record.read()
    this.#conversation = conversationIn(session)
    const turns = Object.freeze(pending.map((message) => this.#addEntry(message, 'unanswered').turn))
    this.#state = Object.freeze({ session, turns, isBusy: false, ...nothingSaid })
  }

  /** The current state of the chat. */
  get state(): ChatState {
    return this.#state
  }

  /**
   * Calls a listener for each event of a name, until the returned function is called. `change` reports every change of
   * the state.
   *
   * @example
   * ```ts
   * chat.on('change', ({ turns, isBusy }) => render(turns, isBusy))
   * chat.on('tool-start', ({ tool }) => showStatus(`Looking: ${tool}`))
   * ```
   */
  on<Name extends keyof ChatEvents>(name: Name, listener: (payload: ChatEvents[Name]) => void): () => void {
    const off = this.#listeners.add(name, listener)
    this.#refreshLater()
    return off
  }

  /**
   * Sends a message. Resolves to its turn when the turn has settled; `status` has the outcome.
   *
   * A user need not wait for a reply: the option `busy` of the flow decides what happens to a message for a busy
   * session. Only the first message of a conversation makes the next ones wait, because its outcome has the session ID.
   *
   * @param beside - The results of `attachmentOf`, or the pressed button of a `choices` part, whose label is the
   * message: `{ choice: { turn, name, value } }`. Default: nothing.
   * @throws `TypeError` (rejected) if `beside` is neither a list of attachments nor has a choice, or `config` is not
   * JSON: then nothing is sent.
   */
  async send(
    message: string,
    beside: readonly ChatAttachment[] | { readonly choice: ChatChoice } = [],
  ): Promise<ChatTurn> {
    const { choice } = beside as { readonly choice?: ChatChoice }
    const attachments = choice ? [] : (beside as readonly ChatAttachment[])
    // A `File` has no media type, nor has a promise of an attachment.
    if (!Array.isArray(attachments) || attachments.some(({ mediaType }) => !mediaType))
      throw new TypeError('attachments must be a list of what `await attachmentOf(file)` returns.')
    // A copy: each attempt sends the same content even if the page changes its objects.
    const sent: ChatMessage = JSON.parse(
      JSON.stringify({
        key: crypto.randomUUID(),
        text: message,
        attachments,
        choice,
        config: this.#options.config,
      }),
    )
    const { ending } = this.#conversation
    if (ending !== undefined) await ending.catch(() => {})
    // A new message replaces the unanswered ones.
    for (const { turn } of this.#repeatable()) this.#entries.delete(turn.id)
    const entry = this.#addEntry(sent, 'waiting')
    this.#change([...this.#state.turns, entry.turn])
    return this.#take(entry)
  }

  /**
   * After a reload: sends the unanswered messages again. A message that was answered meanwhile gets its reply; none
   * runs twice. A superseded message is left out.
   */
  resume(): Promise<readonly ChatTurn[]> {
    const unanswered = this.#repeatable().filter(({ turn }) => turn.status === 'unanswered')
    return Promise.all(unanswered.map(({ turn }) => this.retry(turn.id)))
  }

  /**
   * After a reload: shows the conversation as the server has it. The stored turns replace the answered turns of the
   * page; the server needs the option `session`. Call `resume` first. If turns are running, they stay in place, and the
   * promise resolves when they have settled. A turn that is still `unanswered` is shown beside its stored copy, if it
   * has one.
   *
   * @throws `Error` (rejected) if the server was not reached or refused: then nothing changes.
   */
  history(): Promise<readonly ChatTurn[]> {
    return this.#read(false)
  }

  /**
   * Shows what the session has taken since: outside events, such as a manager's decision, and messages of other pages.
   * Reads only the turns that the page has no stored copy of; as after `history`, the copies replace its own answered
   * turns. Does nothing before a conversation has begun, and after it has ended.
   *
   * @throws `Error` (rejected) if the server was not reached or refused: then nothing changes.
   */
  refresh(): Promise<readonly ChatTurn[]> {
    return this.#read(true)
  }

  async #read(onlyNews: boolean): Promise<readonly ChatTurn[]> {
    while (true) {
      // A waiting turn may be stored already, and would be shown twice. Its first event is its reply, or shows that it
      // runs.
      await this.#reaches(({ turns }) => turns.every(({ status }) => status !== 'waiting'))
      const { session, turns: before } = this.#state
      if (session === '') break
      const { unread } = this.#conversation
      const known = onlyNews ? before.filter(({ id, status }) => status === 'answered' && !unread.has(id)) : undefined
      const stored = await readConversation(this.#server, session, known)
      // A message sent meanwhile may have begun another conversation. An answered one may or may not be among the
      // stored turns.
      if (session !== this.#state.session || this.#hasAnsweredBeside(before)) continue
      this.#show(stored, known)
      await this.#reaches(({ isBusy }) => !isBusy)
      if (!this.#hasAnsweredBeside(stored.turns)) break
    }
    return this.#state.turns
  }

  /**
   * Sends a message again that failed, was stopped or superseded, or has no outcome. The server recognises a message
   * that it answered already. If the failure itself was recorded, the message gets a new key.
   *
   * @param id - The ID of the turn. Default: the newest one that is not running.
   * @throws `TypeError` (rejected) if there is no such turn, because it was answered or a message was sent after it, or
   * if it is running.
   */
  async retry(id?: string): Promise<ChatTurn> {
    const entry = id === undefined ? this.#repeatable().at(-1) : this.#entries.get(id)
    if (entry === undefined) throw new TypeError('There is no turn to try again.')
    if (isUnderWay(entry.turn)) throw new TypeError('The turn is under way already.')
    const next = this.#addEntry(entry.message, 'waiting', entry.turn.id)
    this.#replace(next, next.turn)
    return this.#take(next)
  }

  /**
   * Stops all running turns. Resolves to whether the server cancelled a turn; it cannot cancel a turn that is being
   * stored, or one that the request did not reach. If a message has no event yet, this waits for its first. A stopped
   * message is not sent again unless you call `retry`.
   */
  async stop(): Promise<boolean> {
    const stopped = [...this.#entries.values()].filter(({ turn }) => isUnderWay(turn))
    for (const { stopping } of stopped) stopping.abort()
    let isAnyCancelled = false
    // The server cancels the running turn of a session. The others wait behind it, and are cancelled one after the
    // other.
    for (const entry of stopped) {
      if (!isUnderWay(entry.turn)) continue
      const isCancelled = await this.#cancel(entry.session ?? entry.message.session ?? '')
      // The message may not have arrived. If replies are streamed, its first event triggers the cancel.
      if (!isCancelled) await this.#reaches(() => entry.turn.status !== 'waiting')
      if (isCancelled || (await entry.cancelled)) isAnyCancelled = true
    }
    return isAnyCancelled
  }

  /**
   * Forgets the conversation: the next message starts a new one, even while a turn is running. The turns so far stay
   * visible until a reload; the server keeps the session.
   */
  startOver(): void {
    this.#begin(this.#state.turns)
  }

  /**
   * Deletes the session on the server, and forgets the conversation and its turns. A message that is sent meanwhile
   * waits for the deletion. A conversation that began meanwhile stays.
   *
   * @throws `Error` (rejected) if the session was not deleted, with the server's message if it sent one; then nothing
   * is forgotten.
   */
  async end(): Promise<void> {
    const conversation = this.#conversation
    conversation.ending ??= this.#end(conversation).finally(() => delete conversation.ending)
    return conversation.ending
  }

  async #end(conversation: Conversation): Promise<void> {
    const shown = this.#state.turns.map(({ id }) => id)
    await this.stop()
    await conversation.newest
    const { session } = conversation
    if (session !== '') await this.#server.ask('POST', 'end', session)
    for (const id of shown) this.#entries.delete(id)
    const turns = this.#state.turns.filter(({ id }) => !shown.includes(id))
    // Another conversation may have begun meanwhile.
    if (conversation === this.#conversation) this.#begin(turns)
    else this.#change(turns)
  }

  #begin(turns: readonly ChatTurn[]): void {
    this.#conversation = conversationIn('')
    this.#change(turns)
  }

  /** @param known - The turns for whose news was asked; `undefined` if all turns were read. */
  #show({ turns, sessionState }: StoredConversation, known: readonly ChatTurn[] | undefined): void {
    const { said, unread } = this.#conversation
    if (ended.includes(sessionState))
      Object.assign(this.#conversation, { session: '', said: { ...said, hasEnded: true } })
    else if (known && unread.size === 0 && turns.at(-1) === known.at(-1)) return
    unread.clear()
    // A page need not forget what it shows of a session that is gone.
    const isGone = known && sessionState === 'none'
    this.#change(isGone ? undefined : withOpenTurns(turns, this.#state.turns))
  }

  /** Whether there are answered turns that are not among these. */
  #hasAnsweredBeside(known: readonly ChatTurn[]): boolean {
    return this.#state.turns.some((turn) => turn.status === 'answered' && !known.includes(turn))
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

  #addEntry(message: ChatMessage, status: ChatTurnStatus, id: string = message.key): Entry {
    const entry: Entry = {
      turn: Object.freeze(turnOf(message, status, id)),
      message,
      stopping: new AbortController(),
      mayBeStored: message.session !== undefined,
      conversation: this.#conversation,
    }
    this.#entries.set(entry.turn.id, entry)
    return entry
  }

  /** The messages that may be sent again, oldest first. */
  #repeatable(): Entry[] {
    return [...this.#entries.values()].filter(({ turn }) => !isUnderWay(turn))
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
      // A turn that may be stored is found by the same key in the same session.
      message.session ??= conversation.session
      this.#change()
      for await (const event of sendMessage(this.#server, this.#options.flow, entry, stopping.signal)) {
        this.#receive(entry, event)
      }
    } catch {
      const isStopped = stopping.signal.aborted && !entry.mayBeStored
      if (!entry.mayBeStored) delete message.session
      // Otherwise it is unknown whether the message was answered: the server may have cancelled another turn of the
      // session. Only sending the message again finds out, so it is kept.
      this.#replace(entry, { ...entry.turn, status: isStopped ? 'stopped' : 'unanswered' })
    }
    return entry.turn
  }

  #receive(entry: Entry, event: ChatTurnEvent): void {
    const turn = afterEvent(entry.turn, event, entry.mayBeStored)
    const outcome = outcomeOf(event)
    if (event.type === 'session') {
      entry.session = event.data.session
      // If the user pressed stop earlier, there was nothing to cancel yet.
      if (entry.stopping.signal.aborted) entry.cancelled = this.#cancel(entry.session)
    }
    if (outcome !== undefined) this.#settle(entry, turn, outcome)
    this.#replace(entry, turn)
    this.#listeners.notify(event.type, { ...event.data, turn })
  }

  /** Applies an outcome to the message and to the conversation. */
  #settle(entry: Entry, { id, status }: ChatTurn, outcome: ChatOutcome): void {
    const { conversation, message } = entry
    const { session: sent = '' } = message
    const { sessionState, restarted, code } = outcome
    if (status === 'answered') this.#entries.delete(id)
    else if (!entry.mayBeStored) entry.message = messageToRepeat(message, outcome)
    // A reply without a session ID is about the requested session.
    const session = outcome.session || sent
    const had = conversation.session
    // The conversation may have left that session meanwhile.
    if (sent !== had && (had !== '' || session === sent)) return
    const isOver = ended.includes(sessionState)
    const isFailing = status === 'failed'
    const isStuck = isFailing && sessionState === 'running' && code === conversation.lastFailure
    conversation.lastFailure = isFailing ? code : undefined
    noteAnswered(conversation, had === session, id, status)
    conversation.session = isOver ? '' : session
    conversation.said = {
      hasEnded: isOver && (sessionState !== 'none' || had !== ''),
      hasRestarted: restarted !== undefined,
      isStuck,
    }
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

  #refreshLater(): void {
    const { refreshEveryMs } = this.#options
    if (!refreshEveryMs || this.#refreshing !== undefined || !this.#listeners.has('change')) return
    this.#refreshing = setTimeout(async () => {
      // The next time may succeed.
      if (globalThis.document?.visibilityState !== 'hidden') await this.refresh().catch(() => {})
      this.#refreshing = undefined
      this.#refreshLater()
    }, refreshEveryMs)
  }

  #replace(entry: Entry, turn: ChatTurn): void {
    entry.turn = Object.freeze(turn)
    this.#change(this.#state.turns.map((each) => (each.id === turn.id ? turn : each)))
  }

  /** Makes the next state, keeps what a reload needs, and reports it. */
  #change(turns: readonly ChatTurn[] = this.#state.turns): void {
    const { session, said } = this.#conversation
    const isBusy = turns.some(isUnderWay)
    const state = Object.freeze({ ...said, session, turns: Object.freeze(turns), isBusy })
    this.#state = state
    const kept = [...this.#entries.values()].filter(
      ({ turn, stopping, conversation }) =>
        (isUnderWay(turn) || turn.status === 'unanswered') &&
        !stopping.signal.aborted &&
        conversation === this.#conversation,
    )
    this.#record.keep({ session, pending: kept.map(({ message }) => message) })
    this.#listeners.notify('change', state, () => state === this.#state)
  }
}

function conversationIn(session: string): Conversation {
  return { session, newest: Promise.resolve(), said: nothingSaid, unread: new Set() }
}

function noteAnswered({ unread }: Conversation, isSameSession: boolean, id: string, status: ChatTurnStatus): void {
  if (!isSameSession) unread.clear()
  if (status === 'answered') unread.add(id)
}

function isUnderWay({ status }: ChatTurn): boolean {
  return status === 'waiting' || status === 'running'
}

/** The message for a retry after a failure that stored nothing: it goes to the current session of the conversation. */
function messageToRepeat(
  { session: _sent, ...message }: ChatMessage,
  { sessionState, code }: ChatOutcome,
): ChatMessage {
  // A failure that ended the session is recorded under its key, and a key that another message used still belongs to
  // that message. Both need a new key.
  const needsKey = sessionState === 'aborted' || code === 'IDEMPOTENCY_MISMATCH'
  return needsKey ? { ...message, key: crypto.randomUUID() } : message
}
