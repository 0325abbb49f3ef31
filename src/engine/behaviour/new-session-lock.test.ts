import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gatedFlow, harness } from '../../../testing/contract/engine-harness.js'
import { LockProbe } from '../../../testing/index.js'
import { type FlowEngine, type FlowRunInput, reply } from '../../index.js'

afterEach(expectNothingLeft)

/** A streamed turn that has said which session it is in, and goes on. */
async function begin(engine: FlowEngine, input: Partial<FlowRunInput> = {}) {
  const stream = engine.stream({ flowName: 'Talk', userMessage: 'a', ...input })
  const { value } = await stream.next()
  if (value?.type !== 'session') throw new Error(`The stream began with ${JSON.stringify(value)}.`)
  const rest = async (): Promise<unknown> => {
    let last: unknown
    for await (const event of stream) last = event
    return last
  }
  return { session: value.session, result: rest() }
}

describe('the ID of a new session, learned while its first turn runs', () => {
  test('is locked: a delete waits for the turn, and then removes the session', async () => {
    const { flow, open } = gatedFlow()
    const { engine, clock, backing } = harness({ flows: [flow] })
    const { session, result } = await begin(engine)
    let isDeleted = false
    const deleting = engine.deleteSession(session).then((answer) => {
      isDeleted = true
      return answer
    })
    await clock.settle()
    expect(isDeleted).toBe(false)
    open('a')
    expect(await result).toMatchObject({ type: 'result', response: { success: true, session } })
    expect(await deleting).toEqual({ success: true, session })
    expect(backing.size).toBe(0)
  })

  test('is locked: a second message waits, and continues the same session', async () => {
    const { flow, open } = gatedFlow()
    const { engine, clock, document } = harness({ flows: [flow] })
    const probe = new LockProbe({ clock })
    probe.observe(engine)
    const { session, result } = await begin(engine, { owner: 'ada' })
    const next = engine.run({ flowName: 'Talk', userMessage: 'b', sessionId: session, owner: 'ada' })
    open('b')
    await clock.settle()
    open('a')
    await result
    expect(await next).toMatchObject({ success: true, session, message: 'b' })
    expect((await document(session)).history.map(({ message }) => message)).toEqual(['a', 'b'])
    probe.assertSerialized(session)
    await probe.assertReleased()
  })

  test('is free again after a first turn that stored nothing', async () => {
    const { flow } = gatedFlow()
    const { engine, clock } = harness({ flows: [flow] })
    const controller = new AbortController()
    const { session, result } = await begin(engine, { signal: controller.signal })
    const deleting = engine.deleteSession(session)
    await clock.settle()
    controller.abort()
    await result
    expect(await deleting).toEqual({ success: true, session })
  })

  test('does not wait for the session of another owner', async () => {
    const { flow, open } = gatedFlow()
    const { engine, backing } = harness({ flows: [flow] })
    const { session, result } = await begin(engine, { owner: 'ada' })
    open('b')
    const stranger = await engine.run({ flowName: 'Talk', userMessage: 'b', sessionId: session, owner: 'bob' })
    expect(stranger).toMatchObject({ success: true, message: 'b' })
    expect(stranger.session).not.toBe(session)
    expect(await engine.deleteSession(session, {})).toEqual({ success: true, session })
    open('a')
    expect(await result).toMatchObject({ response: { success: true, session } })
    expect(backing.size).toBe(2)
  })

  test('that an application made twice is refused by the store, and locked by one turn', async () => {
    const { flow, open } = gatedFlow()
    let count = 0
    const generateId = (kind: string): string => (kind === 'session' ? 'same' : `${kind}-${++count}`)
    const { engine, clock } = harness({ flows: [flow], generateId })
    const first = await begin(engine)
    open('b')
    const { error } = await engine.execute({ flowName: 'Talk', userMessage: 'b' })
    expect(error).toBeUndefined()
    open('a')
    expect(await first.result).toMatchObject({
      type: 'error',
      response: { message: "Session 'same' was changed or deleted by another request." },
    })
    await clock.settle()
    expect(engine.getFlowSession().locked).toBe(0)
  })
})

describe('a turn that cannot go on with the session under the ID it was given', () => {
  test.each<[why: string, prepare: (made: ReturnType<typeof harness>) => Promise<string>]>([
    ['there is none', async () => 'unknown'],
    [
      'it is of another owner',
      async ({ engine }) => (await engine.run({ flowName: 'Talk', userMessage: 'start', owner: 'bob' })).session,
    ],
    [
      'it has ended',
      async ({ start, rewrite }) => {
        const session = await start('Talk')
        await rewrite(session, (document) => Object.assign(document, { runStatus: 'completed' }))
        return session
      },
    ],
  ])('because %s, releases that ID before it goes on in its new session', async (_why, prepare) => {
    const { flow, open } = gatedFlow()
    const made = harness({ flows: [flow] })
    const given = await prepare(made)
    const { engine, clock } = made
    const probe = new LockProbe({ clock })
    probe.observe(engine)
    const { session, result } = await begin(engine, { sessionId: given })
    expect(session).not.toBe(given)
    const sessions = engine.getFlowSession()
    expect(sessions.locked).toBe(1)
    expect(await sessions.withSessionLock(given, () => sessions.locked)).toBe(2)
    open('a')
    await result
    await probe.assertReleased()
  })

  test('because its flow asks for a new one, does the same', async () => {
    const { engine, clock, start } = harness({
      flows: [
        flowOf(
          'Talk',
          async (turn) => {
            if (turn.message === 'go on') await engine.getFlowSession().withSessionLock(old, () => seen.push(old))
            return reply(turn.message)
          },
          { onRestore: () => null },
        ),
      ],
    })
    const seen: string[] = []
    const old = await start('Talk')
    const answer = await engine.run({ flowName: 'Talk', userMessage: 'go on', sessionId: old })
    expect([answer.success, seen, clock.pending]).toEqual([true, [old], 0])
  })
})
