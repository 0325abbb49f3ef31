import '../../index.node.js'
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { ScriptedModel, scriptedProvider } from '../../../testing/index.js'
import {
  ConfigManager,
  End,
  Flow,
  FlowEngine,
  FlowError,
  MemorySessionStore,
  type Model,
  type ModelProviderAdapter,
  type ResolvedModelSelection,
  reply,
  type SessionStore,
} from '../../index.js'

afterEach(expectNothingLeft)

/** The error that `work` throws; a test must not pass because nothing was thrown. */
function thrownBy(work: () => unknown): FlowError {
  try {
    work()
  } catch (error) {
    if (FlowError.isInstance(error)) return error
    throw error
  }
  throw new Error('Nothing was thrown.')
}

class Named extends Flow {
  static override readonly id: string = 'Named'
  override steps() {
    return [End]
  }
}

describe('making an engine', () => {
  test('[4.4-1 2.5-1] every option may be left out', async () => {
    const engine = await FlowEngine.create()
    expect(engine).toBeInstanceOf(FlowEngine)
    expect(engine.getFlowNames()).toEqual([])
    await engine.close()
    await new FlowEngine().close()
  })

  test('[2.5-1] flows given as an option are registered, and a bad batch is refused', async () => {
    expect(new FlowEngine({ flows: { Named } }).getFlowNames()).toEqual(['Named'])
    expect(thrownBy(() => new FlowEngine({ flows: { wrong: Named } })).message).toBe(
      "Flow registration 'wrong' must match Flow ID 'Named'.",
    )
    await expect(FlowEngine.create({ flows: [Named, Named] })).rejects.toMatchObject({
      code: 'FLOW_REGISTRATION',
      message: "Flow 'Named' is already registered.",
    })
  })

  test.each(['memory', 'MEMORY', 'Memory'])('[2.6-6 4.4-2] SESSION_STORE %s is the memory store', async (value) => {
    const configManager = new ConfigManager({ values: { SESSION_STORE: value } })
    const engine = await FlowEngine.create({ configManager, flows: [flowOf('Talk')] })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'hello' })
    expect(await engine.getSession(session)).toMatchObject({ id: session })
    await engine.close()
  })

  test('[2.6-6 4.4-2] another SESSION_STORE is refused with the allowed values', async () => {
    const configManager = { get: (key: string) => (key === 'SESSION_STORE' ? 'cassandra' : undefined) }
    const rejected = expect(FlowEngine.create({ configManager })).rejects
    await rejected.toMatchObject({
      code: 'INVALID_INPUT',
      message:
        "SESSION_STORE is 'cassandra'; allowed: memory, redis, sqlite, postgres. For a store of your own, pass sessionStore to the engine.",
    })
    expect(thrownBy(() => new FlowEngine({ configManager })).code).toBe('INVALID_INPUT')
  })

  test('[2.6-6 4.4-2] a store with a backend is prepared by create, and by nothing else', async () => {
    const configManager = new ConfigManager({ values: { SESSION_STORE: 'Redis', REDIS_URL: 'redis://127.0.0.1:1' } })
    expect(thrownBy(() => new FlowEngine({ configManager })).message).toBe(
      "SESSION_STORE is 'redis': use await FlowEngine.create(), or pass sessionStore to the engine.",
    )
    const engine = await FlowEngine.create({ configManager, flows: [flowOf('Talk')] })
    const { error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId: 'given' })
    expect(error).toMatchObject({ code: 'SESSION_STORE_ERROR', operation: 'load' })
    await engine.close()
  })

  test('[4.4-2 2.5-1] a given store is used, whatever SESSION_STORE says', async () => {
    const backing = new Map()
    const engine = await FlowEngine.create({
      configManager: new ConfigManager({ values: { SESSION_STORE: 'cassandra' } }),
      sessionStore: new MemorySessionStore({ backing }),
      flows: [flowOf('Talk')],
    })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'hello' })
    expect([...backing.keys()]).toEqual([session])
    await engine.close()
  })

  test('[4.4-2] the environment is read where no settings are passed', async () => {
    const before = process.env.SESSION_STORE
    try {
      process.env.SESSION_STORE = 'cassandra'
      await expect(FlowEngine.create()).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      process.env.SESSION_STORE = 'Memory'
      await (await FlowEngine.create()).close()
    } finally {
      if (before === undefined) delete process.env.SESSION_STORE
      else process.env.SESSION_STORE = before
    }
  })

  test.each(['load', 'create', 'save', 'delete', 'close'])('a store without %s is refused', (operation) => {
    const sessionStore = Object.assign(new MemorySessionStore(), { [operation]: undefined })
    const error = thrownBy(() => new FlowEngine({ sessionStore: sessionStore as unknown as SessionStore }))
    expect(error.message).toBe(`FlowEngine: sessionStore must be a SessionStore; it has no method ${operation}.`)
    expect(error.code).toBe('INVALID_INPUT')
  })

  test('services reach the flow and its steps, as they are, and are never stored', async () => {
    const services: object = { mailer: { send: () => 'sent' } }
    const seen: unknown[] = []
    const flow = flowOf(
      'Talk',
      (turn) => {
        seen.push(turn.services)
        return reply('ok')
      },
      { init: (made) => void seen.push(made.services) },
    )
    const { engine, stored } = harness({ flows: [flow], services: services as object })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'hello' })
    expect(seen[0]).toBe(services)
    expect(seen[1]).toBe(services)
    expect(await stored(session)).not.toContain('mailer')
    const without = harness({ flows: [flow] })
    await without.engine.run({ flowName: 'Talk', userMessage: 'hello' })
    expect(seen.slice(2)).toEqual([{}, {}])
  })

  test.each([
    ['flow', 'flows', { flow: [Named] }],
    ['sessionstore', 'sessionStore', { sessionstore: new MemorySessionStore() }],
    ['limit', 'limits', { limit: undefined }],
  ])(
    'the unknown option %s is refused, and the known ones are listed, with %s as the one that was meant',
    async (name, meant, options) => {
      // Before SESSION_STORE is looked at: the option may have been meant to say which store.
      const configManager = new ConfigManager({ values: { SESSION_STORE: 'cassandra' } })
      const message =
        `FlowEngine: there is no option '${name}'. The options are configManager, flows, models, providers, ` +
        'sessionStore, limits, modelRetry, circuitBreaker, budgets, services, unknownSession, onTurnError, errorText, mask, outdated, busy, schedule, clock, random, generateId, ' +
        `logger, onListenerError. Did you mean '${meant}'?`
      expect(thrownBy(() => new FlowEngine({ ...options, configManager } as object))).toMatchObject({
        code: 'INVALID_INPUT',
        message,
      })
      await expect(FlowEngine.create({ ...options, configManager } as object)).rejects.toMatchObject({ message })
    },
  )

  test.each([null, 'Talk', [Named]])('%s in place of the options is refused', async (options) => {
    const message = 'FlowEngine: the options must be an object.'
    expect(thrownBy(() => new FlowEngine(options as object))).toMatchObject({ code: 'INVALID_INPUT', message })
    await expect(FlowEngine.create(options as object)).rejects.toMatchObject({ code: 'INVALID_INPUT', message })
  })

  test('unknownSession takes two words', () => {
    const error = thrownBy(() => new FlowEngine({ unknownSession: 'ignore' as 'new' }))
    expect(error.message).toBe("FlowEngine: unknownSession must be 'new' or 'reject'.")
    expect(error.code).toBe('INVALID_INPUT')
  })

  test('[1-8 1-9] the engine holds flows, models and sessions', () => {
    const { engine } = harness({ flows: [Named], providers: [scriptedProvider([])] })
    expect(engine.getFlow('Named')).toBe(Named)
    expect(engine.resolveModel({ provider: 'scripted', name: 'any', params: {} })).toBeInstanceOf(ScriptedModel)
    expect(typeof engine.getFlowSession().withSessionLock).toBe('function')
  })
})

