// Attempts over each real package: the requests that are sent if a service fails and recovers,
// and if a fallback answers.
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { FlowEngine, type FlowEngineOptions } from '../../../src/index.js'
import { VirtualClock } from '../../index.js'
import { chatOn, hello } from '../model-harness.js'
import { formats } from './wire/formats.js'
import { wireSubject } from './wire-subject.js'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

const atOnce: FlowEngineOptions = { modelRetry: { baseDelayMs: 0 } }

describe.each(formats.map((format) => [format.name, format] as const))('over %j', (_name, format) => {
  const flows = [chatOn(`${format.name}/${format.model}`)]

  test.each(['server-error', 'overloaded'] as const)('%s is followed by the same request again', async (failure) => {
    const { provider, sent } = wireSubject(server, format, [{ failure }, { text: 'I am back.' }])
    const engine = new FlowEngine({ ...atOnce, flows, providers: [provider] })
    const { message, session } = await engine.run(hello)
    expect([message, sent.length]).toEqual(['I am back.', 2])
    expect(sent[1]?.body).toEqual(sent[0]?.body)
    expect((await engine.getSession(session))?.usage.modelCalls).toBe(2)
    await engine.close()
  })

  test('too many requests is not tried again if the service asks for more time than the turn has', async () => {
    const { provider, sent } = wireSubject(server, format, [{ failure: 'rate-limit' }])
    // The clock stands still: the second that the service asks for is longer than the turn,
    // however slow this machine is.
    const clock = new VirtualClock()
    const engine = new FlowEngine({ clock, flows, providers: [provider], limits: { turnTimeoutMs: 900 } })
    const { error } = await engine.execute(hello)
    expect([error?.code, sent.length]).toEqual(['MODEL_ERROR', 1])
    await engine.close()
  })

  test('an answer that is not valid JSON is not requested again', async () => {
    const { provider, sent } = wireSubject(server, format, [{ failure: 'malformed' }])
    const engine = new FlowEngine({ ...atOnce, flows, providers: [provider] })
    expect([(await engine.execute(hello)).error?.code, sent.length]).toEqual(['MODEL_ERROR', 1])
    await engine.close()
  })
})
