/**
 * What the fuzzer sends its requests to: an engine with small flows, served in both ways and
 * with both kinds of statuses.
 */
import { Hono } from 'hono'
import { createFetchHandler } from '../../../adapters/fetch/index.js'
import { flowRoutes } from '../../../adapters/hono/index.js'
import {
  Flow,
  type FlowConstructor,
  FlowEngine,
  finish,
  LogicStep,
  MemorySessionStore,
  type ModelProviderAdapter,
  type ModelStreamPart,
  reply,
  Step,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../../src/index.js'
import { type Fault, withFault } from './faults.js'
import { userHeader } from './plan.js'

/**
 * `strict`: the Hono app, with precise statuses, CORS and callers. `plain`: the Fetch handler by itself, with
 * the contract's statuses.
 */
export type AppName = 'strict' | 'plain'

export type FetchFunction = (request: Request) => Response | Promise<Response>

/** Is on each reply of the application `strict`: what has it not was answered by the server. */
export const markHeader = 'X-Fuzz-App'

/** The reply of the application `strict` outside of the routes. */
export const outsideText = 'Nothing is here.'

/** With this value, `authorize` refuses a caller. */
export const refusalText = 'Sign in first.'

/** The bytes of a body, at most. */
export const maxBodyBytes = 131_072

/** Milliseconds in which a body must have come. */
const bodyTimeoutMs = 3000

export interface ServedApps {
  readonly apps: Readonly<Record<AppName, FetchFunction>>
  /** Turns that have begun and are not settled. */
  turnsUnderWay(): number
  close(): Promise<void>
}

class TalkStep extends LogicStep {
  static override readonly id = 'TalkStep'
  override run(turn: Turn): Transition {
    return turn.message === 'bye' ? finish('Bye.') : reply(`You said: ${turn.message}`)
  }
}

class ContextStep extends LogicStep {
  static override readonly id = 'ContextStep'
  override run(turn: Turn): Transition {
    return reply(turn.context)
  }
}

class ReportStep extends LogicStep {
  static override readonly id = 'ReportStep'
  override run(turn: Turn): Transition {
    if (turn.message === '0') return reply('<p>ü</p>').withContentType('text/html')
    if (turn.message === '1') return reply('iVBORw0KGgo=').withContentType('image/png', { encoding: 'base64' })
    return reply(turn.message).withContentType(turn.message === '2' ? 'application/json' : 'text/csv')
  }
}

/** Waits a moment, or until its turn is cancelled. */
class WaitStep extends LogicStep {
  static override readonly id = 'WaitStep'
  override async run(turn: Turn): Promise<Transition> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 15)
      turn.signal.addEventListener('abort', () => {
        clearTimeout(timer)
        resolve()
      })
    })
    return reply('Waited.')
  }
}

class ChatStep extends Step {
  static override readonly id = 'ChatStep'
}

function flowOf(id: string, step: StepConstructor): FlowConstructor {
  return class extends Flow {
    static override readonly id = id
    override model(): { provider: string; name: string } {
      return { provider: 'fuzz', name: 'words' }
    }
    override steps(): readonly StepConstructor[] {
      return [step]
    }
  }
}

const words = ['One ', 'two\n\n', 'three \u2028', '\u{1f600}.']

/** A model that says four words, one in a turn of the event loop. */
const provider: ModelProviderAdapter = {
  provider: 'fuzz',
  resolve: (model) => ({
    ...model,
    generate: async () => ({ parts: [{ type: 'text', text: words.join('') }] }),
    async *stream(): AsyncGenerator<ModelStreamPart, void, void> {
      for (const text of words) {
        await new Promise((resolve) => setImmediate(resolve))
        yield { type: 'text-delta', text }
      }
      yield { type: 'finish', response: { parts: [{ type: 'text', text: words.join('') }] } }
    },
  }),
}

/** The names of the flows, as `GET /ai/flows` lists them. */
export const flowNames: readonly string[] = ['Talk', 'Context', 'Report', 'Wait', 'Chat']

function authorize(request: Request): Response | { principal: string } | undefined {
  const user = request.headers.get(userHeader) ?? ''
  if (user === 'nobody') return new Response(refusalText, { status: 401 })
  return user === '' ? undefined : { principal: user }
}

/**
 * Makes the engine and what serves it.
 *
 * @param report - is called with whatever the adapters or the engine report as an error of the
 * application: there must be none
 * @param fault - what is wrong on purpose
 */
export function createServedApps(report: (problem: string) => void, fault?: Fault): ServedApps {
  let underWay = 0
  const steps: readonly StepConstructor[] = [TalkStep, ContextStep, ReportStep, WaitStep, ChatStep]
  const engine = new FlowEngine({
    flows: steps.map((step, index) => flowOf(flowNames[index] ?? '', step)),
    providers: [provider],
    // Full soon, so that the heap is as large as it gets.
    sessionStore: new MemorySessionStore({ maxSessions: 300 }),
    // Requests that are wrong fail all the time.
    logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    onListenerError: (error) => report(`onListenerError: ${String(error)}`),
  })
  engine.on('turn:start', () => underWay++)
  engine.on('turn:end', () => underWay--)
  const onError = (error: unknown): void => report(`onError: ${String(error)}`)
  const options = { maxBodyBytes, bodyTimeoutMs, onError } as const
  const strict = new Hono()
  strict.use(async (context, next) => {
    await next()
    context.header(markHeader, '1')
  })
  strict.route(
    '/ai',
    flowRoutes(engine, { ...options, statuses: 'precise', cors: { origin: ['https://shop.example'] }, authorize }),
  )
  strict.notFound((context) => context.text(outsideText, 404))
  strict.all('/smuggled', (context) => {
    report('a hidden request was served')
    return context.text('smuggled')
  })
  const plain = createFetchHandler(engine, options)
  return {
    apps: { strict: withFault((request) => strict.fetch(request), fault), plain: withFault(plain, fault) },
    turnsUnderWay: () => underWay,
    close: () => engine.close(),
  }
}
