import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { namesOf, recordEvents, recorded } from '../../../testing/contract/event-recorder.js'
import {
  type FlowConstructor,
  finish,
  MemorySessionStore,
  reply,
  SessionFlowInvariantError,
  type UnderReplicatedReport,
} from '../../index.js'

afterEach(expectNothingLeft)

const talk = (): FlowConstructor =>
  flowOf('Talk', (turn) => {
    if (turn.message === 'fail') throw new Error('It broke.')
    return turn.message === 'done' ? finish('Goodbye.') : reply(`You said: ${turn.message}`)
  })

const at = Date.UTC(2026, 0, 1)

describe('the events of sessions', () => {
  test('a delete that removed something', async () => {
    const { engine, events, start } = recorded([talk()])
    const session = await start('Talk')
    events.length = 0
    await engine.deleteSession(session)
    expect(events).toEqual([['session:deleted', { sessionId: session, at }]])
    expect(Object.isFrozen(events[0]?.[1])).toBe(true)
  })

  test('a delete that removed nothing, or failed, emits no session:deleted', async () => {
    const { engine, events, start, store } = recorded([talk()])
    const session = await start('Talk')
    events.length = 0
    await engine.deleteSession('nobody')
    await engine.deleteSession('')
    await engine.deleteSession(session, { owner: 'a stranger' })
    store.failNext('delete', { times: 3 })
    await engine.deleteSession(session)
    expect(namesOf(events)).toEqual(['session:foreign'])
  })

  test('a delete of a session with an owner names the owner, also where the session cannot be read', async () => {
    const { engine, events, store } = recorded([talk()])
    const say = () => engine.run({ flowName: 'Talk', userMessage: 'hello', owner: 'ada' })
    const [first, second, third] = [await say(), await say(), await say()]
    events.length = 0
    await engine.deleteSession(first.session)
    await engine.deleteSession(second.session, { owner: 'ada' })
    const options = { sessionId: third.session, problem: 'it is not valid JSON' }
    store.failNext('load', { error: new SessionFlowInvariantError({ ...options, owner: 'ada' }) })
    await engine.deleteSession(third.session)
    const unreadable = [
      'session:unreadable',
      { sessionId: third.session, problem: `Session '${third.session}' is malformed: it is not valid JSON.`, at },
    ]
    const deleted = [first, second, third].map(({ session }) => [
      'session:deleted',
      { sessionId: session, owner: 'ada', at },
    ])
    expect(events).toEqual([...deleted.slice(0, 2), unreadable, ...deleted.slice(2)])
  })

  test('a session that cannot be read is reported and logged, whoever asks for it; one of a newer release is not', async () => {
    const logged: unknown[] = []
    const logger = { debug() {}, info() {}, warn() {}, error: (...args: unknown[]) => void logged.push(args) }
    const { engine, store } = harness({ flows: [talk()], logger })
    const seen: unknown[] = []
    engine.on('session:unreadable', (event) => seen.push(event.problem))
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'hello', owner: 'ada' })
    const error = new SessionFlowInvariantError({ sessionId: session, problem: 'its head cannot be read' })
    store.failNext('load', { error, times: 3 })
    const say = { flowName: 'Talk', userMessage: 'hello', sessionId: session }
    await engine.run({ ...say, owner: 'ada' })
    await engine.run({ ...say, owner: 'bob' })
    await engine.executeDelete(session, { owner: 'bob' })
    const problem = `Session '${session}' is malformed: its head cannot be read.`
    expect(seen).toEqual([problem, problem, problem])
    expect(logged).toEqual(seen.map(() => [problem, { sessionId: session }]))
    store.failNext('load', {
      error: new SessionFlowInvariantError({ sessionId: session, problem: 'its layout is 9', newerLayout: true }),
    })
    await engine.run({ ...say, owner: 'ada' })
    expect(seen).toHaveLength(3)
  })

  test('session:deleted comes after the store acknowledged', async () => {
    const { engine, events, clock, start, store } = recorded([talk()])
    const session = await start('Talk')
    events.length = 0
    store.delayNext('delete', 10)
    const deleting = engine.deleteSession(session)
    await clock.advance(9)
    expect(events).toEqual([])
    await clock.advance(1)
    await deleting
    expect(namesOf(events)).toEqual(['session:deleted'])
  })

  test('a store that evicts a session', async () => {
    const sessionStore = new MemorySessionStore({ maxSessions: 2 })
    const { engine } = harness({ flows: [talk()], sessionStore })
    const events = recordEvents(engine)
    const sessions: string[] = []
    for (const userMessage of ['a', 'b', 'c']) {
      sessions.push((await engine.run({ flowName: 'Talk', userMessage })).session)
    }
    const evicted = events.filter(([name]) => name === 'session:evicted')
    expect(evicted).toEqual([['session:evicted', { sessionId: sessions[0], at }]])
    expect(Object.isFrozen(evicted[0]?.[1])).toBe(true)
  })

  test('a save that reached too few replicas', async () => {
    let tell: ((report: UnderReplicatedReport) => void) | undefined
    const sessionStore = Object.assign(new MemorySessionStore(), {
      onUnderReplicated(listener: (report: UnderReplicatedReport) => void): () => void {
        tell = listener
        return () => undefined
      },
    })
    const { engine } = harness({ flows: [talk()], sessionStore })
    const events = recordEvents(engine)
    tell?.({ sessionId: 's', replicas: 0, wanted: 1 })
    expect(events).toEqual([['session:under-replicated', { sessionId: 's', replicas: 0, wanted: 1, at }]])
    expect(Object.isFrozen(events[0]?.[1])).toBe(true)
  })

  test('a batch flow reports its checkpoint: created first, then saved', async () => {
    const { engine, events } = recorded([flowOf('Batch', undefined, { isBatch: () => true })])
    const { session } = await engine.run({ flowName: 'Batch', userMessage: 'a' })
    await engine.run({ flowName: 'Batch', userMessage: 'b', sessionId: session })
    expect(namesOf(events)).toEqual([
      'turn:start',
      'session:created',
      'step:enter',
      'session:saved',
      'turn:end',
      'turn:start',
      'session:restored',
      'session:saved',
      'session:saved',
      'turn:end',
    ])
  })
})
