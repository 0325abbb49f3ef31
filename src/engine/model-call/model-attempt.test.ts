// One attempt at a call of a model, without an engine: how long it is waited for, and what is left of it afterwards.
import { afterEach, describe, expect, test, vi } from 'vitest'
import { gate, never } from '../../../testing/contract/engine-harness.js'
import { answer, delta, finish, pieces, type Watched, watched } from '../../../testing/contract/stream-harness.js'
import { VirtualClock } from '../../../testing/index.js'
import { Deadlines } from '../../config/deadlines.js'
import { TurnAbortedError } from '../../errors/engine-errors.js'
import type { ModelRequest, ModelStreamPart, RuntimeModel } from '../../index.js'
import type { EngineContext } from '../core/engine-context.js'
import { resolveLimits } from '../core/engine-limits.js'
import { checkTurnInput } from '../input/check-input.js'
import { TurnStream } from '../stream/turn-stream.js'
import { TurnControl } from '../turn/control/turn-control.js'
import { ModelAttempt } from './model-attempt.js'

const clocks: VirtualClock[] = []

afterEach(() => {
  for (const clock of clocks.splice(0)) expect(clock.pending).toBe(0)
})

interface Setting {
  readonly clock: VirtualClock
  readonly control: TurnControl
  readonly attempt: ModelAttempt
  /** Whom the text goes to; it reads when the test does. */
  readonly stream: TurnStream
  /** What was sent so far, read. */
  read(): Promise<string[]>
}

function setting(limits: { readonly modelTimeoutMs?: number; readonly maxSessionBytes?: number } = {}): Setting {
  const clock = new VirtualClock()
  clocks.push(clock)
  const engine = {
    clock,
    deadlines: new Deadlines(clock),
    limits: resolveLimits(limits),
    generateId: () => 'turn',
  } as unknown as EngineContext
  const stream = new TurnStream(() => never())
  const input = checkTurnInput({ flowName: 'Test', userMessage: 'Hello', sessionId: 'session' }, engine.limits)
  const control = new TurnControl(engine, input, 'Test', 'session', { stream })
  const origin = { flowName: 'Test', stepId: 'Talk', sessionId: 'session', turnNumber: 1, callNumber: 1, attempt: 1 }
  const question = {
    stepId: 'Talk',
    models: [],
    streams: true,
    system: 'Be kind.',
    messages: [],
    tools: [],
    output: undefined,
  }
  const attempt = new ModelAttempt(control, question, { temperature: 0 }, origin)
  return {
    clock,
    control,
    attempt,
    stream,
    async read() {
      const texts: string[] = []
      for (;;) {
        const read = await Promise.race([stream.next(), clock.settle()])
        if (read === undefined || read.done === true) return texts
        texts.push((read.value as { text: string }).text)
      }
    },
  }
}

function modelOf(stream: (request: ModelRequest) => unknown): Required<RuntimeModel> {
  return { provider: 'scripted', name: 'scripted', generate: () => never(), stream: stream as never }
}

function over(parts: AsyncIterable<ModelStreamPart>): {
  readonly model: Required<RuntimeModel>
  readonly seen: Watched
} {
  const seen = watched(parts)
  return { model: modelOf(() => seen), seen }
}

async function* endless(wait: () => Promise<unknown>): AsyncGenerator<ModelStreamPart> {
  for (;;) {
    yield delta('x')
    await wait()
  }
}

/** What it rejects with. Listens at once. */
function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}

const aborted = new TurnAbortedError({ cause: 'bored' })