describe('providers and models', () => {
  const selection: ResolvedModelSelection = { provider: 'local', name: 'small', params: {} }
  const provider = (answer: string): ModelProviderAdapter => scriptedProvider([answer], { provider: 'local' })
  const model = (name: string): ScriptedModel => new ScriptedModel([], { provider: 'local', name })
  const entry = (resolved: ScriptedModel): Model => ({ provider: 'local', name: 'small', create: () => resolved })

  test('[4.4-14 4.4-3] a provider in place stays, unless it is to be replaced', () => {
    const first = provider('first')
    const second = provider('second')
    const third = provider('third')
    const { engine } = harness({ providers: [first] })
    expect(engine.registerProvider(second)).toBe(engine)
    expect(engine.resolveModel(selection)).toBe(first.resolve(selection))
    expect(engine.registerProvider(second, true)).toBe(engine)
    expect(engine.resolveModel(selection)).toBe(second.resolve(selection))
    expect(engine.registerProviders([third], false)).toBe(engine)
    expect(engine.resolveModel(selection)).toBe(second.resolve(selection))
    engine.registerProviders([third], true)
    expect(engine.resolveModel(selection)).toBe(third.resolve(selection))
  })

  test('[4.4-3] of two providers of one name among the options, the last one wins', () => {
    const last = provider('last')
    const { engine } = harness({ providers: [provider('first'), last] })
    expect(engine.resolveModel(selection)).toBe(last.resolve(selection))
  })

  test('[4.4-15 4.4-3] a model in place stays, unless it is to be replaced', () => {
    const [first, second, third] = [model('1'), model('2'), model('3')]
    const { engine } = harness({ providers: [provider('none')], models: [entry(first)] })
    expect(engine.registerModel(entry(second))).toBe(engine)
    expect(engine.resolveModel(selection)).toBe(first)
    expect(engine.registerModel(entry(second), true)).toBe(engine)
    expect(engine.resolveModel(selection)).toBe(second)
    expect(engine.registerModels([entry(third)])).toBe(engine)
    expect(engine.resolveModel(selection)).toBe(second)
    engine.registerModels([entry(third)], true)
    expect(engine.resolveModel(selection)).toBe(third)
  })

  test('[4.4-16 4.4-17] an unregistered provider is refused by resolveModel and validateModel', () => {
    const { engine } = harness()
    expect(thrownBy(() => engine.resolveModel(selection)).code).toBe('INVALID_INPUT')
    const error = thrownBy(() => engine.validateModel(selection))
    expect(error.code).toBe('INVALID_INPUT')
    expect(error.message).toContain("'local'")
    engine.registerProvider(provider('there'))
    expect(engine.validateModel(selection)).toBeUndefined()
  })

  test('[5-3] a credential given to a provider reaches no session', async () => {
    const secret = 'sk-the-key-of-the-provider'
    const keyed: ModelProviderAdapter & { readonly apiKey: string } = { ...provider('x'), apiKey: secret }
    const { engine, backing } = harness({ providers: [keyed], flows: [flowOf('Talk', () => reply('hi'))] })
    await engine.run({ flowName: 'Talk', userMessage: 'hello' })
    expect(JSON.stringify([...backing.values()])).not.toContain(secret)
  })
})

test.each([
  ['clock', {}, 'FlowEngine: clock must have the method now.'],
  ['clock', { now: () => 0 }, 'FlowEngine: clock must have the method setTimer.'],
  ['clock', null, 'FlowEngine: clock must have the method now.'],
  ['logger', 5, 'FlowEngine: logger must have the method debug.'],
  ['configManager', {}, 'FlowEngine: configManager must have the method get.'],
  ['generateId', 5, 'FlowEngine: generateId must be a function.'],
  ['onListenerError', 'log', 'FlowEngine: onListenerError must be a function.'],
])('the option %s as %j is refused', async (name, value, message) => {
  const options = { [name]: value }
  expect(() => new FlowEngine(options)).toThrow(message)
  await expect(FlowEngine.create(options)).rejects.toMatchObject({ code: 'INVALID_INPUT', message })
})
