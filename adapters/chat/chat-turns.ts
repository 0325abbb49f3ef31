/**
 * The turns of one handler's chats. If a message is sent again while its turn runs, the client reads that turn;
 * otherwise the engine replays the reply by its key.
 */
import type { FlowEngine, FlowRunInput, FlowStream, JsonObject, SessionDocument } from '../../src/index.js'
import { digestOf } from '../../src/util/digest.js'
import { isSessionId } from '../../src/util/patterns.js'
import { contextError } from '../fetch/request/authorize.js'
import { keepAlive } from '../fetch/request/wait-until.js'
import { type Chat, type ChatSessions, nameOf } from './chat-sessions.js'
import { TurnBroadcast, type TurnOutcome } from './turn-broadcast.js'

/** The part of a `FlowEngine` that chats use. An application may wrap it. */
export type ChatEngine = Pick<FlowEngine, 'stream' | 'getSession' | 'claimSession'> &
  Partial<Pick<FlowEngine, 'reportRefused' | 'limits' | 'getFlowNames' | 'getFlow'>>

/** A message of the user, in the form that both protocols share. */
export interface ChatMessage {
  /** The client's ID of the message; the same when it is sent again. */
  readonly id: string
  readonly text: string
  readonly attachments: NonNullable<FlowRunInput['attachments']>
  readonly config: JsonObject | undefined
  /** The session that the client names; `undefined` if it names none. */
  readonly session: string | undefined
}

/** The input of a turn besides the message. */
export type TurnRequest = Pick<FlowRunInput, 'requestId' | 'serverContext' | 'waitUntil'>

/** How long `ChatSessions` may take to load or save. */
const maxTableMs = 5_000

/** A turn and the message that began it. */
interface RunningTurn {
  readonly messageId: string
  /** Two messages are the same if these fields are equal. */
  readonly content: string
  readonly key: string
  readonly broadcast: TurnBroadcast
  /** The message as the protocol shows it. */
  readonly shown: unknown
}

/** The facts needed to find the session of a message. */
interface AskedMessage {
  readonly key: string
  readonly requestId: string | undefined
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
  readonly #sessions: ChatSessions
  readonly #report: (error: unknown) => void

  constructor(engine: ChatEngine, sessions: ChatSessions, report: (error: unknown) => void) {
    this.#engine = engine
    this.#sessions = sessions
    this.#report = report
  }

  /**
   * Starts the turn of a message, or finds the one that is already running. Rejects if the session of the chat cannot
   * be determined.
   *
   * @param shown - the message as the protocol shows it: see {@link ChatTurns.running}
   */
  async send(chat: Chat, message: ChatMessage, request: TurnRequest, shown?: unknown): Promise<TurnBroadcast> {
    const content = JSON.stringify([message.text, message.attachments, message.config])
    const same = this.#turnsOf(chat).find((turn) => turn.messageId === message.id && turn.content === content)
    const key = keyOf(chat, message)
    const broadcast = same?.broadcast ?? this.#begin(chat, message, key, request)
    if (same === undefined) this.#add(chat, { messageId: message.id, content, key, broadcast, shown })
    await broadcast.begun
    return broadcast
  }

  /**
   * Starts a turn. The turn itself chooses the session, so nothing is awaited before the turn is registered as running.
   * A repeat of the message therefore always finds it, and another first message continues in its session.
   */
  #begin(chat: Chat, message: ChatMessage, key: string, request: TurnRequest): TurnBroadcast {
    const { text, attachments, config } = message
    const chosen = this.#choose(chat, message.session, this.running(chat), { key, requestId: request.requestId })
    const input: FlowRunInput = {
      flowName: chat.flow,
      userMessage: text,
      owner: chat.owner,
      idempotencyKey: key,
      ...request,
      ...(attachments.length === 0 ? {} : { attachments }),
      ...(config === undefined ? {} : { config }),
    }
    const start = async (signal: AbortSignal): Promise<FlowStream> => {
      const { sessionId } = await chosen
      const ofSession = sessionId === undefined ? {} : { sessionId }
      return this.#engine.stream({ ...input, ...ofSession, signal }, { onDisconnect: 'finish' })
    }
    const settle = async (outcome: TurnOutcome): Promise<void> => {
      if (request.serverContext !== undefined) checkContext(outcome)
      await this.#keep(chat, await chosen, outcome)
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
    return (await this.#load(chat)) ?? (running && sessionOfTurn(running))
  }

  async #load(chat: Chat): Promise<string | undefined> {
    const late = `chats.load has not settled within ${maxTableMs} ms. Nothing was run.`
    const session: unknown = await inTime(this.#sessions.load(chat), late)
    // A table may have an empty text, or null.
    if (session === undefined || session === null || session === '') return undefined
    if (typeof session === 'string' && isSessionId(session)) return session
    const got =
      typeof session === 'string' ? 'a text that is not a session ID' : `a value of the type ${typeof session}`
    throw new TypeError(`chats.load must return the ID that was saved, or undefined if there is none; got ${got}.`)
  }

  /**
   * Finds the session for a message. If the message is a repeat, an earlier session may have answered it; its key shows
   * that.
   *
   * @param before - The turn of the chat that was running when the message arrived. It may end during the load, which
   * then may not see its session.
   */
  async #choose(
    chat: Chat,
    brought: string | undefined,
    before: RunningTurn | undefined,
    asked: AskedMessage,
  ): Promise<ChosenSession> {
    const kept = await this.#load(chat)
    const sessionId = await this.#current(chat, [brought, kept], before, asked)
    if (sessionId === undefined || sessionId === brought) return { kept, sessionId }
    const { owner, flow: flowName } = chat
    const claimed = await this.#engine.claimSession({ flowName, owner, idempotencyKey: asked.key, sessionId })
    return { kept, sessionId: claimed }
  }

  /**
   * The current session of a chat. In this order, the first that goes on: the session that the client names, the saved
   * one, the one of the turn before. An ended session is used too if it has the answer to this very message. If there
   * is only one candidate, it is not loaded: the engine finds out whether it goes on.
   */
  async #current(
    chat: Chat,
    [brought, kept]: readonly (string | undefined)[],
    before: RunningTurn | undefined,
    asked: AskedMessage,
  ): Promise<string | undefined> {
    const named = [...new Set([brought, kept])].filter((sessionId) => sessionId !== undefined)
    if (before === undefined && named.length < 2) return named[0]
    for (const sessionId of named) {
      if (await this.#answers(sessionId, chat, asked)) return sessionId
    }
    const sessionBefore = before && (await sessionOfTurn(before))
    return sessionBefore ?? kept ?? brought
  }

  /**
   * Whether a session of the owner goes on, or has answered the message. A session that cannot be loaded counts as one
   * that goes on; the turn then reports the reason.
   */
  async #answers(sessionId: string, { owner }: Chat, { key, requestId }: AskedMessage): Promise<boolean> {
    try {
      const caller = requestId === undefined ? { owner } : { owner, requestId }
      const document = await this.#engine.getSession(sessionId, caller)
      return document !== undefined && (document.runStatus === 'running' || hasAnswered(document, key))
    } catch {
      return true
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
      const late = `chats.save has not settled within ${maxTableMs} ms. The reply does not wait for it.`
      await inTime(this.#sessions.save(chat, session), late)
    } catch (error) {
      this.#report(error)
    }
  }
}

/**
 * @throws An error with this message if the work takes too long: a table may never answer while other messages wait.
 */
async function inTime<Value>(work: Promise<Value>, message: string): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(message)), maxTableMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
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
