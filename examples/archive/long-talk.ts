/**
 * A conversation that never ends, with a model that needs no network, and with limits small enough to see them work.
 */
import { Flow, FlowEngine, Step } from 'turnkeeper'
import type { Archive } from './archive.js'

class Chat extends Step {
  static override readonly id = 'Chat'
}

class LongTalk extends Flow {
  static override readonly id = 'LongTalk'
  override model() {
    return { provider: 'local', name: 'counter' }
  }
  override steps() {
    return [Chat]
  }
}

/** Answers with the number of messages that it received. */
const provider = {
  provider: 'local',
  resolve: () => ({
    provider: 'local',
    name: 'counter',
    generate: async ({ messages }: { readonly messages: readonly unknown[] }) => ({
      parts: [{ type: 'text' as const, text: `I see ${messages.length} messages.` }],
      usage: { inputTokens: 1, outputTokens: 1 },
    }),
  }),
}

/** An engine whose sessions keep 8 turns, 4 KiB of messages, and the photos of 2 turns. */
export function createEngine(archive: Archive, onListenerError?: (error: unknown) => void): FlowEngine {
  const engine = new FlowEngine({
    flows: [LongTalk],
    providers: [provider],
    limits: { maxHistoryTurns: 8, maxMemoryBytes: 4096, attachmentTurns: 2 },
    ...(onListenerError === undefined ? {} : { onListenerError }),
  })
  archive.follow(engine)
  return engine
}

const photo = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const

/** Says `count` lines, a photo with every fifth one, and returns the ID of the session. */
export async function talk(engine: FlowEngine, count: number, sessionId = ''): Promise<string> {
  let session = sessionId
  for (let line = 1; line <= count; line++) {
    const { response, error } = await engine.execute({
      flowName: 'LongTalk',
      userMessage: `This is line ${line} of what I have to say.`,
      sessionId: session,
      ...(line % 5 === 0 ? { attachments: [photo] } : {}),
    })
    if (error !== undefined) throw error
    session = response.session
  }
  return session
}
