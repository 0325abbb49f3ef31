// Streams together with runs, deletes and a closing engine; and a streamed turn against the same turn by execute.
import { afterEach, describe, expect, test } from 'vitest'
import {
  expectNothingLeft,
  gate,
  gatedFlow,
  type Harness,
  harness,
  flowOf as logicFlowOf,
  never,
} from '../../../testing/contract/engine-harness.js'
import { type RecordedEvent, recordEvents } from '../../../testing/contract/event-recorder.js'
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
} from '../../../testing/contract/stream-harness.js'
import { flowOf } from '../../../testing/contract/test-flows.js'
import {
  type FlowEngineOptions,
  type FlowRunInput,
  type FlowStreamEvent,
  go,
  type ModelProviderAdapter,
  type ModelResponse,
  type ModelStreamPart,
  reply,
  tool,
} from '../../index.js'

afterEach(expectNothingLeft)

async function* stalling(...parts: readonly ModelStreamPart[]): AsyncGenerator<ModelStreamPart> {
  yield* parts
  await never()
}

describe('one session', () => {
  test('streams and runs stand in one line, in the order in which they began', async () => {
    const { flow, journal, open } = gatedFlow()
    const { engine, start, document } = harness({ flows: [flow] })
    const sessionId = await start('Talk')
    const input = (userMessage: string): FlowRunInput => ({ flowName: 'Talk', userMessage, sessionId })
    const late = engine.stream(input('late'))
    const turns = [
      readAll(engine.stream(input('a'))).then(shortly),
      engine.run(input('b')).then(({ message }) => message),
      readAll(engine.stream(input('c'))).then(shortly),
      engine.run(input('d')).then(({ message }) => message),
      readAll(late).then(shortly),
    ]
    for (const message of ['late', 'd', 'c', 'b', 'a']) open(message)
    expect(await Promise.all(turns)).toEqual([
      ['session', 'result a'],
      'b',
      ['session', 'result c'],
      'd',
      ['session', 'result late'],
    ])
    expect(journal.filter((line) => line.endsWith('begins'))).toEqual(
      ['a', 'b', 'c', 'd', 'late'].map((message) => `${message} begins`),
    )
    expect((await document(sessionId)).history).toHaveLength(6)
  })

  test('of which two streams are read side by side: the second one begins when the first is done', async () => {
    const { flow, open } = gatedFlow()
    const { engine, clock, start } = harness({ flows: [flow] })
    const sessionId = await start('Talk')
    const [a, b] = ['a', 'b'].map((userMessage) => engine.stream({ flowName: 'Talk', userMessage, sessionId }))
    if (a === undefined || b === undefined) throw new Error('There are two.')
    const seen: string[] = []
    const note = async (name: string, stream: AsyncIterable<FlowStreamEvent>): Promise<void> => {
      for await (const event of stream) seen.push(`${name}: ${shortly([event])[0]}`)
    }
    const reading = [note('a', a), note('b', b)]
    await clock.settle()
    expect(seen).toEqual(['a: session'])
    open('b')
    open('a')
    await Promise.all(reading)
    expect(seen).toEqual(['a: session', 'a: result a', 'b: session', 'b: result b'])
  })

  test('a delete behind a stream waits for it, and the next stream begins anew', async () => {
    const { flow, open } = gatedFlow()
    const { engine, clock, start, backing } = harness({ flows: [flow] })
    const sessionId = await start('Talk')
    const reading = readAll(engine.stream({ flowName: 'Talk', userMessage: 'a', sessionId }))
    const deleting = engine.deleteSession(sessionId)
    const behind = readAll(engine.stream({ flowName: 'Talk', userMessage: 'start', sessionId }))
    await clock.settle()
    expect(backing.size).toBe(1)
    open('a')
    expect(shortly(await reading)).toEqual(['session', 'result a'])
    expect(await deleting).toEqual({ success: true, session: sessionId })
    const [opened] = await behind
    expect((opened as { session: string }).session).not.toBe(sessionId)
    expect(shortly(await behind)).toEqual(['session', 'step Only', 'result started'])
  })

  test('a delete behind a stream whose reader left goes on', async () => {
    const { flow } = gatedFlow()
    const { engine, start, backing } = harness({ flows: [flow] })
    const sessionId = await start('Talk')
    const stream = engine.stream({ flowName: 'Talk', userMessage: 'a', sessionId })
    await stream.next()
    const deleting = engine.deleteSession(sessionId)
    await stream.return?.()
    expect((await deleting).success).toBe(true)
    expect(backing.size).toBe(0)
  })

  test('of another flow: an error, and nothing else', async () => {
    const { engine, start, stored } = harness({ flows: [logicFlowOf('One'), logicFlowOf('Two')] })
    const sessionId = await start('One')
    const before = await stored(sessionId)
    const events = await readAll(engine.stream({ flowName: 'Two', userMessage: 'Hi', sessionId }))
    expect(events).toMatchObject([
      { type: 'error', error: { code: 'SESSION_FLOW_MISMATCH' }, response: { session: sessionId } },
    ])
    expect(await stored(sessionId)).toBe(before)
  })

  test('that onRestore replaces: the stream shows the new one', async () => {
    const { engine, start } = harness({ flows: [logicFlowOf('Talk', undefined, { onRestore: () => null })] })
    const sessionId = await start('Talk')
    const events = await readAll(engine.stream({ flowName: 'Talk', userMessage: 'Hi', sessionId }))
    const { session } = events[0] as { session: string }
    expect(session).not.toBe(sessionId)
    expect(events.at(-1)).toMatchObject({ type: 'result', response: { session } })
  })

  test('of a batch flow: it is sent after the checkpoint; leaving keeps the checkpoint and no more', async () => {
    const late = gate()
    const flow = logicFlowOf(
      'Batch',
      async (turn) => {
        if (turn.message === 'wait') await late.opened
        return reply('Done.')
      },
      { isBatch: () => true },
    )
    const { engine, store, document } = harness({ flows: [flow] })
    const events: FlowStreamEvent[] = []
    let atSession: readonly string[] = []
    for await (const event of engine.stream({ flowName: 'Batch', userMessage: 'Hi' })) {
      events.push(event)
      if (event.type === 'session') atSession = [...store.operations]
    }
    expect(atSession).toEqual(['create'])
    expect(shortly(events)).toEqual(['session', 'step Only', 'result Done.'])
    const sessionId = (events[0] as { session: string }).session
    const { history, flow: stored } = await document(sessionId)
    for await (const _event of engine.stream({ flowName: 'Batch', userMessage: 'wait', sessionId })) break
    const after = await document(sessionId)
    expect([after.history, after.flow, after.runStatus]).toEqual([history, stored, 'running'])
    expect(engine.getFlowSession().locked).toBe(0)
  })
})

