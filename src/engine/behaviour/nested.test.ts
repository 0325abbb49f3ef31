// A flow that runs another session, or uses another engine, and throws what that failed with: the
// error is the flow's own.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { namesOf, recordEvents } from '../../../testing/contract/event-recorder.js'
import { calls, says } from '../../../testing/contract/model-harness.js'
import { LimitExceededError, TurnAbortedError } from '../../errors/engine-errors.js'
import {
  Flow,
  type FlowConstructor,
  FlowError,
  go,
  LogicStep,
  type ModelProviderAdapter,
  type ModelRequest,
  type ModelResponse,
  reply,
  SessionConflictError,
  type SessionDocument,
  Step,
  type Turn,
  tool,
} from '../../index.js'

afterEach(expectNothingLeft)

/** How another engine, with its session, fails. */
type Fails = () => Promise<FlowError | undefined>

/** An engine with one flow, `Inner`. Its IDs never look like keys, which are redacted in texts of flow code. */
function inner(limits: object = {}) {
  let made = 0
  const generateId = (kind: string): string => `inner${kind}${++made}`
  const flows = [flowOf('Inner', (turn) => reply('x'.repeat(Number(turn.message) || 1)))]
  return harness({ flows, limits, generateId })
}

const failures: readonly (readonly [FlowError['code'], Fails])[] = [
  [
    'SESSION_CONFLICT',
    async () => {
      const { engine, store, start } = inner()
      const sessionId = await start('Inner')
      store.failNext('save', { error: new SessionConflictError({ sessionId }) })
      return (await engine.execute({ flowName: 'Inner', userMessage: 'a', sessionId })).error
    },
  ],
  [
    'TURN_ABORTED',
    async () => {
      const signal = AbortSignal.abort()
      return (await inner().engine.execute({ flowName: 'Inner', userMessage: 'a', signal })).error
    },
  ],
  [
    'ENGINE_CLOSED',
    async () => {
      const { engine } = inner()
      await engine.close()
      return (await engine.execute({ flowName: 'Inner', userMessage: 'a' })).error
    },
  ],
  [
    'SESSION_STORE_ERROR',
    async () => {
      const { engine, store, start } = inner()
      const sessionId = await start('Inner')
      store.outage()
      return (await engine.execute({ flowName: 'Inner', userMessage: 'a', sessionId })).error
    },
  ],
  ['FLOW_NOT_FOUND', async () => (await inner().engine.execute({ flowName: 'Typo', userMessage: 'a' })).error],
  [
    'LIMIT_EXCEEDED',
    async () => {
      const { engine, start } = inner({ maxSessionBytes: 3_000 })
      const sessionId = await start('Inner')
      return (await engine.execute({ flowName: 'Inner', userMessage: '9000', sessionId })).error
    },
  ],
]

/** What flow code does at the place that a test chooses. */
type Act = () => Promise<unknown>

/** Where flow code of the second turn runs: each place throws what `act` rejects with. */
const places = [
  'init',
  'onRestore of the flow',
  'onRestore of a step',
  'onMessage',
  'run',
  'onExit',
  'onEnter',
  'tools',
  'prompt',
  'onReply',
  'onModelError',
  'onError',
] as const
type Place = (typeof places)[number]

/** A flow whose second turn does `act` in one place: it goes from a logic step to a model step. */
function outer(where: Place, act: Act, session: { exists: boolean }): FlowConstructor {
  const at = async (place: Place, turn?: Turn): Promise<void> => {
    if (place === where && (turn === undefined || turn.number > 1)) await act()
  }
  class Begin extends LogicStep {
    static override readonly id = 'Begin'
    override async run(turn: Turn) {
      await at('run', turn)
      if (where === 'onError' && turn.number > 1) throw new Error('Broken.')
      return turn.number === 1 ? reply('Hello.') : go(Ask)
    }
    override onExit(turn: Turn) {
      return at('onExit', turn)
    }
    override onRestore(turn: Turn) {
      return at('onRestore of a step', turn)
    }
  }
  class Ask extends Step {
    static override readonly id = 'Ask'
    override onEnter(turn: Turn) {
      return at('onEnter', turn)
    }
    override async tools(turn: Turn) {
      await at('tools', turn)
      return []
    }
    override async prompt(turn: Turn) {
      await at('prompt', turn)
      return ''
    }
    override async onReply(text: string, turn: Turn) {
      await at('onReply', turn)
      return text
    }
    override onModelError(_error: unknown, turn: Turn) {
      return at('onModelError', turn)
    }
  }
  return class extends Flow {
    static override readonly id = 'Outer'
    override init() {
      return session.exists ? at('init') : undefined
    }
    override model() {
      return { provider: 'own', name: 'small' }
    }
    override steps() {
      return [Begin, Ask]
    }
    override async onMessage(turn: Turn) {
      await at('onMessage', turn)
      return undefined
    }
    override async onError(_error: FlowError, turn: Turn) {
      await at('onError', turn)
      return undefined
    }
    override async onRestore(_document: SessionDocument) {
      await at('onRestore of the flow')
    }
  }
}

