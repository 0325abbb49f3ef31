/**
 * The turns of one handler's chats. If a message is sent again while its turn runs, the client reads that turn;
 * otherwise the engine replays the reply by its key.
 */
import type {
  FlowEngine,
  FlowRunInput,
  FlowStream,
  FlowStreamEvent,
  JsonObject,
  SessionDocument,
} from '../../src/index.js'
import { digestOf } from '../../src/util/digest.js'
import { contextError } from '../fetch/request/authorize.js'
import { keepAlive } from '../fetch/request/wait-until.js'
import { type Chat, type ChatSessions, nameOf } from './chat-sessions.js'
import { isOfFlow } from './flow-of-session.js'
import { SessionTable } from './session-table.js'
import { TurnBroadcast, type TurnEvents, type TurnOutcome } from './turn-broadcast.js'

/** The part of a `FlowEngine` that chats use. An application may wrap it. */
export type ChatEngine = Pick<FlowEngine, 'stream' | 'getSession' | 'claimSession'> &
  Partial<Pick<FlowEngine, 'reportRefused' | 'textOfRefusal' | 'limits' | 'getFlowNames' | 'getFlow'>>

/** A message of the user, in the form that both protocols share. */
export interface ChatMessage {
  /** The client's ID of the message; the same when it is sent again. */
  readonly id: string
  readonly text: string
  readonly attachments: NonNullable<FlowRunInput['attachments']>
  readonly config: JsonObject | undefined
  /** The user's own event, in place of a text. */
  readonly event: FlowRunInput['event'] | undefined
  /** The option that the user pressed; the message is its label. */
  readonly choice: FlowRunInput['choice'] | undefined
  /** Whether it begins a new session in the chat. */
  readonly newSession: boolean
  /** The session that the client names; `undefined` if it names none. */
  readonly session: string | undefined
}

/** The input of a turn besides the message. */
export type TurnRequest = Pick<FlowRunInput, 'serverContext' | 'waitUntil'> & { readonly requestId: string }

/** A turn and the message that began it. */
interface RunningTurn {
  readonly message: ChatMessage
  readonly key: string
  readonly broadcast: TurnBroadcast
  /** The message as the protocol shows it; `undefined` for an event. */
  readonly shown: unknown
  /** Whether it, or a running turn before it, begins a new session in the chat. */
  readonly isInNew: boolean
}

/** The facts needed to find the session of a message. */
interface AskedMessage {
  readonly key: string
  readonly requestId: string
}

/** The session of a message. */
interface ChosenSession {
  /** `undefined` for a new session. */
  readonly sessionId: string | undefined
  /** The session that `ChatSessions` has for the chat. */
  readonly kept: string | undefined
}

/** The running turns of all chats in this process. */
export class ChatTurns {
  /** By chat, in the order in which their messages arrived. */
  readonly #running = new Map<string, readonly RunningTurn[]>()
  readonly #engine: ChatEngine
  readonly #table: SessionTable
  readonly #whenEnded: NonNullable<FlowRunInput['whenEnded']>
  readonly #report: (error: unknown) => void

  constructor(
    engine: ChatEngine,
    sessions: ChatSessions,
    whenEnded: NonNullable<FlowRunInput['whenEnded']>,
    report: (error: unknown) => void,
  ) {
    this.#engine = engine
    this.#table = new SessionTable(sessions)
    this.#whenEnded = whenEnded
    this.#report = report
  }

  /**
   * Starts the turn of a message, or finds the one that is already running. Rejects if the session of the chat cannot
   * be determined.
   *
   * @param shown - the message as the protocol shows it: see {@link ChatTurns.running}
   */
  async send(chat: Chat, message: ChatMessage, request: TurnRequest, shown?: unknown): Promise<TurnBroadcast> {
    const same = this.#turnsOf(chat).find((turn) => isSame(turn.message, message))
    const key = keyOf(chat, message)
    const isInNew = message.newSession || this.running(chat)?.isInNew === true
    const broadcast = same?.broadcast ?? this.#begin(chat, message, key, request)
    if (same === undefined) this.#add(chat, { message, key, broadcast, shown, isInNew })
    await broadcast.begun
    return broadcast
  }

