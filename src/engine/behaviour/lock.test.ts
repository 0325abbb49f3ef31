import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, gatedFlow, harness } from '../../../testing/contract/engine-harness.js'
import { LockProbe } from '../../../testing/index.js'
import { reply } from '../../index.js'

afterEach(expectNothingLeft)

describe('turns of one session', () => {
  test('[4.8-1 4.4-10] run one after another, first in first out', async () => {
    const { flow, journal, open } = gatedFlow()
    const { engine, clock, start, document } = harness({ flows: [flow] })
    const session = await start('Talk')
    const probe = new LockProbe({ clock })
    probe.observe(engine)
    const messages = ['a', 'b', 'c', 'd', 'e']
    const running = messages.map((userMessage, index) =>
      index % 2 === 0
        ? engine.run({ flowName: 'Talk', userMessage, sessionId: session })
        : engine.runFlow('Talk', userMessage, session),
    )
    // The last one's gate opens first: the order is the queue's, not the gates'.
    for (const message of [...messages].reverse()) {
      open(message)
      await clock.settle()
    }
    expect((await Promise.all(running)).map(({ message }) => message)).toEqual(messages)
    expect(journal).toEqual(messages.flatMap((message) => [`${message} begins`, `${message} ends`]))
    probe.assertSerialized(session)
    probe.assertFirstInFirstOut(session)
    await probe.assertReleased(session)
    const { history } = await document(session)
    expect(history.map(({ turn, message }) => [turn, message])).toEqual([
      [1, 'start'],
      [2, 'a'],
      [3, 'b'],
      [4, 'c'],
      [5, 'd'],
      [6, 'e'],
    ])
  })

  test('a waiter begins only after the turn before it is stored', async () => {
    const { flow, journal, open } = gatedFlow()
    const { engine, clock, store, start } = harness({ flows: [flow] })
    const session = await start('Talk')
    open('a')
    open('b')
    store.delayNext('save', 50)
    const running = ['a', 'b'].map((userMessage) => engine.run({ flowName: 'Talk', userMessage, sessionId: session }))
    await clock.advance(49)
    expect(journal).toEqual(['a begins', 'a ends'])
    await clock.advance(1)
    expect(journal).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
    await Promise.all(running)
  })

  test('a turn that fails passes the lock on', async () => {
    const flow = flowOf('Talk', async (turn) => {
      if (turn.message === 'fail') throw new Error('It broke.')
      return reply(turn.message)
    })
    const { engine, start } = harness({ flows: [flow] })
    const session = await start('Talk')
    const [failed, next] = await Promise.all([
      engine.run({ flowName: 'Talk', userMessage: 'fail', sessionId: session }),
      engine.run({ flowName: 'Talk', userMessage: 'next', sessionId: session }),
    ])
    expect(failed.success).toBe(false)
    expect(next).toMatchObject({ success: true, message: 'next' })
  })
})

describe('turns of different sessions', () => {
  test('[4.8-1] overlap', async () => {
    const { flow, journal, open } = gatedFlow()
    const { engine, clock, start } = harness({ flows: [flow] })
    const [first, second] = [await start('Talk'), await start('Talk')]
    const probe = new LockProbe({ clock })
    probe.observe(engine)
    const running = [
      engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: first }),
      engine.run({ flowName: 'Talk', userMessage: 'b', sessionId: second }),
    ]
    await clock.settle()
    expect(journal).toEqual(['a begins', 'b begins'])
    open('b')
    await clock.settle()
    open('a')
    await Promise.all(running)
    expect(journal).toEqual(['a begins', 'b begins', 'b ends', 'a ends'])
    probe.assertOverlaps(first, second)
    await probe.assertReleased()
  })

  test('[4.8-2] turns without a session ID wait for nothing', async () => {
    const { flow, journal, open } = gatedFlow()
    const { engine, clock } = harness({ flows: [flow] })
    const running = [
      engine.run({ flowName: 'Talk', userMessage: 'a' }),
      engine.run({ flowName: 'Talk', userMessage: 'b', sessionId: '' }),
      engine.runFlow('Talk', 'c'),
      engine.runFlow('Talk', 'd', ''),
    ]
    await clock.settle()
    expect(journal).toEqual(['a begins', 'b begins', 'c begins', 'd begins'])
    // Each new session is locked, under an ID that nobody knows yet.
    expect(engine.getFlowSession().locked).toBe(4)
    for (const message of ['a', 'b', 'c', 'd']) open(message)
    await Promise.all(running)
  })
})

