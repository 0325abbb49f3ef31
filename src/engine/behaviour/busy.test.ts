// What becomes of a message for a session that has a turn under way. Schedules are explored in testing/contract/busy.
import { afterEach, describe, expect, test } from 'vitest'
import { busyTalk, outcomeOf, type Policy } from '../../../testing/contract/busy-talk.js'
import { expectNothingLeft, flowOf, gate, harness } from '../../../testing/contract/engine-harness.js'
import { reply } from '../../index.js'

afterEach(expectNothingLeft)

const busy = {
  success: false,
  completed: true,
  message: 'The session is busy with another message. Send this one again when that is answered.',
  contentType: 'text/plain',
}

describe("busy: 'queue'", () => {
  test.each([{}, { busy: 'queue' } as const])('lets messages wait, with the options %o', async (options) => {
    const { say, open, journal, messages } = await busyTalk(options)
    const turns = [say('a'), say('b'), say('c')]
    for (const message of ['c', 'b', 'a']) open(message)
    expect((await Promise.all(turns)).map(outcomeOf)).toEqual(['ok', 'ok', 'ok'])
    expect(journal).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
    expect(await messages()).toEqual(['start', 'a', 'b', 'c'])
  })
})

describe("busy: 'reject'", () => {
  test('refuses a message at once, and it takes no place; the next one is free to come', async () => {
    const { say, open, session, events, clock, messages, store } = await busyTalk({ busy: 'reject' })
    const first = say('a')
    await clock.settle()
    store.clearJournal()
    const { response, error, sessionState } = await say('b')
    expect(response).toEqual({ ...busy, session })
    expect([error, sessionState]).toEqual([
      expect.objectContaining({ code: 'SESSION_BUSY', statusCode: 409 }),
      'running',
    ])
    expect(store.journal).toEqual([])
    const names = events.filter(([name]) => name.startsWith('turn:')).map(([name]) => name)
    expect(names).toEqual(['turn:start', 'turn:refused'])
    const rejected = events.find(([name]) => name === 'turn:refused')?.[1]
    const turn = { sessionId: session, flowName: 'Talk', turnId: expect.any(String), at: clock.now() }
    expect(rejected).toEqual({ ...turn, code: 'SESSION_BUSY', waitedMs: 0 })
    open('a')
    expect(outcomeOf(await first)).toBe('ok')
    open('c')
    expect(outcomeOf(await say('c'))).toBe('ok')
    expect(await messages()).toEqual(['start', 'a', 'c'])
  })

  test('refuses it where others wait already, and deletes and the application wait all the same', async () => {
    const { engine, say, open, session, clock, journal } = await busyTalk({ busy: 'reject' })
    const first = say('a')
    await clock.settle()
    const working = engine.getFlowSession().withSessionLock(session, () => journal.push('work'))
    const deleting = engine.deleteSession(session)
    expect(outcomeOf(await say('b'))).toBe('SESSION_BUSY')
    open('a')
    expect([outcomeOf(await first), await working, await deleting]).toEqual(['ok', 3, { success: true, session }])
    expect(journal).toEqual(['a begins', 'a ends', 'work'])
  })

  test('refuses a message that names another flow', async () => {
    const { say, open, clock } = await busyTalk({ busy: 'reject', flows: [flowOf('Other')] })
    const first = say('a')
    await clock.settle()
    expect(outcomeOf(await say('b', { flowName: 'Other' }))).toBe('SESSION_BUSY')
    open('a')
    await first
  })
})

test('an unknown policy is refused', () => {
  expect(() => harness({ flows: [], busy: 'latest' as never })).toThrow(
    "FlowEngine: busy must be 'queue' or 'reject' or 'interrupt'.",
  )
  const flow = Object.assign(flowOf('Talk'), { busy: 'latest' })
  expect(() => harness({ flows: [flow as never] })).toThrow(
    "Flow 'Talk': static busy must be 'queue', 'reject' or 'interrupt'; got the text 'latest'.",
  )
})

test('a flow with a method merge, which is gone, is refused by name', () => {
  const flow = flowOf('Talk')
  Object.assign(flow.prototype, { merge: () => 'both' })
  expect(() => harness({ flows: [flow] })).toThrow(
    "Flow 'Talk': merge was removed. Use static busy = 'queue', which answers every message.",
  )
})

