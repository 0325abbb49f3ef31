/**
 * An engine with one session, on which the failures of `failure-rows.ts` are brought about, and the ways in which a
 * message reaches it. It asserts nothing.
 */
import { createFetchHandler, type StatusMode } from '../../../adapters/fetch/index.js'
import {
  Flow,
  type FlowEngine,
  FlowError,
  type FlowErrorCode,
  type FlowLogger,
  go,
  LogicStep,
  type RunResponseType,
  reply,
  type SessionDocument,
  Step,
  type Turn,
  tool,
} from '../../../src/index.js'
import { type Harness, harness, never } from '../engine-harness.js'

/** What a client gets. What a way does not carry is absent. */
export interface Seen {
  readonly response?: RunResponseType
  readonly state?: string
  readonly code?: FlowErrorCode | undefined
  readonly status?: number
  /** The fields of an HTTP reply; each is checked if it is present. */
  readonly headers?: { readonly state: string | null; readonly error: string | null }
}

/** Sends a message in the session of the world. */
export type Send = (message: string, signal?: AbortSignal) => Promise<Seen>

/** An engine and its session. */
export interface FailureWorld extends Harness {
  readonly session: string
  /** Starts a separate turn, which `cancel` ends. @param sessionId - Default: the session of the world. */
  startTurn(message: string, sessionId?: string): { cancel(): Promise<void> }
  /** Changes the stored session, as another process might. */
  change(changes: Partial<SessionDocument>): Promise<void>
}

/** The ID of every turn. */
export const turnId = 'turn-of-this-test'

class Front extends LogicStep<{ seen?: boolean }> {
  static override readonly id = 'Front'
  override run(turn: Turn) {
    this.state.seen = turn.message !== 'start'
    if (turn.message === 'throw') throw new Error('The till is jammed.')
    if (turn.message === 'throw a FlowError')
      throw new FlowError({ code: 'FLOW_ERROR', message: 'We are closed today.' })
    if (turn.message === 'wait') return never<ReturnType<typeof reply>>()
    if (turn.message === 'loop') return go(Front)
    if (turn.message === 'ask' || turn.message === 'pay') return go(Desk)
    return reply(`You said: ${turn.message}`)
  }
}

class Desk extends Step {
  static override readonly id = 'Desk'
  override tools() {
    const execute = (): never => {
      throw new Error('The card was refused.')
    }
    return [tool({ name: 'pay', description: 'Takes the money.', execute })]
  }
}

class Shop extends Flow {
  static override readonly id = 'Shop'
  override model() {
    return { provider: 'own', name: 'small' }
  }
  override steps() {
    return [Front, Desk]
  }
}

const silent = (): void => undefined
const logger: FlowLogger = { debug: silent, info: silent, warn: silent, error: silent }

/** The options under which a failure is looked at. */
export interface FailureMode {
  readonly onTurnError: 'abort' | 'rollback'
  readonly errorText: 'full' | 'flow'
}

/** Makes an engine and a session that has had one turn. */
export async function failureWorld(
  mode: FailureMode,
  backing: Map<string, SessionDocument> = new Map<string, SessionDocument>(),
): Promise<FailureWorld> {
  const made = harness({
    ...mode,
    backing,
    flows: [Shop],
    logger,
    modelRetry: { maxAttempts: 1 },
    limits: {
      maxMessageBytes: 5000,
      maxSessionBytes: 4000,
      maxTransitionsPerTurn: 3,
      maxQueuedTurnsPerSession: 1,
      maxConcurrentTurns: 3,
    },
    generateId: (kind) => (kind === 'turn' ? turnId : crypto.randomUUID()),
    providers: [
      {
        provider: 'own',
        resolve: () => ({
          provider: 'own',
          name: 'small',
          async generate({ messages }) {
            const part = messages.at(-1)?.parts[0]
            if (part?.type !== 'text' || part.text !== 'pay')
              throw Object.assign(new Error('down'), { statusCode: 503 })
            return { parts: [{ type: 'tool-call', toolCallId: 'call-1', toolName: 'pay', input: {} }] }
          },
        }),
      },
    ],
  })
  const session = [...backing.keys()][0] ?? (await made.start('Shop'))
  return {
    ...made,
    session,
    startTurn(userMessage, sessionId = session) {
      const controller = new AbortController()
      const input = { flowName: 'Shop', userMessage, sessionId, signal: controller.signal }
      const running = made.engine.run(input)
      return {
        async cancel() {
          controller.abort()
          await running
        },
      }
    },
    change: (changes) => made.rewrite(session, (document) => Object.assign(document, changes)),
  }
}

/** The ways in which a message reaches an engine. */
export const ways: Readonly<Record<string, (world: Pick<FailureWorld, 'engine' | 'session'>) => Send>> = {
  'engine.execute': ({ engine, session }) => throughEngine(engine, session),
  'the Fetch handler': ({ engine, session }) => throughHandler(engine, session, 'contract'),
  "the Fetch handler with statuses: 'precise'": ({ engine, session }) => throughHandler(engine, session, 'precise'),
  'a stream of the Fetch handler': ({ engine, session }) => throughStream(engine, session),
}

function throughEngine(engine: FlowEngine, sessionId: string): Send {
  return async (userMessage, signal) => {
    const input = { flowName: 'Shop', userMessage, sessionId }
    const { response, sessionState, error } = await engine.execute(signal === undefined ? input : { ...input, signal })
    return { response, state: sessionState, code: error?.code }
  }
}

function post(engine: FlowEngine, session: string, statuses: StatusMode, accept: string): typeof sendRequest {
  const handle = createFetchHandler(engine, { statuses })
  function sendRequest(message: string, signal: AbortSignal | undefined): Promise<Response> {
    const request = new Request('http://localhost/ai/run', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: accept, CHAT_SESSION_ID: session },
      body: JSON.stringify({ flowName: 'Shop', message }),
      ...(signal === undefined ? {} : { signal }),
    })
    return handle(request)
  }
  return sendRequest
}

function throughHandler(engine: FlowEngine, session: string, statuses: StatusMode): Send {
  const send = post(engine, session, statuses, 'application/json')
  return async (message, signal) => seenOf(await send(message, signal))
}

async function seenOf(reply: Response): Promise<Seen> {
  const headers = { state: reply.headers.get('Chat-Session-State'), error: reply.headers.get('Chat-Error') }
  return { response: await reply.json(), status: reply.status, headers }
}

/** What fails before the session is open is answered as without a stream. */
function throughStream(engine: FlowEngine, session: string): Send {
  const send = post(engine, session, 'contract', 'text/event-stream')
  return async (message, signal) => {
    const reply = await send(message, signal)
    if (reply.headers.get('Content-Type') !== 'text/event-stream') return seenOf(reply)
    const { sessionState, code, ...response } = lastEvent(await reply.text())
    return sessionState === undefined ? {} : { response: response as RunResponseType, state: sessionState, code }
  }
}

function lastEvent(
  text: string,
): Partial<RunResponseType> & { readonly sessionState?: string; readonly code?: FlowErrorCode } {
  const data = /event: (?:error|result)\nid: [\w-]*:\d+\ndata: (.*)\n\n$/.exec(text)?.[1]
  return data === undefined ? {} : JSON.parse(data)
}
