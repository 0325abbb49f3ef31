/** A scripted answer that is read piece by piece, and the same answer read at once. */
import { describe, expect, test } from 'vitest'
import type { ModelRequest, ModelStreamPart } from '../../src/index.js'
import { VirtualClock } from '../virtual-clock/virtual-clock.js'
import { type ScriptedAnswer, ScriptedModel, type ScriptedReply } from './scripted-model.js'

const usage = { inputTokens: 3, outputTokens: 2 }

function request(signal = new AbortController().signal, attempt = 1): ModelRequest {
  const origin = { flowName: 'Chat', stepId: 'Talk', sessionId: 'a', turnNumber: 1, callNumber: 1, attempt }
  const tools = [{ name: 'note', description: 'Takes a note.', inputSchema: {} }]
  return { messages: [], tools, params: {}, origin, signal }
}

/** Reads a stream into `pieces`, to its end; a delta as its text, the last part as its response. */
async function read(stream: AsyncIterable<ModelStreamPart>, pieces: unknown[] = []): Promise<unknown[]> {
  for await (const part of stream) {
    if (part.type === 'finish') pieces.push(part.response)
    else pieces.push(part.type === 'text-delta' ? part.text : { thought: part.text })
  }
  return pieces
}

const piecesOf = (reply: ScriptedReply): Promise<unknown[]> => read(new ScriptedModel([reply]).stream(request()))

describe('a streamed answer', () => {
  test('comes word by word, each with the spaces before it, and ends with the whole answer', async () => {
    expect(await piecesOf('What is  your\nname? ')).toEqual([
      'What',
      ' is',
      '  your',
      '\nname? ',
      { parts: [{ type: 'text', text: 'What is  your\nname? ' }] },
    ])
    expect(await piecesOf(' ')).toEqual([' ', { parts: [{ type: 'text', text: ' ' }] }])
    expect(await piecesOf('')).toEqual([{ parts: [{ type: 'text', text: '' }] }])
  })

  test('comes in the chunks of the script', async () => {
    expect(await piecesOf({ chunks: ['Hel', 'lo', ''] })).toEqual([
      'Hel',
      'lo',
      '',
      { parts: [{ type: 'text', text: 'Hello' }] },
    ])
    expect(await piecesOf({ text: 'Hello', chunks: ['Hello'] })).toHaveLength(2)
  })

  test('thinks first, and calls tools after the text', async () => {
    const answer = { reasoning: 'A name.', text: 'Noted.', toolCalls: [{ name: 'note' }], usage }
    expect(await piecesOf(answer)).toEqual([
      { thought: 'A' },
      { thought: ' name.' },
      'Noted.',
      {
        parts: [
          { type: 'reasoning', text: 'A name.' },
          { type: 'text', text: 'Noted.' },
          { type: 'tool-call', toolCallId: 'call-1', toolName: 'note', input: {} },
        ],
        usage,
      },
    ])
  })

  test('may be a refusal, or have another reason to end', async () => {
    expect(await piecesOf({ refusal: 'I cannot.' })).toEqual([
      'I',
      ' cannot.',
      { parts: [{ type: 'text', text: 'I cannot.' }], finishReason: 'content-filter' },
    ])
    expect(await piecesOf({ text: 'Hel', finishReason: 'length' })).toMatchObject(['Hel', { finishReason: 'length' }])
  })

  test.each<ScriptedAnswer>([
    { text: 'Hello there.', usage },
    { chunks: ['Hel', 'lo'], chunkDelayMs: 0 },
    { reasoning: 'Hm.', refusal: 'No.' },
    { toolCalls: [{ name: 'note', input: { text: 'a' } }] },
  ])('is the one that comes at once: %j', async (answer) => {
    const [streamed] = (await piecesOf(answer)).slice(-1)
    expect(await new ScriptedModel([answer]).generate(request())).toEqual(streamed)
  })
})

