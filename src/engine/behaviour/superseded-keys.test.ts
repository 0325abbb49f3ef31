// What `busy: 'interrupt'` does to messages with idempotency keys, and to the ID of a session that is not stored yet.
import { afterEach, describe, expect, test } from 'vitest'
import { outcomeOf } from '../../../testing/contract/busy-talk.js'
import { expectNothingLeft, flowOf, harness, never } from '../../../testing/contract/engine-harness.js'
import { type FlowRunInput, reply, type SessionDocument, type Turn } from '../../index.js'

afterEach(expectNothingLeft)

/** A flow whose turns hang while the message has an `!`. */
const hanging = flowOf('Talk', (turn: Turn) => (turn.message.endsWith('!') ? never() : reply(turn.message)))

async function talk(limits = {}) {
  const made = harness({ flows: [hanging], busy: 'interrupt', limits })
  const session = await made.start('Talk')
  /** In an object, so that it is not awaited with the call. */
  const say = async (userMessage: string, more: Partial<FlowRunInput> = {}) => {
    const turn = made.engine.execute({ flowName: 'Talk', userMessage, sessionId: session, ...more })
    await made.clock.settle()
    return { turn }
  }
  const messages = async () => (await made.document(session)).history.map(({ message }) => message)
  return { ...made, session, say, messages }
}

const keyed = (text: string) => ({ idempotencyKey: `key-of-the-message-${text}` })

describe('a message with a key', () => {
  test('that was superseded waits for the newer turn, and runs when the last of them has ended', async () => {
    const { say, messages } = await talk()
    const first = await say('a!', keyed('a'))
    const second = await say('b!')
    expect(outcomeOf(await first.turn)).toBe('TURN_SUPERSEDED')
    const repeat = await say('a!', keyed('a'))
    const third = await say('c')
    expect(outcomeOf(await second.turn)).toBe('TURN_SUPERSEDED')
    expect(outcomeOf(await third.turn)).toBe('ok')
    const fourth = await say('d')
    expect(outcomeOf(await repeat.turn)).toBe('TURN_SUPERSEDED')
    expect(outcomeOf(await fourth.turn)).toBe('ok')
    expect(await messages()).toEqual(['start', 'c', 'd'])
  })

  test('that was superseded while it waited does so too, and its stream has nothing of the newer turn', async () => {
    const { engine, say, messages, store, clock, session } = await talk()
    store.delayNext('save', 20)
    const turns = [await say('a'), await say('b', keyed('b'))]
    const read = async (userMessage: string, more: Partial<FlowRunInput> = {}) => {
      const pieces: string[] = []
      for await (const piece of engine.stream({ flowName: 'Talk', userMessage, sessionId: session, ...more }))
        pieces.push(piece.type === 'result' ? piece.response.message : piece.type)
      return pieces
    }
    const newer = read('c')
    await clock.settle()
    const repeat = read('b', keyed('b'))
    const results = await clock.runUntil(Promise.all(turns.map(({ turn }) => turn)))
    expect(results.map(outcomeOf)).toEqual(['ok', 'TURN_SUPERSEDED'])
    expect(await clock.runUntil(Promise.all([newer, repeat]))).toEqual([
      ['session', 'c'],
      ['session', 'b'],
    ])
    expect(await messages()).toEqual(['start', 'a', 'c', 'b'])
  })

  test('that was answered is not interrupted, and interrupts nothing, when it comes with a new one', async () => {
    const { say, messages } = await talk()
    const answer = await (await say('a', keyed('a'))).turn
    const [repeat, next] = await Promise.all([say('a', keyed('a')), say('b', keyed('b'))])
    expect(await repeat.turn).toEqual({ ...answer, replayed: true })
    expect((await next.turn).response.message).toBe('b')
    expect(await messages()).toEqual(['start', 'a', 'b'])
  })

  test('that is new is interrupted although its session was not loaded when the newer one came', async () => {
    const { say, messages, store, clock } = await talk()
    store.delayNext('load', 100)
    const first = await say('a', keyed('a'))
    const second = await say('b', keyed('b'))
    await clock.advance(100)
    expect(outcomeOf(await first.turn)).toBe('TURN_SUPERSEDED')
    expect((await second.turn).response.message).toBe('b')
    expect(await messages()).toEqual(['start', 'b'])
  })

  test('that another process answers meanwhile interrupts nothing when it is sent again', async () => {
    const { say, messages, store, clock, backing, session } = await talk()
    const other = harness({ flows: [hanging], backing })
    store.delayNext('load', 100)
    const second = await say('b', keyed('b'))
    const repeat = await say('a', keyed('a'))
    const input = { flowName: 'Talk', userMessage: 'a', sessionId: session, ...keyed('a') }
    const first = await other.engine.execute(input)
    await clock.advance(100)
    expect((await second.turn).response.message).toBe('b')
    expect(await repeat.turn).toEqual({ ...first, replayed: true })
    expect(await messages()).toEqual(['start', 'a', 'b'])
  })

  test('is forgotten if more were superseded than may wait: its repeat is a new message', async () => {
    const { say } = await talk({ maxQueuedTurnsPerSession: 1 })
    const turns = [await say('a!', keyed('a')), await say('b!', keyed('b')), await say('c!')]
    const repeat = await say('a', keyed('a'))
    expect(outcomeOf(await repeat.turn)).toBe('ok')
    const outcomes = (await Promise.all(turns.map(({ turn }) => turn))).map(outcomeOf)
    expect(outcomes).toEqual(['TURN_SUPERSEDED', 'TURN_SUPERSEDED', 'TURN_SUPERSEDED'])
  })
})