describe('deletes', () => {
  test('[4.8-3 4.6-1] wait in the same queue, so that a delete cannot race a run', async () => {
    const { flow, journal, open } = gatedFlow()
    const { engine, clock, backing, start } = harness({ flows: [flow] })
    const session = await start('Talk')
    const running = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    let deleted = false
    const deleting = engine.deleteSession(session).then((result) => {
      deleted = true
      return result
    })
    await clock.settle()
    expect([journal, deleted, backing.has(session)]).toEqual([['a begins'], false, true])
    open('a')
    expect(await running).toMatchObject({ success: true, session })
    expect(await deleting).toEqual({ success: true, session })
    expect(backing.size).toBe(0)
  })

  test('wait no longer than turnTimeoutMs', async () => {
    const { engine, clock, start, stored } = harness({ flows: [flowOf('Talk')], limits: { turnTimeoutMs: 1000 } })
    const session = await start('Talk')
    const before = await stored(session)
    const held = gate()
    const holding = engine.getFlowSession().withSessionLock(session, () => held.opened)
    const deleting = engine.executeDelete(session)
    await clock.advance(1000)
    const { result, error } = await deleting
    expect(result).toEqual({
      success: false,
      session,
      message:
        "The wait for the session's earlier turns took longer than the limit turnTimeoutMs (1000 ms). A turn that is started within a turn of the same session, and awaited there, waits for itself and ends like this.",
    })
    expect(error?.code).toBe('TURN_TIMEOUT')
    expect(await stored(session)).toBe(before)
    held.open()
    await holding
  })
})

describe('withSessionLock', () => {
  test("[4.4-11 4.8-3] keeps out the session's turns, and gives what the work gives", async () => {
    const { flow, journal, open } = gatedFlow()
    const { engine, clock, start } = harness({ flows: [flow] })
    const session = await start('Talk')
    const probe = new LockProbe({ clock })
    probe.observe(engine)
    const held = probe.gate(session)
    const holding = engine.getFlowSession().withSessionLock(session, async () => {
      journal.push('work begins')
      await probe.pass(session)
      journal.push('work ends')
      return 42
    })
    open('a')
    const running = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    await clock.settle()
    expect(journal).toEqual(['work begins'])
    held.open()
    expect(await probe.watch(holding)).toBe(42)
    await running
    expect(journal).toEqual(['work begins', 'work ends', 'a begins', 'a ends'])
  })

  test('waits for turns that came before', async () => {
    const { flow, journal, open } = gatedFlow()
    const { engine, clock, start } = harness({ flows: [flow] })
    const session = await start('Talk')
    const running = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    const holding = engine.getFlowSession().withSessionLock(session, () => journal.push('work'))
    await clock.settle()
    expect(journal).toEqual(['a begins'])
    open('a')
    await Promise.all([running, holding])
    expect(journal).toEqual(['a begins', 'a ends', 'work'])
  })

  test('rejects with what the work throws, and frees the lock', async () => {
    const { engine, start } = harness({ flows: [flowOf('Talk')] })
    const session = await start('Talk')
    const sessions = engine.getFlowSession()
    const throwing = (): never => {
      throw new Error('not today')
    }
    await expect(sessions.withSessionLock(session, throwing)).rejects.toThrow('not today')
    await expect(sessions.withSessionLock(session, () => Promise.reject(new Error('nor then')))).rejects.toThrow(
      'nor then',
    )
    expect(sessions.locked).toBe(0)
    expect(await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session })).toMatchObject({ session })
  })

  test('of different sessions overlaps; without an ID it takes no lock', async () => {
    const { engine, clock } = harness()
    const sessions = engine.getFlowSession()
    const journal: string[] = []
    const held = gate()
    const work = (name: string) => async (): Promise<void> => {
      journal.push(name)
      await held.opened
    }
    const running = [
      sessions.withSessionLock('one', work('one')),
      sessions.withSessionLock('two', work('two')),
      sessions.withSessionLock('', work('empty')),
      sessions.withSessionLock('', work('empty again')),
      sessions.withSessionLock(undefined, work('none')),
      sessions.withSessionLock(undefined, work('none again')),
    ]
    await clock.settle()
    expect(journal).toEqual(['one', 'two', 'empty', 'empty again', 'none', 'none again'])
    held.open()
    await Promise.all(running)
  })
})
