// The page of the example server over a flow and a model that the test controls.
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import type { FetchHandlerOptions } from '../../../adapters/fetch/index.js'
import { flowRoutes } from '../../../adapters/hono/index.js'
import {
  Flow,
  FlowEngine,
  HttpContentType,
  reply,
  Step,
  type StepConstructor,
  type Transition,
} from '../../../src/index.js'
import { GatedModel } from '../http/gated-model.js'
import { deskRoutes } from './desk-routes.js'
import { listen, type RunningServer } from './servers.js'

/** A picture of 20 x 10 points, and how the page gets it: as a reply that is not text. */
const picture = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><rect width="20" height="10"/></svg>'

class Desk extends Step {
  static override readonly id = 'Desk'
  override readonly stream = true
  override onReply(text: string): string | Transition {
    if (text === 'picture') return reply(picture).withContentType(HttpContentType.Svg)
    if (text === 'table') return reply('plant,pots\nfern,2\n').withContentType(HttpContentType.Csv)
    return text
  }
}

/** The flow that the page requests. */
class SupportDesk extends Flow {
  static override readonly id = 'SupportDesk'
  override model(): { provider: string; name: string } {
    return { provider: 'gated', name: 'g1' }
  }
  override steps(): readonly StepConstructor[] {
    return [Desk]
  }
}

/** The server of the page. */
export interface GatedDesk extends RunningServer {
  readonly model: GatedModel
  readonly engine: FlowEngine
}

/** Serves the page and its flow; a reply `picture` is an SVG image, and `table` is CSV. */
export async function startGatedDesk(options: FetchHandlerOptions = {}): Promise<GatedDesk> {
  const model = new GatedModel()
  const engine = new FlowEngine({ flows: [SupportDesk], providers: [model.provider], onTurnError: 'rollback' })
  const app = new Hono()
  app.route('/ai', flowRoutes(engine, { session: true, ...options }))
  app.route('/', deskRoutes())
  const server = await listen(createAdaptorServer({ fetch: app.fetch }) as Server)
  return {
    origin: server.origin,
    model,
    engine,
    async close() {
      await server.close()
      await engine.close()
    },
  }
}

/** Lets the model answer its next call. */
export async function answer({ model }: GatedDesk, text: string): Promise<void> {
  const call = await model.called()
  call.say(text)
  call.finish()
}
