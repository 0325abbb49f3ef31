/**
 * A whole flow service as request handlers for MSW, over an engine or over a script. Both use the real HTTP adapter,
 * which decides what a page may send and which headers it gets.
 */
import { type HttpHandler, HttpResponse, http } from 'msw'
import { checkBasePath } from '../../adapters/fetch/check-options.js'
import type { ServedEngine } from '../../adapters/fetch/core/served-engine.js'
import type { FetchHandlerOptions } from '../../adapters/fetch/options.js'
import { createRouteHandler } from '../../adapters/fetch/route-handler.js'
import type { Route } from '../../adapters/fetch/routes/served-routes.js'
import { systemClock } from '../../src/config/clock.js'
import {
  type Clock,
  type ExecuteResult,
  FlowEngine,
  type FlowRunInput,
  type FlowStream,
  type SessionDocument,
} from '../../src/index.js'
import { invalidInput } from '../../src/util/options.js'
import type { Delivery } from './broken-answer.js'
import { ScriptedService } from './scripted-service.js'
import { ServiceScriptReader } from './service-script.js'
import type { FlowServiceRun, FlowServiceScript } from './service-turn.js'

/**
 * The options of `flowServiceHandlers`: those of `createFetchHandler`, and the address of the service. All are
 * optional.
 */
export interface FlowServiceOptions extends FetchHandlerOptions {
  /**
   * The origin to which the page sends its requests: scheme, host and port, such as `https://api.shop.example`.
   *
   * @defaultValue any origin
   */
  readonly origin?: string
}

/** The options of `flowServiceHandlers` over a script. */
export interface ScriptedFlowServiceOptions extends FlowServiceOptions {
  /**
   * The names of the registered flows: what `GET /flows` lists. Another name fails with `FLOW_NOT_FOUND`, and uses no
   * turn of the script.
   *
   * @defaultValue any name is a flow, and the list is empty
   */
  readonly flows?: readonly string[]
  /**
   * The clock of the delays, such as a `VirtualClock`.
   *
   * @defaultValue the clock of the machine
   */
  readonly clock?: Clock
}

/** The handlers, to be spread into `setupServer` or `setupWorker`, and the requests that they received. */
export interface FlowServiceHandlers extends ReadonlyArray<HttpHandler> {
  /** The turns that the page requested, in order, without requests that the adapter refused. */
  readonly runs: readonly FlowServiceRun[]
  /** The IDs of the sessions that the page ended, in order. */
  readonly ended: readonly string[]
  /**
   * Fails if turns of the script are left, or a request found none. Over an engine it does nothing.
   *
   * @throws ExpectationError that lists the turns that are left, and the requests.
   */
  assertDone(): void
}

const caller = 'flowServiceHandlers'

/**
 * Makes MSW answer as a flow service does: `POST /ai/run`, `GET /ai/flows`, `POST /ai/end` and `POST /ai/cancel` (over
 * a script there is never a turn to cancel), with the statuses, the headers, the raw replies and the streams of the
 * real HTTP adapter. In Node with `setupServer`, in a browser with `setupWorker`.
 *
 * @param script - turns used in order, or a function of the request
 * @param options - see {@link ScriptedFlowServiceOptions}
 * @throws `InvalidInputError` at once for a turn, or an option, that is wrong or unknown
 *
 * @example
 * ```ts
 * import { setupServer } from 'msw/node'
 * import { flowServiceHandlers } from 'turnkeeper/testing/msw'
 *
 * const service = flowServiceHandlers(['What is your name?', { reply: 'Hello, Ada!', completed: true }])
 * const server = setupServer(...service)
 * server.listen({ onUnhandledRequest: 'error' })
 * // ... the page holds its conversation ...
 * service.assertDone()
 * ```
 */
export function flowServiceHandlers(
  script: FlowServiceScript,
  options?: ScriptedFlowServiceOptions,
): FlowServiceHandlers
/**
 * The same over an engine: the page talks to your real flows.
 *
 * @param engine - the engine, or an object that wraps one
 * @param options - see {@link FlowServiceOptions}
 * @throws `InvalidInputError` at once for an option that is wrong or unknown
 */
