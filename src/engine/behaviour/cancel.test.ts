// `engine.cancel`: cancels the turn under way.
import { afterEach, describe, expect, test } from 'vitest'
import { busyTalk, outcomeOf } from '../../../testing/contract/busy-talk.js'
import { expectNothingLeft, flowOf, gate, harness, never } from '../../../testing/contract/engine-harness.js'
import { Chat, calls, modelHarness, Talk } from '../../../testing/contract/model-harness.js'
import { type FlowStreamEvent, reply, tool } from '../../index.js'
import type { LockWait } from '../../session/lock/lock-request.js'

afterEach(expectNothingLeft)

test('the turn under way ends with TURN_ABORTED, and the session stays as it was', async () => {
  const { engine, say, open, session, stored, clock, journal } = await busyTalk()
  const before = await stored(session)
  const first = say('a')
  await clock.settle()
  expect(await engine.cancel(session)).toBe(true)
  // It was settled by then: nothing holds the lock.
  expect(engine.getFlowSession().locked).toBe(0)
  const { response, error, sessionState } = await first
  expect(response).toEqual({
    success: false,
    completed: true,
    message: 'The turn was cancelled by its caller.',
    session,
    contentType: 'text/plain',
  })
  expect([error?.code, sessionState]).toEqual(['TURN_ABORTED', 'running'])
  open('a')
  await clock.settle()
  expect(journal).toEqual(['a begins', 'a ends'])
  expect(await stored(session)).toBe(before)
})

describe('cancels nothing', () => {
  test.each(['', 'no-such-session', 'a b', 7, null, undefined, {}])('for the ID %o', async (id) => {
    const { engine, store } = await busyTalk()
    store.clearJournal()
    expect(await engine.cancel(id as string)).toBe(false)
    expect(await engine.cancel(id as string, { owner: 'ada' })).toBe(false)
    expect(store.journal).toEqual([])
  })

  test('where no turn runs: none, a delete, the application', async () => {
    const { engine, session, store, clock } = await busyTalk()
    expect(await engine.cancel(session)).toBe(false)
    const held = gate()
    const working = engine.getFlowSession().withSessionLock(session, () => held.opened)
    expect(await engine.cancel(session)).toBe(false)
    held.open()
    await working
    store.delayNext('delete', 10)
    const deleting = engine.deleteSession(session)
    expect(await engine.cancel(session)).toBe(false)
    expect(await clock.runUntil(deleting)).toEqual({ success: true, session })
  })

  test('of a turn whose commit has begun', async () => {
    const { engine, say, open, session, store, clock, messages } = await busyTalk()
    store.delayNext('save', 10)
    open('a')
    const first = say('a')
    await clock.settle()
    expect(await engine.cancel(session)).toBe(false)
    expect(outcomeOf(await clock.runUntil(first))).toBe('ok')
    expect(await messages()).toEqual(['start', 'a'])
  })

  test('of turns that wait', async () => {
    const { engine, say, open, session, clock } = await busyTalk()
    const turns = [say('a'), say('b')]
    await clock.settle()
    expect(await engine.cancel(session)).toBe(true)
    open('b')
    expect((await Promise.all(turns)).map(outcomeOf)).toEqual(['TURN_ABORTED', 'ok'])
  })

  test('of a turn that was interrupted, or cancelled by its signal, a moment before', async () => {
    const { engine, say, open, session, clock } = await busyTalk({ busy: 'interrupt' })
    const controller = new AbortController()
    const turns = [say('a', { signal: controller.signal })]
    await clock.settle()
    controller.abort()
    expect(await engine.cancel(session)).toBe(false)
    turns.push(say('b'))
    await clock.settle()
    const third = say('c')
    expect(await engine.cancel(session)).toBe(false)
    open('c')
    expect((await Promise.all([...turns, third])).map(outcomeOf)).toEqual(['TURN_ABORTED', 'TURN_SUPERSEDED', 'ok'])
  })

  test('after the engine has closed', async () => {
    const { engine, session } = await busyTalk()
    await engine.close()
    expect(await engine.cancel(session)).toBe(false)
  })
})

