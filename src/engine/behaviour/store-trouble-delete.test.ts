import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { type FlowConstructor, reply, SessionFlowInvariantError } from '../../index.js'

afterEach(expectNothingLeft)

const secret = new Error('connect ECONNREFUSED redis://user:hunter2@10.0.0.7:6379')

const talk = (): FlowConstructor =>
  flowOf('Talk', (turn) => {
    if (turn.message === 'fail') throw new Error('It broke.')
    return reply(`You said: ${turn.message}`)
  })

/** An engine whose first session gets the ID `new-1`. */
function fresh() {
  let sessions = 0
  const generateId = (kind: string): string => (kind === 'session' ? `new-${++sessions}` : `${kind}-${Math.random()}`)
  return harness({ flows: [talk()], generateId })
}

describe('a delete that fails', () => {
  async function started() {
    const made = fresh()
    const session = await made.start('Talk')
    const first = made.store.journal.length
    return { ...made, session, operations: () => made.store.operations.slice(first) }
  }

  test('it threw after it removed: a success', async () => {
    const { engine, store, session, backing, operations } = await started()
    store.failNext('delete', { after: true })
    expect(await engine.deleteSession(session)).toEqual({ success: true, session })
    expect(operations()).toEqual(['load', 'delete', 'load'])
    expect(backing.size).toBe(0)
  })

  test('it threw before it removed: tried again', async () => {
    const { engine, store, session, backing, operations } = await started()
    store.failNext('delete', { times: 2 })
    expect(await engine.deleteSession(session)).toEqual({ success: true, session })
    expect(operations()).toEqual(['load', 'delete', 'load', 'delete', 'load', 'delete'])
    expect(backing.size).toBe(0)
  })

  test('[4.6-4 7.2-4] three times: SESSION_STORE_ERROR, and the document stays', async () => {
    const { engine, store, session, stored } = await started()
    const before = await stored(session)
    store.failNext('delete', { times: 3, error: secret })
    const { result, error } = await engine.executeDelete(session)
    expect(result).toEqual({ success: false, session, message: `Session store failed to delete session '${session}'.` })
    expect(error).toMatchObject({ code: 'SESSION_STORE_ERROR', operation: 'delete', cause: secret })
    expect(await stored(session)).toBe(before)
  })

  test('[4.6-4] where it cannot be read back the outcome is unknown', async () => {
    const { engine, store, session } = await started()
    store.failNext('delete')
    store.failNext('load', { nth: 2 })
    expect(await engine.deleteSession(session)).toEqual({
      success: false,
      session,
      message: `Session store failed to delete session '${session}'. Whether it took effect is unknown.`,
    })
  })

  test.each(['hang-before', 'hang-after'] as const)(
    'it never answered (%s): looked up, and if need be tried again',
    async (effect) => {
      const { engine, store, clock, session, backing } = await started()
      store.inject({ operation: 'delete', effect })
      const deleting = engine.deleteSession(session)
      await clock.advance(5_000)
      expect(await deleting).toEqual({ success: true, session })
      expect(backing.size).toBe(0)
    },
  )

  test('[4.6-1 7.2-1] another document found in its place is a conflict, and stays', async () => {
    const { engine, store, clock, session, rewrite, stored } = await started()
    store.failNext('delete', { latencyMs: 10 })
    const deleting = engine.executeDelete(session)
    await clock.settle()
    await rewrite(session, (document) => Object.assign(document, { revision: '9-theirs' }))
    const winner = await stored(session)
    await clock.advance(10)
    expect((await deleting).error?.code).toBe('SESSION_CONFLICT')
    expect(await stored(session)).toBe(winner)
  })

  test('[4.6-4 7.2-4] a store that cannot be read is not a missing session', async () => {
    const { engine, store, session, stored } = await started()
    const before = await stored(session)
    store.failNext('load', { error: secret })
    const { result, error } = await engine.executeDelete(session)
    expect(result).toEqual({ success: false, session, message: `Session store failed to load session '${session}'.` })
    expect(error?.cause).toBe(secret)
    expect(await stored(session)).toBe(before)
  })

  test('[4.6-4] a store that throws at once', async () => {
    const { engine, store, session } = await started()
    store.failNext('delete', { atOnce: true, times: 3, error: secret })
    expect(await engine.deleteSession(session)).toEqual({
      success: false,
      session,
      message: `Session store failed to delete session '${session}'.`,
    })
  })

  test('a document without a revision whose delete failed once is deleted all the same', async () => {
    const { engine, store, session, backing } = await started()
    store.answerNext({}, { times: 2 })
    store.failNext('delete')
    expect(await engine.deleteSession(session)).toEqual({ success: true, session })
    expect(backing.size).toBe(0)
  })

  test('an unreadable document whose delete failed once is deleted all the same', async () => {
    const { engine, store, session, backing } = await started()
    const error = new SessionFlowInvariantError({ sessionId: session, problem: 'it is not valid JSON' })
    store.failNext('load', { times: 2, error })
    store.failNext('delete')
    expect(await engine.deleteSession(session)).toEqual({ success: true, session })
    expect(backing.size).toBe(0)
  })
})