  /**
   * Starts a turn. The turn itself chooses the session, so nothing is awaited before the turn is registered as running.
   * A repeat of the message therefore always finds it, and another first message continues in its session.
   */
  #begin(chat: Chat, message: ChatMessage, key: string, request: TurnRequest): TurnBroadcast {
    const { text, attachments, config, event, choice } = message
    const chosen = this.#choose(chat, message, this.running(chat), { key, requestId: request.requestId })
    const input: FlowRunInput = {
      flowName: chat.flow,
      userMessage: text,
      owner: chat.owner,
      idempotencyKey: key,
      whenEnded: this.#whenEnded,
      ...request,
      ...(attachments.length === 0 ? {} : { attachments }),
      ...(config === undefined ? {} : { config }),
      ...(event === undefined ? {} : { event }),
      ...(choice === undefined ? {} : { choice }),
    }
    const start = async (signal: AbortSignal): Promise<TurnEvents> => {
      const { sessionId } = await chosen
      const inNew = (): FlowStream => this.#engine.stream({ ...input, signal }, { onDisconnect: 'finish' })
      if (sessionId === undefined) return inNew()
      return turnOrNew(this.#engine.stream({ ...input, sessionId, signal }, { onDisconnect: 'finish' }), inNew)
    }
    const settle = async (outcome: TurnOutcome, hasBegun: boolean): Promise<void> => {
      if (request.serverContext !== undefined) checkContext(outcome)
      // A turn that was refused may name a session that is not the chat's.
      if (hasBegun || outcome.type === 'result') await this.#keep(chat, await chosen, outcome)
    }
    const broadcast = new TurnBroadcast(start, settle, this.#report)
    // The engine passes only the turn itself to `waitUntil`. This promise includes the calls to `ChatSessions` before
    // and after it.
    void keepAlive(request.waitUntil, broadcast.ended, this.#report)
    return broadcast
  }

  /** The newest running turn of a chat. */
  running(chat: Chat): RunningTurn | undefined {
    return this.#turnsOf(chat).at(-1)
  }

  /**
   * The running turns of a chat that a stored session does not have yet, oldest first. A turn counts as running until
   * its session is saved for the chat, which is after its commit.
   */
  notIn(document: SessionDocument | undefined, chat: Chat): readonly RunningTurn[] {
    return this.#turnsOf(chat).filter(({ key }) => document === undefined || !hasAnswered(document, key))
  }

  /** Stops the running turns of a chat in this process. When they have ended, resolves to whether one was stopped. */
  async stop(chat: Chat): Promise<boolean> {
    const stopped = await Promise.all(this.#turnsOf(chat).map(({ broadcast }) => broadcast.stop()))
    return stopped.includes(true)
  }

  /** The saved session of a chat, or the session of a first turn that is still running. */
  async sessionOf(chat: Chat): Promise<string | undefined> {
    // Read before the load: the load may read before that turn saves its session, and end after the turn.
    const running = this.running(chat)
    return (await this.#table.load(chat)) ?? (running && sessionOfTurn(running))
  }

  /**
   * Finds the session for a message: the one that a running turn begins because the client asked for a new one, or else
   * the current one. If the message is a repeat, an earlier session may have answered it; its key shows that.
   *
   * @param before - The turn of the chat that was running when the message arrived. It may end during the load, which
   * then may not see its session.
   */
  async #choose(
    chat: Chat,
    { session: brought, newSession }: ChatMessage,
    before: RunningTurn | undefined,
    asked: AskedMessage,
  ): Promise<ChosenSession> {
    const kept = await this.#table.load(chat)
    if (newSession) return { kept, sessionId: undefined }
    const begun = before?.isInNew === true ? await sessionOfTurn(before) : undefined
    const sessionId = begun ?? (await this.#current(chat, [brought, kept], before, asked))
    if (sessionId === undefined || sessionId === brought) return { kept, sessionId }
    const { owner, flow: flowName } = chat
    const claimed = await this.#engine.claimSession({ flowName, owner, idempotencyKey: asked.key, sessionId })
    return { kept, sessionId: claimed }
  }

  /**
   * The current session of a chat. In this order, the first that goes on: the session that the client names, the saved
   * one, the one of the turn before. An ended session is used too if it has the answer to this very message, or if there
   * is no other; a session of another flow never. If there is only the client's, it is not loaded: the engine finds out.
   */
  async #current(
    chat: Chat,
    [brought, kept]: readonly (string | undefined)[],
    before: RunningTurn | undefined,
    asked: AskedMessage,
  ): Promise<string | undefined> {
    if (before === undefined && (kept === undefined || kept === brought)) return brought
    let ended: string | undefined
    for (const sessionId of new Set([brought, kept])) {
      if (sessionId === undefined) continue
      const use = await this.#useOf(sessionId, chat, asked)
      if (use === 'now') return sessionId
      if (use === 'ended') ended = sessionId
    }
    return (before && (await sessionOfTurn(before))) ?? ended
  }

  /**
   * Whether a session of the owner goes on, or has answered the message. A session that cannot be loaded counts as one
   * that goes on; the turn then reports the reason.
   */
  async #useOf(
    sessionId: string,
    { owner, flow }: Chat,
    { key, requestId }: AskedMessage,
  ): Promise<'now' | 'ended' | 'never'> {
    try {
      const document = await this.#engine.getSession(sessionId, { owner, requestId })
      if (document === undefined) return 'ended'
      if (!isOfFlow(this.#engine, document, flow)) return 'never'
      return document.runStatus === 'running' || hasAnswered(document, key) ? 'now' : 'ended'
    } catch {
      return 'now'
    }
  }

  #turnsOf(chat: Chat): readonly RunningTurn[] {
    return this.#running.get(nameOf(chat)) ?? []
  }

  #add(chat: Chat, turn: RunningTurn): void {
    const name = nameOf(chat)
    this.#running.set(name, [...this.#turnsOf(chat), turn])
    const remove = (): void => {
      const others = this.#turnsOf(chat).filter((other) => other !== turn)
      if (others.length === 0) this.#running.delete(name)
      else this.#running.set(name, others)
    }
    turn.broadcast.ended.then(remove, remove)
  }

  async #keep(chat: Chat, { sessionId, kept }: ChosenSession, outcome: TurnOutcome): Promise<void> {
    const { response, sessionState, replayed } = outcome
    const { session } = response
    const isStored = sessionState !== 'none' && sessionState !== 'unknown'
    if (!isStored || session === '' || session === kept) return
    // A reply from a session that the chat may have left.
    if (replayed === true && session === sessionId && kept !== undefined) return
    try {
      await this.#table.save(chat, session)
    } catch (error) {
      this.#report(error)
    }
  }
}

/**
 * @throws The error for the operator if `authorize` returned an invalid `context`; the client gets a fixed sentence.
 */
function checkContext(outcome: TurnOutcome): void {
  const problem = outcome.type === 'error' ? contextError(outcome.error) : undefined
  if (problem !== undefined) throw problem
}

/** `undefined` if the turn ended before it had a session. */
async function sessionOfTurn({ broadcast }: RunningTurn): Promise<string | undefined> {
  const session = await broadcast.session()
  return session === '' ? undefined : session
}

/** Whether a message was sent again. Clients repeat a message without the choice that came beside it. */
function isSame(one: ChatMessage, other: ChatMessage): boolean {
  const contentOf = ({ text, attachments, config, event, newSession }: ChatMessage): string =>
    JSON.stringify([text, attachments, config, event, newSession])
  return one.id === other.id && contentOf(one) === contentOf(other)
}

/** The events of a turn. If its session belongs to another flow, a turn in a new session takes its place. */
async function* turnOrNew(turn: FlowStream, inNew: () => FlowStream): AsyncGenerator<FlowStreamEvent, void, void> {
  for await (const event of turn) {
    if (event.type === 'error' && event.error.code === 'SESSION_FLOW_MISMATCH') return yield* inNew()
    yield event
  }
}

/** Whether a session has answered the message of a key. */
function hasAnswered({ receipts = [] }: SessionDocument, key: string): boolean {
  // The engine stores a digest of the key.
  const digest = digestOf(key)
  return receipts.some((receipt) => receipt.key === digest)
}

/** The idempotency key of a message: the same in every process. */
function keyOf({ id }: Chat, message: ChatMessage): string {
  return digestOf(JSON.stringify([id, message.id]))
}
