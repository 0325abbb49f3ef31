/**
 * The turns of the chats of one handler: from a message to the turn that answers it. A message that comes again reads
 * the turn that runs for it, and the engine answers it by its key where none runs.
 */
import type { FlowEngine, FlowRunInput, FlowStream, JsonObject, SessionDocument } from '../../src/index.js'
import { digestOf } from '../../src/util/digest.js'
import { isSessionId } from '../../src/util/patterns.js'
import { contextError } from '../fetch/request/authorize.js'
import { keepAlive } from '../fetch/request/wait-until.js'
import { type Chat, type ChatSessions, nameOf } from './chat-sessions.js'
import { TurnBroadcast, type TurnOutcome } from './turn-broadcast.js'

/** The part of a `FlowEngine` that chats use: an application may put an object of its own in front of one. */
export type ChatEngine = Pick<FlowEngine, 'stream' | 'getSession' | 'claimSession'> &
  Partial<Pick<FlowEngine, 'reportRefused' | 'limits' | 'getFlowNames' | 'getFlow'>>

/** A message of the user, as both protocols have one. */
export interface ChatMessage {
  /** The client's own: the same when the message is sent again. */
  readonly id: string
  readonly text: string
  readonly attachments: NonNullable<FlowRunInput['attachments']>
  readonly config: JsonObject | undefined
  /** The session that the client goes on in; `undefined` if it does not say. */
  readonly session: string | undefined
}

/** What a turn gets of its request beside the message. */
export type TurnRequest = Pick<FlowRunInput, 'requestId' | 'serverContext' | 'waitUntil'>

/** How long `ChatSessions` may take to load or save. */
const maxTableMs = 5_000

/** A turn and the message that began it. */
interface RunningTurn {
  readonly messageId: string
  /** Everything that must be the same for a message to be the same. */
  readonly content: string
  readonly key: string
  readonly broadcast: TurnBroadcast
  /** The message as the protocol shows it. */
  readonly shown: unknown
}

/** What is asked about a message when its session is looked for. */
interface AskedMessage {
  readonly key: string
  readonly requestId: string | undefined
}

/** The session that a message is sent to. */
interface ChosenSession {
  /** `undefined` if a new one begins. */
  readonly sessionId: string | undefined
  /** The one that `ChatSessions` has for the chat. */
  readonly kept: string | undefined
}

/** The turns of all chats that run in this process. */
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
   * Begins the turn of a message, or finds the one that runs for it. Rejects if the session of the chat cannot be found
   * out.
   *
   * @param shown - The message as the protocol shows it: see {@link ChatTurns.running}.
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
   * Begins a turn. Its session is chosen within the turn: nothing is awaited until the turn is among those that run. So
   * the same message finds it there, whenever it comes again, and another first message goes on in the session of this
   * one.
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
    // The engine passes the turn. This is also what comes before and after it: `ChatSessions`.
    void keepAlive(request.waitUntil, broadcast.ended, this.#report)
    return broadcast
  }

  /** The turn of a chat that began last and still runs. */
  running(chat: Chat): RunningTurn | undefined {
    return this.#turnsOf(chat).at(-1)
  }

  /**
   * The turns of a chat that run, and that a stored session does not have yet: oldest first. A turn runs until its
   * session is kept for the chat, which is after its commit.
   */
  notIn(document: SessionDocument | undefined, chat: Chat): readonly RunningTurn[] {
    return this.#turnsOf(chat).filter(({ key }) => document === undefined || !hasAnswered(document, key))
  }

  /** Stops the turns of a chat that run in this process. Resolves when they have ended: whether one was stopped. */
  async stop(chat: Chat): Promise<boolean> {
    const stopped = await Promise.all(this.#turnsOf(chat).map(({ broadcast }) => broadcast.stop()))
    return stopped.includes(true)
  }

  /** The session that was kept for a chat, or that of a first turn which still runs. */
  async sessionOf(chat: Chat): Promise<string | undefined> {
    // Taken before the load, which may have looked before that turn kept its session, and end after it.
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
   * Finds the session for a message. Where that is not the one that the client brings, an earlier one may have answered
   * the message, which comes again: it is found by the key.
   *
   * @param before - The turn of the chat that ran when the message arrived. It may end while `ChatSessions` is asked,
   * which then may not have its session yet.
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
   * The session that a chat is in: the one that the client brings, else the one that was kept, whichever goes on; else
   * the one of the turn before. One that has ended is taken, too, if it has the answer to this very message. Where
   * there is no choice, nothing is loaded, and the engine finds out whether the session goes on.
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
   * Whether a session of the owner goes on, or has answered the message. One that cannot be loaded counts as one that
   * goes on: the turn reports why it cannot.
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
    // The reply of a session that the chat may have left since.
    if (replayed === true && session === sessionId && kept !== undefined) return
    try {
      const late = `chats.save has not settled within ${maxTableMs} ms. The reply does not wait for it.`
      await inTime(this.#sessions.save(chat, session), late)
    } catch (error) {
      this.#report(error)
    }
  }
}

/** @throws An error with this message if the work takes too long: a table may never answer, and others wait for it. */
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
 * @throws The error for the operator where `authorize` returned a `context` that cannot be used: the client gets a
 * fixed sentence.
 */
function checkContext(outcome: TurnOutcome): void {
  const problem = outcome.type === 'error' ? contextError(outcome.error) : undefined
  if (problem !== undefined) throw problem
}

/** `undefined` if the turn has ended before it had one. */
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