describe('a stream', () => {
  test('gives its answer; its text went to the reader, its thoughts did not; it was closed', async () => {
    const { attempt, stream, read } = setting()
    const thought = { type: 'reasoning-delta', text: 'Hm.' } as const
    const { model, seen } = over(pieces(delta('Hel'), thought, delta('lo.'), finish('Hello.'), delta('late')))
    expect(await attempt.stream(model, stream)).toEqual(answer('Hello.'))
    expect(await read()).toEqual(['Hel', 'lo.'])
    expect([seen.pulls, seen.closes]).toEqual([4, 1])
    expect(attempt.signal.aborted).toBe(false)
  })

  test('is not asked for more than the reader lets in', async () => {
    const { clock, attempt, stream, control } = setting()
    const { model, seen } = over(endless(async () => undefined))
    const failed = failureOf(attempt.stream(model, stream))
    await clock.settle()
    expect(seen.pulls).toBe(16)
    // The one that waits is read, and one more comes in.
    void stream.next()
    await clock.settle()
    expect(seen.pulls).toBe(17)
    control.work.abort(aborted)
    expect(seen.closes).toBe(1)
    // Nobody asks for more afterwards.
    void stream.next()
    expect(await failed).toBe(aborted)
    expect(seen.pulls).toBe(17)
  })

  const cut = 'The stream of its answer ended before it was finished.'
  const garbage = 'It streamed a piece that is not a text, a reasoning or an end.'
  test.each<[string, unknown, { message: string; isRetryable: boolean }]>([
    ['ends without an answer', [delta('Hel')], { message: cut, isRetryable: true }],
    ['is empty', [], { message: cut, isRetryable: true }],
    ['holds null', [delta('Hel'), null], { message: garbage, isRetryable: false }],
    ['holds undefined', [undefined], { message: garbage, isRetryable: false }],
    ['holds a text', ['Hello.'], { message: garbage, isRetryable: false }],
    ['holds a piece of an unknown type', [{ type: 'tool-call' }], { message: garbage, isRetryable: false }],
    ['holds a text that is a number', [{ type: 'text-delta', text: 5 }], { message: garbage, isRetryable: false }],
    ['holds a text that is missing', [{ type: 'text-delta' }], { message: garbage, isRetryable: false }],
  ])('that %s fails, is closed, and its signal fires', async (_name, parts, expected) => {
    const { attempt, stream } = setting()
    const { signal } = attempt
    const { model, seen } = over(pieces(...(parts as unknown[])))
    const failure = await attempt.stream(model, stream).catch((error: unknown) => error)
    expect(failure).toMatchObject(expected)
    expect([seen.closes, signal.aborted, signal.reason]).toEqual([1, true, failure])
  })

  test.each<[string, (request: ModelRequest) => unknown]>([
    [
      'throws where it is asked for',
      () => {
        throw new Error('Broken.')
      },
    ],
    ['is undefined', () => undefined],
    ['is a promise of one', async () => pieces(finish('Hello.'))],
    ['has an iterator that is undefined', () => ({ [Symbol.asyncIterator]: () => undefined })],
    ['has an iterator without next()', () => ({ [Symbol.asyncIterator]: () => ({}) })],
    [
      'throws at next()',
      () => ({
        [Symbol.asyncIterator]: () => ({
          next() {
            throw new Error('Broken.')
          },
        }),
      }),
    ],
    [
      'rejects at next()',
      () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('Broken.')) }) }),
    ],
    ['gives no result', () => ({ [Symbol.asyncIterator]: () => ({ next: async () => undefined }) })],
    [
      'throws after a while',
      async function* () {
        yield delta('Hel')
        throw new Error('Broken.')
      },
    ],
  ])('that %s fails', async (_name, play) => {
    const { attempt, stream } = setting()
    await expect(attempt.stream(modelOf(play), stream)).rejects.toBeInstanceOf(Error)
  })

  test('that throws when it goes on for a reader that was slow fails as well', async () => {
    const { clock, attempt, stream, read } = setting()
    let pulls = 0
    const iterator = {
      next() {
        if (++pulls > 16) throw new Error('Broken.')
        return Promise.resolve({ done: false, value: delta('x') })
      },
    }
    const model = modelOf(() => ({ [Symbol.asyncIterator]: () => iterator }))
    const failed = failureOf(attempt.stream(model, stream))
    await clock.settle()
    await read()
    expect(await failed).toMatchObject({ message: 'Broken.' })
  })

  test.each<[string, unknown]>([
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
    ['never settles', () => never()],
    ['gives nothing', () => undefined],
    ['gives an object', () => ({})],
    ['is missing', undefined],
    ['is not a function', 5],
  ])('whose return() %s ends all the same', async (_name, close) => {
    for (const isAborted of [false, true]) {
      const { clock, control, attempt, stream } = setting()
      const reasons: unknown[] = []
      attempt.signal.addEventListener('abort', () => reasons.push(attempt.signal.reason))
      const next = isAborted ? () => never() : async () => ({ done: false, value: finish('Hello.') })
      const running = attempt.stream(
        modelOf(() => ({ [Symbol.asyncIterator]: () => ({ next, return: close }) })),
        stream,
      )
      if (!isAborted) expect(await running).toEqual(answer('Hello.'))
      else {
        control.work.abort(aborted)
        expect(reasons).toEqual([aborted])
      }
      await clock.settle()
    }
  })

  test('longer than any session is refused while it is read, not at its end', async () => {
    const { attempt, stream } = setting({ maxSessionBytes: 100 })
    const { model, seen } = over(pieces(delta('x'.repeat(100)), delta('x'), finish('Never asked for.')))
    await expect(attempt.stream(model, stream)).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
      limit: 'maxSessionBytes',
    })
    expect([seen.pulls, seen.closes]).toEqual([2, 1])
  })

  test('whose thoughts alone are longer than that is refused as well: there may be no end to them', async () => {
    const { attempt, stream } = setting({ maxSessionBytes: 100 })
    const thought = (text: string): ModelStreamPart => ({ type: 'reasoning-delta', text })
    const { model, seen } = over(pieces(thought('x'.repeat(60)), thought('x'.repeat(41)), finish('Never asked for.')))
    await expect(attempt.stream(model, stream)).rejects.toMatchObject({ limit: 'maxSessionBytes' })
    expect([seen.pulls, seen.closes]).toEqual([2, 1])
  })

  test('that never lets a timer ring is aborted at the deadline of its turn', async () => {
    const { clock, control, attempt, stream } = setting()
    const { signal } = attempt
    control.work.startedAt = clock.monotonic()
    const { deadlineAt } = control.work
    let pulls = 0
    const { model } = over(
      endless(async () => {
        // Time passes, and the loop of events never comes round.
        if (++pulls === 5) vi.spyOn(clock, 'monotonic').mockReturnValue(deadlineAt)
      }),
    )
    await expect(attempt.stream(model, stream)).rejects.toMatchObject({ code: 'TURN_TIMEOUT' })
    // The clock is looked at before every 16th piece.
    expect([pulls, signal.reason]).toEqual([14, expect.objectContaining({ code: 'TURN_TIMEOUT' })])
  })

  test('of a provider that cancels the turn before it begins is closed, and asked for nothing', async () => {
    const { control, attempt, stream } = setting()
    const seen = watched(pieces(finish('Hello.')))
    const model = modelOf(() => {
      control.work.abort(aborted)
      return seen
    })
    await expect(attempt.stream(model, stream)).rejects.toBe(aborted)
    expect([seen.pulls, seen.closes]).toEqual([0, 1])
  })
})

