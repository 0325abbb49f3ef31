import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, type Harness, harness } from '../../../testing/contract/engine-harness.js'
import { reply, SessionConflictError, type SessionDocument } from '../../index.js'

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

/** What a turn that succeeded leaves: one more entry, run once. */
async function expectOneTurnMore(
  made: Harness & { readonly session: string; readonly runs: () => number },
): Promise<void> {
  const { runStatus, history, error } = await made.document(made.session)
  expect({ runStatus, error, messages: history.map(({ message }) => message), runs: made.runs() }).toEqual({
    runStatus: 'running',
    error: [],
    messages: ['start', 'hello'],
    runs: 1,
  })
}

describe('a save that fails and may have happened', () => {
  const success = (session: string) => ({
    response: { success: true, completed: false, message: 'You said: hello', session, contentType: 'text/plain' },
    sessionState: 'running',
  })

  test('it threw after it wrote: reading back finds its revision, and the turn is a success', async () => {
    const made = await started()
    made.store.failNext('save', { after: true, error: secret })
    expect(await made.say()).toEqual(success(made.session))
    expect(made.operations()).toEqual(['load', 'save', 'load'])
    await expectOneTurnMore(made)
  })

  test('it threw before it wrote: the same save is tried again, and the turn is not run again', async () => {
    const made = await started()
    made.store.failNext('save')
    expect(await made.say()).toEqual(success(made.session))
    expect(made.operations()).toEqual(['load', 'save', 'load', 'save'])
    const [first, second] = made.store.journal.filter(({ operation }) => operation === 'save')
    expect(second).toMatchObject({ revision: first?.revision, expectedRevision: first?.expectedRevision })
    await expectOneTurnMore(made)
  })

  test('it threw twice before it wrote: the third attempt counts', async () => {
    const made = await started()
    made.store.failNext('save', { times: 2 })
    expect(await made.say()).toEqual(success(made.session))
    expect(made.operations()).toEqual(['load', 'save', 'load', 'save', 'load', 'save'])
    await expectOneTurnMore(made)
  })

  test('the third attempt threw after it wrote: that is found, too', async () => {
    const made = await started()
    made.store.failNext('save', { times: 2 })
    made.store.failNext('save', { after: true })
    expect(await made.say()).toEqual(success(made.session))
    expect(made.operations()).toEqual(['load', 'save', 'load', 'save', 'load', 'save', 'load'])
    await expectOneTurnMore(made)
  })

  test.each(['hang-before', 'hang-after'] as const)(
    'it never answered (%s): after storeTimeoutMs it is looked up',
    async (effect) => {
      const made = await started()
      made.store.inject({ operation: 'save', effect })
      const running = made.say()
      await made.clock.advance(5_000)
      expect(await running).toEqual(success(made.session))
      expect(made.operations()).toEqual(
        effect === 'hang-after' ? ['load', 'save', 'load'] : ['load', 'save', 'load', 'save'],
      )
      await expectOneTurnMore(made)
    },
  )

  test('it threw at once', async () => {
    const made = await started()
    made.store.failNext('save', { atOnce: true, error: secret })
    expect(await made.say()).toEqual(success(made.session))
    await expectOneTurnMore(made)
  })

  test('a conflict on a later attempt is looked up before it is believed', async () => {
    const made = await started()
    // The first attempt lands late, and a store that does not know its own token calls the second one a conflict.
    made.store.failNext('save', { error: secret })
    made.store.failNext('save', { after: true, error: new SessionConflictError({ sessionId: made.session }) })
    expect(await made.say()).toEqual(success(made.session))
    expect(made.operations()).toEqual(['load', 'save', 'load', 'save', 'load'])
    await expectOneTurnMore(made)
  })
})

