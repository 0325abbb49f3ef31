/// <reference types="node" />
// The server of the tests: a flow over a model that the test controls, and the page for one version of the AI SDK. The
// network between them can be cut. The user is the one that the cookie names.
import { existsSync } from 'node:fs'
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { createUiMessageHandler } from '../../../adapters/ui-message/index.js'
import {
  event,
  Flow,
  FlowEngine,
  type FlowEvent,
  finish,
  MemorySessionStore,
  type ModelSelection,
  reply,
  type SessionDocument,
  Step,
  type StepConstructor,
  type Tool,
  type Transition,
  type Turn,
  tool,
} from '../../../src/index.js'
import { type CuttableProxy, startCuttableProxy } from '../browser/cuttable-proxy.js'
import { listen } from '../browser/servers.js'
import { GatedModel } from '../http/gated-model.js'
import { madeParts } from '../http/rich-replies.js'

const isMissing = !existsSync(new URL('node_modules/ai-5', import.meta.url))

/** Whether the tests are left out: on a laptop without the packages. If `CI` is set they must run, and fail. */
export const arePackagesMissing: boolean = process.env.CI === undefined && isMissing

/** The title if the tests are left out. */
export const leftOut: string = arePackagesMissing
  ? ' (left out: npm ci --prefix testing/contract/ui-message has not run)'
  : ''

/** Calls of the tool in this process. */
export const tracked: string[] = []

class Desk extends Step {
  static override readonly id = 'Desk'
  override events(): readonly FlowEvent[] {
    return [
      event({ name: 'decision', execute: (_, turn) => reply(`Decided by ${turn.event?.by}.`) }),
      event({ name: 'close', execute: () => finish('Closed.') }),
    ]
  }
  override tools(): readonly Tool[] {
    const inputJsonSchema = { type: 'object', properties: {} }
    return [
      tool({
        name: 'track',
        description: 'Tracks.',
        inputJsonSchema,
        execute: () => tracked.push('track'),
      }),
    ]
  }
}

/** The flow that is served. `menu` gets a reply with parts, without the model. */
class SupportDesk extends Flow {
  static override readonly id = 'SupportDesk'
  override model(): ModelSelection {
    return { provider: 'gated', name: 'g1' }
  }
  override steps(): readonly StepConstructor[] {
    return [Desk]
  }
  override onMessage({ message, choice }: Turn): Transition | undefined {
    if (choice !== undefined) return reply(`You get ${choice.value}.`)
    return message === 'menu' ? reply('Which size?').withParts(madeParts) : undefined
  }
}

/** What is behind a server. */
export interface ChatBackend {
  readonly model: GatedModel
  readonly engine: FlowEngine
  /** What is stored. */
  readonly documents: Map<string, SessionDocument>
  /** How often the model was called. */
  modelCalls(): number
}

/** A server with the page. */
export interface ChatServer extends ChatBackend {
  /** What `onError` got. */
  readonly errors: readonly unknown[]
  /** The origin for the page. */
  readonly proxy: CuttableProxy
  close(): Promise<void>
}

/** An engine over the memory store. */
export function createBackend(): ChatBackend {
  const model = new GatedModel()
  const documents = new Map<string, SessionDocument>()
  const sessionStore = new MemorySessionStore({ backing: documents })
  const engine = new FlowEngine({ flows: [SupportDesk], providers: [model.provider], sessionStore })
  let modelCalls = 0
  engine.on('model:start', () => modelCalls++)
  return { model, engine, documents, modelCalls: () => modelCalls }
}

/** The user is the one that the cookie, or the header of a test, names. */
export function principalOf({ headers }: Request): Response | { principal: string } {
  const user = /user=(\w+)/.exec(headers.get('cookie') ?? headers.get('x-user') ?? '')?.[1]
  return user === undefined ? new Response('Sign in first.', { status: 401 }) : { principal: user }
}

/** Starts a server with the page. */
export async function startChatServer(bundle: string): Promise<ChatServer> {
  const backend = createBackend()
  const errors: unknown[] = []
  const handler = createUiMessageHandler(backend.engine, {
    flow: 'SupportDesk',
    streamDetails: true,
    authorize: principalOf,
    onError: (error) => errors.push(error),
  })
  const app = new Hono()
  app.all('/api/chat', ({ req }) => handler(req.raw))
  app.all('/api/chat/*', ({ req }) => handler(req.raw))
  app.get('/chat.js', ({ body }) => body(bundle, 200, { 'Content-Type': 'text/javascript; charset=utf-8' }))
  app.get('/', ({ html, req, header }) => {
    header('Set-Cookie', `user=${req.query('user')}; HttpOnly; SameSite=Lax`)
    return html(
      '<!doctype html><title>Chat</title><link rel="icon" href="data:,"><div id="root"></div><script type="module" src="/chat.js"></script>',
    )
  })
  const server = await listen(createAdaptorServer({ fetch: app.fetch }) as Server)
  const proxy = await startCuttableProxy(server.origin)
  return {
    ...backend,
    ...{ errors, proxy },
    async close() {
      await proxy.close()
      await server.close()
      await backend.engine.close()
    },
  }
}