export function flowServiceHandlers(engine: ServedEngine, options?: FlowServiceOptions): FlowServiceHandlers
export function flowServiceHandlers(
  service: ServedEngine | FlowServiceScript,
  options: ScriptedFlowServiceOptions = {},
): FlowServiceHandlers {
  const isScript = typeof service === 'function' || Array.isArray(service)
  if (!isScript && typeof (service as ServedEngine | undefined)?.execute !== 'function') {
    throw invalidInput(`${caller}: the first argument must be a FlowEngine, a list of turns or a function.`)
  }
  const ownOptions = { basePath: true, origin: true, ...(isScript ? { flows: true, clock: true } : {}) }
  const { origin, basePath = '/ai', flows: _flows, clock: _clock, ...adapterOptions } = options
  const runs: FlowServiceRun[] = []
  const ended: string[] = []
  const served = isScript
    ? scriptedService(service as FlowServiceScript, options, runs)
    : engineService(service as ServedEngine)
  // Wrong options are found now, not at the first request.
  createRouteHandler(recording({}), options, caller, ownOptions)
  checkBasePath(basePath, caller)
  if (origin !== undefined) checkOrigin(origin)

  function recording(delivery: Delivery): ServedEngine {
    const { stream } = served
    return {
      limits: served.limits,
      getFlowNames: () => served.getFlowNames(),
      execute(input) {
        const run = runOf(input, runs.length + 1)
        runs.push(run)
        return served.execute(input, run, delivery)
      },
      ...(stream === undefined
        ? {}
        : {
            stream(input: FlowRunInput, streamOptions: StreamOptions) {
              const run: FlowServiceRun = { ...runOf(input, runs.length + 1), streamed: true }
              runs.push(run)
              return stream(input, run, delivery, streamOptions)
            },
          }),
      executeDelete(sessionId, deleteOptions) {
        ended.push(sessionId)
        return served.executeDelete(sessionId, deleteOptions)
      },
      ...(served.cancel === undefined ? {} : { cancel: served.cancel }),
      getFlow: (flowName) => served.getFlow?.(flowName),
      ...(served.getSession === undefined ? {} : { getSession: served.getSession }),
      reportRefused: (refusal) => served.reportRefused?.(refusal),
    }
  }

  async function answer(request: Request, route: Route): Promise<Response> {
    const delivery: Delivery = {}
    const response = await createRouteHandler(recording(delivery), adapterOptions, caller)(request, route)
    return delivery.change?.(response) ?? response
  }

  const prefix = basePath === '/' ? '' : basePath
  const routes: readonly Route[] = ['run', 'flows', 'end', 'cancel']
  const handlers = routes.map((route) =>
    http.all(pathOf(origin, `${prefix}/${route}`), ({ request }) => answer(request, route)),
  )
  return Object.assign(handlers, { runs, ended, assertDone: served.assertDone })
}

type StreamOptions = Parameters<Required<ServedEngine>['stream']>[1]

/** What the adapter serves. */
interface Service extends Omit<ServedEngine, 'execute' | 'stream'> {
  execute(input: FlowRunInput, run: FlowServiceRun, delivery: Delivery): Promise<ExecuteResult>
  /** Absent if an object that wraps an engine has none. */
  readonly stream?: (input: FlowRunInput, run: FlowServiceRun, delivery: Delivery, options: StreamOptions) => FlowStream
  assertDone(): void
}

function engineService(engine: ServedEngine): Service {
  return {
    limits: engine.limits,
    getFlowNames: () => engine.getFlowNames(),
    execute: (input) => engine.execute(input),
    ...(engine.stream === undefined
      ? {}
      : { stream: (input, _run, _delivery, options) => (engine as Required<ServedEngine>).stream(input, options) }),
    executeDelete: (sessionId, options) => engine.executeDelete(sessionId, options),
    getFlow: (flowName) => engine.getFlow?.(flowName),
    ...(engine.getSession === undefined ? {} : { getSession: engine.getSession.bind(engine) }),
    reportRefused: (refusal) => engine.reportRefused?.(refusal),
    cancel: async (sessionId, options) => (await engine.cancel?.(sessionId, options)) === true,
    assertDone: () => undefined,
  }
}

function scriptedService(
  turns: FlowServiceScript,
  { flows, clock = systemClock, onError = (error) => console.error(error) }: ScriptedFlowServiceOptions,
  runs: readonly FlowServiceRun[],
): Service {
  const script = new ServiceScriptReader(turns, runs)
  const networkError = (): Response => HttpResponse.error()
  const service = new ScriptedService({ script, flows, clock, networkError, onMistake: onError })
  return {
    limits: new FlowEngine().limits,
    getFlowNames: () => service.getFlowNames(),
    execute: (input, run, delivery) => service.execute(run, input, delivery),
    stream: (input, run, delivery) => service.stream(run, input, delivery),
    executeDelete(sessionId) {
      service.end(sessionId)
      return Promise.resolve({ result: { success: true, session: sessionId } })
    },
    // The adapter only asks which flow a session belongs to.
    getSession: async (sessionId) => {
      const name = service.flowOf(sessionId)
      return name === undefined ? undefined : ({ flow: { name } } as SessionDocument)
    },
    assertDone: () => script.assertDone(),
  }
}

function runOf(
  { flowName, userMessage, sessionId = '', event, choice, config, idempotencyKey }: FlowRunInput,
  number: number,
): FlowServiceRun {
  const run = { number, flowName, message: userMessage, sessionId }
  return {
    ...run,
    ...(event === undefined ? {} : { event }),
    ...(choice === undefined ? {} : { choice }),
    ...(config === undefined ? {} : { config }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  }
}

function checkOrigin(origin: unknown): void {
  if (typeof origin === 'string' && URL.canParse(origin) && new URL(origin).origin === origin) return
  throw invalidInput(`${caller}: origin must be a scheme, a host and a port, such as 'https://api.shop.example'.`)
}

/** The addresses that MSW compares with. Its own wildcard would match longer paths as well. */
function pathOf(origin: string | undefined, path: string): RegExp {
  return new RegExp(`^${origin === undefined ? '[a-z]+://[^/]+' : literally(origin)}${literally(path)}$`)
}

function literally(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