describe('a stream that does not end well', () => {
  test('is cut after so many pieces, and has no last part', async () => {
    const model = new ScriptedModel([{ text: 'What is your name?', cutAfter: 2 }])
    expect(await read(model.stream(request()))).toEqual(['What', ' is'])
    expect(model.requests[0]).toMatchObject({ streamed: true, outcome: 'cut' })
    model.assertDone()
  })

  test('ends with an error of the script after so many pieces, or before any', async () => {
    const error = new Error('overloaded')
    const pieces: unknown[] = []
    const model = new ScriptedModel([
      { chunks: ['Hel', 'lo'], cutAfter: 1, error },
      error,
      { text: 'Hello', reasoning: 'Hm.', error },
    ])
    await expect(read(model.stream(request()), pieces)).rejects.toBe(error)
    await expect(read(model.stream(request()), pieces)).rejects.toBe(error)
    await expect(read(model.stream(request()), pieces)).rejects.toBe(error)
    expect(pieces).toEqual(['Hel'])
    expect(model.requests.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'failed'])
    model.assertDone()
  })

  test('fails as a broken network does if it is not a stream', async () => {
    const model = new ScriptedModel([{ text: 'Hello there.', cutAfter: 1 }])
    await expect(model.generate(request())).rejects.toMatchObject({ isRetryable: true })
    expect(model.requests[0]?.outcome).toBe('failed')
  })

  test('that its reader leaves is recorded as stopped', async () => {
    const model = new ScriptedModel(['What is your name?'])
    for await (const part of model.stream(request())) {
      expect(part).toEqual({ type: 'text-delta', text: 'What' })
      expect(model.requests[0]?.outcome).toBeUndefined()
      break
    }
    expect(model.requests[0]?.outcome).toBe('stopped')
  })

  test('and a stream that was read to its last part is answered', async () => {
    const model = new ScriptedModel(['Hello.'])
    for await (const part of model.stream(request())) if (part.type === 'finish') break
    expect(model.requests[0]?.outcome).toBe('answered')
  })
})

describe('time', () => {
  test('passes before the first piece, and between two', async () => {
    const clock = new VirtualClock()
    const model = new ScriptedModel([{ chunks: ['a', 'b', 'c'], delayMs: 1000, chunkDelayMs: 100 }], { clock })
    const pieces: unknown[] = []
    const reading = read(model.stream(request()), pieces)
    await clock.advance(999)
    expect(pieces).toEqual([])
    await clock.advance(1)
    expect(pieces).toEqual(['a'])
    await clock.advance(100)
    expect(pieces).toEqual(['a', 'b'])
    await clock.advance(100)
    expect(await reading).toHaveLength(4)
    expect(clock.pending).toBe(0)
  })

  test('is the same if the answer comes at once', async () => {
    const clock = new VirtualClock()
    const start = clock.now()
    const model = new ScriptedModel([{ chunks: ['a', 'b', 'c'], delayMs: 1000, chunkDelayMs: 100 }], { clock })
    await clock.runUntil(model.generate(request()))
    expect(clock.now() - start).toBe(1200)
  })

  test.each([
    [{ stallAfter: 1 }, ['Hel']],
    [{ stallAfter: 2 }, ['Hel', 'lo']],
    [{ delayMs: Number.POSITIVE_INFINITY }, []],
    [{ chunkDelayMs: Number.POSITIVE_INFINITY }, ['Hel']],
    [{ stallAfter: 1, cutAfter: 2 }, ['Hel']],
  ])('stands still for %j, until the signal fires', async (answer, expected) => {
    const clock = new VirtualClock()
    const script = () => ({ chunks: ['Hel', 'lo'], ...answer })
    const model = new ScriptedModel(script, { clock })
    const controller = new AbortController()
    const pieces: unknown[] = []
    const streamed = expect(read(model.stream(request(controller.signal)), pieces)).rejects.toThrow('too late')
    const whole = expect(model.generate(request(controller.signal))).rejects.toThrow('too late')
    await clock.advance(1e9)
    expect(pieces).toEqual(expected)
    controller.abort(new Error('too late'))
    await Promise.all([streamed, whole])
    expect(model.requests.map(({ outcome }) => outcome)).toEqual(['stopped', 'stopped'])
    expect(clock.pending).toBe(0)
  })

  test('and the signal end a stream that nothing else holds up', async () => {
    const controller = new AbortController()
    const model = new ScriptedModel(['What is your name?'])
    const stream = model.stream(request(controller.signal))
    await stream.next()
    controller.abort(new Error('too late'))
    await expect(stream.next()).rejects.toThrow('too late')
    expect(model.requests[0]?.outcome).toBe('stopped')
  })
})

test('a stream and a call use one script', async () => {
  const model = new ScriptedModel(['One.', 'Two.', 'Three.'])
  expect(await read(model.stream(request()))).toContain('One.')
  expect((await model.generate(request())).parts).toEqual([{ type: 'text', text: 'Two.' }])
  expect(await read(model.fork().stream(request()))).toContain('Three.')
})

test('a request is recorded when the stream is requested, with its attempt', () => {
  const model = new ScriptedModel(['One.'])
  model.stream(request(undefined, 2))
  expect(model.requests).toMatchObject([{ streamed: true, origin: { attempt: 2 } }])
})
