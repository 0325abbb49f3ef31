/**
 * A server for the bench `http`: a bare JSON echo, the floor F1 behind Hono, or Turnkeeper's routes. It listens on a
 * free port, sends the port to its parent, and answers each message of its parent with the CPU time used so far.
 */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { Flow, FlowEngine, LogicStep, reply } from 'turnkeeper'
import { flowRoutes } from 'turnkeeper/hono'
import { createF1 } from './floors.mjs'
import { createTurnkeeper } from './turnkeeper.mjs'
import { answer, burn } from './work.mjs'

const [kind] = process.argv.slice(2)

const apps = { echo, f1, turnkeeper, 'heavy-echo': heavyEcho, heavy }

function echo() {
  const app = new Hono()
  app.post('/ai/run', async (context) => {
    const { message } = await context.req.json()
    const session = context.req.header('CHAT_SESSION_ID') ?? 'session'
    context.header('CHAT_SESSION_ID', session)
    return context.json({ ...envelope(session), echo: message })
  })
  return app
}

function f1() {
  const app = new Hono()
  const system = createF1(false)
  const conversations = new Map()
  app.post('/ai/run', async (context) => {
    const { message } = await context.req.json()
    const session = context.req.header('CHAT_SESSION_ID') ?? crypto.randomUUID()
    const say = conversations.get(session) ?? system.start()
    conversations.set(session, say)
    await say(message)
    context.header('CHAT_SESSION_ID', session)
    return context.json(envelope(session))
  })
  return app
}

function turnkeeper() {
  return new Hono().route('/ai', flowRoutes(createTurnkeeper().engine))
}

/** Three milliseconds of CPU time for each request, in a bare route and in a flow. */
function heavyEcho() {
  const app = new Hono()
  app.post('/ai/run', async (context) => {
    await context.req.json()
    burn(3)
    return context.json(envelope('session'))
  })
  return app
}

function heavy() {
  class Burn extends LogicStep {
    static id = 'Burn'
    run() {
      burn(3)
      return reply(answer)
    }
  }
  class Support extends Flow {
    static id = 'Support'
    steps() {
      return [Burn]
    }
  }
  return new Hono().route('/ai', flowRoutes(new FlowEngine({ flows: [Support] })))
}

function envelope(session) {
  return { success: true, completed: false, message: answer, session, contentType: 'text/plain' }
}

const server = serve({ fetch: apps[kind]().fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
  process.send({ port }),
)

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ cpuMicroseconds: user + system })
})
process.on('disconnect', () => {
  server.close()
  process.exit(0)
})
