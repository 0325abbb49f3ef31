// The breaker of a provider, over all sessions of an engine.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, gate } from '../../../testing/contract/engine-harness.js'
import {
  type Act,
  type Acts,
  Chat,
  chatOn,
  hello,
  type ModelHarness,
  modelHarness,
  silent,
  status,
} from '../../../testing/contract/model-harness.js'
import type { FlowEngineOptions } from '../../index.js'

afterEach(expectNothingLeft)

/** An engine that opens after two failures, for 1 000 ms, and tries nothing again. */
function twice(acts: Acts, options: FlowEngineOptions = {}): ModelHarness {
  return modelHarness(acts, {
    flows: [Chat],
    modelRetry: { maxAttempts: 1 },
    circuitBreaker: { failureThreshold: 2, resetTimeoutMs: 1_000 },
    ...options,
  })
}

/** The events of breakers, in short. */
function circuits({ events, clock }: ModelHarness): string[] {
  const startedAt = Date.UTC(2026, 0, 1)
  expect(clock.now()).toBeGreaterThanOrEqual(startedAt)
  return events
    .filter(([name]) => name.startsWith('circuit:'))
    .map(([name, { provider, at }]) => `${name} ${provider} at ${(at as number) - startedAt}`)
}

/** Says hello in a session of its own, and returns the reply. */
async function say({ engine, clock }: ModelHarness): Promise<string> {
  return (await clock.runUntil(engine.run(hello))).message
}

const failed = "Model 'small' of provider 'own' failed."
const shut = (ms: number): string =>
  `Model 'small' of provider 'own' failed. Its provider failed too often and is not called for another ${ms} ms.`

describe('a provider that failed too often', () => {
  test('is not called for a time, in any session', async () => {
    const made = twice({ 'own/small': [status(500), status(500), 'Hi.'] })
    expect([await say(made), await say(made)]).toEqual([failed, failed])
    expect(await say(made)).toBe(shut(1_000))
    await made.clock.advance(999)
    expect(await say(made)).toBe(shut(1))
    expect(made.asked).toHaveLength(2)
    await made.clock.advance(1)
    expect(await say(made)).toBe('Hi.')
    expect(circuits(made)).toEqual(['circuit:opened own at 0', 'circuit:closed own at 1000'])
  })

  test('is called with the first call after that time, and with no other meanwhile', async () => {
    const { opened, open } = gate()
    const trial: Act = async () => {
      await opened
      return { parts: [{ type: 'text', text: 'I am back.' }] }
    }
    const made = twice({ 'own/small': [status(500), status(500), trial, 'Hi.'] })
    await say(made)
    await say(made)
    await made.clock.advance(1_000)
    const first = made.engine.run(hello)
    await made.clock.settle()
    expect(await say(made)).toBe(shut(1_000))
    open()
    expect((await first).message).toBe('I am back.')
    expect(await say(made)).toBe('Hi.')
  })

  test('is not called again when that call fails, and emits nothing new', async () => {
    const made = twice({ 'own/small': [status(500), status(500), status(500), status(400)] })
    await say(made)
    await say(made)
    await made.clock.advance(1_000)
    expect(await say(made)).toBe(failed)
    expect(await say(made)).toBe(shut(1_000))
    await made.clock.advance(1_000)
    expect(await say(made)).toBe(failed)
    expect(circuits(made)).toEqual(['circuit:opened own at 0', 'circuit:closed own at 2000'])
  })

  test('is tried by another call where the caller of that one went away', async () => {
    const made = twice({ 'own/small': [status(500), status(500), silent, 'Hi.'] })
    await say(made)
    await say(made)
    await made.clock.advance(1_000)
    const controller = new AbortController()
    const trial = made.engine.execute({ ...hello, signal: controller.signal })
    await made.clock.settle()
    controller.abort()
    expect((await trial).error?.code).toBe('TURN_ABORTED')
    expect(await say(made)).toBe(shut(1_000))
    await made.clock.advance(1_000)
    expect(await say(made)).toBe('Hi.')
  })

  test('is passed over by calls that have another', async () => {
    const Two = chatOn('own/small', 'other/large')
    const made = twice(
      { 'own/small': [status(500), status(500)], 'other/large': ['One.', 'Two.', 'Three.'] },
      { flows: [Two] },
    )
    expect([await say(made), await say(made), await say(made)]).toEqual(['One.', 'Two.', 'Three.'])
    expect(made.calls().slice(-1)).toEqual(['other/large 1.1 at 0'])
    expect(made.asked).toHaveLength(5)
  })

  test('does not shut another one', async () => {
    class Other extends chatOn('other/large') {
      static override readonly id = 'Other'
    }
    const made = twice({ 'own/small': [status(500), status(500)], 'other/large': ['Hi.'] }, { flows: [Chat, Other] })
    await say(made)
    await say(made)
    expect((await made.engine.run({ ...hello, flowName: 'Other' })).message).toBe('Hi.')
  })

  test('is not shut in another engine', async () => {
    const [one, other] = [twice({ 'own/small': [status(500), status(500)] }), twice({ 'own/small': ['Hi.'] })]
    await say(one)
    await say(one)
    expect(await say(other)).toBe('Hi.')
  })
})

test('attempts count, and one that would be turned away is not waited for', async () => {
  const made = twice({ 'own/small': [status(500), status(503)] }, { modelRetry: { maxAttempts: 5 }, random: () => 0.5 })
  const { response, error } = await made.clock.runUntil(made.engine.execute(hello))
  expect([response.message, error?.cause]).toEqual([failed, expect.objectContaining({ statusCode: 503 })])
  expect(made.calls()).toEqual(['own/small 1.1 at 0', 'own/small 1.2 at 250'])
  expect(made.clock.now() - Date.UTC(2026, 0, 1)).toBe(250)
})

test('an attempt that comes after the time of the breaker is its trial', async () => {
  const made = twice(
    { 'own/small': [status(500), status(503, { 'retry-after': '2' }), 'Hi.'] },
    { modelRetry: { maxAttempts: 5 } },
  )
  expect(await say(made)).toBe('Hi.')
  expect(circuits(made)).toEqual(['circuit:opened own at 0', 'circuit:closed own at 2000'])
})

test.each<[string, Act]>([
  ['an answer', 'Hi.'],
  ['a refusal', () => ({ parts: [], finishReason: 'content-filter' })],
  ['400', status(400)],
  ['an answer that is malformed', () => ({})],
])('%s between two failures keeps it closed', async (_name, act) => {
  const made = twice({ 'own/small': [status(500), act, status(500), 'Hi.'] })
  await say(made)
  await say(made)
  await say(made)
  expect(await say(made)).toBe('Hi.')
  expect(circuits(made)).toEqual([])
})

test('with a threshold of Infinity none opens', async () => {
  const made = twice(
    { 'own/small': Array.from({ length: 20 }, () => status(500)) },
    { circuitBreaker: { failureThreshold: Number.POSITIVE_INFINITY } },
  )
  for (let count = 0; count < 20; count++) expect(await say(made)).toBe(failed)
})

test('by default ten failures open it, for thirty seconds', async () => {
  const made = modelHarness(
    { 'own/small': [...Array.from({ length: 10 }, () => status(500)), 'Hi.'] },
    { flows: [Chat], modelRetry: { maxAttempts: 1 } },
  )
  for (let count = 0; count < 10; count++) expect(await say(made)).toBe(failed)
  expect(await say(made)).toBe(shut(30_000))
})
