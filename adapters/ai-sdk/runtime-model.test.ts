import { describe, expect, test } from 'vitest'
import type { JsonObject, ModelRequest, ModelStreamPart, RuntimeModel } from '../../src/index.js'
import { aiSdkProvider } from './index.js'
import type { CallOptions, StreamPart } from './language-model.js'

/** The stream of a model, told what to do by hand. */
class HandStream {
  readonly stream: ReadableStream<StreamPart>
  /** How often a piece was asked for. */
  pulls = 0
  canceled: unknown
  #controller!: ReadableStreamDefaultController<StreamPart>

  constructor(parts: readonly StreamPart[] = [], end: 'close' | 'stall' = 'close') {
    const left = [...parts]
    this.stream = new ReadableStream<StreamPart>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: (controller) => {
          this.pulls++
          const next = left.shift()
          if (next !== undefined) controller.enqueue(next)
          else if (end === 'close') controller.close()
        },
        cancel: (reason) => {
          this.canceled = reason ?? 'canceled'
        },
      },
      { highWaterMark: 0 },
    )
  }

  fail(error: unknown): void {
    this.#controller.error(error)
  }
}

const finish: StreamPart = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: {} }
const hello: readonly StreamPart[] = [
  { type: 'stream-start' },
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'Hel' },
  { type: 'text-delta', id: '1', delta: '' },
  { type: 'text-delta', id: '1', delta: 'lo.' },
  { type: 'text-end', id: '1' },
  finish,
]

function modelOf(
  doStream: ((options: CallOptions) => PromiseLike<unknown>) | undefined,
  specificationVersion = 'v3',
): RuntimeModel {
  const model = {
    specificationVersion,
    provider: 'own',
    modelId: 'small',
    doGenerate: async (_options: CallOptions) => ({ content: [], finishReason: 'stop', usage: {} }),
    ...(doStream === undefined ? {} : { doStream }),
  }
  const provider = aiSdkProvider({ provider: 'own', languageModel: () => model })
  return provider.resolve({ provider: 'own', name: 'small', params: { temperature: 0 } })
}

function request(fields: Partial<ModelRequest> = {}): ModelRequest {
  const origin = { flowName: 'Desk', stepId: 'Ask', sessionId: '', turnNumber: 1, callNumber: 1, attempt: 1 }
  return { messages: [], tools: [], params: {}, origin, signal: new AbortController().signal, ...fields }
}

function open(model: RuntimeModel, fields?: Partial<ModelRequest>): AsyncIterator<ModelStreamPart, undefined, void> {
  const stream = model.stream?.(request(fields))
  if (stream === undefined) throw new Error('The model has no stream.')
  return stream[Symbol.asyncIterator]()
}

async function all(pieces: AsyncIterator<ModelStreamPart, undefined, void>): Promise<ModelStreamPart[]> {
  const read: ModelStreamPart[] = []
  for (;;) {
    const { done, value } = await pieces.next()
    if (done === true) return read
    read.push(value)
  }
}

const streamed = (parts: readonly StreamPart[], version = 'v3'): Promise<ModelStreamPart[]> =>
  all(open(modelOf(async () => new HandStream(parts), version)))

describe('a model without doStream', () => {
  test('has no stream at all', () => {
    expect('stream' in modelOf(undefined)).toBe(false)
  })
})

describe('a call without a stream', () => {
  function failing(work: (options: CallOptions) => Promise<never>): RuntimeModel {
    const model = { specificationVersion: 'v3', provider: 'own', modelId: 'small', doGenerate: work }
    const provider = aiSdkProvider({ provider: 'own', languageModel: () => model })
    return provider.resolve({ provider: 'own', name: 'small', params: {} })
  }

  test('that was given up fails with the reason, whatever the package makes of it', async () => {
    const turn = new AbortController()
    const reason = new Error('The turn is given up.')
    const model = failing(async () => {
      turn.abort(reason)
      throw new Error('Failed to process the response.')
    })
    await expect(model.generate(request({ signal: turn.signal }))).rejects.toBe(reason)
  })

  test('whose answer could not be read to its end may be tried again', async () => {
    const broken = Object.assign(new Error('Failed.', { cause: new TypeError('network error') }), {
      statusCode: 200,
      isRetryable: false,
    })
    await expect(failing(() => Promise.reject(broken)).generate(request())).rejects.toMatchObject({
      message: "The answer of model 'small' of provider 'own' was cut in the middle.",
      isRetryable: true,
      cause: broken,
    })
  })
})

