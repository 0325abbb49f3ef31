// The application that every runtime serves: the same file, with the packed package beside it. It uses what the web
// platform has, and nothing of any runtime.
import { Flow, FlowEngine, finish, go, LogicStep, reply, Step } from 'turnkeeper'
import { rollingSummary } from 'turnkeeper/compaction'
import { createFetchHandler } from 'turnkeeper/fetch'

/** Gates that a test has opened, by name. */
const opened = new Set()
const counts = { runs: 0, cancelled: 0 }

/** By short timers of the turn's own request: workerd lets no request resolve a promise of another one. */
async function pause(milliseconds) {
  await new Promise((resolve) => setTimeout(resolve, milliseconds))
}

async function gate(name, signal) {
  while (!opened.has(name) && !signal.aborted) await pause(5)
}

class AskName extends LogicStep {
  static id = 'AskName'

  run(turn) {
    if (turn.entered) return reply('What is your name?')
    this.state.name = turn.message
    return go(AskTown)
  }
}

class AskTown extends LogicStep {
  static id = 'AskTown'

  run(turn) {
    if (turn.entered) return reply('Where do you live?')
    return finish(`${turn.stateOf(AskName).name} of ${turn.message}.`)
  }
}

class Greeting extends Flow {
  static id = 'Greeting'

  steps() {
    return [AskName, AskTown]
  }
}

/** Answers at once, or never. */
class Repeat extends LogicStep {
  static id = 'Repeat'

  async run({ message }) {
    counts.runs++
    if (message === 'hang') await new Promise(() => {})
    if (message === 'csv') return reply('a,b').withContentType('text/csv')
    if (message === 'png') return reply('iVBORw0KGgo=').withContentType('image/png', { encoding: 'base64' })
    return reply(`You said: ${message}`)
  }
}

class Echo extends Flow {
  static id = 'Echo'

  steps() {
    return [Repeat]
  }
}

class Ask extends Step {
  static id = 'Ask'
}

class Chat extends Flow {
  static id = 'Chat'

  model() {
    return { provider: 'scripted', name: 'answer' }
  }

  steps() {
    return [Ask]
  }
}

/** Its memory is summed up after the reply. */
class Remember extends Chat {
  static id = 'Remember'
  static compaction = {
    Ask: rollingSummary({ above: 3, keep: 1, model: { provider: 'scripted', name: 'summary' } }),
  }
}

const usage = { inputTokens: 1, outputTokens: 1 }

function textOf({ messages }) {
  const { parts } = messages.findLast(({ role }) => role === 'user')
  return parts.map(({ text }) => text).join('')
}

/**
 * Says what it was asked, in two pieces. `wait <gate>` holds the second one back until the gate is
 * open; `speak` has no end.
 */
const provider = {
  provider: 'scripted',
  resolve: ({ name }) => ({
    provider: 'scripted',
    name,
    async generate(request) {
      if (name === 'summary') {
        await pause(100)
        return { parts: [{ type: 'text', text: 'The summary.' }], finishReason: 'stop', usage }
      }
      return { parts: [{ type: 'text', text: `The answer to ${textOf(request)}.` }], finishReason: 'stop', usage }
    },
    async *stream(request) {
      const text = textOf(request)
      yield { type: 'text-delta', text: 'The answer ' }
      if (text.startsWith('wait ')) await gate(text, request.signal)
      while (text === 'speak' && !request.signal.aborted) {
        await pause(5)
        yield { type: 'text-delta', text: 'and ' }
      }
      request.signal.throwIfAborted()
      yield { type: 'text-delta', text: `to ${text}.` }
      const parts = [{ type: 'text', text: `The answer to ${text}.` }]
      yield { type: 'finish', response: { parts, finishReason: 'stop', usage } }
    },
  }),
}

function createRoutes(basePath, limits) {
  const engine = new FlowEngine({
    flows: [Greeting, Echo, Chat, Remember],
    providers: [provider],
    limits,
  })
  engine.on('turn:error', ({ code }) => {
    if (code === 'TURN_ABORTED') counts.cancelled++
  })
  return { engine, handle: createFetchHandler(engine, { basePath, maxBodyBytes: 65_536 }) }
}

/** Where the routes are mounted, and how long a turn may take there. */
const deadlines = { '/ai': 30_000, '/patient': 3_000, '/hasty': 500 }

/** Begins no work before the first request, as workerd demands. */
export function createApp() {
  const mounted = new Map()

  function routesFor(pathname) {
    const basePath = Object.keys(deadlines).find((path) => pathname.startsWith(`${path}/`)) ?? '/ai'
    if (!mounted.has(basePath)) {
      mounted.set(basePath, createRoutes(basePath, { turnTimeoutMs: deadlines[basePath], storeTimeoutMs: 50 }))
    }
    return mounted.get(basePath)
  }

  /** `runtime` is what the runtime passes with a request: its `waitUntil` keeps it alive for work after the reply. */
  return async function handle(request, runtime) {
    const { pathname, searchParams } = new URL(request.url)
    const { engine, handle: handleRoute } = routesFor(pathname)
    if (pathname === '/app/open') return Response.json(opened.add(searchParams.get('gate')).size)
    if (pathname === '/app/counts') return Response.json(counts)
    if (pathname === '/app/node') {
      return Response.json({ process: typeof globalThis.process?.getBuiltinModule === 'function' })
    }
    if (pathname === '/app/session') {
      return Response.json((await engine.getSession(searchParams.get('id'))) ?? null)
    }
    return searchParams.has('no-wait') ? handleRoute(request) : handleRoute(request, runtime)
  }
}
