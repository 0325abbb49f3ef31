// Fastify 5.
import fastify from 'fastify'
import { toNodeListener } from 'turnkeeper/node'

// In a separate plugin, because Fastify parses and bounds the body of every other route.
export async function plain(handler) {
  const app = fastify()
  const listener = toNodeListener(handler)
  app.register((routes, _options, done) => {
    routes.removeAllContentTypeParsers()
    routes.addContentTypeParser('*', (_request, _body, read) => read(null))
    routes.all('/ai/*', (request, reply) => {
      reply.hijack()
      listener(request.raw, reply.raw)
    })
    done()
  })
  await app.ready()
  return app.server
}

// Fastify parses the body: it is on Fastify's request, which is passed on.
export async function parsed(handler) {
  const app = fastify({ bodyLimit: 1024 * 1024 })
  const listener = toNodeListener(handler)
  app.all('/ai/*', (request, reply) => {
    reply.hijack()
    listener(request.raw, reply.raw, request)
  })
  await app.ready()
  return app.server
}

// With a prefix: the handler has the option `basePath: '/api/ai'`.
export async function mounted(handler) {
  const app = fastify()
  const listener = toNodeListener(handler)
  const routes = (api, _options, done) => {
    api.all('/ai/*', (request, reply) => {
      reply.hijack()
      listener(request.raw, reply.raw, request)
    })
    done()
  }
  app.register(routes, { prefix: '/api' })
  await app.ready()
  return app.server
}
