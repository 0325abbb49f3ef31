// The stream of a turn, from its first piece to its last: what is sent, in which order, and what counts.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, harness, flowOf as logicFlowOf } from '../../../testing/contract/engine-harness.js'
import { namesOf, recordEvents } from '../../../testing/contract/event-recorder.js'
import {
  answer,
  calling,
  delta,
  finish,
  modelStep,
  modelsOf,
  type Play,
  pieces,
  readAll,
  shortly,
  streaming,
} from '../../../testing/contract/stream-harness.js'
import { flowOf, place } from '../../../testing/contract/test-flows.js'
import {
  EndStep,
  type FlowEngineOptions,
  type FlowStreamEvent,
  finish as finishTurn,
  go,
  type ModelProviderAdapter,
  type ModelStreamPart,
  reply,
  retry,
  type StepConstructor,
  type Transition,
  type Turn,
  tool,
} from '../../index.js'

afterEach(expectNothingLeft)

/** The pieces of one first turn of a flow of these steps. */
async function told(
  steps: readonly StepConstructor[],
  provider: ModelProviderAdapter,
  options: FlowEngineOptions = {},
): Promise<FlowStreamEvent[]> {
  const { engine, clock } = harness({ flows: [flowOf(...steps)], providers: [provider], ...options })
  return clock.runUntil(readAll(engine.stream({ flowName: 'Test', userMessage: 'Hi' })))
}

/** Each call of a model in turn. */
function playing(...streams: readonly (readonly ModelStreamPart[])[]): ModelProviderAdapter {
  return streaming((_request, call) => pieces(...(streams[call - 1] ?? [])))
}

const called = (name: string, text?: string): ModelStreamPart => ({ type: 'finish', response: calling(name, text) })
const doing = (name: string, outcome: (turn: Turn) => unknown): ReturnType<typeof tool> =>
  tool({ name, description: name, execute: (_args, turn) => outcome(turn) as Transition })

describe('a streamed turn', () => {
  test('sends the session, the step, the text as it comes and the result', async () => {
    const events = await told([modelStep()], playing([delta('Hel'), delta('lo.'), finish('Hello.')]))
    const session = (events[0] as { session: string }).session
    expect(session).toMatch(/^.{32}$/)
    expect(events).toEqual([
      { type: 'session', session },
      { type: 'step', step: 'Talk' },
      { type: 'text-delta', text: 'Hel' },
      { type: 'text-delta', text: 'lo.' },
      {
        type: 'result',
        response: { success: true, completed: false, message: 'Hello.', session, contentType: 'text/plain' },
        sessionState: 'running',
      },
    ])
  })

  test('sends tools and moves in the order in which they happen, and takes back what was said before', async () => {
    const step = modelStep({
      tools: () => [doing('look', () => 'Found.'), doing('leave', () => go('Next'))],
    })
    const events = await told(
      [step, modelStep({}, 'Next')],
      playing(
        [delta('Let me look.'), called('look', 'Let me look.')],
        [delta('Now I leave.'), called('leave', 'Now I leave.')],
        [delta('Here.'), finish('Here.')],
      ),
    )
    expect(shortly(events)).toEqual([
      'session',
      'step Talk',
      '"Let me look."',
      'reset tools',
      'tool look',
      'tool look ok',
      '"Now I leave."',
      'reset tools',
      'tool leave',
      'tool leave ok',
      'step Next',
      '"Here."',
      'result Here.',
    ])
    expect(events.filter(({ type }) => type === 'tool-end')).toEqual([
      { type: 'tool-end', tool: 'look', toolCallId: 'call-look', success: true },
      { type: 'tool-end', tool: 'leave', toolCallId: 'call-leave', success: true },
    ])
  })

  test('of a session that goes on sends no step that was entered before, and the same session', async () => {
    const { engine } = harness({
      flows: [flowOf(modelStep())],
      providers: [streaming(() => pieces(delta('Hello.'), finish('Hello.')))],
    })
    const [opened] = await readAll(engine.stream({ flowName: 'Test', userMessage: 'Hi' }))
    const sessionId = (opened as { session: string }).session
    const events = await readAll(engine.stream({ flowName: 'Test', userMessage: 'Hi', sessionId }))
    expect(events[0]).toEqual({ type: 'session', session: sessionId })
    expect(shortly(events)).toEqual(['session', '"Hello."', 'result Hello.'])
  })

  test('of logic steps alone has no text', async () => {
    expect(shortly(await told([place('Here')], playing()))).toEqual(['session', 'step Here', 'result At Here.'])
  })

  test('that fails ends with the error and the failure envelope', async () => {
    const step = modelStep({
      tools: () => [
        doing('break', () => {
          throw new Error('Broken.')
        }),
      ],
    })
    const events = await told([step], playing([called('break')]))
    expect(shortly(events)).toEqual(['session', 'step Talk', 'tool break', 'tool break failed', 'error TOOL_ERROR'])
    const { session } = events[0] as { session: string }
    expect(events.at(-1)).toMatchObject({
      response: { success: false, completed: true, message: 'Broken.', session, contentType: 'text/plain' },
    })
  })

  test('that fails before its session is open sends only that', async () => {
    const { engine } = harness()
    const events = await readAll(engine.stream({ flowName: 'Nothing', userMessage: 'Hi' }))
    expect(events).toMatchObject([
      { type: 'error', response: { success: false, message: "Flow class 'Nothing' not registered.", session: '' } },
    ])
  })

  test('sends bytes with their encoding', async () => {
    const flow = logicFlowOf('Bytes', () => reply('AAAA').withContentType('image/png', { encoding: 'base64' }))
    const { engine } = harness({ flows: [flow] })
    const events = await readAll(engine.stream({ flowName: 'Bytes', userMessage: 'Hi' }))
    expect(events.at(-1)).toMatchObject({
      type: 'result',
      encoding: 'base64',
      response: { message: 'AAAA', contentType: 'image/png' },
    })
  })
})

