/** The routes of a chat of the AI SDK: a turn, a resumed stream, a stop, and the transcript. */
import type { Chat } from '../chat/chat-sessions.js'
import type { ChatEngine } from '../chat/chat-turns.js'
import { createEventBody } from '../chat/event-body.js'
import { answeredBefore } from '../chat/failure-text.js'
import { type ChatHandlerOptions, checkPath } from '../chat/options.js'
import { loadSession, readChat } from '../chat/read-chat.js'
import { type ChatContext, type ChatRequest, type ChatRoute, createChatHandler } from '../chat/serve-chat.js'
import { idAndAction, stopRoute } from '../chat/stop-route.js'
import { isStoredId } from '../chat/stored-turns.js'
import type { TurnOutcome } from '../chat/turn-broadcast.js'
import { replyJson } from '../fetch/reply/envelope.js'
import { dataLine, eventStreamHeaders } from '../fetch/reply/event-stream.js'
import { isComplete } from '../fetch/reply/newer-turns.js'
import { Refusal } from '../fetch/reply/refusal.js'
import { askedByNobody, readSentMessage, type SentMessage } from './read-request.js'
import { chunksOf, type ReplyForm } from './reply-chunks.js'
import { messagesOf, turnOf } from './transcript.js'
import type { FlowMessage } from './ui-message.js'

/** The options of {@link createUiMessageHandler}. */
export interface UiMessageOptions extends ChatHandlerOptions {
  /**
   * The path that the page's transport has as `api`. It starts with a slash and does not end with one. Default:
   * `'/api/chat'`.
   */
  readonly api?: string
}

const defaultApi = '/api/chat'

/**
 * Serves one flow to pages of the AI SDK: `useChat` of `@ai-sdk/react` 2, 3 and 4 with the default transport.
 *
 * `POST {api}` sends a message and streams the reply, `GET {api}/{id}/stream` resumes the stream of a chat, `POST
 * {api}/{id}/stop` stops its turn, and `GET {api}/{id}` returns its messages, `?after=<turn>` only newer ones.
 *
 * @param engine - the engine, or an object that wraps one
 * @param options - `flow` and `authorize` are required
 * @returns a function from a request to its reply, as `createFetchHandler` returns it
 * @throws `InvalidInputError` at once for a wrong or unknown option, and for an unregistered flow
 *
 * @example
 * ```ts
 * const handler = createUiMessageHandler(engine, {
 *   flow: 'SupportDesk',
 *   authorize: async (request) => ({ principal: await userOf(request) }),
 * })
 * ```
 */
export function createUiMessageHandler(
  engine: ChatEngine,
  options: UiMessageOptions,
): (request: Request, runtime?: unknown) => Promise<Response> {
  return createChatHandler(engine, options, 'createUiMessageHandler', 'api', (context) => {
    const { api = defaultApi } = options
    checkPath('createUiMessageHandler', 'api', api, defaultApi)
    const routes = new UiMessageRoutes(context)
    return (path) => routeOf(context, routes, path, api)
  })
}

function routeOf(context: ChatContext, routes: UiMessageRoutes, path: string, api: string): ChatRoute | undefined {
  if (path === api) return { method: 'POST', name: 'run', answer: (arrived) => routes.send(arrived) }
  const found = idAndAction(path, api)
  if (found === undefined) return undefined
  const { id } = found
  switch (found.action) {
    case undefined:
      return { method: 'GET', name: 'session', answer: (arrived) => routes.transcript(arrived, id) }
    case 'stream':
      return { method: 'GET', name: 'run', answer: (arrived) => routes.resume(arrived, id) }
    case 'stop':
      return stopRoute(context, id)
    default:
      return undefined
  }
}

class UiMessageRoutes {
  readonly #context: ChatContext

  constructor(context: ChatContext) {
    this.#context = context
  }

