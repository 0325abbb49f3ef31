// Providers that stall, never end, lie or break while they stream: the turn ends within its deadline with a named
// error, the lock is free, and nothing is left running.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, gate, harness, never } from '../../../testing/contract/engine-harness.js'
import {
  delta,
  finish,
  modelStep,
  modelsOf,
  type Play,
  pieces,
  readAll,
  shortly,
  streaming,
  watched,
} from '../../../testing/contract/stream-harness.js'
import { flowOf } from '../../../testing/contract/test-flows.js'
import { systemClock } from '../../config/clock.js'
import { FlowEngine, type FlowStreamEvent, type ModelRequest, type ModelStreamPart } from '../../index.js'

afterEach(expectNothingLeft)

const limits = { turnTimeoutMs: 10_000, modelTimeoutMs: 4_000 }

/** A second turn over `play`, and what became of it. */
async function secondTurn(play: Play) {
  const provider = streaming((request, call) => (call === 1 ? pieces(finish('Hello.')) : play(request, call - 1)))
  const made = harness({ flows: [flowOf(modelStep())], providers: [provider], limits, random: () => 0 })
  const { engine, clock, document } = made
  const [opened] = await readAll(engine.stream({ flowName: 'Test', userMessage: 'Hi' }))
  const sessionId = (opened as { session: string }).session
  const startedAt = clock.now()
  const events = await clock.runUntil(readAll(engine.stream({ flowName: 'Test', userMessage: 'go on', sessionId })))
  expect([engine.getFlowSession().locked, clock.pending]).toEqual([0, 0])
  const { runStatus, history } = await document(sessionId)
  return { ...made, events, sessionId, took: clock.now() - startedAt, runStatus, turns: history.length }
}

async function* stalling(...parts: readonly ModelStreamPart[]): AsyncGenerator<ModelStreamPart> {
  yield* parts
  await never()
}

