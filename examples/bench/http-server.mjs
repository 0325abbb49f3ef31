/**
 * A server for the bench `http`: a bare JSON echo, the floor F1 behind Hono, or Turnkeeper's routes. It listens on a free
 * port, tells its parent, and answers its parent's question how much CPU time it has used.
 */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { flowRoutes } from 'turnkeeper/hono'
import { createF1 } from './floors.mjs'
import { createTurnkeeper } from './turnkeeper.mjs'
import { answer } from './work.mjs'

const [kind] = process.argv.slice(2)
const app = new Hono()

if (kind === 'echo') {
  app.post('/ai/run', async (context) => {
    const { message } = await context.req.json()
    const session = context.req.header('CHAT_SESSION_ID') ?? 'session'
    context.header('CHAT_SESSION_ID', session)
    return context.json({
      success: true,
      completed: false,
      message: answer,
      session,
      contentType: 'text/plain',
      echo: message,
    })
  })
} else if (kind === 'f1') {
  const system = createF1(false)
  const conversations = new Map()
  app.post('/ai/run', async (context) => {
    const { message } = await context.req.json()
    const session = context.req.header('CHAT_SESSION_ID') ?? crypto.randomUUID()
    const say = conversations.get(session) ?? system.start()
    conversations.set(session, say)
    await say(message)
    context.header('CHAT_SESSION_ID', session)
    return context.json({ success: true, completed: false, message: answer, session, contentType: 'text/plain' })
  })
} else {
  app.route('/ai', flowRoutes(createTurnkeeper().engine))
}

const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => process.send({ port }))

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ cpuMicroseconds: user + system })
})
process.on('disconnect', () => {
  server.close()
  process.exit(0)
})
