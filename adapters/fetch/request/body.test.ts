import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Refusal } from '../reply/refusal.js'
import { checkEmptyBody, checkUnread, createBodyReader, readRunBody } from './body.js'

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

function post(body: BodyInit | null, headers: Record<string, string> = {}): Request {
  return new Request('http://chat.example/ai/run', {
    method: 'POST',
    headers,
    body,
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
  } as RequestInit)
}

/** A body that gives one chunk per read, and counts the reads. */
function streamOf(chunks: readonly Uint8Array[]): { stream: ReadableStream<Uint8Array>; pulled: () => number } {
  let next = 0
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = chunks[next++]
        if (chunk === undefined) controller.close()
        else controller.enqueue(chunk)
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, pulled: () => next }
}

const tooLarge = 'The request body is larger than 10 bytes (maxBodyBytes).'

describe('with a Content-Length', () => {
  test.each([
    ['0123456789', '10'],
    ['', '0'],
    ['zwölf', '6'],
  ])('reads %j', async (text, length) => {
    await expect(createBodyReader(10)(post(text, { 'Content-Length': length }))).resolves.toBe(text)
  })

  test('over the limit: refused before a byte is read', async () => {
    const { stream, pulled } = streamOf([bytesOf('x'.repeat(11))])
    const request = post(stream, { 'Content-Length': '11' })
    await expect(createBodyReader(10)(request)).rejects.toEqual(new Refusal(tooLarge, 413, 'untouched'))
    expect([pulled(), request.bodyUsed]).toEqual([0, false])
  })

  test.each([
    ['a longer body', '0123456', '4'],
    ['a shorter body', '0123', '7'],
  ])('a false length is refused: %s', async (_name, text, length) => {
    await expect(createBodyReader(10)(post(text, { 'Content-Length': length }))).rejects.toThrow(
      new Refusal('The request body does not have the length that Content-Length says.'),
    )
  })

  test('nothing at all was read before', async () => {
    await expect(createBodyReader(10)(post('', { 'Content-Length': '7' }))).rejects.toThrow(
      /^The request body was read before the handler got the request, /,
    )
  })

  test('a false length does not get a body over the limit through', async () => {
    await expect(createBodyReader(10)(post('x'.repeat(11), { 'Content-Length': '5' }))).rejects.toMatchObject({
      message: tooLarge,
      preciseStatus: 413,
    })
  })

  test('a length that is not a number is ignored: the bytes are counted', async () => {
    await expect(createBodyReader(10)(post('0123', { 'Content-Length': '4, 4' }))).resolves.toBe('0123')
    await expect(createBodyReader(10)(post('x'.repeat(11), { 'Content-Length': '-1' }))).rejects.toThrow(tooLarge)
  })
})

describe('without a Content-Length', () => {
  test('joins the chunks, even if one splits a character', async () => {
    const [first, second, third] = [bytesOf('ab'), bytesOf('ö').slice(0, 1), bytesOf('ö').slice(1)]
    await expect(createBodyReader(10)(post(streamOf([first, second, third]).stream))).resolves.toBe('abö')
  })

  test('an absent and an empty body are the empty text', async () => {
    await expect(createBodyReader(10)(post(null))).resolves.toBe('')
    await expect(createBodyReader(10)(post(streamOf([]).stream))).resolves.toBe('')
  })

  test('takes exactly as many bytes as the limit allows', async () => {
    await expect(createBodyReader(10)(post(streamOf([bytesOf('01234'), bytesOf('56789')]).stream))).resolves.toBe(
      '0123456789',
    )
  })

  test('stops reading at the chunk that passes the limit', async () => {
    const { stream, pulled } = streamOf(Array.from({ length: 100 }, () => bytesOf('01234')))
    await expect(createBodyReader(10)(post(stream))).rejects.toThrow(tooLarge)
    expect(pulled()).toBe(3)
  })
})

test('an empty text from a chunked body means that it was read before', () => {
  const chunked = new Headers({ 'Transfer-Encoding': 'chunked' })
  expect(() => checkUnread('', chunked)).toThrow(/^The request body was read before the handler got the request, /)
  expect(() => checkUnread('{}', chunked)).not.toThrow()
  expect(() => checkUnread('', new Headers())).not.toThrow()
})

