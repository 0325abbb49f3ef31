import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { type FlowConstructor, reply } from '../../index.js'

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

describe('a first turn whose create fails', () => {
  const success = {
    success: true,
    completed: false,
    message: 'You said: hello',
    session: 'new-1',
    contentType: 'text/plain',
  }
  const failure = (message: string) => ({
    success: false,
    completed: true,
    message,
    session: '',
    contentType: 'text/plain',
  })
  const run = { flowName: 'Talk', userMessage: 'hello' }

  test('it threw after it wrote: a success', async () => {
    const { engine, store, document } = fresh()
    store.failNext('create', { after: true })
    expect(await engine.run(run)).toEqual(success)
    expect(store.operations).toEqual(['create', 'load'])
    expect((await document('new-1')).history).toHaveLength(1)
  })

  test('it threw before it wrote: created by the next attempt', async () => {
    const { engine, store, document } = fresh()
    store.failNext('create', { times: 2 })
    expect(await engine.run(run)).toEqual(success)
    expect(store.operations).toEqual(['create', 'load', 'create', 'load', 'create'])
    expect((await document('new-1')).history).toHaveLength(1)
  })

  test('it never answered, though it wrote', async () => {
    const { engine, store, clock, backing } = fresh()
    store.hangNext('create', { after: true })
    const running = engine.run(run)
    await clock.advance(5_000)
    expect(await running).toEqual(success)
    expect(backing.size).toBe(1)
  })

  test('three attempts that did not happen: the session is created as aborted, and its ID is returned', async () => {
    const { engine, store, document } = fresh()
    store.failNext('create', { times: 3, error: secret })
    const { response, error } = await engine.execute(run)
    const sentence = "Session store failed to create session 'new-1'."
    expect(response).toEqual({ ...failure(sentence), session: 'new-1' })
    expect(error).toMatchObject({ code: 'SESSION_STORE_ERROR', operation: 'create', cause: secret })
    expect(await document('new-1')).toMatchObject({ runStatus: 'aborted', error: [sentence], history: [] })
  })

  test('[4.5-6] nor could it be created as aborted: both texts, and no ID', async () => {
    const { engine, store, backing } = fresh()
    store.failNext('create', { times: Number.POSITIVE_INFINITY, error: secret })
    const sentence = "Session store failed to create session 'new-1'."
    expect(await engine.run(run)).toEqual(failure(`${sentence} Saving the aborted session failed: ${sentence}`))
    expect(backing.size).toBe(0)
  })

  test('[4.5-6] a turn that failed and could not be created as aborted: both texts, and no ID', async () => {
    const { engine, store, backing } = fresh()
    store.failNext('create', { times: Number.POSITIVE_INFINITY, error: secret })
    const response = await engine.run({ flowName: 'Talk', userMessage: 'fail' })
    const second = "Session store failed to create session 'new-1'."
    expect(response).toEqual(failure(`It broke. Saving the aborted session failed: ${second}`))
    expect(backing.size).toBe(0)
  })

  test('nobody knows whether it happened: no ID, and no abort is tried', async () => {
    const { engine, store } = fresh()
    store.failNext('create')
    store.failNext('load')
    const sentence = "Session store failed to create session 'new-1'. Whether it took effect is unknown."
    expect(await engine.run(run)).toEqual(failure(sentence))
    expect(store.operations).toEqual(['create', 'load'])
  })

  test('the ID exists already: a conflict, and the older document stays', async () => {
    let ids = 0
    const generateId = (kind: string): string => (kind === 'session' ? 'the-same' : `${kind}-${++ids}`)
    const { engine, store, stored } = harness({ flows: [talk()], generateId })
    const { session } = await engine.run(run)
    const before = await stored(session)
    const { response, error } = await engine.execute(run)
    expect(response).toEqual(failure(`Session '${session}' was changed or deleted by another request.`))
    expect(error?.code).toBe('SESSION_CONFLICT')
    expect(await stored(session)).toBe(before)
    expect(store.operations).toEqual(['create', 'create'])
  })
})

describe('a failed turn whose abort save fails', () => {
  async function failing() {
    const made = fresh()
    const session = await made.start('Talk')
    const before = await made.stored(session)
    const say = () => made.engine.execute({ flowName: 'Talk', userMessage: 'fail', sessionId: session })
    return { ...made, session, before, say }
  }

  test('[4.5-6] for good: the second text follows the first, and the document stays as it was', async () => {
    const { say, store, session, before, stored } = await failing()
    store.failNext('save', { times: 3, error: secret })
    const { response, error } = await say()
    expect(response).toEqual({
      success: false,
      completed: true,
      message: `It broke. Saving the aborted session failed: Session store failed to save session '${session}'.`,
      session,
      contentType: 'text/plain',
    })
    // The error is the first one: it is what went wrong.
    expect(error).toMatchObject({ code: 'FLOW_ERROR', message: 'It broke.' })
    expect(await stored(session)).toBe(before)
  })

  test('after it wrote: the session is aborted, and nothing more is said', async () => {
    const { say, store, session, document } = await failing()
    store.failNext('save', { after: true })
    expect((await say()).response.message).toBe('It broke.')
    expect(await document(session)).toMatchObject({ runStatus: 'aborted', error: ['It broke.'] })
  })

  test('[4.5-6] in the dark: the second text says so', async () => {
    const { say, store, session } = await failing()
    store.failNext('save')
    store.failNext('load', { nth: 2 })
    expect((await say()).response.message).toBe(
      `It broke. Saving the aborted session failed: Session store failed to save session '${session}'. Whether it took effect is unknown.`,
    )
  })

  test('[4.5-6] by hanging: the reply comes after three times storeTimeoutMs', async () => {
    const { say, store, clock, session, before, stored } = await failing()
    store.hangNext('save', { times: Number.POSITIVE_INFINITY })
    const running = say()
    await clock.advance(15_000)
    expect((await running).response.message).toBe(
      `It broke. Saving the aborted session failed: Session store failed to save session '${session}'. Whether it took effect is unknown.`,
    )
    expect(await stored(session)).toBe(before)
  })
})

test('[7.2-4] no text of the store reaches an envelope or a document', async () => {
  const { engine, store, document } = fresh()
  store.failNext('create', { times: 3, error: secret })
  const { message, session } = await engine.run({ flowName: 'Talk', userMessage: 'hello' })
  expect(message).not.toMatch(/hunter2|10\.0\.0\.7|ECONNREFUSED/)
  expect(JSON.stringify(await document(session))).not.toMatch(/hunter2|10\.0\.0\.7|ECONNREFUSED/)
})