test('two calls at once share the outcome', async () => {
  const { engine, say, session, clock } = await busyTalk()
  const first = say('a')
  await clock.settle()
  expect(await Promise.all([engine.cancel(session), engine.cancel(session)])).toEqual([true, true])
  expect(outcomeOf(await first)).toBe('TURN_ABORTED')
})

describe('owners', () => {
  test.each([
    [undefined, true],
    [{ owner: 'ada' }, true],
    [{ owner: 'bob' }, false],
    [{}, false],
  ])("with the options %o, of Ada's turn: %s", async (options, isCancelled) => {
    for (const loads of [true, false]) {
      const { engine, say, open, session, store, clock } = await busyTalk({}, 'ada')
      if (loads) store.delayNext('load', 10)
      const first = say('a')
      await clock.settle()
      expect(await engine.cancel(session, options)).toBe(isCancelled)
      open('a')
      expect(outcomeOf(await clock.runUntil(first))).toBe(isCancelled ? 'TURN_ABORTED' : 'ok')
      await clock.advance(10)
    }
  })

  test("of nobody's turn: whoever names nobody", async () => {
    const { engine, say, session, clock } = await busyTalk()
    const first = say('a')
    await clock.settle()
    expect(await engine.cancel(session, { owner: 'ada' })).toBe(false)
    expect(await engine.cancel(session, {})).toBe(true)
    await first
  })

  test('a stranger whose turn is still loading can cancel that, and the owner of the session cannot', async () => {
    const { engine, say, session, store, clock } = await busyTalk({}, 'ada')
    store.delayNext('load', 10)
    const stranger = say('start', { owner: 'bob' })
    await clock.settle()
    expect(await engine.cancel(session, { owner: 'ada' })).toBe(false)
    expect(await engine.cancel(session, { owner: 'bob' })).toBe(true)
    expect(outcomeOf(await stranger)).toBe('TURN_ABORTED')
    await clock.advance(10)
  })

  test('options whose getter throws: nothing is cancelled', async () => {
    const { engine, say, open, session, clock } = await busyTalk()
    const first = say('a')
    await clock.settle()
    const options = {
      get owner(): string {
        throw new Error('no owner')
      },
    }
    expect(await engine.cancel(session, options)).toBe(false)
    open('a')
    expect(outcomeOf(await first)).toBe('ok')
  })
})

test('a tool that ignores the signal neither keeps the lock nor commits, and what it does later is lost', async () => {
  const { opened, open } = gate()
  const begun = gate()
  const late = gate()
  const signals: AbortSignal[] = []
  class Ask extends Talk {
    override tools() {
      return [
        tool({
          name: 'slow',
          description: 'Ignores its signal.',
          execute: async (_input, turn) => {
            signals.push(turn.signal)
            begun.open()
            await opened
            Object.assign(turn.stateOf(Ask), { late: true })
            turn.addContext({ late: true })
            turn.memory('Ask').clear()
            late.open()
            return 'done'
          },
        }),
      ]
    }
    static override readonly id = 'Ask'
    override initialState() {
      return { late: false }
    }
  }
  class Tooled extends Chat {
    override steps() {
      return [Ask]
    }
  }
  const { engine, stored, clock } = modelHarness(
    { 'own/small': ['hello', calls('slow'), 'never asked', 'again'] },
    { flows: [Tooled] },
  )
  const { session } = await engine.run({ flowName: 'Chat', userMessage: 'start' })
  const before = await stored(session)
  const first = engine.execute({ flowName: 'Chat', userMessage: 'a', sessionId: session })
  await begun.opened
  expect(await engine.cancel(session)).toBe(true)
  expect(signals.map(({ aborted, reason }) => [aborted, reason?.code])).toEqual([[true, 'TURN_ABORTED']])
  expect(engine.getFlowSession().locked).toBe(0)
  open()
  await late.opened
  await clock.settle()
  expect(outcomeOf(await first)).toBe('TURN_ABORTED')
  expect(await stored(session)).toBe(before)
  const second = await engine.execute({ flowName: 'Chat', userMessage: 'b', sessionId: session })
  expect(outcomeOf(second)).toBe('ok')
  const document = JSON.parse(await stored(session))
  expect([document.flow.context, JSON.stringify(document)]).toEqual([{}, expect.not.stringContaining('"late":true')])
  expect(document.history.map(({ message }: { message: string }) => message)).toEqual(['start', 'b'])
})

