// Node's own server.
import { createServer } from 'node:http'
import { toNodeListener } from 'turnkeeper/node'

export function plain(handler) {
  return createServer(toNodeListener(handler))
}
