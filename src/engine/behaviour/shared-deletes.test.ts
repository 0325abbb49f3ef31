import { afterEach, expect, test } from 'vitest'
import { expectNothingLeft, gate, gatedFlow, harness } from '../../../testing/contract/engine-harness.js'
import { namesOf, recordEvents } from '../../../testing/contract/event-recorder.js'

afterEach(expectNothingLeft)

/** A session of Ada's whose turn waits at a gate. */
async function scene(limits = {}) {
  const { flow, open, journal } = gatedFlow()
  const made = harness({ flows: [flow], limits })
  const { session } = await made.engine.run({ flowName: 'Talk', userMessage: 'start', owner: 'ada' })
  const requests: string[] = []
  made.engine.getFlowSession().watchLocks(({ kind, holder }) => requests.push(`${holder} ${kind}`))
  const run = (userMessage: string) =>
    made.engine.run({ flowName: 'Talk', userMessage, sessionId: session, owner: 'ada' })
  return { ...made, session, run, open, journal, requests, events: recordEvents(made.engine) }
}

const deletesOf = (operations: readonly string[]): number => operations.filter((name) => name === 'delete').length

test('deletes that wait next to each other share one place, one delete and one event', async () => {
  const { engine, session, run, open, requests, events, store, backing } = await scene({ maxQueuedTurnsPerSession: 1 })
  const running = run('a')
  const deleting = Array.from({ length: 50 }, () => engine.deleteSession(session, { owner: 'ada' }))
  expect(requests).toEqual(['turn requested', 'turn acquired', 'delete requested'])
  open('a')
  await running
  expect(await Promise.all(deleting)).toEqual(Array(50).fill({ success: true, session }))
  expect([deletesOf(store.operations), backing.size]).toEqual([1, 0])
  expect(namesOf(events).filter((name) => name === 'session:deleted')).toHaveLength(1)
})

test('other options, and a turn between them, make a place of its own', async () => {
  const { engine, session, run, open, requests, journal } = await scene()
  const running = [run('a')]
  const deleting = [{ owner: 'ada' }, { owner: 'ada', unreadable: true }, { owner: 'ada' }, undefined, undefined].map(
    (options) => engine.deleteSession(session, options),
  )
  running.push(run('b'))
  deleting.push(engine.deleteSession(session))
  const places = requests.filter((request) => request === 'delete requested')
  expect(places).toHaveLength(5)
  for (const message of ['a', 'b']) open(message)
  await Promise.all([...running, ...deleting])
  // The turn in between began after the deletes before it.
  expect(journal).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
})

test('a delete that has the lock is not shared any more', async () => {
  const { engine, session, store, clock } = await scene()
  store.delayNext('load', 10)
  const first = engine.deleteSession(session)
  await clock.advance(5)
  const second = engine.deleteSession(session)
  await clock.runUntil(Promise.all([first, second]))
  expect(store.operations.slice(-4)).toEqual(['load', 'delete', 'load', 'delete'])
})

test('they share a failure too', async () => {
  const { engine, session, clock } = await scene({ turnTimeoutMs: 1000 })
  const held = gate()
  const holding = engine.getFlowSession().withSessionLock(session, () => held.opened)
  const deleting = [engine.executeDelete(session)]
  await clock.advance(400)
  deleting.push(engine.executeDelete(session))
  await clock.advance(600)
  const codes = (await Promise.all(deleting)).map(({ error }) => error?.code)
  expect(codes).toEqual(['TURN_TIMEOUT', 'TURN_TIMEOUT'])
  held.open()
  await holding
})

test('the options are read before the wait: changing them changes nothing', async () => {
  const { engine, session, run, open, backing } = await scene()
  const running = run('a')
  const options = { owner: 'ada' }
  const deleting = engine.deleteSession(session, options)
  options.owner = 'bob'
  open('a')
  await running
  expect(await deleting).toEqual({ success: true, session })
  expect(backing.size).toBe(0)
})
