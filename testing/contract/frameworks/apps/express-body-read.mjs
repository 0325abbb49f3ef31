// Express 5 with a parser before a listener that does not know it: a mistake, which the reply must name.

import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import express from 'express'

export function bodyRead(handler) {
  const app = express()
  app.use(express.json())
  app.use(getRequestListener(handler, { overrideGlobalObjects: false }))
  return createServer(app)
}
