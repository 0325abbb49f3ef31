/**
 * What a page on another origin needs: the flows behind a real server, and servers of pages, each on its own port and
 * therefore on another origin.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { flowRoutes } from '../../../adapters/hono/index.js'
import {
  Flow,
  FlowEngine,
  finish,
  HttpContentType,
  LogicStep,
  reply,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../../src/index.js'

/** A server that listens, and how to stop it. */
export interface RunningServer {
  readonly origin: string
  close(): Promise<void>
}

/** The flows' server. */
export interface FlowServer extends RunningServer {
  readonly engine: FlowEngine
  /** The methods and paths of all requests so far, in order. */
  readonly requests: string[]
}

class Count extends LogicStep<{ words: string[] }> {
  static override readonly id = 'Count'
  override initialState(): { words: string[] } {
    return { words: [] }
  }
  override run(turn: Turn): Transition {
    if (turn.message === 'done') return finish('Goodbye.')
    this.state.words.push(turn.message)
    const { words } = this.state
    if (turn.message === 'table') {
      return reply(`word\n${words.join('\n')}`).withContentType(HttpContentType.Csv)
    }
    return reply(`${words.length}: ${words.join(' ')}`).withContentType(HttpContentType.Plain)
  }
}

/** Counts words; `table` answers CSV, `done` ends the session. */
class Words extends Flow {
  static override readonly id = 'Words'
  override steps(): readonly StepConstructor[] {
    return [Count]
  }
}

/** Serves the flows at `/ai`, for the pages of one origin. */
export async function serveFlows(pageOrigin: string): Promise<FlowServer> {
  const engine = await FlowEngine.create({ flows: [Words] })
  const requests: string[] = []
  const app = new Hono()
  app.use(async (context, next) => {
    requests.push(`${context.req.method} ${context.req.path}`)
    await next()
  })
  app.route('/ai', flowRoutes(engine, { cors: { origin: pageOrigin } }))
  const server = await listen(createAdaptorServer({ fetch: app.fetch }) as Server)
  return {
    ...server,
    engine,
    requests,
    async close() {
      await server.close()
      await engine.close()
    },
  }
}

/** Serves an empty page. */
export function servePage(): Promise<RunningServer> {
  const server = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html; charset=utf-8')
    response.end('<!doctype html><title>A page</title><link rel="icon" href="data:,">')
  })
  return listen(server)
}

/** Lets a server listen on a free port. */
export async function listen(server: Server): Promise<RunningServer> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => {
        server.close(resolve)
      })
    },
  }
}
