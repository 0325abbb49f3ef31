// A conversation that consists only of model replies, and how a client streams it.
import {
  Flow,
  type FlowEngine,
  type FlowEngineOptions,
  type ModelProviderAdapter,
  Step,
  type StepConstructor,
} from '../../../src/index.js'
import { EventReader } from './event-reader.js'
import { createEngine, runRequest, type Send } from './serve.js'

class Chat extends Step {
  static override readonly id = 'Chat'
}

class Chatting extends Flow {
  static override readonly id = 'Chatting'
  override model(): { provider: string; name: string } {
    return { provider: 'gated', name: 'g1' }
  }
  override steps(): readonly StepConstructor[] {
    return [Chat]
  }
}

/** An engine with the flow `Chatting`: one step, on the model `g1` of the provider `gated`. */
export function createChat(provider: ModelProviderAdapter, options: FlowEngineOptions = {}): FlowEngine {
  return createEngine({ flows: [Chatting], providers: [provider], ...options })
}

/** A reply that has begun. */
export interface StreamedTurn {
  readonly reply: Response
  readonly events: EventReader
  /** The session of the header. */
  readonly session: string
}

/** Asks for a turn as a stream. Resolves when the reply has begun; rejects if it is not a stream. */
export async function streamTurn(
  send: Send,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
  init: RequestInit = {},
): Promise<StreamedTurn> {
  const reply = await send('/run', { ...runRequest(body, { Accept: 'text/event-stream', ...headers }), ...init })
  return { reply, events: new EventReader(reply), session: reply.headers.get('CHAT_SESSION_ID') ?? '' }
}

/** Waits a few turns of the event loop, so that all work continues that does not wait for the test. */
export async function letRun(turns = 50): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
}
