// A controller of NestJS 11, written without decorators, which JavaScript does not have: Nest's own
// parser has read the body.
import 'reflect-metadata'
import { All, Controller, Module, Req, Res } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { toNodeListener } from 'turnkeeper/node'

export async function parsed(handler, options = {}) {
  const listener = toNodeListener(handler)
  class Chat {
    answer(request, response) {
      listener(request, response)
    }
  }
  class AppModule {}
  Req()(Chat.prototype, 'answer', 0)
  Res()(Chat.prototype, 'answer', 1)
  All('*path')(Chat.prototype, 'answer', Object.getOwnPropertyDescriptor(Chat.prototype, 'answer'))
  Controller('ai')(Chat)
  Module({ controllers: [Chat] })(AppModule)
  const app = await NestFactory.create(AppModule, { logger: false, ...options })
  await app.init()
  return app.getHttpServer()
}