function provider(generate: (request: ModelRequest) => Promise<unknown>): ModelProviderAdapter {
  const own = (request: ModelRequest): Promise<ModelResponse> => generate(request) as Promise<ModelResponse>
  return { provider: 'own', resolve: ({ name }) => ({ provider: 'own', name, generate: own }) }
}

describe.each(failures)('%s of another session, thrown by flow code', (code, fails) => {
  const thrower = (thrown: { error?: FlowError }): Act => {
    return async () => {
      const error = await fails()
      if (error !== undefined) thrown.error = error
      throw error
    }
  }

  test.each(places)("in %s is a failure of the flow's own turn", async (place) => {
    const thrown: { error?: FlowError } = {}
    const stage = { exists: false }
    const model = provider(
      place === 'onModelError' ? () => Promise.reject(new Error('Down.')) : async (request) => says('Hi.')(request),
    )
    const made = harness({
      flows: [outer(place, thrower(thrown), stage)],
      providers: [model],
      modelRetry: { maxAttempts: 1 },
    })
    const events = recordEvents(made.engine)
    const session = await made.start('Outer')
    stage.exists = true
    const before = await made.stored(session)
    const { response, error } = await made.engine.execute({ flowName: 'Outer', userMessage: 'go', sessionId: session })
    expect(thrown.error?.code).toBe(code)
    expect(error).toMatchObject({ code: 'FLOW_ERROR', message: thrown.error?.message, cause: thrown.error })
    expect(response).toMatchObject({ success: false, session, message: thrown.error?.message })
    expect(namesOf(events)).not.toContain('session:conflict')
    // What fails before the session is loaded leaves it as it was, whatever it is.
    if (place === 'init') expect(await made.stored(session)).toBe(before)
    else expect(await made.document(session)).toMatchObject({ runStatus: 'aborted', error: [thrown.error?.message] })
  })

  /** One turn of a flow with a model and a tool. */
  async function turnWith(model: ModelProviderAdapter, execute: Act) {
    class Talk extends Step {
      static override readonly id = 'Talk'
      override tools() {
        return [tool({ name: 'act', description: 'Acts.', execute })]
      }
    }
    class Outer extends Flow {
      static override readonly id = 'Outer'
      override model() {
        return { provider: 'own', name: 'small' }
      }
      override steps() {
        return [Talk]
      }
    }
    const made = harness({ flows: [Outer], providers: [model], modelRetry: { maxAttempts: 1 } })
    const { response, error } = await made.engine.execute({ flowName: 'Outer', userMessage: 'go' })
    return { response, error, document: await made.document(response.session) }
  }

  test('by a tool is an error of the tool', async () => {
    const thrown: { error?: FlowError } = {}
    const { error, document } = await turnWith(
      provider(async (request) => calls('act')(request)),
      thrower(thrown),
    )
    expect(error).toMatchObject({
      code: 'TOOL_ERROR',
      tool: 'act',
      message: thrown.error?.message,
      cause: thrown.error,
    })
    expect(document.runStatus).toBe('aborted')
  })

  test('by a provider is an error of the model', async () => {
    const thrown: { error?: FlowError } = {}
    const { error, document } = await turnWith(provider(thrower(thrown)), async () => undefined)
    const message = "Model 'small' of provider 'own' failed."
    expect(error).toMatchObject({ code: 'MODEL_ERROR', message, cause: thrown.error })
    expect(document).toMatchObject({ runStatus: 'aborted', error: [message] })
  })
})

describe('a failure of the turn itself', () => {
  test('that flow code throws again, from its signal, is still that of the turn', async () => {
    const controller = new AbortController()
    const flow = flowOf('Talk', (turn) => {
      if (turn.message === 'start') return reply('started')
      controller.abort()
      throw turn.signal.reason
    })
    const made = harness({ flows: [flow] })
    const session = await made.start('Talk')
    const before = await made.stored(session)
    const input = { flowName: 'Talk', userMessage: 'a', sessionId: session, signal: controller.signal }
    expect((await made.engine.execute(input)).error).toBeInstanceOf(TurnAbortedError)
    expect(await made.stored(session)).toBe(before)
  })

  test("is not what flow code makes up: an error of the turn's kind is one of flow code", async () => {
    const made = harness({
      flows: [
        flowOf('Talk', () => {
          throw new TurnAbortedError()
        }),
      ],
    })
    const { error } = await made.engine.execute({ flowName: 'Talk', userMessage: 'a' })
    expect(error?.code).toBe('FLOW_ERROR')
  })

  test('other limits, and errors of models that flow code throws, are as they were', async () => {
    for (const thrown of [
      new LimitExceededError({ limit: 'ownLimit', value: 1, problem: 'A thing' }),
      new FlowError({ code: 'MODEL_ERROR', message: 'No.' }),
    ]) {
      const flow = flowOf('Talk', () => {
        throw thrown
      })
      const { error } = await harness({ flows: [flow] }).engine.execute({ flowName: 'Talk', userMessage: 'a' })
      expect(error).toBe(thrown)
    }
  })
})
