/**
 * The same turn as a Turnkeeper flow: three model steps that take turns and share one memory.
 */
import { Flow, FlowEngine, go, MemorySessionStore, Step, tool } from 'turnkeeper'
import { z } from 'zod'
import { answer, order, respond, toolArguments, toolName } from './work.mjs'

const OrderNumber = z.object({ orderNumber: z.string() })
const findOrder = tool({
  name: toolName,
  description: 'Finds an order.',
  input: OrderNumber,
  execute: async () => order,
})

class SupportStep extends Step {
  memory = 'support'
}

class Listen extends SupportStep {
  static id = 'Listen'
  onReply(text) {
    return go(Answer).withReply(text)
  }
}

class Answer extends SupportStep {
  static id = 'Answer'
  onReply(text) {
    return go(Ask).withReply(text)
  }
}

class Ask extends SupportStep {
  static id = 'Ask'
  onReply(text) {
    return go(Listen).withReply(text)
  }
}

class Support extends Flow {
  static id = 'Support'
  model() {
    return { provider: 'bench', name: 'instant' }
  }
  steps() {
    return [Listen, Answer, Ask]
  }
}

class SupportWithTool extends Support {
  static id = 'SupportWithTool'
  tools() {
    return [findOrder]
  }
}

/** A provider whose model answers at once. */
function provider(withTool) {
  const model = {
    provider: 'bench',
    name: 'instant',
    async generate({ messages }) {
      const { callId, text } = respond(messages.at(-1).role, withTool)
      if (callId === undefined) return { parts: [{ type: 'text', text }] }
      return { parts: [{ type: 'tool-call', toolCallId: callId, toolName, input: toolArguments }] }
    },
  }
  return { provider: 'bench', resolve: () => model }
}

/** An engine with the flow, and what the benches ask of a system. */
export function createTurnkeeper(withTool = false, options = {}) {
  const store = options.sessionStore ?? new MemorySessionStore()
  const flow = withTool ? SupportWithTool : Support
  const engine = new FlowEngine({ flows: [flow], providers: [provider(withTool)], ...options, sessionStore: store })
  return {
    engine,
    store,
    start() {
      let sessionId
      return async (userMessage) => {
        const input =
          sessionId === undefined ? { flowName: flow.id, userMessage } : { flowName: flow.id, userMessage, sessionId }
        const response = await engine.run(input)
        if (!response.success || response.message !== answer)
          throw new Error(`The engine answered '${response.message}'.`)
        sessionId = response.session
      }
    },
  }
}
