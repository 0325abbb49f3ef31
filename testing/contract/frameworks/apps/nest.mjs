// NestJS 11 with Express. The module is that of your application, here an empty one.
import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { toNodeListener } from 'turnkeeper/node'

class AppModule {}
Module({})(AppModule)

export async function plain(handler) {
  const app = await NestFactory.create(AppModule, { bodyParser: false, logger: false })
  app.use('/ai', toNodeListener(handler))
  await app.init()
  return app.getHttpServer()
}

// The body is parsed before the handler gets the request.
export async function parsed(handler) {
  const app = await NestFactory.create(AppModule, { logger: false })
  app.useBodyParser('json', { limit: '1mb' })
  app.use('/ai', toNodeListener(handler))
  await app.init()
  return app.getHttpServer()
}

// The path of a middleware does not have the global prefix: the handler has the option `basePath: '/api/ai'`.
export async function mounted(handler) {
  const app = await NestFactory.create(AppModule, { logger: false })
  app.setGlobalPrefix('api')
  app.use('/api/ai', toNodeListener(handler))
  await app.init()
  return app.getHttpServer()
}
