// The page of the example server over a flow whose replies carry all five parts.
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { z } from 'zod'
import { flowRoutes } from '../../../adapters/hono/index.js'
import {
  event,
  Flow,
  FlowEngine,
  finish,
  type JsonObject,
  LogicStep,
  type ReplyPart,
  reply,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../../src/index.js'
import { card, choices, custom, file, form } from '../../../src/parts/index.js'
import { deskRoutes } from './desk-routes.js'
import { listen, type RunningServer } from './servers.js'

const pots = choices('pot', [
  { value: 's', label: 'Small' },
  { value: 'l', label: 'Large' },
])

/** Fields of each kind. */
const schema = {
  type: 'object',
  title: 'Delivery',
  properties: {
    name: { type: 'string', title: 'Your name', minLength: 2 },
    mail: { type: 'string', title: 'Mail', format: 'email', description: 'For the invoice.' },
    pots: { type: 'integer', title: 'How many pots', minimum: 1, maximum: 9, default: 1 },
    glaze: { type: 'string', title: 'Glaze', enum: ['g', 'b'], enumNames: ['green', 'blue'] },
    gift: { type: 'boolean', title: 'It is a gift' },
  },
  required: ['name', 'pots'],
} as const

const parts: readonly ReplyPart[] = [
  card({
    title: 'Order FK-1042',
    rows: [
      ['State', 'delivered'],
      ['Item', 'cast iron teapot'],
    ],
  }),
  file({ name: 'invoice.pdf', mediaType: 'application/pdf', url: 'https://files.example.com/invoice.pdf' }),
  custom('map', { latitude: 52.52 }),
  form({ name: 'delivery', schema }),
  pots,
]

class Desk extends LogicStep {
  static override readonly id = 'Desk'
  override events() {
    return [
      event({ name: 'delay', execute: () => reply('It takes a day longer.') }),
      event({
        name: 'delivery',
        byUser: true,
        input: z.record(z.string(), z.unknown()),
        execute: (values) =>
          values.name === 'Nobody'
            ? reply('Who is it for?').withParts([
                form({
                  name: 'delivery',
                  schema,
                  values: values as JsonObject,
                  errors: { name: 'The name is not known.' },
                }),
              ])
            : reply(`Sent: ${JSON.stringify(values)}`),
      }),
    ]
  }
  override run({ message, choice }: Turn): Transition {
    if (message === 'done') return finish('Goodbye.')
    if (message === 'everything') return reply('Here it is.').withParts(parts)
    if (choice !== undefined) return reply(`${choice.name} ${choice.value}: ${message}`)
    return reply('Which pot?').withParts([pots])
  }
}

/** The server of the page. */
export interface PartsDesk extends RunningServer {
  readonly engine: FlowEngine
}

/** The flow that the page requests. */
class SupportDesk extends Flow {
  static override readonly id = 'SupportDesk'
  override steps(): readonly StepConstructor[] {
    return [Desk]
  }
}

/** Serves the page with the flow above: `everything` gets all five parts, any other message two buttons. */
export const startPartsDesk = (): Promise<PartsDesk> => serveDesk(new FlowEngine({ flows: [SupportDesk] }))

/** Serves the page of an engine, which is closed with it. */
export async function serveDesk(engine: FlowEngine, more: Hono = new Hono()): Promise<PartsDesk> {
  const app = new Hono()
  app.route('/ai', flowRoutes(engine, { session: true }))
  app.route('/', deskRoutes())
  app.route('/', more)
  const server = await listen(createAdaptorServer({ fetch: app.fetch }) as Server)
  return {
    origin: server.origin,
    engine,
    async close() {
      await server.close()
      await engine.close()
    },
  }
}
