import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { type FlowConstructor, FlowEngine, MemorySessionStore, reply, type SessionDocument } from '../../index.js'

afterEach(expectNothingLeft)

const talk = (): FlowConstructor => flowOf('Talk')

describe('getSession', () => {
  /** Every object within `value`, itself included. */
  function objectsIn(value: unknown): object[] {
    if (typeof value !== 'object' || value === null) return []
    return [value, ...Object.values(value).flatMap(objectsIn)]
  }

  test('gives a copy that is frozen down to its last value', async () => {
    const flow = flowOf('Talk', (_turn, step) => {
      step.state.list = [{ a: 1 }]
      return reply('hi')
    })
    const { engine, start, document } = harness({ flows: [flow] })
    const session = await start('Talk', { deep: { deeper: [1, { two: 2 }] } })
    const found = await engine.getSession(session)
    expect(found).toEqual(await document(session))
    const objects = objectsIn(found)
    expect(objects.length).toBeGreaterThan(15)
    expect(objects.filter((object) => !Object.isFrozen(object))).toEqual([])
  })

  test.each(['unknown', '', 'with space', 'a,b', 'x'.repeat(257)])('gives undefined for %j', async (sessionId) => {
    const { engine } = harness({ flows: [talk()] })
    expect(await engine.getSession(sessionId)).toBeUndefined()
  })

  test.each([undefined, null, 5, {}, []])('gives undefined for %j, which is not a string', async (sessionId) => {
    const { engine, store } = harness()
    expect(await engine.getSession(sessionId as unknown as string)).toBeUndefined()
    expect(store.journal).toEqual([])
  })

  test.each([
    ['ada', { owner: 'ada' }, true],
    ['ada', { owner: 'bob' }, false],
    ['ada', {}, false],
    ['ada', undefined, true],
    [undefined, { owner: 'ada' }, false],
    [undefined, {}, true],
    [undefined, undefined, true],
  ])('of the session of %s, asked as %j: %s', async (owner, options, isFound) => {
    const { engine } = harness({ flows: [talk()] })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'hello', ...(owner && { owner }) })
    const found = await engine.getSession(session, options)
    expect(found?.id).toBe(isFound ? session : undefined)
    if (options) expect((await engine.getSummary(session, options))?.id).toBe(isFound ? session : undefined)
    expect(Object.isFrozen(found ?? Object.freeze({}))).toBe(true)
  })

  test.each([
    [null, 'getSession: the options must be an object.'],
    ['ada', 'getSession: the options must be an object.'],
    [{ principal: 'ada' }, "getSession: there is no option 'principal'. The options are owner, requestId."],
    [{ requestId: 'a b' }, 'requestId must be 1 to 128 characters of A-Z, a-z, 0-9, ".", "_", ":" and "-".'],
  ])('refuses the options %j', async (options, message) => {
    const { engine, start, store } = harness({ flows: [talk()] })
    const session = await start('Talk')
    const before = store.journal.length
    const found = engine.getSession(session, options as never)
    await expect(found).rejects.toMatchObject({ code: 'INVALID_INPUT', message })
    expect(store.journal).toHaveLength(before)
  })

  test('says nothing of a malformed session to a stranger, and everything to its owner', async () => {
    const { engine, rewrite } = harness({ flows: [talk()] })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'hello', owner: 'ada' })
    await rewrite(session, (document) => Object.assign(document, { version: 9, history: 'none' }))
    expect(await engine.getSession(session, { owner: 'bob' })).toBeUndefined()
    expect(await engine.getSession(session, {})).toBeUndefined()
    await expect(engine.getSession(session, { owner: 'ada' })).rejects.toMatchObject({ newerLayout: true })
  })

  test("rejects with the store's failure, and with a malformed document", async () => {
    const { engine, start, store, rewrite } = harness({ flows: [talk()] })
    const session = await start('Talk')
    store.failNext('load')
    await expect(engine.getSession(session)).rejects.toMatchObject({
      code: 'SESSION_STORE_ERROR',
      message: `Session store failed to load session '${session}'.`,
      operation: 'load',
      sessionId: session,
    })
    await rewrite(session, (document) => Object.assign(document, { version: 9 }))
    await expect(engine.getSession(session)).rejects.toMatchObject({ code: 'SESSION_FLOW_INVARIANT' })
  })
})

describe('getSummary', () => {
  test('is what a listing shows, and loads only if the store has no summary', async () => {
    const { engine, store, start } = harness({ flows: [talk()] })
    const session = await start('Talk')
    store.clearJournal()
    const listed = (await engine.listSessions()).sessions[0]
    expect(await engine.getSummary(session, {})).toEqual(listed)
    expect(store.operations).toEqual(['list', 'load'])
    store.summary = async (sessionId) => (sessionId === session ? listed : undefined)
    expect(await engine.getSummary(session, {})).toBe(listed)
    for (const unknown of ['unknown', 'a b']) expect(await engine.getSummary(unknown, {})).toBeUndefined()
    expect(store.operations).toEqual(['list', 'load'])
  })

  test('of the memory store says nothing of a malformed session to a stranger, and everything to its owner', async () => {
    const backing = new Map<string, SessionDocument>()
    const engine = new FlowEngine({ flows: [talk()], sessionStore: new MemorySessionStore({ backing }) })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'hello', owner: 'ada' })
    backing.set(session, { ...backing.get(session), turns: 'many' } as never)
    for (const options of [{ owner: 'bob' }, {}]) expect(await engine.getSummary(session, options)).toBeUndefined()
    await expect(engine.getSummary(session, { owner: 'ada' })).rejects.toMatchObject({
      code: 'SESSION_FLOW_INVARIANT',
      message: expect.stringContaining('it has no readable summary'),
    })
    await engine.close()
  })

  test('rejects for a store that fails, returns anything else, or an unknown option', async () => {
    const { engine, store } = harness({ flows: [talk()] })
    store.summary = async () => ({ id: 's1', turns: 1 }) as never
    await expect(engine.getSummary('s1', {})).rejects.toMatchObject({ code: 'SESSION_FLOW_INVARIANT' })
    store.summary = async () => {
      throw new Error('connect ECONNREFUSED')
    }
    await expect(engine.getSummary('s1', {})).rejects.toMatchObject({ code: 'SESSION_STORE_ERROR', operation: 'load' })
    await expect(engine.getSummary('s1', { principal: 'ada' } as never)).rejects.toThrow(
      "getSummary: there is no option 'principal'.",
    )
  })
})
