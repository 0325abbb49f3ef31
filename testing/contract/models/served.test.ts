// The suite over real sockets, which shows that no connection stays open.
import { describe, expect, test } from 'vitest'
import { modelProviderSuite } from '../../suites/index.js'
import { generateFrom, modelOf, request, streamFrom } from './asking.js'
import { leftOut } from './left-out.js'
import { servedSubject } from './served-subject.js'
import { formats } from './wire/formats.js'
import { chunkings } from './wire/server-sent-events.js'
import { wireAnswer } from './wire/wire-answer.js'
import { canary } from './wire-subject.js'

describe.each(formats)('$name over sockets', (format) => {
  modelProviderSuite(test, (answers) => servedSubject(format, answers), {
    secret: canary,
    leaveOut: leftOut[format.name] ?? {},
  })

  test('no server: a call fails with a stream and without, and may be tried again', async () => {
    const subject = await servedSubject(format, [])
    await subject.close()
    const refused = { name: 'AI_APICallError', isRetryable: true, message: /^Cannot connect to API/ }
    for (const { failure } of [await generateFrom(subject), await streamFrom(subject)]) {
      expect(failure).toMatchObject({ ...refused, message: expect.stringMatching(refused.message) })
    }
  })

  test('a connection that breaks in the middle of an answer: both ways fail, and may be tried again', async () => {
    const reply = { text: 'It is on its way.' }
    const events = format.events(reply)
    const chunks = chunkings.eventByEvent(events)
    for (const count of [0, 1, Math.floor(chunks.length / 2)]) {
      const subject = await servedSubject(format, [], (isStream) => {
        const answer = wireAnswer(format, reply, isStream)
        const [whole = new Uint8Array()] = answer?.chunks ?? []
        const sent = isStream ? chunks.slice(0, count) : [whole.slice(0, count)]
        return { status: 200, headers: answer?.headers ?? {}, chunks: sent, ending: 'cut' }
      })
      for (const ask of [generateFrom, streamFrom]) {
        const { response, failure } = await ask(subject)
        expect([count, response, failure?.isRetryable]).toEqual([count, undefined, true])
      }
      await subject.close()
    }
  })

  test('streams that are read to their end share a connection', async () => {
    const subject = await servedSubject(format, Array(5).fill({ text: 'It is on its way.' }))
    for (let count = 0; count < 5; count++) {
      expect((await streamFrom(subject)).response).toMatchObject({ finishReason: 'stop' })
    }
    expect(subject.connections()).toBeLessThan(5)
    await subject.close()
  })

  test('a slow reader holds back the server', async () => {
    const events = format.events({ text: 'It is on its way.' })
    const second = events.findIndex((event) => event.includes('" on i"'))
    const long = events[second]?.replace('" on i"', JSON.stringify('x'.repeat(64 * 1024))) ?? ''
    const chunks = chunkings.eventByEvent([...events.slice(0, second), ...Array<string>(400).fill(long)])
    const headers = { 'content-type': 'text/event-stream' }
    const subject = await servedSubject(format, [], () => ({ status: 200, headers, chunks, ending: 'stall' }))
    const stream = modelOf(subject).stream?.(request())[Symbol.asyncIterator]()
    await stream?.next()
    for (let round = 0; round < 200; round++) await new Promise((resolve) => setImmediate(resolve))
    expect(subject.waiting()).toBeGreaterThan(0)
    await stream?.return?.()
    await subject.close()
  })
})