describe('a body that cannot be read', () => {
  test.each([
    ['a lone continuation byte', [0x80]],
    ['a cut-off character', [0x22, 0xe2, 0x82]],
    ['an overlong form', [0xc0, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['another encoding', [0x22, 0xfc, 0x22]],
  ])('invalid UTF-8 is refused: %s', async (_name, bytes) => {
    const refusal = new Refusal('The request body is not valid UTF-8.')
    const read = createBodyReader(10)
    await expect(read(post(new Uint8Array(bytes)))).rejects.toThrow(refusal)
    await expect(read(post(new Uint8Array(bytes), { 'Content-Length': String(bytes.length) }))).rejects.toThrow(refusal)
    await expect(read(post('ok'))).resolves.toBe('ok')
  })

  test('a real replacement character is accepted, and a byte order mark is dropped', async () => {
    await expect(createBodyReader(10)(post('\ufffd'))).resolves.toBe('\ufffd')
    await expect(createBodyReader(10)(post(new Uint8Array([0xef, 0xbb, 0xbf, 0x7b])))).resolves.toBe('{')
  })

  test('a body that was read already, and one that breaks off', async () => {
    const used = post('0123')
    await used.text()
    const released = post('0123')
    const reader = released.body?.getReader()
    while (!(await reader?.read())?.done);
    reader?.releaseLock()
    const broken = new ReadableStream({
      pull(controller) {
        controller.error(new Error('connection reset by 10.0.0.7'))
      },
    })
    for (const request of [used, released]) {
      await expect(createBodyReader(10)(request)).rejects.toThrow(
        new Refusal(
          'The request body was read before the handler got the request, by a body parser such as express.json() or by ' +
            'authorize. Use toNodeListener of turnkeeper/node, and read request.clone() in authorize.',
        ),
      )
    }
    await expect(createBodyReader(10)(post(broken))).rejects.toThrow(new Refusal('The request body could not be read.'))
  })
})

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

describe('readRunBody', () => {
  test.each([
    ['{"flowName":"A"}', { flowName: 'A', message: '', config: undefined }],
    ['{"flowName":"A","message":"hi"}', { flowName: 'A', message: 'hi', config: undefined }],
    ['{"flowName":"A","message":"hi","config":{"a":1}}', { flowName: 'A', message: 'hi', config: { a: 1 } }],
    ['{"flowName":"A","userMessage":"hi","session":"x"}', { flowName: 'A', message: '', config: undefined }],
    ['{"flowName":"__proto__"}', { flowName: '__proto__', message: '', config: undefined }],
    ['{"flowName":"A","__proto__":{"message":"inherited"}}', { flowName: 'A', message: '', config: undefined }],
    [
      '{"flowName":"A","attachments":[{"url":"https://a.example/1.png"}]}',
      { flowName: 'A', message: '', attachments: [{ url: 'https://a.example/1.png' }] },
    ],
    [' {"flowName":"A"} ', { flowName: 'A', message: '', config: undefined }],
  ])('%s', (text, expected) => {
    expect(readRunBody(text, 64)).toEqual(expected)
  })

  test('passes an own __proto__ in config on, for the engine to refuse', () => {
    const { config } = readRunBody('{"flowName":"A","config":{"__proto__":{"admin":true}}}', 64)
    expect(Object.keys(config ?? {})).toEqual(['__proto__'])
  })

  test.each([
    ['', 'The request body is not valid JSON.'],
    ['flowName=A', 'The request body is not valid JSON.'],
    ['{"flowName":"A"', 'The request body is not valid JSON.'],
    ["{'flowName':'A'}", 'The request body is not valid JSON.'],
    ['null', 'The request body must be a JSON object.'],
    ['"text"', 'The request body must be a JSON object.'],
    ['5', 'The request body must be a JSON object.'],
    ['[{"flowName":"A"}]', 'The request body must be a JSON object.'],
    ['{}', "The field 'flowName' is required and must be a non-empty string."],
    ['{"flowName":""}', "The field 'flowName' is required and must be a non-empty string."],
    ['{"flowName":null}', "The field 'flowName' is required and must be a non-empty string."],
    ['{"flowName":["A"]}', "The field 'flowName' is required and must be a non-empty string."],
    ['{"flowName":"A","message":null}', "The field 'message' must be a string."],
    ['{"flowName":"A","message":5}', "The field 'message' must be a string."],
    ['{"flowName":"A","message":{"toString":"x"}}', "The field 'message' must be a string."],
    ['{"flowName":"A","config":null}', "The field 'config' must be an object."],
    ['{"flowName":"A","config":[]}', "The field 'config' must be an object."],
    ['{"flowName":"A","config":"x"}', "The field 'config' must be an object."],
    ['{"flowName":"A","attachments":null}', "The field 'attachments' must be a list."],
    ['{"flowName":"A","attachments":{"0":{}}}', "The field 'attachments' must be a list."],
  ])('%s is refused', (text, message) => {
    expect(() => readRunBody(text, 64)).toThrow(new Refusal(message))
  })

  test('counts the body itself as the first level', () => {
    const body = (levels: number): string => `{"flowName":"A","config":{"deep":${nested(levels)}}}`
    expect(readRunBody(body(2), 4)).toMatchObject({ flowName: 'A' })
    expect(() => readRunBody(body(3), 4)).toThrow(
      new Refusal('The request body is nested deeper than 4 levels (maxJsonDepth).', 422),
    )
  })

  test.each([
    ['as the body', nested(50_000)],
    ['in a field that nobody reads', `{"flowName":"A","extra":${nested(50_000)}}`],
    ['in config', `{"flowName":"A","config":{"deep":${nested(50_000)}}}`],
  ])('50 000 nested arrays are refused without a stack overflow: %s', (_name, text) => {
    expect(() => readRunBody(text, 64)).toThrow(
      new Refusal('The request body is nested deeper than 64 levels (maxJsonDepth).', 422),
    )
  })

  test('a limit of Infinity lets any depth through', () => {
    expect(readRunBody(`{"flowName":"A","extra":${nested(1_000)}}`, Number.POSITIVE_INFINITY)).toMatchObject({
      flowName: 'A',
    })
  })
})

describe('checkEmptyBody', () => {
  test.each([[''], ['{}'], [' { } ']])('takes %j', (text) => {
    expect(() => checkEmptyBody(text, 64)).not.toThrow()
  })

  test.each([
    ['{"session":"x"}', 'This route takes no request body. The session ID travels in the CHAT_SESSION_ID header.'],
    ['[]', 'The request body must be a JSON object.'],
    ['null', 'The request body must be a JSON object.'],
    ['x', 'The request body is not valid JSON.'],
  ])('refuses %j', (text, message) => {
    expect(() => checkEmptyBody(text, 64)).toThrow(new Refusal(message))
  })
})

describe('whatever Content-Length says', () => {
  test('a body is cut at the limit while it is read', async () => {
    const { stream, pulled } = streamOf(Array.from({ length: 1_000 }, () => bytesOf('01234')))
    const refusal = { message: tooLarge, preciseStatus: 413, unreadBody: expect.any(ReadableStreamDefaultReader) }
    await expect(createBodyReader(10)(post(stream, { 'Content-Length': '4' }))).rejects.toMatchObject(refusal)
    expect(pulled()).toBe(3)
  })
})

describe('the time for a body', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('counts for the whole body, however often a byte comes', async () => {
    let push = (_bytes: Uint8Array): void => {}
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        push = (bytes) => controller.enqueue(bytes)
      },
    })
    const reading = createBodyReader(10, 30_000)(post(stream)).catch((error: unknown) => error)
    for (let second = 0; second < 29; second += 10) {
      push(bytesOf(' '))
      await vi.advanceTimersByTimeAsync(10_000)
    }
    expect(await reading).toMatchObject({
      message: 'The request body took longer than 30000 ms (bodyTimeoutMs).',
      preciseStatus: 408,
      unreadBody: expect.any(ReadableStreamDefaultReader),
    })
  })

  test('is over: the refusal reads what still comes', async () => {
    let body: ReadableStreamDefaultController<Uint8Array> | undefined
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        body = controller
      },
    })
    const reading = createBodyReader(10, 30_000)(post(stream)).catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(30_000)
    const { unreadBody } = (await reading) as Refusal
    // This read began before the time was over.
    body?.enqueue(bytesOf('a'))
    await vi.advanceTimersByTimeAsync(0)
    body?.enqueue(bytesOf('b'))
    body?.close()
    expect(await (unreadBody as ReadableStreamDefaultReader).read()).toEqual({ done: false, value: bytesOf('b') })
  })

  test('leaves no timer behind, however the body ends', async () => {
    await createBodyReader(10, 30_000)(post('0123'))
    await expect(createBodyReader(3, 30_000)(post('0123'))).rejects.toMatchObject({ preciseStatus: 413 })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is unlimited with Infinity', async () => {
    void createBodyReader(10, Number.POSITIVE_INFINITY)(post(new ReadableStream()))
    await vi.advanceTimersByTimeAsync(0)
    expect(vi.getTimerCount()).toBe(0)
  })
})