test('a call without a stream that is told to be interrupted was cut', async () => {
  const content = [{ type: 'text', text: 'It is' }]
  const model = {
    specificationVersion: 'v4',
    provider: 'own',
    modelId: 'small',
    doGenerate: async () => ({ content, finishReason: { unified: 'interrupted', raw: undefined }, usage: {} }),
  }
  const provider = aiSdkProvider({ provider: 'own', languageModel: () => model })
  const { generate } = provider.resolve({ provider: 'own', name: 'small', params: {} })
  await expect(generate(request())).rejects.toMatchObject({ isRetryable: true })
})

describe('a call with a stream', () => {
  test('is asked for what a call without one is, when the first piece is', async () => {
    const asked: CallOptions[] = []
    const output = { name: 'order', schema: { type: 'object' } }
    const model = modelOf(async (options) => {
      asked.push(options)
      return new HandStream(hello)
    })
    const pieces = open(model, { system: 'Be kind.', output })
    expect(asked).toEqual([])
    await pieces.next()
    expect(asked).toEqual([
      {
        temperature: 0,
        prompt: [{ role: 'system', content: 'Be kind.' }],
        abortSignal: expect.any(AbortSignal),
        includeRawChunks: true,
        responseFormat: { type: 'json', ...output },
      },
    ])
  })

  test('calls the method on its model', async () => {
    class Own {
      readonly specificationVersion = 'v3'
      readonly provider = 'own'
      readonly modelId = 'small'
      readonly #parts = hello
      async doGenerate(): Promise<undefined> {
        return undefined
      }
      async doStream(): Promise<HandStream> {
        return new HandStream(this.#parts)
      }
    }
    const provider = aiSdkProvider({ provider: 'own', languageModel: () => new Own() })
    expect(await all(open(provider.resolve({ provider: 'own', name: 'small', params: {} })))).toHaveLength(3)
  })
})

describe.each(['v2', 'v3', 'v4'])('the pieces of version %s', (version) => {
  const finishReason = version === 'v2' ? 'stop' : { unified: 'stop', raw: 'end_turn' }
  const usage =
    version === 'v2'
      ? { inputTokens: 5, outputTokens: 2, cachedInputTokens: 3 }
      : { inputTokens: { total: 5, cacheRead: 3 }, outputTokens: { total: 2 } }

  test('are texts and thoughts, then the whole', async () => {
    const pieces = await streamed(
      [
        { type: 'reasoning-start', id: '0' },
        { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
        { type: 'reasoning-end', id: '0' },
        ...hello.slice(1, -1),
        { type: 'finish', finishReason, usage },
      ],
      version,
    )
    expect(pieces).toEqual([
      { type: 'reasoning-delta', text: 'Hm.' },
      { type: 'text-delta', text: 'Hel' },
      { type: 'text-delta', text: 'lo.' },
      {
        type: 'finish',
        response: {
          parts: [
            { type: 'reasoning', text: 'Hm.' },
            { type: 'text', text: 'Hello.' },
          ],
          finishReason: 'stop',
          usage: { inputTokens: 5, outputTokens: 2, cachedInputTokens: 3 },
        },
      },
    ])
  })
})

async function responseOf(parts: readonly StreamPart[]) {
  const last = (await streamed([...parts, finish])).at(-1)
  return last?.type === 'finish' ? last.response : undefined
}

describe('the whole', () => {
  test('has its parts where they began, with all that was told to hang on them', async () => {
    const a: JsonObject = { own: { id: 'a', signature: null } }
    const b: JsonObject = { own: { signature: 'signed' }, other: { x: 1 } }
    const response = await responseOf([
      { type: 'reasoning-start', id: '0', providerMetadata: a },
      { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
      { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: b },
      { type: 'reasoning-end', id: '0' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'One ' },
      { type: 'tool-input-start', id: 'c', toolName: 'act' },
      { type: 'tool-input-delta', id: 'c', delta: '{"a":1}' },
      { type: 'tool-input-end', id: 'c' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'act', input: '{"a":1}', providerMetadata: a },
      { type: 'tool-call', toolCallId: 'd', toolName: 'search', input: '{}', providerExecuted: true },
      { type: 'text-delta', id: '0', delta: 'moment.' },
      { type: 'text-end', id: '0' },
    ])
    expect(response?.parts).toEqual([
      {
        type: 'reasoning',
        text: 'Hm.',
        providerData: { own: { id: 'a', signature: 'signed' }, other: { x: 1 } },
      },
      { type: 'text', text: 'One moment.' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'act', input: { a: 1 }, providerData: a },
    ])
  })

  test('has two texts where an ID is used again, and none where nothing was said', async () => {
    const response = await responseOf([
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'One.' },
      { type: 'text-end', id: '0' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: '' },
      { type: 'text-end', id: '0' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Two.' },
      { type: 'text-end', id: 'unknown' },
    ])
    expect(response?.parts).toEqual([
      { type: 'text', text: 'One.' },
      { type: 'text', text: 'Two.' },
    ])
  })

  test('keeps a text and a thought of the same ID apart', async () => {
    const response = await responseOf([
      { type: 'reasoning-start', id: '0' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Yes.' },
      { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
    ])
    expect(response?.parts).toEqual([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Yes.' },
    ])
  })

  test('counts where what it cost, or what hangs on it, is null', async () => {
    const parts: StreamPart[] = [
      { type: 'text-start', id: '0', providerMetadata: null as never },
      { type: 'text-delta', id: '0', delta: 'Yes.', providerMetadata: { own: null } },
    ]
    const last = (await streamed([...parts, { ...finish, usage: null as never }])).at(-1)
    expect(last).toMatchObject({
      response: { parts: [{ text: 'Yes.' }], usage: { inputTokens: 0, outputTokens: 0 } },
    })
  })

  test('has a text that nobody began', async () => {
    expect((await responseOf([{ type: 'text-delta', delta: 'Yes.' }]))?.parts).toEqual([{ type: 'text', text: 'Yes.' }])
  })

  test('is a refusal where a chat completion brought one', async () => {
    const chunk = (delta: object): StreamPart => ({ type: 'raw', rawValue: { choices: [{ delta }] } })
    const refused = await responseOf([chunk({ content: '' }), chunk({ refusal: 'No' }), chunk({})])
    expect(refused).toMatchObject({ parts: [], finishReason: 'content-filter' })
    expect(await responseOf([chunk({ refusal: null }), { type: 'raw' }])).toMatchObject({ finishReason: 'stop' })
  })

  test('fails where a tool is called with arguments that are no JSON', async () => {
    const call: StreamPart = { type: 'tool-call', toolCallId: 'c', toolName: 'act', input: '{"a":' }
    await expect(streamed([call, finish])).rejects.toMatchObject({
      code: 'MODEL_ERROR',
      message: "Model 'small' of provider 'own' failed. It called 'act' with arguments that are no JSON.",
    })
  })
})

test('arguments that are being made are signs of life, and say nothing: modelTimeoutMs counts from piece to piece', async () => {
  const pieces = await streamed([
    { type: 'tool-input-start', id: 'c', toolName: 'act' },
    { type: 'tool-input-delta', id: 'c', delta: '{"a"' },
    { type: 'tool-input-delta', id: 'c', delta: ':1}' },
    { type: 'tool-input-end', id: 'c' },
    { type: 'tool-call', toolCallId: 'c', toolName: 'act', input: '{"a":1}' },
    finish,
  ])
  const sign = { type: 'reasoning-delta', text: '' }
  expect(pieces).toEqual([sign, sign, expect.objectContaining({ type: 'finish' })])
})

describe('an answer that was cut', () => {
  const cut = {
    message: "The answer of model 'small' of provider 'own' was cut in the middle.",
    isRetryable: true,
  }

  test.each([
    ['ends without its finish', hello.slice(0, -1), 'v3'],
    ['never says why it stops', [...hello.slice(0, -1), { type: 'finish', finishReason: { unified: 'other' } }], 'v3'],
    ['never says why it stops', [...hello.slice(0, -1), { type: 'finish', finishReason: 'unknown' }], 'v2'],
    ['has no reason', [...hello.slice(0, -1), { type: 'finish' }], 'v2'],
    [
      'is told to be interrupted',
      [...hello.slice(0, -1), { type: 'finish', finishReason: { unified: 'interrupted', raw: undefined } }],
      'v4',
    ],
    ['has null for a reason', [...hello.slice(0, -1), { type: 'finish', finishReason: null as never }], 'v3'],
    [
      'has null for the word of its provider',
      [...hello.slice(0, -1), { type: 'finish', finishReason: { unified: 'other', raw: null as never } }],
      'v3',
    ],
  ])('%s', async (_what, parts, version) => {
    await expect(streamed(parts, version)).rejects.toMatchObject(cut)
  })

  test('tells what it cost, where that came', async () => {
    for (const finishReason of [{ unified: 'interrupted' }, { unified: 'other' }]) {
      const last: StreamPart = { type: 'finish', finishReason, usage: { inputTokens: { total: 7 } } }
      await expect(streamed([last], 'v4')).rejects.toMatchObject({ ...cut, usage: { inputTokens: 7, outputTokens: 0 } })
    }
  })

  test('by its package’s own word', async () => {
    const told = Object.assign(new Error('Without a finish reason.'), {
      name: 'AI_InvalidResponseDataError',
      data: undefined,
    })
    await expect(streamed([{ type: 'error', error: told }])).rejects.toMatchObject({ ...cut, cause: told })
  })

  test('is none where another reason is told', async () => {
    const reason = { unified: 'other', raw: 'pause_turn' }
    expect(await streamed([...hello.slice(0, -1), { type: 'finish', finishReason: reason }])).toHaveLength(3)
  })
})

describe('a failure', () => {
  test('that is an error is thrown as it is, whether told or met', async () => {
    const error = new Error('Overloaded.')
    await expect(streamed([{ type: 'error', error }, finish])).rejects.toBe(error)
    const source = new HandStream([], 'stall')
    const pieces = open(modelOf(async () => source))
    const next = pieces.next()
    await Promise.resolve()
    source.fail(error)
    await expect(next).rejects.toBe(error)
    expect(await pieces.next()).toEqual({ done: true, value: undefined })
  })

  test('of the call itself is thrown as it is', async () => {
    const error = new Error('No key.')
    await expect(all(open(modelOf(() => Promise.reject(error))))).rejects.toBe(error)
    const atOnce = (): never => {
      throw error
    }
    await expect(all(open(modelOf(atOnce)))).rejects.toBe(error)
  })

  test('frees the stream', async () => {
    const source = new HandStream([{ type: 'error', error: new Error('Overloaded.') }, finish])
    await expect(all(open(modelOf(async () => source)))).rejects.toThrow('Overloaded.')
    expect(source.stream.locked).toBe(false)
    expect(source.canceled).toBeDefined()
  })
})

describe('reading', () => {
  test('takes what is asked for, and no more', async () => {
    const source = new HandStream(hello)
    const pieces = open(modelOf(async () => source))
    expect(source.pulls).toBe(0)
    await pieces.next()
    expect(source.pulls).toBe(3)
    await pieces.next()
    expect(source.pulls).toBe(5)
  })

  test('lets go of the stream before it tells the whole', async () => {
    const source = new HandStream(hello, 'stall')
    const pieces = open(modelOf(async () => source))
    let last: ModelStreamPart | undefined
    while (last?.type !== 'finish') last = (await pieces.next()).value ?? undefined
    expect(source.stream.locked).toBe(false)
    expect(await pieces.next()).toEqual({ done: true, value: undefined })
  })

  test('that is left early cancels the stream and the call', async () => {
    let signal: AbortSignal | undefined
    const source = new HandStream(hello)
    const model = modelOf(async ({ abortSignal }) => {
      signal = abortSignal
      return source
    })
    for await (const piece of model.stream?.(request()) ?? []) {
      expect(piece).toEqual({ type: 'text-delta', text: 'Hel' })
      break
    }
    expect(source.canceled).toBeDefined()
    expect(source.stream.locked).toBe(false)
    expect(signal?.aborted).toBe(true)
  })

  test('that is left while a piece is awaited ends at once, also where the model looks at no signal', async () => {
    const source = new HandStream([], 'stall')
    const pieces = open(modelOf(async () => source))
    const next = pieces.next()
    expect(await pieces.return?.()).toEqual({ done: true, value: undefined })
    expect(await next).toEqual({ done: true, value: undefined })
    const never = open(modelOf(() => new Promise(() => undefined)))
    const first = never.next()
    await Promise.resolve()
    await never.return?.()
    expect(await first).toEqual({ done: true, value: undefined })
  })

  test('that is left before it began asks nobody', async () => {
    let asked = 0
    const pieces = open(
      modelOf(async () => {
        asked++
      }),
    )
    await pieces.return?.()
    expect(await pieces.next()).toEqual({ done: true, value: undefined })
    expect(asked).toBe(0)
  })

  test('gives up a stream that was opened too late', async () => {
    const source = new HandStream(hello)
    let answer!: (opened: HandStream) => void
    const opened = new Promise<HandStream>((resolve) => {
      answer = resolve
    })
    const pieces = open(modelOf(() => opened))
    const first = pieces.next()
    await pieces.return?.()
    answer(source)
    await first
    await opened
    await Promise.resolve()
    expect(source.canceled).toBeDefined()
  })
})

describe('the signal of the request', () => {
  test('ends a stream that stalls, with its reason', async () => {
    const turn = new AbortController()
    const source = new HandStream(hello.slice(0, 3), 'stall')
    const pieces = open(
      modelOf(async () => source),
      { signal: turn.signal },
    )
    await pieces.next()
    const next = pieces.next()
    const reason = new Error('The turn is given up.')
    turn.abort(reason)
    await expect(next).rejects.toBe(reason)
    expect(source.canceled).toBe(reason)
    expect(source.stream.locked).toBe(false)
  })

  test('is what a call fails with, whatever the package makes of it', async () => {
    const turn = new AbortController()
    const reason = new Error('The turn is given up.')
    const source = new HandStream([], 'stall')
    const breaks = async ({ abortSignal }: CallOptions): Promise<HandStream> => {
      abortSignal.addEventListener('abort', () => source.fail(new Error('Failed to process the response.')))
      return source
    }
    const next = open(modelOf(breaks), { signal: turn.signal }).next()
    for (let round = 0; round < 5; round++) await Promise.resolve()
    turn.abort(reason)
    await expect(next).rejects.toBe(reason)
  })

  test('ends a call that is not answered', async () => {
    const turn = new AbortController()
    const pieces = open(
      modelOf(() => new Promise(() => undefined)),
      { signal: turn.signal },
    )
    const next = pieces.next()
    turn.abort(new Error('Given up.'))
    await expect(next).rejects.toThrow('Given up.')
  })

  test('that fired before asks nobody', async () => {
    let asked = 0
    const signal = AbortSignal.abort(new Error('Given up.'))
    const pieces = open(
      modelOf(async () => {
        asked++
      }),
      { signal },
    )
    await expect(pieces.next()).rejects.toThrow('Given up.')
    expect(asked).toBe(0)
  })

  test('is told of by no listener that stays', async () => {
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
        modelOf(async () => new HandStream(hello)),
        { signal },
      ),
    )
    expect(listening).toBe(0)
  })
})
