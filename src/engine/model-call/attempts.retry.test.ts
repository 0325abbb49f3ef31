// A call that fails with a transient error: repeated, after how long, how often, and what of the turn happens twice.
import { afterEach, describe, expect, test, vi } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import {
  type Act,
  Chat,
  calls,
  chatOf,
  fails,
  hello,
  modelHarness,
  says,
  silent,
  status,
  Talk,
  toolThat,
} from '../../../testing/contract/model-harness.js'
import { Deadlines } from '../../config/deadlines.js'
import { type FlowEngineOptions, ModelError, type ModelProviderAdapter, retry, type Turn } from '../../index.js'

afterEach(expectNothingLeft)

const almostOne = (): number => 0.999_999

/** What each attempt of one turn was asked, in short, and how the turn ended. */
async function attemptsOf(acts: readonly Act[], options: FlowEngineOptions = {}): Promise<[string[], string]> {
  const { engine, clock, calls: made } = modelHarness({ 'own/small': acts }, { flows: [Chat], ...options })
  const { message } = await clock.runUntil(engine.run(hello))
  return [made(), message]
}

describe('a transient failure', () => {
  test.each<[string, Act]>([
    ['408', status(408)],
    ['409', status(409)],
    ['429', status(429)],
    ['500', status(500)],
    ['529', status(529)],
    ['no connection', fails(new TypeError('fetch failed'))],
    [
      'thrown at once, without a promise',
      () => {
        throw Object.assign(new Error('no'), { statusCode: 503 })
      },
    ],
  ])('is tried again: %s', async (_name, act) => {
    expect(await attemptsOf([act, 'Hi.'])).toEqual([['own/small 1.1 at 0', 'own/small 1.2 at 0'], 'Hi.'])
  })

  test('is tried three times in all, and then the turn fails with what was thrown last as the cause', async () => {
    const last = Object.assign(new Error('the last'), { statusCode: 503 })
    const {
      engine,
      clock,
      calls: made,
      document,
    } = modelHarness({ 'own/small': [status(500), status(429), fails(last)] }, { flows: [Chat] })
    const { response, error } = await clock.runUntil(engine.execute(hello))
    expect(made()).toHaveLength(3)
    expect(response.message).toBe("Model 'small' of provider 'own' failed.")
    expect([error?.code, error?.cause]).toEqual(['MODEL_ERROR', last])
    const stored = await document(response.session)
    expect([stored.runStatus, stored.usage.modelCalls]).toEqual(['aborted', 3])
  })

  test('is tried once with maxAttempts: 1', async () => {
    const [made, message] = await attemptsOf([status(500)], { modelRetry: { maxAttempts: 1 } })
    expect([made.length, message]).toEqual([1, "Model 'small' of provider 'own' failed."])
  })

  test('is a silence longer than modelTimeoutMs, which aborts the attempt and says so at the end', async () => {
    const signals: AbortSignal[] = []
    const stalls: Act = ({ signal }) => {
      signals.push(signal)
      return new Promise(() => undefined)
    }
    const [made, message] = await attemptsOf([stalls, stalls], {
      limits: { modelTimeoutMs: 1_000 },
      modelRetry: { maxAttempts: 2 },
    })
    expect(made).toEqual(['own/small 1.1 at 0', 'own/small 1.2 at 1000'])
    expect(message).toBe(
      "Model 'small' of provider 'own' failed. It did not answer within the limit modelTimeoutMs (1000 ms).",
    )
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
  })

  test("is a silence longer than the step's own modelTimeoutMs, where it has one", async () => {
    const set = vi.spyOn(Deadlines.prototype, 'set')
    class Quick extends Talk {
      override readonly modelTimeoutMs = 300
    }
    const [made, message] = await attemptsOf([silent, silent], {
      flows: [chatOf(Quick)],
      limits: { modelTimeoutMs: 1_000 },
      modelRetry: { maxAttempts: 2 },
    })
    expect(made).toEqual(['own/small 1.1 at 0', 'own/small 1.2 at 300'])
    expect(message).toBe(
      "Model 'small' of provider 'own' failed. It did not answer within the limit modelTimeoutMs of step 'Talk' (300 ms).",
    )
    // The engine keeps no list of deadlines for it.
    const isOwn = set.mock.calls.filter(([ms]) => ms === 300).map(([, , own]) => own)
    set.mockRestore()
    expect(isOwn).toEqual([true, true])
  })
})

describe('a failure that does not pass', () => {
  test.each<[string, Act]>([
    ...[400, 401, 403, 404, 422].map((code): [string, Act] => [String(code), status(code)]),
    ['a mistake in the provider', () => (undefined as never as { generate(): unknown }).generate()],
    ['an answer without parts', () => ({})],
    ['no answer', () => undefined],
    ['an answer that is an error', () => ({ parts: [], finishReason: 'error' })],
    ['a refusal', () => ({ parts: [], finishReason: 'content-filter' })],
    ['null', fails(null)],
    ['a text', fails('fetch failed')],
    ["a ModelError of the provider's own", fails(new ModelError({ provider: 'own', model: 'small', detail: 'No.' }))],
  ])('fails the turn at once: %s', async (_name, act) => {
    const { engine, clock, asked, events } = modelHarness({ 'own/small': [act] }, { flows: [Chat] })
    const { response } = await engine.execute(hello)
    expect([response.success, asked.length, clock.pending]).toEqual([false, 1, 0])
    expect(events.map(([name]) => name)).not.toContain('model:retry')
  })
})

