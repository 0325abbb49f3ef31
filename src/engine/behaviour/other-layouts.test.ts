// Sessions of layouts that this release does not read: an older one, which it refuses and may delete, and those that
// only a newer release reads.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { go, reply, type SessionDocument, SessionFlowInvariantError, type Turn } from '../../index.js'
import { bytesOfLists } from '../../session/document-bytes.js'

afterEach(expectNothingLeft)

describe('a session of layout 1', () => {
  const sentence = (session: string) =>
    `Session '${session}' is malformed: its layout version is 1, and this release reads 2 and 3.`

  async function olderSession() {
    const made = harness({ flows: [flowOf('Talk', ({ message }) => reply(message))] })
    const session = await made.start('Talk')
    await made.rewrite(session, (document) => Object.assign(document, { version: 1 }))
    return { ...made, session, before: await made.stored(session) }
  }

  test('is refused on run, says why, and keeps its bytes', async () => {
    const { engine, session, before, stored } = await olderSession()
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'Hi', sessionId: session })
    expect(response).toMatchObject({ success: false, session, message: sentence(session) })
    expect(error).toMatchObject({ code: 'SESSION_FLOW_INVARIANT', statusCode: 409, newerLayout: false })
    expect(await stored(session)).toBe(before)
    await expect(engine.getSession(session)).rejects.toThrow(sentence(session))
  })

  test('can be deleted', async () => {
    const { engine, session, backing } = await olderSession()
    expect(await engine.deleteSession(session)).toEqual({ success: true, session })
    expect(backing.size).toBe(0)
  })

  test('is not what onRestore may return', async () => {
    const Restoring = flowOf('Talk', ({ message }) => reply(message))
    Restoring.prototype.onRestore = (document: SessionDocument) => ({ ...document, version: 1 })
    const { engine, start, stored } = harness({ flows: [Restoring] })
    const sessionId = await start('Talk')
    const before = await stored(sessionId)
    const { error } = await engine.execute({ flowName: 'Talk', userMessage: 'Hi', sessionId })
    expect(error?.message).toBe(sentence(sessionId))
    expect(await stored(sessionId)).toBe(before)
  })
})

describe('a session of a layout that only a newer release reads', () => {
  const problem = 'its layout version is 4, and this release reads 2 and 3'

  async function newerSession(owner?: string) {
    const talk = flowOf('Talk', ({ message }: Turn) => (message === 'go' ? go('Only') : reply(message)))
    const made = harness({ flows: [talk] })
    const input = { flowName: 'Talk', userMessage: 'start', ...(owner === undefined ? {} : { owner }) }
    const { session } = await made.engine.run(input)
    await made.rewrite(session, (document) => Object.assign(document, { version: 4, history: { first: 7 }, flow: [] }))
    return { ...made, session, before: await made.stored(session) }
  }
  const sentence = (session: string) =>
    `Session '${session}' was stored by a newer release of Turnkeeper and cannot be read: ${problem}.`

  test('is refused on run, says why, and keeps its bytes', async () => {
    const { engine, session, before, stored } = await newerSession()
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'Hi', sessionId: session })
    expect(response).toMatchObject({ success: false, session, message: sentence(session) })
    expect(error).toMatchObject({ code: 'SESSION_FLOW_INVARIANT', statusCode: 409, newerLayout: true })
    expect(await stored(session)).toBe(before)
    await expect(engine.getSession(session)).rejects.toThrow(sentence(session))
  })

  test.each([
    ['its owner', 'ada', { owner: 'ada' }],
    ['a caller without a name, where it has no owner', undefined, {}],
  ])('is refused on a delete by %s, and keeps its bytes', async (_name, owner, options) => {
    const { engine, session, before, stored } = await newerSession(owner)
    expect(await engine.deleteSession(session, options)).toEqual({
      success: false,
      session,
      message: sentence(session),
    })
    expect(await stored(session)).toBe(before)
  })

  test("stays for somebody who is not its owner, as any stranger's session does", async () => {
    const { engine, session, before, stored } = await newerSession('ada')
    expect(await engine.deleteSession(session, { owner: 'eve' })).toMatchObject({ success: true })
    expect(await engine.deleteSession(session, {})).toMatchObject({ success: true })
    expect(await stored(session)).toBe(before)
  })

  test('is unknown to somebody who is not its owner: a run starts another session', async () => {
    const { engine, session, before, stored } = await newerSession('ada')
    const input = { flowName: 'Talk', userMessage: 'Hi', sessionId: session }
    for (const stranger of [{ ...input, owner: 'eve' }, input]) {
      const { response } = await engine.execute(stranger)
      expect([response.success, response.session === session]).toEqual([true, false])
    }
    expect(await stored(session)).toBe(before)
  })

  test.each([
    ['its owner', { owner: 'ada' }, false],
    ['a stranger', { owner: 'eve' }, true],
  ])('in a store that cannot read its head is for %s as in any other store', async (_name, who, isUnknown) => {
    const { engine, store } = harness({ flows: [flowOf('Talk', ({ message }) => reply(message))] })
    const error = (sessionId: string) =>
      new SessionFlowInvariantError({ sessionId, problem, newerLayout: true, owner: 'ada' })
    store.failNext('load', { error: error('s-1') })
    const { response } = await engine.execute({ flowName: 'Talk', userMessage: 'Hi', sessionId: 's-1', ...who })
    expect([response.success, response.message]).toEqual(isUnknown ? [true, 'Hi'] : [false, sentence('s-1')])
    store.failNext('load', { error: error('s-1') })
    expect((await engine.deleteSession('s-1', who)).success).toBe(isUnknown)
  })

  test.each(['ada', undefined])('is deleted by the application itself (owner: %s)', async (owner) => {
    const { engine, session, backing } = await newerSession(owner)
    expect(await engine.deleteSession(session)).toEqual({ success: true, session })
    expect(backing.size).toBe(0)
  })
})

describe('receipts and effects of a session', () => {
  const receipts = [{ key: 'k-1', request: 'r-1', turn: 1 }]
  const effects = { charge: { begunAt: '2026-01-01T00:00:00.000Z', attempts: 1, result: { id: 'ch-1' } } }

  test.each([
    ['a turn', 'Hi', 'running'],
    ['a turn that fails', 'fail', 'aborted'],
    ['a turn that is refused for its size', 'x'.repeat(9000), 'running'],
  ])('stay with it through %s, and are counted', async (_name, userMessage, runStatus) => {
    const talk = flowOf('Talk', ({ message }) => {
      if (message === 'fail') throw new Error('Broken.')
      return reply(message)
    })
    const { engine, start, rewrite, document, store } = harness({ flows: [talk], limits: { maxSessionBytes: 8000 } })
    const sessionId = await start('Talk')
    await rewrite(sessionId, (stored) => {
      Object.assign(stored, { receipts, effects })
      stored.bytes = bytesOfLists(stored as unknown as SessionDocument)
    })
    await engine.run({ flowName: 'Talk', userMessage, sessionId })
    const after = await document(sessionId)
    expect([after.receipts, after.effects, after.runStatus]).toEqual([receipts, effects, runStatus])
    expect(after.bytes).toBe(bytesOfLists(JSON.parse(JSON.stringify(after))))
    expect(Object.keys(store.journal.at(-1)?.hint?.appended ?? {})).not.toContain('receipts')
  })
})
