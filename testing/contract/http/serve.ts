// How the HTTP cases reach a server, whatever serves: each runner gives a `Serve`, and every case starts its own.
import type { ServedEngine } from '../../../adapters/fetch/index.js'
import type { FlowRoutesOptions } from '../../../adapters/fetch/options.js'
import { FlowEngine, type FlowEngineOptions } from '../../../src/index.js'
import { flows } from './flows.js'

/** Sends one request. `path` is relative to where the routes are mounted: `/run`, `/flows?x=1`. */
export type Send = (path: string, init?: RequestInit) => Promise<Response>

/** Serves an engine and gives back the way to reach it. The runner ends what it started. */
export type Serve = (engine: ServedEngine, options?: FlowRoutesOptions) => Send | Promise<Send>

/** The `test` of the runner in use. */
export type TestFunction = (title: string, body: () => Promise<void>) => void

/** The five fields of the contract. */
export interface Envelope {
  readonly success: boolean
  readonly completed: boolean
  readonly message: string
  readonly session: string
  readonly contentType: string
}

/** An engine with the flows of flows.ts over the memory store. */
export function createEngine(options: FlowEngineOptions = {}): FlowEngine {
  return new FlowEngine({ flows, ...options })
}

/** The body and headers of `POST /run`, as JSON. */
export function runRequest(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  }
}

/** Runs one turn and reads the envelope. */
export async function runTurn(
  send: Send,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<{ readonly reply: Response; readonly envelope: Envelope }> {
  const reply = await send('/run', runRequest(body, headers))
  return { reply, envelope: (await reply.json()) as Envelope }
}

/** The envelope of a failure. */
export function failure(message: string, session = ''): Envelope {
  return { success: false, completed: true, message, session, contentType: 'text/plain' }
}
