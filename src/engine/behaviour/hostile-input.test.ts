import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, type Harness, harness } from '../../../testing/contract/engine-harness.js'
import { type FlowConstructor, type FlowRunInput, type JsonObject, reply } from '../../index.js'

afterEach(expectNothingLeft)

/** An engine that has one session and counts what runs. */
async function started(): Promise<Harness & { readonly session: string; readonly ran: () => number }> {
  let ran = 0
  const flow: FlowConstructor = flowOf(
    'Talk',
    (turn) => {
      ran++
      return reply(JSON.stringify(turn.context))
    },
    { construct: () => void ran++ },
  )
  const made = harness({ flows: [flow] })
  const session = await made.start('Talk')
  ran = 0
  return { ...made, session, ran: () => ran }
}

describe('names of methods as data', () => {
  test('toJSON, then, valueOf, constructor and hasOwnProperty are keys like any other', async () => {
    const config: JsonObject = {
      toJSON: 'a',
      // biome-ignore lint/suspicious/noThenProperty: a caller may send it
      then: 'b',
      valueOf: 1,
      constructor: { prototype: { polluted: true } },
      hasOwnProperty: null,
      prototype: [],
    }
    const { engine, document } = await started()
    const response = await engine.run({ flowName: 'Talk', userMessage: 'hello', config })
    expect(response.success).toBe(true)
    expect((await document(response.session)).flow.context).toEqual({ config })
    expect(JSON.parse(response.message)).toEqual({ config })
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  test('an object without a prototype is plain', async () => {
    const { engine } = await started()
    const config: JsonObject = Object.assign(Object.create(null), { a: 1 })
    expect(await engine.run({ flowName: 'Talk', userMessage: 'hello', config })).toMatchObject({
      success: true,
      message: '{"config":{"a":1}}',
    })
  })

  test('what is undefined is left out', async () => {
    const { engine } = await started()
    const config = { a: undefined, b: 1 } as unknown as JsonObject
    expect((await engine.run({ flowName: 'Talk', userMessage: 'hello', config })).message).toBe('{"config":{"b":1}}')
  })
})

describe('hostile objects', () => {
  const boom = (): never => {
    throw new Error('read me not')
  }

  test.each(['flowName', 'userMessage', 'attachments', 'sessionId', 'config', 'signal', 'owner', 'serverContext'])(
    '[4.5-4] an input whose %s throws when it is read',
    async (field) => {
      const { engine, ran, backing } = await started()
      const input = Object.defineProperty({ flowName: 'Talk', userMessage: 'hello' }, field, { get: boom })
      const response = await engine.run(input as FlowRunInput)
      expect(response).toEqual({
        success: false,
        completed: true,
        message: 'read me not',
        session: '',
        contentType: 'text/plain',
      })
      expect([ran(), backing.size]).toEqual([0, 1])
    },
  )

  test('[4.5-4] an input that is a proxy and throws at everything', async () => {
    const { engine, ran } = await started()
    const input = new Proxy({}, { get: boom, has: boom, ownKeys: boom, getPrototypeOf: boom }) as FlowRunInput
    expect(await engine.run(input)).toMatchObject({ success: false, message: 'read me not' })
    expect(ran()).toBe(0)
  })

  test.each([
    ['throws at a key', Object.defineProperty({}, 'a', { get: boom, enumerable: true })],
    ['is a proxy', new Proxy({}, { getPrototypeOf: boom })],
    ['is a proxy that hides its keys', new Proxy({}, { ownKeys: boom })],
    ['holds one that throws', { inner: [Object.defineProperty({}, 'a', { get: boom, enumerable: true })] }],
  ])('[4.5-4] a config that %s', async (_how, config) => {
    const { engine, session, ran } = await started()
    const response = await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session, config })
    expect(response).toMatchObject({ success: false, message: 'read me not', session })
    expect(ran()).toBe(0)
  })

  test.each([
    [
      'an attachment that throws at a field',
      [Object.defineProperty({ type: 'image' }, 'data', { get: boom, enumerable: true })],
    ],
    ['an attachment that is a proxy', [new Proxy({}, { ownKeys: boom })]],
    ['a list that throws at its end', Object.assign([{}], { [Symbol.iterator]: boom })],
  ])('[4.5-4] %s', async (_how, attachments) => {
    const { engine, session, ran } = await started()
    const input = { flowName: 'Talk', userMessage: 'hello', sessionId: session, attachments } as unknown as FlowRunInput
    expect(await engine.run(input)).toMatchObject({ success: false, message: 'read me not', session })
    expect(ran()).toBe(0)
  })

  test('a revoked proxy', async () => {
    const { engine, ran } = await started()
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect((await engine.run(proxy as FlowRunInput)).success).toBe(false)
    expect((await engine.run({ flowName: 'Talk', userMessage: 'hello', config: proxy })).success).toBe(false)
    expect((await engine.deleteSession(proxy as string)).success).toBe(false)
    expect(ran()).toBe(0)
  })

  test('a getter is read once: what was checked is what is stored', async () => {
    const { engine, document } = await started()
    let reads = 0
    const config = {
      get value(): unknown {
        reads++
        return reads === 1 ? 'harmless' : () => 'harmful'
      },
    } as unknown as JsonObject
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'hello', config })
    expect((await document(session)).flow.context).toEqual({ config: { value: 'harmless' } })
    expect(reads).toBe(1)
  })

  test('a signal that cannot be listened to: nothing is run, and no timer stays', async () => {
    const { engine, ran, backing } = await started()
    const { signal } = new AbortController()
    Object.defineProperty(signal, 'addEventListener', { value: boom })
    const response = await engine.run({ flowName: 'Talk', userMessage: 'hello', signal })
    expect(response).toMatchObject({ success: false, message: 'read me not', session: '' })
    expect([ran(), backing.size]).toEqual([0, 1])
  })

  test.each(['addEventListener', 'removeEventListener'])(
    'a turn that waits, with a signal whose %s throws, does not keep the lock from others',
    async (method) => {
      const { engine, clock, session, ran } = await started()
      const held = gate()
      const holding = engine.getFlowSession().withSessionLock(session, () => held.opened)
      const { signal } = new AbortController()
      Object.defineProperty(signal, method, { value: boom })
      const hostile = engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session, signal })
      const next = engine.run({ flowName: 'Talk', userMessage: 'next', sessionId: session })
      await clock.settle()
      held.open()
      await holding
      await hostile
      expect(await Promise.race([next, clock.settle()])).toMatchObject({ success: true, session })
      expect(ran()).toBeGreaterThan(0)
    },
  )

  test('a signal whose listener cannot be removed: a committed turn stays a success', async () => {
    const { engine, document } = await started()
    const { signal } = new AbortController()
    Object.defineProperty(signal, 'removeEventListener', { value: boom })
    const response = await engine.run({ flowName: 'Talk', userMessage: 'hello', signal })
    expect(response.success).toBe(true)
    expect(await document(response.session)).toMatchObject({ runStatus: 'running' })
  })

  test('a signal whose reason throws where it is read', async () => {
    const { engine } = await started()
    const signal = Object.defineProperty(AbortSignal.abort(), 'reason', { get: boom })
    const response = await engine.run({ flowName: 'Talk', userMessage: 'hello', signal })
    expect(response).toMatchObject({ success: false, session: '' })
  })
})