describe('a closing engine', () => {
  test('lets a streamed turn finish', async () => {
    const { flow, open } = gatedFlow()
    const { engine, clock, start } = harness({ flows: [flow] })
    const sessionId = await start('Talk')
    const reading = readAll(engine.stream({ flowName: 'Talk', userMessage: 'a', sessionId }))
    const waiting = readAll(engine.stream({ flowName: 'Talk', userMessage: 'b', sessionId }))
    const closing = engine.close()
    expect(shortly(await waiting)).toEqual(['error ENGINE_CLOSED'])
    expect(shortly(await readAll(engine.stream({ flowName: 'Talk', userMessage: 'c' })))).toEqual([
      'error ENGINE_CLOSED',
    ])
    open('a')
    await clock.settle()
    expect(shortly(await reading)).toEqual(['session', 'result a'])
    await closing
  })

  test('aborts one that takes too long, and leaves its session as it was', async () => {
    const { engine, clock, backing, stored } = harness({
      flows: [flowOf(modelStep())],
      providers: [streaming(() => stalling(delta('Hel')))],
      limits: { closeTimeoutMs: 1_000 },
    })
    const reading = readAll(engine.stream({ flowName: 'Test', userMessage: 'Hi' }))
    await clock.settle()
    const closing = engine.close()
    await clock.advance(1_000)
    expect(shortly(await reading)).toEqual(['session', 'step Talk', '"Hel"', 'error ENGINE_CLOSED'])
    await closing
    expect([backing.size, await stored('session')]).toEqual([0, ''])
  })
})