describe('the time of an attempt', () => {
  const tooLong = 'It did not answer within the limit modelTimeoutMs (1000 ms).'

  test('is modelTimeoutMs for a whole answer; what comes later is ignored', async () => {
    const { clock, attempt } = setting({ modelTimeoutMs: 1_000 })
    const late = gate()
    const { signal } = attempt
    const running = attempt.generate({
      provider: 'scripted',
      name: 'scripted',
      generate: async () => {
        await late.opened
        return answer('Too late.')
      },
    })
    const failed = failureOf(running)
    await clock.advance(999)
    expect(signal.aborted).toBe(false)
    await clock.advance(1)
    expect(signal.aborted).toBe(true)
    expect(await failed).toMatchObject({ message: tooLong, isRetryable: true })
    late.open()
    await clock.settle()
  })

  test('is counted from piece to piece of a stream, with one timer for all', async () => {
    const { clock, attempt, stream, read } = setting({ modelTimeoutMs: 1_000 })
    const timers = vi.spyOn(clock, 'setTimer')
    const wait = (ms: number): Promise<void> => new Promise((resolve) => clock.setTimer(resolve, ms))
    const { model } = over(
      (async function* () {
        for (let piece = 0; piece < 5; piece++) {
          await wait(999)
          yield delta('x')
        }
        for (let piece = 0; piece < 10; piece++) yield delta('y')
        await never()
      })(),
    )
    const failed = failureOf(attempt.stream(model, stream))
    await clock.advance(4_995)
    expect(await read()).toHaveLength(15)
    // The timer is set again when it rings, four times in a limit, not for each piece: 5 of the test's own, and 1 + 19.
    expect(timers).toHaveBeenCalledTimes(25)
    await clock.advance(1_004)
    expect(clock.pending).toBe(1)
    await clock.advance(1)
    expect(await failed).toMatchObject({ message: tooLong })
  })

  test('does not run while the reader is slow, and begins anew when it reads', async () => {
    const { clock, attempt, stream } = setting({ modelTimeoutMs: 1_000 })
    const { model, seen } = over(
      (async function* () {
        for (let piece = 0; piece < 16; piece++) yield delta('x')
        await never()
      })(),
    )
    let failure: unknown
    attempt.stream(model, stream).catch((error: unknown) => {
      failure = error
    })
    // The reader comes back just before the time is looked at.
    await clock.advance(10_499)
    expect([failure, seen.pulls]).toEqual([undefined, 16])
    await stream.next()
    await clock.advance(1_000)
    expect([failure, seen.pulls]).toEqual([undefined, 17])
    await clock.advance(1)
    expect(failure).toMatchObject({ message: tooLong })
  })

  test('costs a model that answers at once no timer', async () => {
    const { clock, attempt } = setting({ modelTimeoutMs: 1_000 })
    const timers = vi.spyOn(clock, 'setTimer')
    await attempt.generate({ provider: 'scripted', name: 'scripted', generate: async () => answer('Hello') })
    await clock.settle()
    expect(timers).not.toHaveBeenCalled()
  })

  test('has no end with Infinity, and then needs no timer', async () => {
    const { clock, control, attempt, stream } = setting({ modelTimeoutMs: Number.POSITIVE_INFINITY })
    const { model } = over(endless(() => never()))
    void attempt.stream(model, stream)
    await clock.settle()
    expect(clock.pending).toBe(0)
    control.work.abort(aborted)
  })
})

