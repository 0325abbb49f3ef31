// Readers of a streamed turn who leave, dawdle or never come back: the session is as it was, and its lock is free.
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  expectNothingLeft,
  gate,
  gatedFlow,
  type Harness,
  harness,
  flowOf as logicFlowOf,
  never,
} from '../../../testing/contract/engine-harness.js'
import {
  answer,
  calling,
  delta,
  finish,
  modelStep,
  modelsOf,
  pieces,
  readAll,
  shortly,
  streaming,
  watched,
} from '../../../testing/contract/stream-harness.js'
import { flowOf } from '../../../testing/contract/test-flows.js'
import type { VirtualClock } from '../../../testing/index.js'
import {
  type FlowEngineOptions,
  type FlowRunInput,
  type FlowStream,
  type FlowStreamEvent,
  type ModelProviderAdapter,
  type ModelRequest,
  type ModelStreamPart,
  reply,
  retry,
  type Step,
  type Turn,
  tool,
} from '../../index.js'

afterEach(expectNothingLeft)

/** An engine, a session of `Test` with one turn, and its document as it is now. */
interface Begun extends Harness {
  readonly sessionId: string
  readonly before: string
  say(userMessage?: string, more?: Partial<FlowRunInput>): FlowStream
}

/** `Hello.` in the first turn; then what `play` says, and at last `Again.` */
async function begin(
  play: (request: ModelRequest) => AsyncIterable<ModelStreamPart>,
  members: Partial<Step<object, never>> = {},
  options: FlowEngineOptions = {},
): Promise<Begun> {
  const provider = streaming((request) => {
    const { turnNumber } = request.origin
    const last = request.messages.findLast(({ role }) => role === 'user')?.parts[0]
    if (turnNumber === 1) return pieces(delta('Hello.'), finish('Hello.'))
    if (last?.type === 'text' && last.text === 'again') return pieces(delta('Again.'), finish('Again.'))
    return play(request)
  })
  return beginWith(provider, members, options)
}

async function beginWith(
  provider: ModelProviderAdapter,
  members: Partial<Step<object, never>> = {},
  options: FlowEngineOptions = {},
): Promise<Begun> {
  const made = harness({ flows: [flowOf(modelStep(members))], providers: [provider], ...options })
  const first = await readAll(made.engine.stream({ flowName: 'Test', userMessage: 'Hi' }))
  const sessionId = (first[0] as { session: string }).session
  const say = (userMessage = 'go on', more = {}): FlowStream =>
    made.engine.stream({ flowName: 'Test', userMessage, sessionId, ...more })
  return { ...made, sessionId, before: await made.stored(sessionId), say }
}

/** Nothing of the turn is left, and the session goes on. */
async function expectUntouched({ engine, clock, stored, sessionId, before, say }: Begun): Promise<void> {
  expect(engine.getFlowSession().locked).toBe(0)
  expect(clock.pending).toBe(0)
  expect(await stored(sessionId)).toBe(before)
  expect(shortly(await readAll(say('again')))).toEqual(['session', '"Again."', 'result Again.'])
}

async function* stalling(...parts: readonly ModelStreamPart[]): AsyncGenerator<ModelStreamPart> {
  yield* parts
  await never()
}

describe('a stream that nobody reads', () => {
  test('runs nothing: no input is read, no lock taken, no timer set', async () => {
    const begun = await begin(() => stalling())
    begun.store.clearJournal()
    const input = new Proxy({} as FlowRunInput, {
      get() {
        throw new Error('It was read.')
      },
    })
    const stream = begun.engine.stream(input)
    begun.say()
    await begun.clock.settle()
    expect(begun.store.journal).toEqual([])
    expect(await stream.return?.()).toEqual({ done: true, value: undefined })
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    await expectUntouched(begun)
  })
})