test('a turn that waits for the store, for a model and in a hook is cancelled at once', async () => {
  const flow = flowOf('Talk', (turn) => (turn.message === 'hang' ? never() : reply(turn.message)))
  const { engine, start, store, clock, document } = harness({ flows: [flow] })
  const session = await start('Talk')
  store.delayNext('load', 1_000)
  const loading = engine.execute({ flowName: 'Talk', userMessage: 'a', sessionId: session })
  await clock.settle()
  expect(await engine.cancel(session)).toBe(true)
  expect([outcomeOf(await loading), (await loading).sessionState]).toEqual(['TURN_ABORTED', 'unknown'])
  await clock.advance(1_000)
  expect((await document(session)).turns).toBe(1)
})

test('a turn may cancel itself, and a streamed turn ends with the error', async () => {
  const cancelled: boolean[] = []
  const made = harness({
    flows: [
      flowOf('Talk', async (turn) => {
        if (turn.message === 'cancel me') cancelled.push(await made.engine.cancel(turn.session.id))
        return reply(turn.message)
      }),
    ],
  })
  const session = await made.start('Talk')
  const events: FlowStreamEvent[] = []
  for await (const event of made.engine.stream({ flowName: 'Talk', userMessage: 'cancel me', sessionId: session })) {
    events.push(event)
  }
  await made.clock.settle()
  expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'TURN_ABORTED' }, sessionState: 'running' })
  expect(cancelled).toEqual([true])
})

test('a batch flow during its checkpoint: resolves when that is written', async () => {
  const flow = flowOf('Talk', (turn) => reply(turn.message), { isBatch: () => true })
  const { engine, start, store, clock, document } = harness({ flows: [flow] })
  const session = await start('Talk')
  store.delayNext('save', 20)
  const first = engine.execute({ flowName: 'Talk', userMessage: 'a', sessionId: session })
  await clock.settle()
  const begun = clock.now()
  expect(await clock.runUntil(engine.cancel(session))).toBe(true)
  expect(clock.now() - begun).toBe(20)
  expect(outcomeOf(await first)).toBe('TURN_ABORTED')
  expect((await document(session)).turns).toBe(1)
})

test('a turn that a runtime has dropped is not waited for longer than a write may take', async () => {
  const { engine, session, clock } = await busyTalk()
  const turn = {
    engine: { flows: { get: () => undefined }, busy: 'queue' },
    input: {},
    work: { isAbortable: true, abort: () => undefined },
    contend: () => turn,
    isCancelled: false,
    loseLock: () => undefined,
  }
  const dropped: LockWait = { holder: 'turn', counted: true, turn }
  void engine.getFlowSession().hold(
    session,
    () => never(),
    () => dropped,
  )
  const begun = clock.now()
  expect(await clock.runUntil(engine.cancel(session))).toBe(false)
  expect(clock.now() - begun).toBe(15_000)
  const waiting = engine.cancel(session)
  const next = engine.execute({ flowName: 'Talk', userMessage: 'start', sessionId: session })
  expect([await clock.runUntil(waiting), outcomeOf(await clock.runUntil(next))]).toEqual([false, 'ok'])
})
