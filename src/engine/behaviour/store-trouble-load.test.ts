import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { reply, SessionFlowInvariantError } from '../../index.js'

afterEach(expectNothingLeft)

const secret = new Error('connect ECONNREFUSED redis://user:hunter2@10.0.0.7:6379')

/** A session after its first turn, and how often the flow ran since. */
async function started() {
  let runs = -1
  const flow = flowOf('Talk', (turn) => {
    runs++
    return reply(`You said: ${turn.message}`)
  })
  const made = harness({ flows: [flow] })
  const session = await made.start('Talk')
  const before = await made.stored(session)
  const firstCall = made.store.journal.length
  return {
    ...made,
    session,
    before,
    runs: () => runs,
    /** What the store was asked since. */
    operations: () => made.store.operations.slice(firstCall),
    say: () => made.engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId: session }),
  }
}

const failure = (message: string, session: string) => ({
  success: false,
  completed: true,
  message,
  session,
  contentType: 'text/plain',
})

describe('loading', () => {
  test('[7.2-4] a store that fails is SESSION_STORE_ERROR, never a missing session', async () => {
    const { say, store, session, before, stored, backing, runs, operations } = await started()
    store.failNext('load', { error: secret })
    const { response, error } = await say()
    expect(response).toEqual(failure(`Session store failed to load session '${session}'.`, session))
    expect(error).toMatchObject({
      code: 'SESSION_STORE_ERROR',
      statusCode: 500,
      operation: 'load',
      sessionId: session,
      cause: secret,
    })
    expect(await stored(session)).toBe(before)
    expect([backing.size, runs(), operations()]).toEqual([1, 0, ['load']])
  })

  test('a store that throws synchronously fails in the same way', async () => {
    const { say, store, session, backing } = await started()
    store.failNext('load', { atOnce: true, error: secret })
    const { response } = await say()
    expect(response).toEqual(failure(`Session store failed to load session '${session}'.`, session))
    expect(backing.size).toBe(1)
  })

  test.each([undefined, null, 'a text', 0])(
    'things thrown that are not errors are handled alike: %s',
    async (thrown) => {
      const { say, store, session, backing } = await started()
      store.failNext('load', { error: thrown })
      const { response, error } = await say()
      expect(response).toEqual(failure(`Session store failed to load session '${session}'.`, session))
      expect(error?.code).toBe('SESSION_STORE_ERROR')
      expect(backing.size).toBe(1)
    },
  )

  test.each(['hang-before', 'hang-after'] as const)('a store that hangs fails after storeTimeoutMs', async (effect) => {
    const { say, store, clock, session, before, stored, backing, runs } = await started()
    store.inject({ operation: 'load', effect })
    const running = say()
    await clock.advance(4_999)
    let settled = false
    void running.then(() => {
      settled = true
    })
    await clock.settle()
    expect(settled).toBe(false)
    await clock.advance(1)
    const { response, error } = await running
    expect(response).toEqual(failure(`Session store failed to load session '${session}'.`, session))
    expect(error?.cause).toMatchObject({
      code: 'LIMIT_EXCEEDED',
      message: 'A store operation exceeds the limit storeTimeoutMs (5000).',
    })
    expect(await stored(session)).toBe(before)
    expect([backing.size, runs()]).toEqual([1, 0])
  })

  test('an answer that comes too late changes nothing', async () => {
    const { say, store, clock, session, before, stored, runs, operations } = await started()
    store.delayNext('load', 6_000)
    const running = say()
    await clock.advance(5_000)
    expect((await running).error?.code).toBe('SESSION_STORE_ERROR')
    await clock.advance(10_000)
    expect(await stored(session)).toBe(before)
    expect([runs(), operations()]).toEqual([0, ['load']])
  })

  test('nothing found, as undefined or as null, is a missing session', async () => {
    const { say, store, session } = await started()
    for (const nothing of [undefined, null]) {
      store.answerNext(nothing)
      const { response } = await say()
      expect(response.success).toBe(true)
      expect(response.session).not.toBe(session)
    }
  })

  test.each([
    ['a text', 'the document is a string and not an object'],
    [[], 'the document is a list and not an object'],
  ])('[7.2-3] something that is not a document is malformed: %j', async (found, problem) => {
    const { say, store, session, backing } = await started()
    store.answerNext(found)
    const { response, error } = await say()
    expect(response).toEqual(failure(`Session '${session}' is malformed: ${problem}.`, session))
    expect(error?.code).toBe('SESSION_FLOW_INVARIANT')
    expect(backing.size).toBe(1)
  })

  test('[7.2-3] what the store itself calls malformed passes as it is', async () => {
    const { say, store, session, before, stored } = await started()
    const error = new SessionFlowInvariantError({ sessionId: session, problem: 'its checksum does not match' })
    store.failNext('load', { error })
    expect(await say()).toEqual({
      response: failure(`Session '${session}' is malformed: its checksum does not match.`, session),
      sessionState: 'unknown',
      error,
    })
    expect(await stored(session)).toBe(before)
  })
})