describe('leaving the loop', () => {
  test('in the middle of the text', async () => {
    const seen = watched(stalling(delta('One'), delta('Two')))
    let signal: AbortSignal | undefined
    const begun = await begin((request) => {
      signal = request.signal
      return seen
    })
    for await (const event of begun.say()) if (event.type === 'text-delta') break
    expect([seen.closes, signal?.aborted, signal?.reason]).toEqual([
      1,
      true,
      expect.objectContaining({ code: 'TURN_ABORTED' }),
    ])
    await expectUntouched(begun)
  })

  test('by an error of its own', async () => {
    const begun = await begin(() => stalling(delta('One')))
    const reading = async (): Promise<void> => {
      for await (const event of begun.say()) if (event.type === 'text-delta') throw new Error('no more')
    }
    await expect(reading()).rejects.toThrow('no more')
    await expectUntouched(begun)
  })

  test('of a first turn: no document is made', async () => {
    const { engine, backing } = harness({ flows: [flowOf(modelStep())], providers: [streaming(() => stalling())] })
    for await (const event of engine.stream({ flowName: 'Test', userMessage: 'Hi' })) if (event.type === 'step') break
    expect(backing.size).toBe(0)
  })

  test('while the turn waits in the queue: the others go on', async () => {
    const { flow, journal, open } = gatedFlow()
    const { engine, clock, start, document } = harness({ flows: [flow] })
    const sessionId = await start('Talk')
    const say = (userMessage: string): FlowStream => engine.stream({ flowName: 'Talk', userMessage, sessionId })
    const [a, b, c] = [say('a'), say('b'), say('c')]
    const [first, second, third] = [readAll(a), b.next(), readAll(c)]
    await clock.settle()
    await b.return?.()
    expect(await second).toEqual({ done: true, value: undefined })
    open('a')
    open('c')
    expect(shortly([...(await first), ...(await third)])).toEqual(['session', 'result a', 'session', 'result c'])
    expect(journal).toEqual(['a begins', 'a ends', 'c begins', 'c ends'])
    expect((await document(sessionId)).history.map(({ message }) => message)).toEqual(['start', 'a', 'c'])
  })

  test('while a tool runs: its signal fires, and what it still does is not told', async () => {
    const late = gate()
    let signal: AbortSignal | undefined
    const wait = tool({
      name: 'wait',
      description: 'Waits.',
      execute: async (_args, _turn, call) => {
        signal = call.signal
        await late.opened
        return 'late'
      },
    })
    const begun = await begin(() => pieces({ type: 'finish', response: calling('wait') }), { tools: () => [wait] })
    const stream = begun.say()
    const seen: FlowStreamEvent[] = []
    for await (const event of stream) {
      seen.push(event)
      if (event.type === 'tool-start') break
    }
    expect(signal?.aborted).toBe(true)
    late.open()
    await begun.clock.settle()
    expect(shortly(seen)).toEqual(['session', 'tool wait'])
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    await expectUntouched(begun)
  })

  test('while it waits to try again', async () => {
    const play = vi.fn(async function* () {
      yield delta('Hel')
      throw Object.assign(new Error('busy'), { statusCode: 503, responseHeaders: { 'retry-after': '30' } })
    })
    const begun = await begin(play)
    for await (const event of begun.say()) if (event.type === 'reset') break
    expect([begun.engine.getFlowSession().locked, begun.clock.pending]).toEqual([0, 0])
    await begun.clock.advance(60_000)
    expect(play).toHaveBeenCalledTimes(1)
    await expectUntouched(begun)
  })

  test('in a listener, when a call is repeated or a tool starts: neither happens', async () => {
    for (const name of ['model:retry', 'tool:start', 'model:start'] as const) {
      const execute = vi.fn(() => 'done')
      const use = tool({ name: 'use', description: 'Used.', execute })
      const play = vi.fn((request: ModelRequest) =>
        name === 'tool:start' && request.origin.attempt === 1
          ? pieces({ type: 'finish', response: calling('use') })
          : pieces(delta('cut')),
      )
      const begun = await begin(play, { tools: () => [use] })
      const stream = begun.say()
      let left: unknown
      begun.engine.once(name, () => {
        left = stream.return?.()
      })
      await readAll(stream)
      await left
      expect([execute.mock.calls.length, play.mock.calls.length]).toEqual([0, name === 'model:start' ? 0 : 1])
      await expectUntouched(begun)
    }
  })

  test('while the reader is slow and the model waits for it', async () => {
    const seen = watched(
      (async function* () {
        for (;;) yield delta('x')
      })(),
    )
    const begun = await begin(() => seen)
    const stream = begun.say()
    await stream.next()
    await begun.clock.settle()
    expect(seen.pulls).toBe(16)
    await stream.return?.()
    expect([seen.pulls, seen.closes]).toEqual([16, 1])
    await expectUntouched(begun)
  })

  test('while a hook runs', async () => {
    const hook = (text: string, turn: Turn): string | Promise<string> => (turn.message === 'go on' ? never() : text)
    const begun = await begin(() => pieces(delta('One'), finish('One')), { onReply: hook, stream: true })
    const stream = begun.say()
    await stream.next()
    await stream.next()
    await begun.clock.settle()
    expect(begun.engine.getFlowSession().locked).toBe(1)
    await stream.return?.()
    await expectUntouched(begun)
  })

  test('after the commit began: the turn is stored', async () => {
    const begun = await begin(() => pieces(delta('Stored.'), finish('Stored.')))
    const { store, clock, stored, sessionId, before, engine } = begun
    store.delayNext('save', 100)
    const stream = begun.say()
    for (let read = 0; read < 2; read++) await stream.next()
    await clock.settle()
    let isLeft = false
    const left = stream.return?.().then(() => {
      isLeft = true
    })
    await clock.advance(99)
    expect([isLeft, engine.getFlowSession().locked]).toEqual([false, 1])
    await clock.advance(1)
    await left
    expect(engine.getFlowSession().locked).toBe(0)
    expect(await stored(sessionId)).not.toBe(before)
    expect((await begun.document(sessionId)).history.at(-1)).toMatchObject({ reply: 'Stored.' })
  })

  test('from within the turn: a tool that leaves, and waits for it', async () => {
    let stream: FlowStream | undefined
    const leave = tool({
      name: 'leave',
      description: 'Leaves.',
      execute: async () => {
        await stream?.return?.()
        return 'left'
      },
    })
    const begun = await begin(() => pieces({ type: 'finish', response: calling('leave') }), { tools: () => [leave] })
    stream = begun.say()
    expect(shortly(await readAll(stream))).toEqual(['session', 'tool leave'])
    await stream.return?.()
    await expectUntouched(begun)
  })
})

