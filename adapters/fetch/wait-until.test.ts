// A turn gets the `waitUntil` of the runtime, otherwise the one of the options.
import { describe, expect, test } from 'vitest'
import { createFakeEngine, resultOf } from '../../testing/contract/http/fake-engine.js'
import { FakeStream } from '../../testing/contract/http/fake-stream.js'
import { createFetchHandler, type FetchHandlerOptions } from './index.js'

/** A runtime's context, whose method needs its `this`. */
class RuntimeContext {
  readonly works: unknown[] = []
  waitUntil(work: Promise<unknown>): void {
    this.works.push(work)
  }
}

const work = Promise.resolve()

/** Serves one turn with `work` that outlives the reply, and returns the engine's input. */
async function serveTurn(options: FetchHandlerOptions, runtime?: unknown, headers: Record<string, string> = {}) {
  const engine = createFakeEngine({
    execute({ waitUntil }) {
      waitUntil?.(work)
      return resultOf()
    },
  })
  const request = new Request('http://chat.example/ai/run', { method: 'POST', headers, body: '{"flowName":"A"}' })
  const reply = await createFetchHandler(engine, options)(request, runtime)
  expect(reply.status).toBe(200)
  return engine.inputs[0]
}

describe('waitUntil', () => {
  test("is the runtime's, called as its method", async () => {
    const context = new RuntimeContext()
    await serveTurn({}, context)
    expect(context.works).toEqual([work])
  })

  test('comes from the options if the runtime has none', async () => {
    const works: unknown[] = []
    const options = { waitUntil: (left: Promise<unknown>) => void works.push(left) }
    await serveTurn(options)
    await serveTurn(options, { port: 3000 })
    expect(works).toEqual([work, work])
  })

  test("is the runtime's if both exist", async () => {
    const context = new RuntimeContext()
    const works: unknown[] = []
    await serveTurn({ waitUntil: (left) => void works.push(left) }, context)
    expect([works, context.works]).toEqual([[], [work]])
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a server', { port: 3000, reload: () => undefined }],
    ['the address of the client', { remoteAddr: { hostname: '127.0.0.1', port: 1 }, completed: work }],
    ['bindings', { KV: {}, waitUntil: 'a secret of this name' }],
    ['a function', () => undefined],
    ['a number', 1],
  ])('is absent where the runtime passes %s', async (_what, runtime) => {
    expect(await serveTurn({}, runtime)).not.toHaveProperty('waitUntil')
  })

  test('is passed to a turn that is streamed', async () => {
    const engine = createFakeEngine({ stream: () => new FakeStream({ type: 'session', session: 's1' }) })
    const context = new RuntimeContext()
    const init = { method: 'POST', headers: { Accept: 'text/event-stream' }, body: '{"flowName":"A"}' }
    const reply = await createFetchHandler(engine)(new Request('http://chat.example/ai/run', init), context)
    await reply.body?.cancel()
    engine.inputs[0]?.waitUntil?.(work)
    expect(context.works).toEqual([work])
  })

  test.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('The runtime has gone.')
      },
    ],
    ['rejects', () => Promise.reject(new Error('The runtime has gone.'))],
  ])(
    'that %s for a turn that goes on without its client changes no reply, and `onError` gets that',
    async (_what, fail) => {
      const errors: unknown[] = []
      const engine = createFakeEngine({ execute: () => resultOf() })
      const handler = createFetchHandler(engine, {
        waitUntil: fail as () => void,
        onError: (error) => errors.push(error),
      })
      const init = { method: 'POST', headers: { 'Idempotency-Key': 'k'.repeat(16) }, body: '{"flowName":"A"}' }
      expect((await handler(new Request('http://chat.example/ai/run', init))).status).toBe(200)
      expect(errors).toEqual([new Error('The runtime has gone.')])
    },
  )

  test.each([[null], ['later'], [{}]])('that is not a function is refused: %j', (waitUntil) => {
    expect(() => createFetchHandler(createFakeEngine(), { waitUntil: waitUntil as never })).toThrow(
      'createFetchHandler: waitUntil must be a function.',
    )
  })
})