describe('a session whose first turn was interrupted', () => {
  /** A conversation whose first turn hangs; its client knows the ID. */
  async function begun(more: Partial<FlowRunInput> = {}) {
    const backing = new Map<string, SessionDocument>()
    const sent = new Set<string>()
    const hangingOnce = flowOf('Talk', ({ message }: Turn) => {
      const hangs = message.endsWith('!') && !sent.has(message)
      sent.add(message)
      return hangs ? never() : reply(message)
    })
    const { engine, clock } = harness({ flows: [hangingOnce], busy: 'interrupt', backing })
    const first = engine.stream({ flowName: 'Talk', userMessage: 'a!', ...more } as FlowRunInput)
    const { value } = await first.next()
    const { session: sessionId } = value as { readonly session: string }
    const say = (userMessage: string, key: Partial<FlowRunInput> = {}) =>
      engine.execute({ flowName: 'Talk', userMessage, sessionId, ...key })
    const messages = () => Array.from(backing, ([id, { history }]) => [id, history.map(({ message }) => message)])
    return { engine, clock, first, sessionId, say, messages }
  }

  test.each([{}, keyed('b')])('keeps the ID, whoever is interrupted next (%j)', async (key) => {
    const { clock, first, sessionId, say, messages } = await begun()
    const others = [say('b!', key)]
    await clock.settle()
    others.push(say('c!'))
    others.push(say('d'))
    const results = await Promise.all(others)
    expect(results.map(outcomeOf)).toEqual(['TURN_SUPERSEDED', 'TURN_SUPERSEDED', 'ok'])
    expect(results.map(({ restarted }) => restarted)).toEqual([undefined, undefined, undefined])
    expect(messages()).toEqual([[sessionId, ['d']]])
    await first.return()
  })

  test('has the first message too if that is sent again with its key', async () => {
    const { engine, first, sessionId, say, messages } = await begun(keyed('a'))
    const second = await say('b')
    expect([second.response.session, second.restarted]).toEqual([sessionId, undefined])
    const repeat = await engine.execute({ flowName: 'Talk', userMessage: 'a!', ...keyed('a') } as FlowRunInput)
    expect(repeat.response).toMatchObject({ success: true, session: sessionId })
    expect(messages()).toEqual([[sessionId, ['b', 'a!']]])
    await first.return()
  })
})
