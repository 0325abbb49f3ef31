// Koa 3.

import { createServer } from 'node:http'
import { bodyParser } from '@koa/bodyparser'
import Koa from 'koa'
import mount from 'koa-mount'
import { toNodeListener } from 'turnkeeper/node'

export function plain(handler) {
  const app = new Koa()
  const listener = toNodeListener(handler)
  app.use((context, next) => {
    if (!context.path.startsWith('/ai/')) return next()
    context.respond = false
    listener(context.req, context.res, context.request)
  })
  return createServer(app.callback())
}

// The body is parsed before the handler gets the request: it is on Koa's request, which is passed on.
export function parsed(handler) {
  const app = new Koa()
  const listener = toNodeListener(handler)
  app.use(bodyParser())
  app.use((context) => {
    context.respond = false
    listener(context.req, context.res, context.request)
  })
  return createServer(app.callback())
}

// Mounted: the handler has the option `basePath: '/api/ai'`.
export function mounted(handler) {
  const app = new Koa()
  const listener = toNodeListener(handler)
  const answer = (context) => {
    context.respond = false
    listener(context.req, context.res, context.request)
  }
  app.use(mount('/api/ai', answer))
  return createServer(app.callback())
}