describe('a save that fails for good', () => {
  /** What another instance writes while ours is in trouble. */
  async function overwrite(made: Awaited<ReturnType<typeof started>>): Promise<string> {
    await made.rewrite(made.session, (document) => Object.assign(document, { revision: '9-theirs' }))
    return made.stored(made.session)
  }

  test('[3-4 7.2-1 7.3-2] a conflict at the first attempt is believed at once', async () => {
    const made = await started()
    made.store.delayNext('save', 10)
    const running = made.say()
    await made.clock.settle()
    const winner = await overwrite(made)
    await made.clock.advance(10)
    const { response, error } = await running
    expect(response).toEqual(
      failure(`Session '${made.session}' was changed or deleted by another request.`, made.session),
    )
    expect(error).toMatchObject({ code: 'SESSION_CONFLICT', sessionId: made.session })
    expect(made.operations()).toEqual(['load', 'save', 'load'])
    expect(await made.stored(made.session)).toBe(winner)
  })

  test("another's revision found after a failure is a conflict, and the winner stays", async () => {
    const made = await started()
    made.store.failNext('save', { latencyMs: 10, error: secret })
    const running = made.say()
    await made.clock.settle()
    const winner = await overwrite(made)
    await made.clock.advance(10)
    const { error } = await running
    expect(error).toMatchObject({ code: 'SESSION_CONFLICT', cause: secret })
    expect(made.operations()).toEqual(['load', 'save', 'load', 'load'])
    expect(await made.stored(made.session)).toBe(winner)
  })

  test('a session deleted meanwhile is a conflict, and nothing comes back', async () => {
    const made = await started()
    made.store.failNext('save', { latencyMs: 10 })
    const running = made.say()
    await made.clock.settle()
    made.backing.clear()
    await made.clock.advance(10)
    expect((await running).error?.code).toBe('SESSION_CONFLICT')
    expect(made.operations()).toEqual(['load', 'save', 'load', 'load'])
    expect(made.backing.size).toBe(0)
  })

  test('a conflict on a later attempt that is one', async () => {
    const made = await started()
    made.store.failNext('save')
    made.store.delayNext('save', 10)
    const running = made.say()
    await made.clock.settle()
    const winner = await overwrite(made)
    await made.clock.advance(10)
    expect((await running).error?.code).toBe('SESSION_CONFLICT')
    expect(made.operations()).toEqual(['load', 'save', 'load', 'save', 'load', 'load'])
    expect(await made.stored(made.session)).toBe(winner)
  })

  test('[3-3 7.2-4 7.3-3] three attempts that did not happen are SESSION_STORE_ERROR, and the session is aborted', async () => {
    const made = await started()
    made.store.failNext('save', { times: 3, error: secret })
    const { response, error } = await made.say()
    const sentence = `Session store failed to save session '${made.session}'.`
    expect(response).toEqual(failure(sentence, made.session))
    expect(error).toMatchObject({ code: 'SESSION_STORE_ERROR', operation: 'save', cause: secret })
    expect(made.operations()).toEqual(['load', 'save', 'load', 'save', 'load', 'save', 'load', 'save'])
    const after: SessionDocument = await made.document(made.session)
    expect(after).toEqual({
      ...(JSON.parse(made.before) as SessionDocument),
      runStatus: 'aborted',
      error: [sentence],
      revision: expect.stringMatching(/^2-/),
    })
  })

  test('[4.5-6] where saving the aborted session fails, too, its text follows', async () => {
    const made = await started()
    made.store.failNext('save', { times: Number.POSITIVE_INFINITY, error: secret })
    const { response } = await made.say()
    const sentence = `Session store failed to save session '${made.session}'.`
    expect(response).toEqual(failure(`${sentence} Saving the aborted session failed: ${sentence}`, made.session))
    expect(await made.stored(made.session)).toBe(made.before)
  })

  test('[7.2-4] a store that cannot be asked leaves the outcome unknown, and no abort is saved over it', async () => {
    const made = await started()
    made.store.failNext('save', { after: true, error: secret })
    made.store.failNext('load', { nth: 2, error: secret })
    const { response, error } = await made.say()
    const sentence = `Session store failed to save session '${made.session}'. Whether it took effect is unknown.`
    expect(response).toEqual(failure(sentence, made.session))
    expect(error).toMatchObject({ code: 'SESSION_STORE_ERROR', statusCode: 500, operation: 'save', cause: secret })
    expect(made.operations()).toEqual(['load', 'save', 'load'])
    // It did take effect: the turn is there, whole.
    await expectOneTurnMore(made)
  })

  test('a store that hangs altogether fails after three times storeTimeoutMs', async () => {
    const made = await started()
    const times = Number.POSITIVE_INFINITY
    made.store.hangNext('save', { times })
    const running = made.say()
    let settled = false
    void running.then(() => {
      settled = true
    })
    await made.clock.advance(14_999)
    expect(settled).toBe(false)
    await made.clock.advance(1)
    expect((await running).response).toEqual(
      failure(
        `Session store failed to save session '${made.session}'. Whether it took effect is unknown.`,
        made.session,
      ),
    )
    expect(await made.stored(made.session)).toBe(made.before)
  })

  test('after that nothing more is asked of the store for this turn', async () => {
    const made = await started()
    made.store.hangNext('save', { times: 2 })
    made.store.delayNext('load', 4_900, { nth: 2, times: 2 })
    const running = made.say()
    await made.clock.advance(15_000)
    expect((await running).error?.message).toContain('Whether it took effect is unknown.')
    const asked = made.operations().length
    // The reply is out and the lock is free: a third attempt now would meet the session's next turn.
    await made.clock.advance(60_000)
    expect(made.operations()).toHaveLength(asked)
    expect(await made.stored(made.session)).toBe(made.before)
  })

  test('a store that hangs only where it is read back: the outcome is unknown', async () => {
    const made = await started()
    made.store.failNext('save')
    made.store.hangNext('load', { nth: 2 })
    const running = made.say()
    await made.clock.advance(5_000)
    const { error } = await running
    expect(error?.message).toBe(
      `Session store failed to save session '${made.session}'. Whether it took effect is unknown.`,
    )
    expect(error?.cause).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'storeTimeoutMs' })
    expect(await made.stored(made.session)).toBe(made.before)
  })
})
