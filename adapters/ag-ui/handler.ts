/** The routes of an AG-UI agent: run and stop. */
import type { ChatEngine } from '../chat/chat-turns.js'
import { createEventBody } from '../chat/event-body.js'
import { type ChatHandlerOptions, checkPath } from '../chat/options.js'
import { readChat } from '../chat/read-chat.js'
import { type ChatContext, type ChatRequest, type ChatRoute, createChatHandler } from '../chat/serve-chat.js'
import { idAndAction, stopRoute } from '../chat/stop-route.js'
import { dataLine, eventStreamHeaders } from '../fetch/reply/event-stream.js'
import { isResumed, readRunIds, readRunInput } from './read-run-input.js'
import { type RunEvent, type RunForm, refusedRun, runEventsOf } from './run-events.js'
import { snapshotOf } from './transcript.js'

/** The options of {@link createAgUiHandler}. */
export interface AgUiOptions extends ChatHandlerOptions {
  /** The path of the agent's `url`. It starts with a slash and does not end with one. Default: `'/ag-ui'`. */
  readonly path?: string
}

const defaultPath = '/ag-ui'

/**
 * Serves one flow as an agent of AG-UI 1.0: `HttpAgent` of `@ag-ui/client`.
 *
 * `POST {path}` runs a turn and streams its events, or, without a new message, answers with the thread's messages. `POST
 * {path}/{threadId}/stop` stops the turn of a thread.
 *
 * @param engine - the engine, or an object that wraps one
 * @param options - `flow` and `authorize` are required
 * @returns a function from a request to its reply, as `createFetchHandler` returns it
 * @throws `InvalidInputError` at once for a wrong or unknown option, and for an unregistered flow
 *
 * @example
 * ```ts
 * const handler = createAgUiHandler(engine, {
 *   flow: 'SupportDesk',
 *   authorize: async (request) => ({ principal: await userOf(request) }),
 * })
 * ```
 */
export function createAgUiHandler(
  engine: ChatEngine,
  options: AgUiOptions,
): (request: Request, runtime?: unknown) => Promise<Response> {
  return createChatHandler(engine, options, 'createAgUiHandler', 'path', (context) => {
    const { path = defaultPath } = options
    checkPath('createAgUiHandler', 'path', path, defaultPath)
    return (requested) => routeOf(context, requested, path)
  })
}

function routeOf(context: ChatContext, requested: string, path: string): ChatRoute | undefined {
  if (requested === path) return { method: 'POST', name: 'run', answer: (arrived) => run(context, arrived) }
  const found = idAndAction(requested, path)
  return found?.action === 'stop' ? stopRoute(context, found.id) : undefined
}

async function run(context: ChatContext, { request, owner, turn, headers }: ChatRequest): Promise<Response> {
  const { readBody, checkAttachments, turns, flow, streamDetails: details, heartbeatMs, report } = context
  const body = await readBody(request)
  const reply = (texts: AsyncGenerator<string, void>): Response =>
    new Response(createEventBody(texts, heartbeatMs, report), { headers: { ...headers, ...eventStreamHeaders } })
  if (isResumed(body)) {
    // No run of a flow ends with an interrupt, so there is none that this could answer.
    const code = 'INVALID_INPUT'
    const { requestId } = turn
    const message = context.textOf('There is no question that this answers.', code, {
      requestId,
      sessionId: '',
      flowName: flow,
    })
    return reply(linesOf(refusedRun(readRunIds(body), { message, code })))
  }
  const { message: sent, session, ...ids } = readRunInput(body, checkAttachments)
  const chat = { owner, flow, id: ids.threadId }
  const snapshot = async (named: string | undefined): Promise<RunEvent[]> =>
    snapshotOf(await readChat(context, chat, turn.requestId, named))
  if (sent === undefined) {
    return reply(
      linesOf([{ type: 'RUN_STARTED', ...ids }, ...(await snapshot(session)), { type: 'RUN_FINISHED', ...ids }]),
    )
  }
  const { messages, isSentAgain, id: messageId, event } = sent
  const broadcast = await turns.send(chat, sent, turn, event === undefined ? messages.at(-1) : undefined)
  const form: RunForm = { ...ids, messages, isSentAgain, messageId, details, snapshot }
  return reply(linesOf(runEventsOf(broadcast.read(), form)))
}

async function* linesOf(events: AsyncIterable<RunEvent> | Iterable<RunEvent>): AsyncGenerator<string, void> {
  for await (const event of events) yield dataLine(event)
}