describe('a provider', () => {
  test('that stalls for ever is asked again while there is time, and then the turn is over', async () => {
    const streams: ReturnType<typeof watched>[] = []
    const signals: AbortSignal[] = []
    const { events, took, runStatus, turns } = await secondTurn(({ signal }) => {
      signals.push(signal)
      const seen = watched(stalling(delta('Hel')))
      streams.push(seen)
      return seen
    })
    expect(shortly(events)).toEqual(['session', '"Hel"', 'reset retry', '"Hel"', 'error TURN_TIMEOUT'])
    expect(events.at(-1)).toMatchObject({ response: { success: false, completed: true } })
    expect(took).toBe(10_000)
    expect([runStatus, turns]).toEqual(['aborted', 1])
    expect(streams.map(({ closes }) => closes)).toEqual([1, 1])
    expect(signals.map(({ aborted, reason }) => aborted && reason)).toMatchObject([
      { message: 'It did not answer within the limit modelTimeoutMs (4000 ms).' },
      { code: 'TURN_TIMEOUT' },
    ])
  })

  test('that stalls before its first piece, and ignores its signal and return()', async () => {
    const { events, took } = await secondTurn(() => ({
      [Symbol.asyncIterator]: () => ({ next: () => never(), return: () => never() }),
    }))
    expect(shortly(events)).toEqual(['session', 'error TURN_TIMEOUT'])
    expect(took).toBe(10_000)
  })

  test('that streams for ever is cut at the deadline of the turn', async () => {
    let clock: { setTimer(callback: () => void, ms: number): () => void } | undefined
    const seen = watched(
      (async function* () {
        for (;;) {
          yield delta('x')
          await new Promise<void>((resolve) => clock?.setTimer(resolve, 100))
        }
      })(),
    )
    const made = harness({ flows: [flowOf(modelStep())], providers: [streaming(() => seen)], limits })
    clock = made.clock
    const events = await made.clock.runUntil(readAll(made.engine.stream({ flowName: 'Test', userMessage: 'Hi' })))
    expect(shortly(events.slice(2))).toEqual([...Array(100).fill('"x"'), 'error TURN_TIMEOUT'])
    expect([seen.pulls, seen.closes]).toEqual([101, 1])
    // Its own wait, the last one.
    await made.clock.advance(100)
    expect(seen.pulls).toBe(101)
  })

  test('that streams for ever without waiting is cut at what a session can hold', async () => {
    const { events, runStatus } = await secondTurn(async function* () {
      const text = 'x'.repeat(1024 * 1024)
      for (;;) yield delta(text)
    })
    expect(events.map(({ type }) => type)).toEqual([
      'session',
      'text-delta',
      'text-delta',
      'text-delta',
      'text-delta',
      'error',
    ])
    expect(events.at(-1)).toMatchObject({ error: { code: 'LIMIT_EXCEEDED', limit: 'maxSessionBytes' } })
    // The answer was too long, and the session is as it was before: it goes on.
    expect(runStatus).toBe('running')
  })

  const broken = new Error('Broken.')
  const garbage = 'It streamed a piece that is not a text, a reasoning or an end.'
  test.each<[string, Play, string]>([
    [
      'that throws',
      () => {
        throw broken
      },
      '',
    ],
    [
      'that breaks in the middle',
      async function* () {
        yield delta('Hel')
        throw broken
      },
      '',
    ],
    [
      'whose next() throws',
      () => ({
        [Symbol.asyncIterator]: () => ({
          next: () => {
            throw broken
          },
        }),
      }),
      '',
    ],
    ['that streams null', () => pieces(null), garbage],
    ['that streams what is unknown', () => pieces(delta('Hel'), { type: 'image' }), garbage],
    [
      'that streams a text that is not a string',
      () => pieces({ type: 'text-delta', text: { toString: () => 'x' } }),
      garbage,
    ],
    ['that ends without its answer', () => pieces({ type: 'finish' }), 'It answered without a list of parts.'],
    [
      'that ends with a part that is malformed',
      () => pieces({ type: 'finish', response: { parts: [null] } }),
      'It answered with a part that is not a text, a reasoning or a tool call.',
    ],
    ['that is not a stream', () => 5 as never, ''],
  ])('%s: MODEL_ERROR, at once, and the session is aborted', async (_name, play, detail) => {
    const { events, took, runStatus } = await secondTurn(play)
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'MODEL_ERROR' } })
    expect((events.at(-1) as { response: { message: string } }).response.message).toBe(
      `Model 'scripted' of provider 'scripted' failed.${detail === '' ? '' : ` ${detail}`}`,
    )
    expect(
      events
        .filter(({ type }) => type === 'text-delta')
        .every((event) => 'text' in event && typeof event.text === 'string'),
    ).toBe(true)
    expect([took, runStatus]).toEqual([0, 'aborted'])
  })

  test('whose return() throws, when the turn is aborted: the lock is free all the same', async () => {
    const { events, took } = await secondTurn(() => ({
      [Symbol.asyncIterator]: () => ({
        next: () => never(),
        return: () => {
          throw broken
        },
      }),
    }))
    expect(shortly(events)).toEqual(['session', 'error TURN_TIMEOUT'])
    expect(took).toBe(10_000)
  })

  test('that goes on after it was aborted is ignored', async () => {
    const late = gate()
    const { engine, clock, events, stored, sessionId } = await secondTurn(async function* () {
      yield delta('One')
      await late.opened
      yield delta('late')
      yield finish('late')
    })
    const before = await stored(sessionId)
    const told = events.length
    late.open()
    await clock.settle()
    expect([events.length, await stored(sessionId), engine.getFlowSession().locked]).toEqual([told, before, 0])
  })
})

describe('on the clock of the machine', () => {
  test('neither a timer nor a socket is left after a turn that was aborted, and after one that was not', async () => {
    const requests: ModelRequest[] = []
    let calls = 0
    const provider = modelsOf({
      generate: () => never(),
      stream: (request) => {
        requests.push(request)
        return ++calls === 1 ? pieces(delta('Hello.'), finish('Hello.')) : stalling(delta('Hel'))
      },
    })
    const engine = new FlowEngine({ flows: [flowOf(modelStep())], providers: [provider], clock: systemClock })
    const { process } = globalThis as unknown as { process: { getActiveResourcesInfo(): string[] } }
    const resources = (): string[] => process.getActiveResourcesInfo().filter((name) => /Timeout|TCP/.test(name))
    const before = resources()
    expect(shortly(await readAll(engine.stream({ flowName: 'Test', userMessage: 'Hi' }))).at(-1)).toBe('result Hello.')
    expect(resources()).toEqual(before)
    const seen: FlowStreamEvent[] = []
    for await (const event of engine.stream({ flowName: 'Test', userMessage: 'Hi' })) {
      seen.push(event)
      if (event.type === 'text-delta') break
    }
    expect(resources()).toEqual(before)
    expect(requests[1]?.signal.aborted).toBe(true)
  })
})
