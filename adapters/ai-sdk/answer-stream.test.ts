import { describe, expect, test } from 'vitest'
import type { ModelStreamPart } from '../../src/index.js'
import {
  all,
  ControlledStream,
  finish,
  hello,
  modelOf,
  open,
  request,
  streamed,
} from '../../testing/contract/ai-sdk-streams.js'
import type { CallOptions } from './language-model.js'

describe('an error', () => {
  test('is thrown unchanged, whether the stream reports it or fails with it', async () => {
    const error = new Error('Overloaded.')
    await expect(streamed([{ type: 'error', error }, finish])).rejects.toBe(error)
    const source = new ControlledStream([], 'stall')
    const reading = open(modelOf(async () => source))
    const next = reading.next()
    await Promise.resolve()
    source.fail(error)
    await expect(next).rejects.toBe(error)
    expect(await reading.next()).toEqual({ done: true, value: undefined })
  })

  test('of the call itself is thrown unchanged', async () => {
    const error = new Error('No key.')
    await expect(all(open(modelOf(() => Promise.reject(error))))).rejects.toBe(error)
    const atOnce = (): never => {
      throw error
    }
    await expect(all(open(modelOf(atOnce)))).rejects.toBe(error)
  })

  test('releases the stream', async () => {
    const source = new ControlledStream([{ type: 'error', error: new Error('Overloaded.') }, finish])
    await expect(all(open(modelOf(async () => source)))).rejects.toThrow('Overloaded.')
    expect(source.stream.locked).toBe(false)
    expect(source.cancelled).toBeDefined()
  })
})

describe('reading', () => {
  test('reads as much as is asked for, and no more', async () => {
    const source = new ControlledStream(hello)
    const reading = open(modelOf(async () => source))
    expect(source.pulls).toBe(0)
    await reading.next()
    expect(source.pulls).toBe(3)
    await reading.next()
    expect(source.pulls).toBe(5)
  })

  test('releases the stream before it yields the whole answer', async () => {
    const source = new ControlledStream(hello, 'stall')
    const reading = open(modelOf(async () => source))
    let last: ModelStreamPart | undefined
    while (last?.type !== 'finish') last = (await reading.next()).value ?? undefined
    expect(source.stream.locked).toBe(false)
    expect(await reading.next()).toEqual({ done: true, value: undefined })
  })

  test('that stops early cancels the stream and the call', async () => {
    let signal: AbortSignal | undefined
    const source = new ControlledStream(hello)
    const model = modelOf(async ({ abortSignal }) => {
      signal = abortSignal
      return source
    })
    for await (const part of model.stream?.(request()) ?? []) {
      expect(part).toEqual({ type: 'text-delta', text: 'Hel' })
      break
    }
    expect(source.cancelled).toBeDefined()
    expect(source.stream.locked).toBe(false)
    expect(signal?.aborted).toBe(true)
  })

  test('that stops while a part is awaited ends at once, even if the model ignores the signal', async () => {
    const source = new ControlledStream([], 'stall')
    const reading = open(modelOf(async () => source))
    const next = reading.next()
    expect(await reading.return?.()).toEqual({ done: true, value: undefined })
    expect(await next).toEqual({ done: true, value: undefined })
    const never = open(modelOf(() => new Promise(() => undefined)))
    const first = never.next()
    await Promise.resolve()
    await never.return?.()
    expect(await first).toEqual({ done: true, value: undefined })
  })

  test('that stops before it began does not call the model', async () => {
    let calls = 0
    const reading = open(
      modelOf(async () => {
        calls++
      }),
    )
    await reading.return?.()
    expect(await reading.next()).toEqual({ done: true, value: undefined })
    expect(calls).toBe(0)
  })

  test('cancels a stream that was opened after it stopped', async () => {
    const source = new ControlledStream(hello)
    let answer!: (opened: ControlledStream) => void
    const opened = new Promise<ControlledStream>((resolve) => {
      answer = resolve
    })
    const reading = open(modelOf(() => opened))
    const first = reading.next()
    await reading.return?.()
    answer(source)
    await first
    await opened
    await Promise.resolve()
    expect(source.cancelled).toBeDefined()
  })
})

describe('the signal of the request', () => {
  test('ends a stream that stalls, with its reason', async () => {
    const turn = new AbortController()
    const source = new ControlledStream(hello.slice(0, 3), 'stall')
    const reading = open(
      modelOf(async () => source),
      { signal: turn.signal },
    )
    await reading.next()
    const next = reading.next()
    const reason = new Error('The turn was aborted.')
    turn.abort(reason)
    await expect(next).rejects.toBe(reason)
    expect(source.cancelled).toBe(reason)
    expect(source.stream.locked).toBe(false)
  })

  test('is the error of a call, even if the package throws something else', async () => {
    const turn = new AbortController()
    const reason = new Error('The turn was aborted.')
    const source = new ControlledStream([], 'stall')
    const failing = async ({ abortSignal }: CallOptions): Promise<ControlledStream> => {
      abortSignal.addEventListener('abort', () => source.fail(new Error('Failed to process the response.')))
      return source
    }
    const next = open(modelOf(failing), { signal: turn.signal }).next()
    for (let round = 0; round < 5; round++) await Promise.resolve()
    turn.abort(reason)
    await expect(next).rejects.toBe(reason)
  })

  test('ends a call without an answer', async () => {
    const turn = new AbortController()
    const reading = open(
      modelOf(() => new Promise(() => undefined)),
      { signal: turn.signal },
    )
    const next = reading.next()
    turn.abort(new Error('Aborted.'))
    await expect(next).rejects.toThrow('Aborted.')
  })

  test('that aborted before prevents the call', async () => {
    let calls = 0
    const signal = AbortSignal.abort(new Error('Aborted.'))
    const reading = open(
      modelOf(async () => {
        calls++
      }),
      { signal },
    )
    await expect(reading.next()).rejects.toThrow('Aborted.')
    expect(calls).toBe(0)
  })

  test('has no listener left at the end', async () => {
    const { signal } = new AbortController()
    let listening = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = ((...args: Parameters<typeof add>) => {
      listening++
      add(...args)
    }) as typeof add
    signal.removeEventListener = ((...args: Parameters<typeof remove>) => {
      listening = 0
      remove(...args)
    }) as typeof remove
    await all(
      open(
        modelOf(async () => new ControlledStream(hello)),
        { signal },
      ),
    )
    expect(listening).toBe(0)
  })
})