describe('the delay before an attempt', () => {
  test('is a random part of 500 ms, and of twice as long each time', async () => {
    const [made] = await attemptsOf([status(500), status(500), status(500), status(500), 'Hi.'], {
      random: almostOne,
      modelRetry: { maxAttempts: 5 },
    })
    expect(made).toEqual([
      'own/small 1.1 at 0',
      'own/small 1.2 at 499',
      'own/small 1.3 at 1498',
      'own/small 1.4 at 3497',
      'own/small 1.5 at 7496',
    ])
  })

  test('is never longer than maxDelayMs', async () => {
    const [made] = await attemptsOf([status(500), status(500), status(500), 'Hi.'], {
      random: () => 0.5,
      modelRetry: { maxAttempts: 4, baseDelayMs: 1_000, maxDelayMs: 3_000 },
    })
    expect(made).toEqual([
      'own/small 1.1 at 0',
      'own/small 1.2 at 500',
      'own/small 1.3 at 1500',
      'own/small 1.4 at 3000',
    ])
  })

  test.each([Number.NaN, -1, Number.NEGATIVE_INFINITY])('is none where random gives %s', async (value) => {
    const [made] = await attemptsOf([status(500), 'Hi.'], { random: () => value })
    expect(made).toEqual(['own/small 1.1 at 0', 'own/small 1.2 at 0'])
  })

  test.each<[string, Readonly<Record<string, string>>, string]>([
    ['seconds', { 'retry-after': '20' }, 'own/small 1.2 at 20000'],
    ['a date', { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, 'own/small 1.2 at 30000'],
    ['milliseconds', { 'retry-after-ms': '700' }, 'own/small 1.2 at 700'],
    ['less than the random part', { 'retry-after-ms': '100' }, 'own/small 1.2 at 499'],
    ['garbage', { 'retry-after': 'soon' }, 'own/small 1.2 at 499'],
    ['a negative number', { 'retry-after': '-20' }, 'own/small 1.2 at 499'],
  ])('is at least what Retry-After says: %s', async (_name, headers, second) => {
    const [made] = await attemptsOf([status(429, headers), 'Hi.'], { random: almostOne })
    expect(made).toEqual(['own/small 1.1 at 0', second])
  })

  test.each(['120', '86400', '9'.repeat(400)])(
    'is none where it would end after the turn: Retry-After %s',
    async (after) => {
      const {
        engine,
        clock,
        calls: made,
      } = modelHarness({ 'own/small': [status(429, { 'retry-after': after })] }, { flows: [Chat] })
      const { response } = await engine.execute(hello)
      expect(response.message).toBe("Model 'small' of provider 'own' failed.")
      expect([made().length, clock.pending]).toEqual([1, 0])
    },
  )
})

describe('what happens once, whatever is tried again', () => {
  test('hooks, tools and prompts; each attempt asks the same', async () => {
    const journal: string[] = []
    class Working extends Talk {
      override prompt(turn: Turn) {
        journal.push('prompt')
        return `Turn ${turn.number}`
      }
      override tools() {
        journal.push('tools')
        return [toolThat('book', () => journal.push('booked'))]
      }
      override onReply(text: string) {
        journal.push('onReply')
        return text
      }
    }
    const acts = [status(500), calls('book'), status(503), status(503), 'Booked.']
    const {
      engine,
      clock,
      asked,
      calls: made,
      document,
    } = modelHarness({ 'own/small': acts }, { flows: [chatOf(Working)] })
    const { message, session } = await clock.runUntil(engine.run(hello))
    expect(message).toBe('Booked.')
    expect(journal).toEqual(['tools', 'prompt', 'booked', 'tools', 'prompt', 'onReply'])
    expect(made()).toEqual([
      'own/small 1.1 at 0',
      'own/small 1.2 at 0',
      'own/small 2.1 at 0',
      'own/small 2.2 at 0',
      'own/small 2.3 at 0',
    ])
    for (const [one, other] of [
      [0, 1],
      [2, 3],
      [3, 4],
    ] as const) {
      const [before, after] = [asked[one]?.request, asked[other]?.request]
      expect(after?.messages).toBe(before?.messages)
      expect([after?.system, after?.tools, after?.params]).toEqual([before?.system, before?.tools, before?.params])
    }
    const { usage, history, flow } = await document(session)
    expect([usage.modelCalls, history.length, flow.memory.Talk?.messages.length]).toEqual([5, 1, 4])
  })

  test('maxModelCallsPerTurn counts calls, not attempts', async () => {
    const [made, message] = await attemptsOf([status(500), status(500), 'Hi.'], { limits: { maxModelCallsPerTurn: 1 } })
    expect([made.length, message]).toEqual([3, 'Hi.'])
  })

  test('a reply that onReply does not want is a new call, with attempts of its own', async () => {
    class Strict extends Talk {
      override onReply(text: string) {
        return text === 'No.' ? retry('Say yes.') : text
      }
    }
    const [made] = await attemptsOf(['No.', status(500), 'Yes.'], { flows: [chatOf(Strict)] })
    expect(made).toEqual(['own/small 1.1 at 0', 'own/small 2.1 at 0', 'own/small 2.2 at 0'])
  })
})

test('each attempt is reported with its number, and counted with what it cost', async () => {
  const { engine, clock, events, document } = modelHarness(
    { 'own/small': [status(500), says('Hi.', { inputTokens: 7, outputTokens: 3 })] },
    { flows: [Chat], random: () => 0.5 },
  )
  const { session } = await clock.runUntil(engine.run(hello))
  const told = events
    .filter(([name]) => name.startsWith('model:'))
    .map(([name, { sessionId: _s, flowName: _f, turnId: _t, at: _a, step: _p, ...rest }]) => [name, rest])
  const of = { provider: 'own', model: 'small', callNumber: 1 }
  expect(told).toEqual([
    ['model:start', { ...of, attempt: 1 }],
    [
      'model:end',
      { ...of, attempt: 1, durationMs: 0, success: false, inputTokens: 0, outputTokens: 0, code: 'MODEL_ERROR' },
    ],
    ['model:retry', { ...of, reason: 'failure', delayMs: 250 }],
    ['model:start', { ...of, attempt: 2 }],
    ['model:end', { ...of, attempt: 2, durationMs: 0, success: true, inputTokens: 7, outputTokens: 3 }],
  ])
  expect((await document(session)).usage).toEqual({ inputTokens: 7, outputTokens: 3, modelCalls: 2 })
})

describe('a turn that is aborted', () => {
  test.each<[string, Act]>([
    ['in an attempt', silent],
    ['between two attempts', status(429, { 'retry-after': '60' })],
  ])('by its caller %s leaves no timer, and its session as it was', async (_name, act) => {
    const { engine, clock, asked, store } = modelHarness({ 'own/small': [act] }, { flows: [Chat] })
    const controller = new AbortController()
    const turn = engine.execute({ ...hello, signal: controller.signal })
    await clock.settle()
    expect(asked).toHaveLength(1)
    controller.abort()
    expect((await turn).error?.code).toBe('TURN_ABORTED')
    expect(clock.pending).toBe(0)
    await clock.advance(120_000)
    expect([asked.length, store.journal.length]).toEqual([1, 0])
  })

  test.each(['model:start', 'model:end', 'model:retry'] as const)(
    'by a listener of %s leaves none either',
    async (name) => {
      const { engine, clock, asked } = modelHarness(
        { 'own/small': [status(429, { 'retry-after': '60' })] },
        { flows: [Chat] },
      )
      const controller = new AbortController()
      engine.on(name, () => controller.abort())
      const { error } = await engine.execute({ ...hello, signal: controller.signal })
      expect([error?.code, clock.pending, asked.length]).toEqual(['TURN_ABORTED', 0, name === 'model:start' ? 0 : 1])
    },
  )

  test('at its deadline keeps what the attempt in hand counts', async () => {
    const { engine, clock, document } = modelHarness(
      { 'own/small': [status(500), silent] },
      { flows: [Chat], limits: { turnTimeoutMs: 5_000 } },
    )
    const { response, error } = await clock.runUntil(engine.execute(hello))
    expect(error?.code).toBe('TURN_TIMEOUT')
    const { usage, runStatus } = await document(response.session)
    expect([usage.modelCalls, runStatus]).toEqual([2, 'aborted'])
  })
})

test('an answer that comes after its time counts for nothing', async () => {
  let answer: (response: object) => void = () => undefined
  const late: Act = () =>
    new Promise((resolve) => {
      answer = resolve
    })
  const { engine, clock, document } = modelHarness(
    { 'own/small': [late, 'In time.'] },
    { flows: [Chat], limits: { modelTimeoutMs: 1_000 } },
  )
  const { message, session } = await clock.runUntil(engine.run(hello))
  answer({ parts: [{ type: 'text', text: 'Late.' }], usage: { inputTokens: 1_000, outputTokens: 1_000 } })
  await clock.settle()
  expect(message).toBe('In time.')
  expect((await document(session)).usage).toEqual({ inputTokens: 0, outputTokens: 0, modelCalls: 2 })
})

test('the time of attempts is the clock of the engine, and nothing else', async () => {
  const provider: ModelProviderAdapter = {
    provider: 'own',
    resolve: () => ({ provider: 'own', name: 'small', generate: silent as never }),
  }
  const { engine, clock } = modelHarness({}, { flows: [Chat], providers: [provider], modelRetry: { maxAttempts: 1 } })
  const turn = engine.execute(hello)
  await clock.advance(59_999)
  expect(clock.pending).toBe(2)
  await clock.advance(1)
  expect((await turn).error?.code).toBe('MODEL_ERROR')
})