describe('a streamed turn and the same turn by execute', () => {
  /** Says these in turn, whole or in pieces of two letters. */
  function sayingBoth(...answers: readonly (ModelResponse | Error)[]): ModelProviderAdapter {
    let calls = 0
    const take = (): ModelResponse => {
      const next = answers[calls++] ?? answer('No more.')
      if (next instanceof Error) throw next
      return next
    }
    return modelsOf({
      generate: async () => take(),
      stream: async function* () {
        const response = take()
        for (const part of response.parts ?? []) {
          if (part.type !== 'text') continue
          for (let at = 0; at < part.text.length; at += 2) yield delta(part.text.slice(at, at + 2))
        }
        yield { type: 'finish', response }
      },
    })
  }

  interface Outcome {
    readonly result: unknown
    readonly received: readonly RecordedEvent[]
    readonly documents: readonly unknown[]
  }

  async function outcomeOf(
    isStreamed: boolean,
    options: FlowEngineOptions,
    messages: readonly string[],
  ): Promise<Outcome> {
    let ids = 0
    const made: Harness = harness({ ...options, generateId: (kind) => `${kind}-${++ids}`, random: () => 0.5 })
    const { engine, clock, backing, document } = made
    const received = recordEvents(engine)
    let sessionId: string | undefined
    const results: unknown[] = []
    for (const userMessage of messages) {
      const input = { flowName: 'Test', userMessage, ...(sessionId === undefined ? {} : { sessionId }) }
      if (isStreamed) {
        const { type, ...last } = (await clock.runUntil(readAll(engine.stream(input)))).at(-1) as FlowStreamEvent
        results.push(last)
        sessionId = (last as { response: { session: string } }).response.session
      } else {
        const last = await clock.runUntil(engine.execute(input))
        results.push(last)
        sessionId = last.response.session
      }
    }
    return { result: results, received, documents: await Promise.all([...backing.keys()].sort().map(document)) }
  }

  const busy = Object.assign(new Error('busy'), { statusCode: 503 })
  const usage = { inputTokens: 7, outputTokens: 3 }
  test.each<[string, readonly (ModelResponse | Error)[]]>([
    [
      'a text',
      [
        { ...answer('Hello.'), usage },
        { ...answer('And again.'), usage },
      ],
    ],
    [
      'tools and a move',
      [{ ...calling('look', 'Let me look.'), usage }, calling('leave'), answer('Here.'), answer('Still.')],
    ],
    ['attempts that fail', [busy, busy, answer('Hello.'), busy, answer('Again.')]],
    ['a model that keeps failing', [busy, busy, busy]],
    ['a refusal', [answer('Hello.'), { ...answer('I may not say'), finishReason: 'content-filter' }]],
    ['an answer that is malformed', [{} as ModelResponse, answer('Hello.')]],
  ])('%s: the same reply, error, events and document', async (_name, answers) => {
    const look = tool({ name: 'look', description: 'Looks.', execute: () => ({ seen: 1 }) })
    const leave = tool({ name: 'leave', description: 'Leaves.', execute: () => go('Next') })
    const flows = [flowOf(modelStep({ tools: () => [look, leave] }), modelStep({}, 'Next'))]
    const run = (isStreamed: boolean): Promise<Outcome> =>
      outcomeOf(isStreamed, { flows, providers: [sayingBoth(...answers)] }, ['Hi', 'Go on'])
    const [streamed, executed] = [await run(true), await run(false)]
    expect(streamed).toEqual(executed)
    expect(streamed.received.length).toBeGreaterThan(6)
  })
})

test('thousands of streamed turns leave no timer, no lock, no listener and no turn behind', async () => {
  const { engine, clock, start } = harness({
    flows: [flowOf(modelStep()), logicFlowOf('Talk')],
    providers: [streaming(() => pieces(delta('Hel'), delta('lo.'), finish('Hello.')))],
  })
  const { signal } = new AbortController()
  let listening = 0
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listening++
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listening--
    remove(...args)
  }
  const sessionId = await start('Talk')
  for (let turn = 0; turn < 1_000; turn++) {
    const isLeft = turn % 2 === 0
    const [first] = await readAll(engine.stream({ flowName: 'Test', userMessage: 'Hi', signal }))
    const session = (first as { session: string }).session
    for await (const event of engine.stream({ flowName: 'Test', userMessage: 'Hi', sessionId: session, signal })) {
      if (isLeft && event.type === 'text-delta') break
    }
    await engine.deleteSession(session)
  }
  expect([listening, clock.pending, engine.getFlowSession().locked]).toEqual([0, 0, 0])
  // An engine that still counted a turn would wait for it.
  await engine.deleteSession(sessionId)
  await engine.close()
  expect(clock.pending).toBe(0)
})
