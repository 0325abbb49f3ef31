// Express 5.

import { createServer } from 'node:http'
import express from 'express'
import { toNodeListener } from 'turnkeeper/node'

export function plain(handler) {
  const app = express()
  app.use('/ai', toNodeListener(handler))
  return createServer(app)
}

// The body is parsed before the handler gets the request.
export function parsed(handler) {
  const app = express()
  app.use(express.json({ limit: '1mb' }))
  app.use('/ai', toNodeListener(handler))
  return createServer(app)
}

// Below another router: the handler has the option `basePath: '/api/ai'`.
export function mounted(handler) {
  const app = express()
  const api = express.Router()
  api.use('/ai', toNodeListener(handler))
  app.use('/api', api)
  return createServer(app)
}