test('leaving at any moment: all of the turn is stored, or nothing; and nothing of it runs on', async () => {
  let isAnyStored = false
  let isAnyLost = false
  const property = fc.asyncProperty(
    fc.nat({ max: 2_500 }),
    fc.nat({ max: 12 }),
    fc.constantFrom('close', 'signal'),
    async (ms, reads, how) => {
      const made: { signal: AbortSignal; seen: ReturnType<typeof watched> }[] = []
      let clock: VirtualClock | undefined
      const wait = (waitMs: number): Promise<void> => new Promise((resolve) => clock?.setTimer(resolve, waitMs))
      const slow = tool({ name: 'slow', description: 'Slow.', execute: () => wait(300) })
      const begun = await begin(
        (request) => {
          const { callNumber, attempt } = request.origin
          const seen = watched(
            (async function* () {
              await wait(200)
              for (let piece = 0; piece < 4; piece++) yield delta('Text')
              if (callNumber === 1 && attempt === 1) throw Object.assign(new Error('busy'), { statusCode: 503 })
              await wait(200)
              if (callNumber === 1) yield { type: 'finish', response: calling('slow', 'TextTextTextText') }
              else yield finish('TextTextTextText')
            })(),
          )
          made.push({ signal: request.signal, seen })
          return seen
        },
        { tools: () => [slow] },
        { random: () => 0.5, modelRetry: { baseDelayMs: 500 } },
      )
      clock = begun.clock
      begun.store.delayNext('load', 100)
      begun.store.delayNext('save', 500)
      const controller = new AbortController()
      const stream = begun.say('go on', { signal: controller.signal })
      const reading = (async () => {
        for (let read = 0; read < reads; read++) await stream.next()
      })()
      // A reader of nothing has not begun.
      await begun.clock.advance(ms)
      const left = how === 'close' ? stream.return?.() : controller.abort()
      await begun.clock.advance(500)
      await left
      if (how === 'signal') await begun.clock.runUntil(readAll(stream))
      await begun.clock.runUntil(reading)
      expect(begun.engine.getFlowSession().locked).toBe(0)
      const { history, runStatus } = await begun.document(begun.sessionId)
      expect(runStatus).toBe('running')
      if (history.length === 1) expect(await begun.stored(begun.sessionId)).toBe(begun.before)
      else expect(history.at(-1)).toMatchObject({ message: 'go on', reply: 'TextTextTextText' })
      isAnyStored ||= history.length === 2
      isAnyLost ||= history.length === 1 && made.length > 0
      const calls = made.length
      const pulls = made.map(({ seen }) => seen.pulls)
      // The timers of the test's own code run out; nothing comes of it.
      begun.store.heal()
      await begun.clock.advance(10_000)
      expect([made.length, made.map(({ seen }) => seen.pulls)]).toEqual([calls, pulls])
      for (const { seen } of made) expect(seen.closes).toBe(1)
      expect(shortly(await readAll(begun.say('again')))).toEqual(['session', '"Again."', 'result Again.'])
      expectNothingLeft()
    },
  )
  await fc.assert(property, { numRuns: 100 })
  expect([isAnyStored, isAnyLost]).toEqual([true, true])
}, 60_000)