describe('which steps stream', () => {
  const anything = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const
  const outputJsonSchema = { type: 'object' } as const
  const output = anything as never
  test.each<[string, Parameters<typeof modelStep>[0], boolean]>([
    ['one without a setting', {}, true],
    ['one with onReply', { onReply: (text: string) => text }, false],
    ['one with onReply and stream = true', { onReply: (text: string) => text, stream: true }, true],
    ['one with output', { output, outputJsonSchema }, false],
    ['one with output and stream = true', { output, outputJsonSchema, stream: true }, true],
    ['one with stream = false', { stream: false }, false],
  ])('%s', async (_name, members, streams) => {
    const whole = { generate: async () => answer('{}') }
    const streamed = { stream: () => pieces(delta('{'), delta('}'), finish('{}')) }
    const begin = ['session', 'step Talk']
    expect(shortly(await told([modelStep(members)], modelsOf({ ...whole, ...streamed })))).toEqual(
      streams ? [...begin, '"{"', '"}"', 'result {}'] : [...begin, 'result {}'],
    )
    // A model that cannot stream: its text is one piece.
    expect(shortly(await told([modelStep(members)], modelsOf(whole)))).toEqual(
      streams ? [...begin, '"{}"', 'result {}'] : [...begin, 'result {}'],
    )
  })

  test('a model without stream: its text before tool calls is taken back', async () => {
    const answers = [calling('look', 'Let me look.'), answer('Here.')]
    const provider = modelsOf({ generate: async () => answers.shift() ?? answer('') })
    const step = modelStep({ tools: () => [doing('look', () => 'Found.')] })
    expect(shortly(await told([step], provider))).toEqual([
      'session',
      'step Talk',
      '"Let me look."',
      'reset tools',
      'tool look',
      'tool look ok',
      '"Here."',
      'result Here.',
    ])
  })

  test('run and execute never ask for a stream', async () => {
    const provider = modelsOf({ generate: async () => answer('Whole.'), stream: () => pieces(finish('In pieces.')) })
    const { engine } = harness({ flows: [flowOf(modelStep())], providers: [provider] })
    expect((await engine.run({ flowName: 'Test', userMessage: 'Hi' })).message).toBe('Whole.')
  })
})