describe('the policy', () => {
  test('is that of the flow whose turn is under way, and wins over that of the engine', async () => {
    const { say, open, clock } = await busyTalk({ busy: 'interrupt' }, undefined, (flow) =>
      Object.assign(flow, { busy: 'reject' }),
    )
    const first = say('a')
    await clock.settle()
    expect(outcomeOf(await say('b'))).toBe('SESSION_BUSY')
    open('a')
    expect(outcomeOf(await first)).toBe('ok')
  })

  test.each<Policy>(['reject', 'interrupt'])(
    '%s: messages wait where a delete, or the application, has the lock',
    async (policy) => {
      const { engine, say, open, session, store, clock, messages } = await busyTalk({ busy: policy })
      const held = gate()
      const working = engine.getFlowSession().withSessionLock(session, () => held.opened)
      const turns = [say('a'), say('b'), say('c')]
      for (const message of ['a', 'b', 'c']) open(message)
      await clock.settle()
      held.open()
      await working
      expect((await Promise.all(turns)).map(outcomeOf)).toEqual(['ok', 'ok', 'ok'])
      expect(await messages()).toEqual(['start', 'a', 'b', 'c'])
      store.delayNext('delete', 10)
      const deleting = engine.deleteSession(session)
      const after = [say('a'), say('b')]
      await clock.runUntil(deleting)
      expect((await clock.runUntil(Promise.all(after))).map(({ restarted }) => restarted)).toEqual([
        'unknown',
        'unknown',
      ])
    },
  )

  test('interrupt: a message that names another flow supersedes nothing, and nothing supersedes it', async () => {
    const { say, open, clock, journal } = await busyTalk({ busy: 'interrupt', flows: [flowOf('Other')] })
    const turns = [say('a')]
    await clock.settle()
    turns.push(say('b', { flowName: 'Other' }), say('c', { flowName: 'Other' }))
    await clock.settle()
    expect(journal).toEqual(['a begins'])
    turns.push(say('d'))
    open('a')
    open('d')
    const [first = '', ...others] = (await Promise.all(turns)).map(outcomeOf)
    expect(first).toBe('TURN_SUPERSEDED')
    expect(others).toEqual(['SESSION_FLOW_MISMATCH', 'SESSION_FLOW_MISMATCH', 'ok'])
  })

  test('a former name of the flow is the same flow', async () => {
    const { say, open, clock } = await busyTalk({ busy: 'interrupt' }, undefined, (flow) =>
      Object.assign(flow, { aliases: ['Chat'] }),
    )
    const first = say('a')
    await clock.settle()
    open('b')
    expect(outcomeOf(await say('b', { flowName: 'Chat' }))).toBe('ok')
    expect(outcomeOf(await first)).toBe('TURN_SUPERSEDED')
  })

  test('sessions do not concern each other', async () => {
    const { engine, open, clock } = harnessOf('interrupt')
    const sessions = await Promise.all([1, 2].map(() => engine.run({ flowName: 'Talk', userMessage: 'start' })))
    const turns = sessions.map(({ session }) =>
      engine.execute({ flowName: 'Talk', userMessage: 'wait', sessionId: session }),
    )
    await clock.settle()
    open()
    expect((await Promise.all(turns)).map(outcomeOf)).toEqual(['ok', 'ok'])
  })
})

function harnessOf(policy: Policy) {
  const { opened, open } = gate()
  const flow = flowOf('Talk', async (turn) => {
    if (turn.message === 'wait') await opened
    return reply(turn.message)
  })
  return { ...harness({ flows: [flow], busy: policy }), open }
}

describe('owners', () => {
  test.each<Policy>(['reject', 'interrupt'])(
    '%s: a stranger supersedes nothing and learns nothing, before and after the document is loaded',
    async (policy) => {
      const { say, open, clock, store, session, events, messages } = await busyTalk({ busy: policy }, 'ada')
      store.delayNext('load', 10, { times: Number.POSITIVE_INFINITY })
      const first = say('a')
      // The holder has not loaded the document.
      const early = say('start', { owner: 'bob' })
      await clock.advance(10)
      const late = say('start', { owner: 'bob' })
      const [one, other] = await clock.runUntil(Promise.all([early, late]))
      expect([outcomeOf(one), one.restarted, one.sessionState]).toEqual(['ok', 'unknown', 'running'])
      expect([outcomeOf(other), other.restarted, other.sessionState]).toEqual(['ok', 'unknown', 'running'])
      expect([one, other].map(({ response }) => response.session)).not.toContain(session)
      expect(events.map(([name]) => name).filter((name) => /rejected|superseded/.test(name))).toEqual([])
      open('a')
      expect(outcomeOf(await first)).toBe('ok')
      expect(await messages()).toEqual(['start', 'a'])
    },
  )

  test.each<Policy>(['reject', 'interrupt'])(
    '%s: the owner is not refused because a stranger loads the document',
    async (policy) => {
      const { say, open, clock, store, messages } = await busyTalk({ busy: policy }, 'ada')
      store.delayNext('load', 10, { times: Number.POSITIVE_INFINITY })
      const stranger = say('start', { owner: 'bob' })
      open('a')
      const owner = say('a')
      const results = await clock.runUntil(Promise.all([stranger, owner]))
      expect(results.map(outcomeOf)).toEqual(['ok', 'ok'])
      expect(await messages()).toEqual(['start', 'a'])
    },
  )

  test.each<Policy>(['reject', 'interrupt'])(
    '%s: a stranger who waits behind work of the application does nothing to the turn before it',
    async (policy) => {
      const { engine, say, open, clock, session, store, messages } = await busyTalk({ busy: policy }, 'ada')
      store.delayNext('load', 10, { times: Number.POSITIVE_INFINITY })
      open('a')
      const first = say('a')
      const working = engine.getFlowSession().withSessionLock(session, () => 'done')
      const stranger = say('start', { owner: 'bob' })
      expect((await clock.runUntil(Promise.all([first, stranger]))).map(outcomeOf)).toEqual(['ok', 'ok'])
      expect(await working).toBe('done')
      expect(await messages()).toEqual(['start', 'a'])
    },
  )
})