describe('a reader that is slow', () => {
  test('gets everything, in order, and the model is not asked ahead of it', async () => {
    const letters = Array.from({ length: 100 }, (_, index) => `${index} `)
    const seen = watched(pieces(...letters.map(delta), finish(letters.join(''))))
    const begun = await begin(() => seen)
    const events: FlowStreamEvent[] = []
    let furthest = 0
    for await (const event of begun.say()) {
      events.push(event)
      await begun.clock.settle()
      furthest = Math.max(furthest, seen.pulls - events.filter(({ type }) => type === 'text-delta').length)
    }
    expect(furthest).toBe(16)
    expect(shortly(events)).toEqual([
      'session',
      ...letters.map((letter) => JSON.stringify(letter)),
      `result ${letters.join('')}`,
    ])
  })

  test('that never comes back: the turn ends at its deadline, as the contract says', async () => {
    const begun = await begin(
      async function* () {
        for (;;) yield delta('x')
      },
      {},
      { limits: { turnTimeoutMs: 5_000, modelTimeoutMs: 1_000 } },
    )
    const stream = begun.say()
    await stream.next()
    await begun.clock.advance(4_999)
    expect(begun.engine.getFlowSession().locked).toBe(1)
    await begun.clock.advance(1)
    expect([begun.engine.getFlowSession().locked, begun.clock.pending]).toEqual([0, 0])
    expect((await begun.document(begun.sessionId)).runStatus).toBe('aborted')
    // What waits is bounded; the error is the last piece.
    const rest = await readAll(stream)
    expect(shortly(rest)).toEqual([...Array(16).fill('"x"'), 'error TURN_TIMEOUT'])
  })

  test('of a model that answers whole: no hook gets the answer after the deadline', async () => {
    let calls = 0
    const provider = modelsOf({ generate: async () => answer(++calls === 1 ? 'Hello.' : 'Too long.') })
    const onReply = vi.fn((text: string) => (text === 'Hello.' ? text : retry('Shorter.')))
    const begun = await beginWith(
      provider,
      { onReply, stream: true },
      { limits: { turnTimeoutMs: 5_000, maxModelCallsPerTurn: 100 } },
    )
    const stream = begun.say()
    await stream.next()
    await begun.clock.settle()
    const timesBefore = onReply.mock.calls.length
    begun.store.delayNext('save', 1_000)
    await begun.clock.advance(5_000)
    // The turn was aborted, and is about to be stored as aborted: there is room now.
    const rest: FlowStreamEvent[] = []
    for (let read = 0; read < 16; read++) rest.push((await stream.next()).value as FlowStreamEvent)
    await begun.clock.advance(1_000)
    rest.push(...(await readAll(stream)))
    expect(onReply).toHaveBeenCalledTimes(timesBefore)
    // Answers and what became of them, as long as there was room.
    expect(timesBefore).toBeGreaterThan(5)
    expect(shortly(rest).at(-1)).toBe('error TURN_TIMEOUT')
    expect(rest.length).toBeLessThan(20)
  })

  test('of a turn whose time is over receives nothing but that, whatever still runs', async () => {
    const late = gate()
    const wait = tool({ name: 'wait', description: 'Waits.', execute: () => late.opened.then(() => 'late') })
    const begun = await begin(
      () => pieces({ type: 'finish', response: calling('wait') }),
      { tools: () => [wait] },
      { limits: { turnTimeoutMs: 5_000 } },
    )
    const reading = readAll(begun.say())
    begun.store.delayNext('save', 1_000)
    await begun.clock.advance(5_000)
    // The turn was aborted, and is about to be stored as aborted.
    late.open()
    await begun.clock.advance(1_000)
    expect(shortly(await reading)).toEqual(['session', 'tool wait', 'error TURN_TIMEOUT'])
  })

  test('holds tools back, many in one answer too', async () => {
    const execute = vi.fn(() => 'done')
    const use = tool({ name: 'use', description: 'Used.', execute })
    const call = { type: 'tool-call', toolCallId: 'a', toolName: 'use', input: {} } as const
    const begun = await begin(
      (request) =>
        request.origin.callNumber === 1
          ? pieces({ type: 'finish', response: { parts: Array(100).fill(call) } })
          : pieces(delta('Done.'), finish('Done.')),
      { tools: () => [use] },
      { limits: { maxToolCallsPerTurn: 100 } },
    )
    const stream = begun.say()
    await stream.next()
    await begun.clock.settle()
    expect(execute).toHaveBeenCalledTimes(8)
    expect(await readAll(stream)).toHaveLength(202)
    expect(execute).toHaveBeenCalledTimes(100)
  })
})