  /** `POST {api}` */
  async send(arrived: ChatRequest): Promise<Response> {
    const { readBody, checkAttachments, turns } = this.#context
    const message = readSentMessage(await readBody(arrived.request), checkAttachments)
    const chat = this.#chatOf(arrived, message.chatId)
    const form = { messageId: message.id, resumes: false }
    if (isStoredId(message.id)) return this.#stream(arrived, await this.#recorded(chat, message, arrived), form)
    const { id, parts } = message
    const shown: FlowMessage | undefined = parts.length === 0 ? undefined : { id, role: 'user', parts }
    const turn = await turns.send(chat, message, arrived.turn, shown)
    return this.#stream(arrived, turn.read(), form)
  }

  /** `GET {api}/{id}/stream` */
  async resume(arrived: ChatRequest, id: string): Promise<Response> {
    const running = this.#context.turns.running(this.#chatOf(arrived, id))
    if (running === undefined) return new Response(null, { status: 204, headers: arrived.headers })
    return this.#stream(arrived, running.broadcast.read(), { messageId: running.message.id, resumes: true })
  }

  /** `GET {api}/{id}` */
  async transcript(arrived: ChatRequest, id: string): Promise<Response> {
    const after = afterOf(arrived.request)
    const { document, open } = await readChat(this.#context, this.#chatOf(arrived, id), arrived.turn.requestId)
    const messages = document === undefined ? [] : messagesOf(document, after)
    if (after === undefined) {
      return replyJson({ messages: [...messages, ...(open as FlowMessage[])] }, 200, arrived.headers)
    }
    const sessionState = document?.runStatus ?? 'none'
    return replyJson({ messages, sessionState, complete: isComplete(document, after) }, 200, arrived.headers)
  }

  #chatOf({ owner }: ChatRequest, id: string): Chat {
    return { owner, flow: this.#context.flow, id }
  }

  /** The reply to a message of the transcript; such a message never runs again. */
  async #recorded(chat: Chat, message: SentMessage, arrived: ChatRequest): Promise<AsyncIterable<TurnOutcome>> {
    const session = message.session ?? (await this.#context.turns.sessionOf(chat))
    const document = await loadSession(this.#context, chat, session, arrived.turn.requestId)
    const entry = document && turnOf(document, message)
    if (document === undefined || entry === undefined) throw new Refusal(answeredBefore, 409)
    if (entry.reply === '') throw new Refusal(askedByNobody, 409)
    const { reply, contentType, encoding, parts, turn } = entry
    const response = { success: true, completed: false, message: reply, session: document.id, contentType }
    const { runStatus: sessionState } = document
    const outcome: TurnOutcome = {
      type: 'result',
      response,
      sessionState,
      ...(encoding === undefined ? {} : { encoding }),
      ...(parts === undefined ? {} : { parts, turn }),
    }
    return once(outcome)
  }

  #stream(
    { headers }: ChatRequest,
    events: Parameters<typeof chunksOf>[0],
    form: Omit<ReplyForm, 'details'>,
  ): Response {
    const { heartbeatMs, report, streamDetails } = this.#context
    const texts = linesOf(events, { ...form, details: streamDetails })
    return new Response(createEventBody(texts, heartbeatMs, report), {
      headers: { ...headers, ...eventStreamHeaders, 'x-vercel-ai-ui-message-stream': 'v1' },
    })
  }
}

async function* linesOf(events: Parameters<typeof chunksOf>[0], form: ReplyForm): AsyncGenerator<string, void> {
  for await (const chunk of chunksOf(events, form)) yield dataLine(chunk)
  yield 'data: [DONE]\n\n'
}

/** @throws Refusal for anything but the number of a turn. */
function afterOf({ url }: Request): number | undefined {
  const after = new URL(url).searchParams.get('after')
  if (after === null) return undefined
  if (/^\d{1,15}$/.test(after)) return Number(after)
  throw new Refusal("The parameter 'after' must be the number of a turn.")
}

async function* once<Value>(value: Value): AsyncGenerator<Value, void> {
  yield value
}
