// What a provider throws may hold keys, hosts and headers. None of it may get anywhere but into the cause.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { type Act, chatOn, hello, modelHarness } from '../../../testing/contract/model-harness.js'

afterEach(expectNothingLeft)

const canary = 'canary-7f3a91'

const thrown = (): Error =>
  Object.assign(new Error(`Key ${canary} was refused.`, { cause: new Error(canary) }), {
    name: canary,
    code: canary,
    statusCode: 429,
    url: `https://${canary}@models.example/`,
    requestBodyValues: { key: canary },
    responseHeaders: { 'x-key': canary, 'retry-after-ms': '5' },
  })

const acts: readonly [string, Act][] = [
  ['rejects', () => Promise.reject(thrown())],
  [
    'throws at once',
    () => {
      throw thrown()
    },
  ],
  ['rejects with a text', () => Promise.reject(canary)],
  ['rejects with a number of its own status', () => Promise.reject({ status: 400, message: canary })],
  ['answers with an error', () => ({ parts: [], finishReason: 'error', error: canary })],
  ['answers with a malformed part', () => ({ parts: [{ type: canary, text: canary }] })],
]

describe('a canary', () => {
  test.each(acts)('in what a provider says is in no reply, document, event or log: it %s', async (_name, act) => {
    const lines: unknown[] = []
    const log = (...line: unknown[]): void => void lines.push(line)
    const { engine, clock, events, store, document } = modelHarness(
      { 'own/small': [act, act, act], 'other/large': [act, act, act] },
      {
        flows: [chatOn('own/small', 'other/large')],
        logger: { debug: log, info: log, warn: log, error: log },
        onListenerError: log,
        circuitBreaker: { failureThreshold: 2 },
      },
    )
    const { response, error } = await clock.runUntil(engine.execute(hello))
    expect(error?.code).toBe('MODEL_ERROR')
    const seen = [response, error?.message, events, lines, store.journal, await document(response.session)]
    expect(JSON.stringify(seen)).not.toContain(canary)
    expect(events.length).toBeGreaterThan(5)
  })
})
