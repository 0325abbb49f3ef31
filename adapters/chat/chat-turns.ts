/**
 * The turns of the chats of one handler: from a message to the turn that answers it. A message that comes again reads the turn that
 * runs for it, and the engine answers it by its key where none runs.
 */
import type { FlowEngine, FlowRunInput, JsonObject } from '../../src/index.js'
import { digestOf } from '../../src/util/digest.js'
import { contextError } from '../fetch/request/authorize.js'
import { keepAlive } from '../fetch/request/wait-until.js'
import { type Chat, type ChatSessions, nameOf } from './chat-sessions.js'
import { TurnBroadcast, type TurnOutcome } from './turn-broadcast.js'

/** The part of a `FlowEngine` that chats use: an application may put an object of its own in front of one. */
export type ChatEngine = Pick<FlowEngine, 'stream' | 'getSession'> &
  Partial<Pick<FlowEngine, 'reportRefused' | 'limits'>>

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

/** How long a reply waits for `ChatSessions.save`. */
const maxSaveMs = 5_000

/** A turn and the message that began it. */
interface RunningTurn {
  readonly messageId: string
  /** Everything that must be the same for a message to be the same. */
  readonly content: string
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
   * Begins the turn of a message, or finds the one that runs for it. Rejects if the session of the chat cannot be found out.
   *
   * @param shown - The message as the protocol shows it: see {@link ChatTurns.running}.
   */
  async send(chat: Chat, message: ChatMessage, request: TurnRequest, shown?: unknown): Promise<TurnBroadcast> {
    const { id: messageId, text, attachments, config } = message
    const content = JSON.stringify([text, attachments, config])
    const key = keyOf(chat, message)
    let chosen: ChosenSession
    let known: RunningTurn | undefined
    let begun: RunningTurn | undefined
    do {
      const same = this.#turnsOf(chat).find((turn) => turn.messageId === messageId && turn.content === content)
      if (same !== undefined) return same.broadcast
      known = this.running(chat)
      chosen = await this.#choose(chat, message.session, known, { key, requestId: request.requestId })
      begun = this.running(chat)
      // A turn that has begun meanwhile may have the session of this one.
    } while (begun !== undefined && begun !== known)
    const { sessionId } = chosen
    const input: FlowRunInput = {
      flowName: chat.flow,
      userMessage: text,
      owner: chat.owner,
      idempotencyKey: key,
      ...request,
      ...(attachments.length === 0 ? {} : { attachments }),
      ...(config === undefined ? {} : { config }),
      ...(sessionId === undefined ? {} : { sessionId }),
    }
    const broadcast = new TurnBroadcast(
      (signal) => this.#engine.stream({ ...input, signal }, { onDisconnect: 'finish' }),
      async (outcome) => {
        if (request.serverContext !== undefined) checkContext(outcome)
        await this.#keep(chat, chosen, outcome)
      },
      this.#report,
    )
    this.#add(chat, { messageId, content, broadcast, shown })
    // The engine passes the turn. This is also what comes after it: `ChatSessions.save`.
    void keepAlive(request.waitUntil, broadcast.ended, this.#report)
    return broadcast
  }

  /** The turn of a chat that began last and still runs. */
  running(chat: Chat): RunningTurn | undefined {
    return this.#turnsOf(chat).at(-1)
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
    // A table may have an empty text, or null.
    return (await this.#sessions.load(chat)) || undefined
  }

  /**
   * Finds the session for a message: the one that the client brings, else the one that was kept, else the one of the turn that runs,
   * whichever of them goes on. One that has the answer to the message already comes before those that follow it. Where there is no
   * choice, nothing is loaded, and the engine finds out whether the session goes on.
   */
  async #choose(
    chat: Chat,
    brought: string | undefined,
    running: RunningTurn | undefined,
    asked: AskedMessage,
  ): Promise<ChosenSession> {
    const kept = await this.#load(chat)
    const named = [...new Set([brought, kept])].filter((sessionId) => sessionId !== undefined)
    if (running === undefined && named.length < 2) return { kept, sessionId: named[0] }
    for (const sessionId of named) {
      if (await this.#answers(sessionId, chat, asked)) return { kept, sessionId }
    }
    const begun = running && (await sessionOfTurn(running))
    return { kept, sessionId: begun ?? kept ?? brought }
  }

  /**
   * Whether a session of the owner goes on, or has answered the message. One that cannot be loaded counts as one that goes on: the turn
   * reports why it cannot.
   */
  async #answers(sessionId: string, { owner }: Chat, { key, requestId }: AskedMessage): Promise<boolean> {
    try {
      const caller = requestId === undefined ? { owner } : { owner, requestId }
      const document = await this.#engine.getSession(sessionId, caller)
      if (document === undefined) return false
      // The engine stores a digest of the key.
      const digest = digestOf(key)
      return document.runStatus === 'running' || document.receipts?.some((receipt) => receipt.key === digest) === true
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
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_resolve, reject) => {
      const error = new Error(`chats.save has not settled within ${maxSaveMs} ms. The reply does not wait for it.`)
      timer = setTimeout(reject, maxSaveMs, error)
    })
    try {
      await Promise.race([this.#sessions.save(chat, session), late])
    } catch (error) {
      this.#report(error)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** @throws The error for the operator where `authorize` returned a `context` that cannot be used: the client gets a fixed sentence. */
function checkContext(outcome: TurnOutcome): void {
  const problem = outcome.type === 'error' ? contextError(outcome.error) : undefined
  if (problem !== undefined) throw problem
}

/** `undefined` if the turn has ended before it had one. */
async function sessionOfTurn({ broadcast }: RunningTurn): Promise<string | undefined> {
  const session = await broadcast.session()
  return session === '' ? undefined : session
}

/** The idempotency key of a message: the same in every process. */
function keyOf({ id }: Chat, message: ChatMessage): string {
  return digestOf(JSON.stringify([id, message.id]))
}