describe('a turn that is aborted', () => {
  test('ends the attempt at once: timer, stream and signal; late pieces go nowhere', async () => {
    const { clock, control, attempt, stream, read } = setting()
    const late = gate()
    const { signal } = attempt
    const { model, seen } = over(
      (async function* () {
        yield delta('One')
        await late.opened
        yield delta('late')
        yield finish('late')
      })(),
    )
    const failed = failureOf(attempt.stream(model, stream))
    await clock.settle()
    control.work.abort(aborted)
    expect([clock.pending, signal.reason, seen.closes]).toEqual([0, aborted, 1])
    late.open()
    expect(await failed).toBe(aborted)
    expect(await read()).toEqual(['One'])
    expect(seen.pulls).toBe(2)
  })

  test('fires a signal that is read afterwards', async () => {
    const { control, attempt } = setting()
    void attempt.generate({ provider: 'scripted', name: 'scripted', generate: () => never() })
    control.work.abort(aborted)
    expect([attempt.signal.aborted, attempt.signal.reason]).toEqual([true, aborted])
  })
})

test('a request can be spread, its signal with it', () => {
  const { attempt } = setting()
  const copy = { ...attempt }
  expect(Object.keys(copy).sort()).toEqual(['messages', 'origin', 'params', 'signal', 'system', 'tools'])
  expect(copy.signal).toBe(attempt.signal)
})

test('a rejection without an error is a failure, and its signal fires', async () => {
  const { attempt } = setting()
  const { signal } = attempt
  const model = { provider: 'p', name: 'm', generate: () => Promise.reject(undefined) }
  await expect(attempt.generate(model)).rejects.toMatchObject({
    message: 'It failed without an error.',
    isRetryable: false,
  })
  expect(signal.aborted).toBe(true)
})