describe("the caller's own signal", () => {
  test('in the middle: the reader gets an error, and the session is as it was', async () => {
    const begun = await begin(() => stalling(delta('One')))
    const controller = new AbortController()
    const events: FlowStreamEvent[] = []
    for await (const event of begun.say('go on', { signal: controller.signal })) {
      events.push(event)
      if (event.type === 'text-delta') controller.abort('bored')
    }
    expect(shortly(events)).toEqual(['session', '"One"', 'error TURN_ABORTED'])
    expect(events.at(-1)).toMatchObject({ error: { cause: 'bored' } })
    await expectUntouched(begun)
  })

  test('that fired before: an error, and nothing is run', async () => {
    const begun = await begin(() => stalling())
    begun.store.clearJournal()
    const events = await readAll(begun.say('go on', { signal: AbortSignal.abort('bored') }))
    expect(events).toMatchObject([
      { type: 'error', error: { code: 'TURN_ABORTED', cause: 'bored' }, response: { session: begun.sessionId } },
    ])
    expect(begun.store.journal).toEqual([])
    await expectUntouched(begun)
  })

  const own = (fields: object): AbortSignal =>
    ({
      aborted: false,
      addEventListener: () => undefined,
      removeEventListener: () => undefined,
      ...fields,
    }) as unknown as AbortSignal
  const refuse = (): never => {
    throw new Error('Broken signal.')
  }
  test.each<[string, () => AbortSignal, string]>([
    ['throws where it is listened to', () => own({ addEventListener: refuse }), 'FLOW_ERROR'],
    ['throws where it is asked', () => Object.defineProperty(own({}), 'aborted', { get: refuse }), 'FLOW_ERROR'],
    [
      'throws where it is asked the second time',
      () => {
        let times = 0
        return Object.defineProperty(own({}), 'aborted', {
          get: () => (++times >= 2 ? refuse() : false),
        })
      },
      'FLOW_ERROR',
    ],
    ['throws where it is left', () => own({ removeEventListener: refuse }), ''],
    ['says that it fired, without a reason', () => own({ aborted: true }), 'TURN_ABORTED'],
  ])('of its own making that %s', async (_name, signal, code) => {
    const begun = await begin(() => pieces(finish('Well.')))
    const events = await readAll(begun.say('go on', { signal: signal() }))
    expect(shortly(events)).toEqual(code === '' ? ['session', 'result Well.'] : [`error ${code}`])
    expect(begun.engine.getFlowSession().locked).toBe(0)
  })
})

describe('a wrong input', () => {
  const throwing = Object.defineProperty({ flowName: 'Test' }, 'userMessage', {
    get: () => {
      throw new Error('Broken input.')
    },
  })
  test.each<[string, unknown, string]>([
    ['null', null, 'INVALID_INPUT'],
    ['undefined', undefined, 'INVALID_INPUT'],
    ['a number', 5, 'INVALID_INPUT'],
    ['an empty object', {}, 'INVALID_INPUT'],
    ['an unknown field', { flowName: 'Test', userMessage: 'Hi', user: 'ada' }, 'INVALID_INPUT'],
    ['a message that is a number', { flowName: 'Test', userMessage: 5 }, 'INVALID_INPUT'],
    ['a session ID that is an object', { flowName: 'Test', userMessage: 'Hi', sessionId: {} }, 'INVALID_INPUT'],
    ['something that is not a signal', { flowName: 'Test', userMessage: 'Hi', signal: 'abort' }, 'INVALID_INPUT'],
    ['a getter that throws', throwing, 'FLOW_ERROR'],
  ])('%s is an error event, and the only one', async (_name, input, code) => {
    const { engine } = harness({ flows: [logicFlowOf('Test', () => reply('never'))] })
    const events = await readAll(engine.stream(input as FlowRunInput))
    expect(shortly(events)).toEqual([`error ${code}`])
    expect(events).toMatchObject([{ response: { success: false, completed: true, session: '' } }])
  })
})