describe('text that does not count is taken back', () => {
  const overloaded = Object.assign(new Error('overloaded'), { statusCode: 529 })
  const failing = (...parts: readonly ModelStreamPart[]): Play =>
    async function* () {
      yield* parts
      throw overloaded
    }
  const whole: readonly ModelStreamPart[] = [delta('Hello.'), finish('Hello.')]

  test('where the call is tried again', async () => {
    const provider = streaming((request, call) =>
      call === 1 ? failing(delta('Hel'))(request, call) : call === 2 ? pieces(delta('Hell')) : pieces(...whole),
    )
    expect(shortly(await told([modelStep()], provider, { modelRetry: { baseDelayMs: 100 } }))).toEqual([
      'session',
      'step Talk',
      '"Hel"',
      'reset retry',
      '"Hell"',
      'reset retry',
      '"Hello."',
      'result Hello.',
    ])
  })

  test('where another model stands in', async () => {
    const provider = streaming((request, call) =>
      call === 1 ? failing(delta('Hel'))(request, call) : pieces(...whole),
    )
    const model = { provider: 'scripted', name: 'scripted' }
    const step = modelStep({ model: () => [model, model] })
    expect(shortly(await told([step], provider, { modelRetry: { maxAttempts: 1 } }))).toEqual([
      'session',
      'step Talk',
      '"Hel"',
      'reset fallback',
      '"Hello."',
      'result Hello.',
    ])
  })

  test('where no text was sent, nothing is', async () => {
    const provider = streaming((request, call) => (call === 1 ? failing()(request, call) : pieces(...whole)))
    expect(shortly(await told([modelStep()], provider))).toEqual(['session', 'step Talk', '"Hello."', 'result Hello.'])
  })

  test('where onReply has the model answer again', async () => {
    let answers = 0
    const step = modelStep({ stream: true, onReply: (text: string) => (++answers === 1 ? retry('Shorter.') : text) })
    expect(shortly(await told([step], playing([delta('Too long.'), finish('Too long.')], whole)))).toEqual([
      'session',
      'step Talk',
      '"Too long."',
      'reset repair',
      '"Hello."',
      'result Hello.',
    ])
  })

  test.each<[string, (text: string) => string | Transition, readonly string[]]>([
    ['onReply says something else', () => 'Goodbye.', ['"Hello."', 'reset reply', 'result Goodbye.']],
    ['onReply moves on', () => go('Next'), ['"Hello."', 'reset step', 'step Next', 'result At Next.']],
    [
      'onReply moves on with a text',
      () => go('Next').withReply('Bye.'),
      ['"Hello."', 'step Next', 'reset reply', 'result Bye.'],
    ],
    ['onReply ends the session', () => finishTurn(), ['"Hello."', 'reset step', 'step Farewell', 'result The end.']],
    [
      'onReply ends it with a text',
      () => finishTurn('Bye.'),
      ['"Hello."', 'step Farewell', 'reset reply', 'result Bye.'],
    ],
    // What was sent is the reply after all.
    [
      'onReply moves on with the same text',
      (text) => go('Next').withReply(text),
      ['"Hello."', 'step Next', 'result Hello.'],
    ],
    ['onReply says the same', (text) => reply(text), ['"Hello."', 'result Hello.']],
  ])('where %s', async (_name, onReply, expected) => {
    class End extends EndStep {
      static override readonly id = 'Farewell'
      override message(): string {
        return 'The end.'
      }
    }
    const steps = [modelStep({ stream: true, onReply }), place('Next'), End]
    expect(shortly(await told(steps, playing(whole)))).toEqual(['session', 'step Talk', ...expected])
  })

  test('where a hook saves the turn', async () => {
    const step = modelStep({ onModelError: () => reply('Sorry.') })
    const provider = streaming(failing(delta('Hel')))
    expect(shortly(await told([step], provider, { modelRetry: { maxAttempts: 1 } }))).toEqual([
      'session',
      'step Talk',
      '"Hel"',
      'reset reply',
      'result Sorry.',
    ])
  })

  test('where the answer is not what was streamed', async () => {
    const provider = playing([delta('Hel'), finish('Goodbye.')])
    expect(shortly(await told([modelStep()], provider))).toEqual([
      'session',
      'step Talk',
      '"Hel"',
      'reset reply',
      'result Goodbye.',
    ])
  })

  test('in a turn that fails nothing is: there is no reply', async () => {
    const provider = streaming(failing(delta('Hel')))
    expect(shortly(await told([modelStep()], provider, { modelRetry: { maxAttempts: 1 } }))).toEqual([
      'session',
      'step Talk',
      '"Hel"',
      'error MODEL_ERROR',
    ])
  })
})

describe('the result', () => {
  test('comes after the store acknowledged the commit, not before', async () => {
    const { engine, clock, store, stored } = harness({
      flows: [flowOf(modelStep())],
      providers: [streaming(() => pieces(delta('Hello.'), finish('Hello.')))],
    })
    for (const operation of ['create', 'save'] as const) {
      const id = store.journal.at(-1)?.sessionId
      store.delayNext(operation, 100)
      const stream = engine.stream({
        flowName: 'Test',
        userMessage: 'Hi',
        ...(id === undefined ? {} : { sessionId: id }),
      })
      const seen: FlowStreamEvent[] = []
      const reading = (async () => {
        for await (const event of stream) seen.push(event)
      })()
      await clock.advance(99)
      expect(shortly(seen).at(-1)).toBe('"Hello."')
      const session = (seen[0] as { session: string }).session
      const before = await stored(session)
      await clock.advance(1)
      expect(shortly(seen).at(-1)).toBe('result Hello.')
      expect(await stored(session)).not.toBe(before)
      await reading
    }
  })

  test('does not come where the commit failed', async () => {
    const { engine, clock, store } = harness({
      flows: [flowOf(modelStep())],
      providers: [streaming(() => pieces(delta('Hello.'), finish('Hello.')))],
    })
    store.outage()
    const events = await clock.runUntil(readAll(engine.stream({ flowName: 'Test', userMessage: 'Hi' })))
    expect(shortly(events)).toEqual(['session', 'step Talk', '"Hello."', 'error SESSION_STORE_ERROR'])
  })

  test('is sent when the lock is free, and all listeners were called', async () => {
    const { engine } = harness({
      flows: [flowOf(modelStep())],
      providers: [streaming(() => pieces(finish('Hello.')))],
    })
    const received = recordEvents(engine)
    let atResult: readonly unknown[] = []
    for await (const event of engine.stream({ flowName: 'Test', userMessage: 'Hi' })) {
      if (event.type === 'result') atResult = [engine.getFlowSession().locked, namesOf(received).at(-1)]
    }
    expect(atResult).toEqual([0, 'turn:end'])
  })
})
