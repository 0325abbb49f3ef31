import { expectTypeOf, test } from 'vitest'
import { type Authorize, type AuthorizedCaller, createFetchHandler, type FetchHandlerOptions } from './index.js'

test('the handler is what runtimes take', () => {
  type Handler = ReturnType<typeof createFetchHandler>
  expectTypeOf(createFetchHandler).returns.toEqualTypeOf<(request: Request, runtime?: unknown) => Promise<Response>>()
  expectTypeOf<Handler>().toExtend<(request: Request) => Promise<Response>>()
  // Bun, Deno and workerd also pass these.
  expectTypeOf<Handler>().toExtend<(request: Request, server: { reload(): void; port: number }) => Promise<Response>>()
  expectTypeOf<Handler>().toExtend<(request: Request, info: { remoteAddr: { port: number } }) => Promise<Response>>()
  expectTypeOf<Handler>().toExtend<
    (
      request: Request,
      env: { KV: string },
      context: { waitUntil(work: Promise<unknown>): void },
    ) => Response | Promise<Response>
  >()
  expectTypeOf<[Request, { waitUntil(work: Promise<unknown>): void }]>().toExtend<Parameters<Handler>>()
  expectTypeOf(createFetchHandler).parameter(1).toEqualTypeOf<FetchHandlerOptions | undefined>()
})

test('authorize may answer at once or later, with nothing, a Response or a caller', () => {
  expectTypeOf<() => void>().toExtend<Authorize>()
  expectTypeOf<() => Promise<void>>().toExtend<Authorize>()
  expectTypeOf<() => Response>().toExtend<Authorize>()
  expectTypeOf<(request: Request) => Promise<AuthorizedCaller>>().toExtend<Authorize>()
  expectTypeOf<() => { context: { plan: string } }>().toExtend<Authorize>()
  expectTypeOf<() => Promise<{ principal: string | undefined }>>().not.toExtend<Authorize>()
  expectTypeOf<() => { sub: string }>().not.toExtend<Authorize>()
  expectTypeOf<() => Promise<{ user: { id: string } }>>().not.toExtend<Authorize>()
  expectTypeOf<() => boolean>().not.toExtend<Authorize>()
  expectTypeOf<() => null>().not.toExtend<Authorize>()
})

test('options are not any, and wrong ones do not compile', () => {
  expectTypeOf<FetchHandlerOptions['cors']>().not.toBeAny()
  expectTypeOf<FetchHandlerOptions['authorize']>().not.toBeAny()
  // @ts-expect-error an unknown status mode
  const statuses: FetchHandlerOptions = { statuses: 'exact' }
  // @ts-expect-error an unknown option
  const unknown: FetchHandlerOptions = { maxBodySize: 1 }
  void [statuses, unknown]
})
