/**
 * The turns of the chats of one handler: from a message to the turn that answers it. A message that comes again reads the turn that
 * runs for it, and the engine answers it by its key where none runs.
 */
import type { FlowEngine, FlowRunInput, JsonObject } from '../../src/index.js'
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
    const same = this.#turnsOf(chat).find((turn) => turn.messageId === messageId && turn.content === content)
    if (same !== undefined) return same.broadcast
    const key = await keyOf(chat, message)
    const known = await this.sessionOf(chat, message.session)
    // Of two first messages that come at once the second finds the turn of the first: nothing is awaited where there is none.
    const begun = this.running(chat)
    const sessionId = known ?? (begun && (await sessionOfTurn(begun)))
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
      (outcome) => this.#keep(chat, sessionId, outcome),
      this.#report,
    )
    this.#add(chat, { messageId, content, broadcast, shown })
    request.waitUntil?.(broadcast.ended)
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

  /** The session of a chat: the one that the client brings, the one that was kept, or that of a first turn which still runs. */
  async sessionOf(chat: Chat, brought: string | undefined): Promise<string | undefined> {
    // Taken before the load, which may have looked before that turn kept its session, and end after it.
    const running = this.running(chat)
    const known = brought ?? (await this.#sessions.load(chat))
    if (known !== undefined && known !== '') return known
    return running && sessionOfTurn(running)
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

  async #keep(chat: Chat, known: string | undefined, { response, sessionState }: TurnOutcome): Promise<void> {
    const { session } = response
    const isStored = sessionState !== 'none' && sessionState !== 'unknown'
    if (!isStored || session === '' || session === known) return
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

/** `undefined` if the turn has ended before it had one. */
async function sessionOfTurn({ broadcast }: RunningTurn): Promise<string | undefined> {
  const session = await broadcast.session()
  return session === '' ? undefined : session
}

/** The idempotency key of a message: 43 characters, the same in every process. */
async function keyOf({ id }: Chat, message: ChatMessage): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify([id, message.id]))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  return btoa(String.fromCharCode(...digest))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .slice(0, 43)
}
