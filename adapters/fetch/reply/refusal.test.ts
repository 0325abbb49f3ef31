import { afterEach, describe, expect, test, vi } from 'vitest'
import { createDrainingBody, createRefusalReply, Refusal } from './refusal.js'

const encoder = new TextEncoder()

/** A request whose body gives a chunk of 10 bytes each time it is read, by default without end. */
function endless(chunks = Number.POSITIVE_INFINITY): {
  request: Request
  state: { pulled: number; cancelled: boolean }
} {
  const state = { pulled: 0, cancelled: false }
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (state.pulled >= chunks) return controller.close()
        state.pulled++
        controller.enqueue(new Uint8Array(10))
      },
      cancel() {
        state.cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return {
    request: new Request('http://chat.example/', { method: 'POST', body, duplex: 'half' } as RequestInit),
    state,
  }
}

describe('createDrainingBody', () => {
  test('sends the whole reply with its length, and closes the connection', async () => {
    const { body, headers } = createDrainingBody(endless(2).request, 'untouched', 'zwölf', 100)
    expect(headers).toEqual({ 'Content-Length': '6', Connection: 'close' })
    await expect(new Response(body).text()).resolves.toBe('zwölf')
  })

  test('the reply can be read before the rest of the body arrives', async () => {
    const never = new ReadableStream<Uint8Array>({})
    const request = new Request('http://chat.example/', { method: 'POST', body: never, duplex: 'half' } as RequestInit)
    const reader = createDrainingBody(request, 'untouched', 'too long', 100).body.getReader()
    await expect(reader.read()).resolves.toEqual({ done: false, value: encoder.encode('too long') })
    await reader.cancel()
  })

  test('reads a short remainder to its end', async () => {
    const { request, state } = endless(3)
    await new Response(createDrainingBody(request, 'untouched', 'x', 100).body).text()
    expect(state).toEqual({ pulled: 3, cancelled: false })
  })

  test('reads a long remainder up to the bound, and cancels the rest', async () => {
    const { request, state } = endless()
    await new Response(createDrainingBody(request, 'untouched', 'x', 35).body).text()
    expect(state).toEqual({ pulled: 4, cancelled: true })
  })

  test('ends the reply if the body was split by tee() and cancelling one half never settles', async () => {
    const { request } = endless()
    const [half] = (request.body as ReadableStream<Uint8Array>).tee()
    await expect(new Response(createDrainingBody(request, half.getReader(), 'x', 35).body).text()).resolves.toBe('x')
  })

  test('continues with a reader that has read a part already', async () => {
    const { request, state } = endless()
    const reader = request.body?.getReader()
    await reader?.read()
    await new Response(createDrainingBody(request, reader ?? 'untouched', 'x', 20).body).text()
    expect(state).toEqual({ pulled: 3, cancelled: true })
  })

  test('ends the reply when the body breaks off', async () => {
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(new Error('reset'))
      },
    })
    const request = new Request('http://chat.example/', { method: 'POST', body, duplex: 'half' } as RequestInit)
    await expect(new Response(createDrainingBody(request, 'untouched', 'x', 20).body).text()).resolves.toBe('x')
  })

  test('cancels the rest when the client goes away', async () => {
    const { request, state } = endless()
    const reader = createDrainingBody(request, 'untouched', 'x', Number.POSITIVE_INFINITY).body.getReader()
    await reader.cancel()
    expect(state.cancelled).toBe(true)
  })

  test('works without a body, and with one that is locked by another reader', async () => {
    const bodiless = new Request('http://chat.example/', { method: 'POST' })
    const locked = endless().request
    locked.body?.getReader()
    for (const request of [bodiless, locked]) {
      await expect(new Response(createDrainingBody(request, 'untouched', 'x', 20).body).text()).resolves.toBe('x')
    }
  })
})

describe('a remainder that does not arrive', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  /** A body that never ends, and whether it was cancelled. */
  function stalled() {
    const state = { cancelled: false }
    const body = new ReadableStream<Uint8Array>({
      cancel() {
        state.cancelled = true
      },
    })
    const request = new Request('http://chat.example/', { method: 'POST', body, duplex: 'half' } as RequestInit)
    return { request, state, reader: request.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> }
  }

  test.each([
    ['too late', 408, 1_000],
    ['too large', 413, 5_000],
  ])('a body that is %s is answered at once, and cancelled when its time is over', async (_name, status, afterMs) => {
    vi.useFakeTimers()
    const { request, state, reader } = stalled()
    const reply = createRefusalReply('precise', 100, 5_000)(request, new Refusal('Sorry.', status, reader), {})
    expect([reply.status, reply.headers.get('connection')]).toEqual([status, 'close'])
    const replyReader = (reply.body as ReadableStream<Uint8Array>).getReader()
    expect(new TextDecoder().decode((await replyReader.read()).value)).toContain('Sorry.')
    await vi.advanceTimersByTimeAsync(afterMs - 1)
    expect(state.cancelled).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(state.cancelled).toBe(true)
    expect((await replyReader.read()).done).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('leaves no timer if the remainder arrives, if the client goes away, and without a limit', async () => {
    vi.useFakeTimers()
    await new Response(createDrainingBody(endless(2).request, 'untouched', 'x', 100, 5_000).body).text()
    await createDrainingBody(stalled().request, 'untouched', 'x', 100, 5_000).body.cancel()
    createDrainingBody(endless().request, 'untouched', 'x', 100)
    expect(vi.getTimerCount()).toBe(0)
  })
})
