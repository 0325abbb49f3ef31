// The worker under test: two flows over one engine, as an application on Cloudflare Workers has them. Bundled with the packed package.
import { Flow, FlowEngine, LogicStep, reply, Step } from 'turnkeeper'
import { rollingSummary } from 'turnkeeper/compaction'
import { createFetchHandler } from 'turnkeeper/fetch'

class Talk extends LogicStep {
  static id = 'Talk'

  async run({ message }) {
    if (message === 'hang') await new Promise(() => {})
    if (message === 'slow') await pause(200)
    return reply(`You said: ${message}`)
  }
}

class Chat extends Flow {
  static id = 'Chat'

  steps() {
    return [Talk]
  }
}

class Ask extends Step {
  static id = 'Ask'
}

class Remember extends Flow {
  static id = 'Remember'
  static compaction = {
    Ask: rollingSummary({ above: 3, keep: 1, model: { provider: 'echo', name: 'summary' } }),
  }

  model() {
    return { provider: 'echo', name: 'answer' }
  }

  steps() {
    return [Ask]
  }
}

const usage = { inputTokens: 1, outputTokens: 1 }

/** Answers at once; a summary takes some time. */
const provider = {
  provider: 'echo',
  resolve: ({ name }) => ({
    provider: 'echo',
    name,
    async generate() {
      if (name === 'summary') await pause(100)
      return { parts: [{ type: 'text', text: `The ${name}.` }], finishReason: 'stop', usage }
    },
  }),
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

let engine
let handler

export default {
  async fetch(request, _env, context) {
    engine ??= new FlowEngine({
      flows: [Chat, Remember],
      providers: [provider],
      limits: { turnTimeoutMs: 500, storeTimeoutMs: 50 },
    })
    handler ??= createFetchHandler(engine)
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/session') return Response.json((await engine.getSession(searchParams.get('id'))) ?? null)
    return searchParams.has('no-wait') ? handler(request) : handler(request, context)
  },
}
