// Messages that wait behind one that ends their session continue in one new session, in order.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, harness } from '../../../testing/contract/engine-harness.js'
import { type ExecuteResult, type FlowEngineOptions, type FlowRunInput, finish, reply } from '../../index.js'

afterEach(expectNothingLeft)

/** A session whose running turn ends it when the gate opens. */
async function ending(options: FlowEngineOptions = {}) {
  const { opened, open } = gate()
  const flow = flowOf('Talk', async ({ message }) => {
    if (message !== 'hello') await opened
    if (message === 'fail') throw new Error('No.')
    return message.startsWith('end') ? finish('Bye.') : reply(message)
  })
  const made = harness({ flows: [flow], ...options })
  const { session: sessionId } = await made.engine.run({ flowName: 'Talk', userMessage: 'hello' })
  let keys = 0
  const say = (userMessage: string, isKeyed: boolean, more: Partial<FlowRunInput> = {}): Promise<ExecuteResult> => {
    const key = isKeyed ? { idempotencyKey: `key-of-the-message-${++keys}` } : {}
    return made.engine.execute({ flowName: 'Talk', userMessage, sessionId, ...key, ...more })
  }
  const messages = async (id: string): Promise<string[]> =>
    (await made.document(id)).history.map(({ message }) => message)
  return { ...made, sessionId, say, open, messages }
}

describe.each([
  ['without keys', [false, false, false]],
  ['with keys', [true, true, true]],
  ['some with keys', [true, false, true]],
])('messages %s', (_which, [first = false, second = false, third = false]) => {
  test.each(['end', 'fail'])(
    'that wait behind one that ends the session (%s) share one new session',
    async (message) => {
      const { say, open, messages, sessionId } = await ending()
      const last = say(message, first)
      const waiting = [say('a', first), say('b', second), say('c', third)]
      open()
      await last
      const results = await Promise.all(waiting)
      const [session = ''] = new Set(results.map(({ response }) => response.session))
      expect(session).not.toBe(sessionId)
      expect(results.map(({ response }) => [response.message, response.session])).toEqual([
        ['a', session],
        ['b', session],
        ['c', session],
      ])
      const restarted = message === 'end' ? 'completed' : 'aborted'
      expect(results.map((result) => result.restarted)).toEqual([restarted, restarted, restarted])
      expect(await messages(session)).toEqual(['a', 'b', 'c'])
    },
  )

  test('begin another session behind one that ends the new one', async () => {
    const { say, open, messages } = await ending()
    const last = say('end', first)
    const waiting = [say('a', first), say('end again', second), say('b', third)]
    open()
    const results = await Promise.all([last, ...waiting])
    const ids = results.map(({ response }) => response.session)
    expect(ids[2]).toBe(ids[1])
    expect(new Set(ids).size).toBe(3)
    expect(await messages(ids[1] ?? '')).toEqual(['a', 'end again'])
    expect(await messages(ids[3] ?? '')).toEqual(['b'])
  })

  test('share one although the first of them is cancelled', async () => {
    const { say, open, messages, engine } = await ending()
    const controller = new AbortController()
    const last = say('end', first)
    const cancelled = say('a', first, { signal: controller.signal })
    const waiting = [say('b', second), say('c', third)]
    engine.on('session:started', () => controller.abort())
    open()
    await last
    expect((await cancelled).error?.code).toBe('TURN_ABORTED')
    const [b, c] = await Promise.all(waiting)
    expect(b?.response).toMatchObject({ success: true, message: 'b' })
    expect(c?.response.session).toBe(b?.response.session)
    expect(await messages(b?.response.session ?? '')).toEqual(['b', 'c'])
  })

  test('of a flow that refuses or interrupts do not', async () => {
    const { say, open } = await ending({ busy: 'interrupt' })
    const last = say('end', first)
    open()
    await last
    const results = await Promise.all([say('hello', first), say('hello', second)])
    expect(new Set(results.map(({ response }) => response.session)).size).toBe(2)
  })
})

test('a message that is sent again is answered from the shared session', async () => {
  const { say, open } = await ending()
  const key = { idempotencyKey: 'key-of-one-message' }
  const last = say('end', false)
  const waiting = [say('a', false), say('b', false, key)]
  open()
  const [, , b] = await Promise.all([last, ...waiting])
  expect(await say('b', false, key)).toMatchObject({ response: b?.response, replayed: true })
})
