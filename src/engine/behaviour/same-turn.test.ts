// Two engines over one backend, and turns that differ only in their IDs: the same message, the same reply, at the same
// millisecond. A save that is reported as failed is judged by that ID alone.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, type Harness, harness } from '../../../testing/contract/engine-harness.js'
import { reply } from '../../index.js'

afterEach(expectNothingLeft)

/** Two engines that share what is stored, and a session. */
async function twoEngines(options: Parameters<typeof harness>[0] = {}) {
  const runs = { one: 0, other: 0 }
  const engine = (name: 'one' | 'other', backing?: Harness['backing']): Harness => {
    const talk = flowOf('Talk', ({ message }) => {
      if (message === 'hello') runs[name]++
      return reply('The same.')
    })
    return harness({ flows: [talk], ...options, ...(backing === undefined ? {} : { backing }) })
  }
  const one = engine('one')
  const other = engine('other', one.backing)
  const session = await one.start('Talk')
  const say = ({ engine: speaker }: Harness) =>
    speaker.execute({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
  const turnsOf = async () => (await one.document(session)).history.map(({ turn, id }) => [turn, id])
  return { one, other, session, say, turnsOf, runs }
}

describe.each([
  ['took effect', true],
  ['did not take effect', false],
])('a save that was reported as failed and %s', (_name, after) => {
  test('is judged by the ID of its turn, not by one of the same texts that the other engine stored', async () => {
    const { one, other, session, say, turnsOf, runs } = await twoEngines()
    one.store.failNext('save', { after })
    // The other engine has its turn between the failed save and its read-back.
    one.store.delayNext('load', 10, { nth: 2 })
    const first = say(one)
    await one.clock.settle()
    const second = await say(other)
    await one.clock.advance(10)
    const codes = [await first, second].map(({ response, error }) => error?.code ?? response.message)
    expect(codes).toEqual([after ? 'The same.' : 'SESSION_CONFLICT', 'The same.'])
    const stored = await turnsOf()
    expect(stored.map(([turn]) => turn)).toEqual(after ? [1, 2, 3] : [1, 2])
    expect(new Set(stored.map(([, id]) => id)).size).toBe(stored.length)
    expect(runs).toEqual({ one: 1, other: 1 })
    // Nothing but the ID told the turns apart.
    const { history } = await one.document(session)
    expect(new Set(history.slice(1).map(({ at, message, reply: text }) => `${at} ${message} ${text}`)).size).toBe(1)
    expect(one.store.operations).toEqual(['create', 'load', 'save', 'load', ...(after ? [] : ['load'])])
  })

  test('over a revision from which both engines went on: one of the two is stored', async () => {
    const { one, other, say, turnsOf, runs } = await twoEngines()
    one.store.failNext('save', { after, latencyMs: 10 })
    other.store.delayNext('save', 10)
    const first = say(one)
    const second = say(other)
    const order = after ? [one, other] : [other, one]
    for (const { clock } of [one, other]) await clock.settle()
    for (const { clock } of order) await clock.advance(10)
    const codes = [await first, await second].map(({ error }) => error?.code ?? 'stored')
    expect(codes).toEqual(after ? ['stored', 'SESSION_CONFLICT'] : ['SESSION_CONFLICT', 'stored'])
    expect((await turnsOf()).map(([turn]) => turn)).toEqual([1, 2])
    expect(runs).toEqual({ one: 1, other: 1 })
  })

  test('has an unknown outcome where the history begins later: no conflict, and no second run', async () => {
    const { one, other, session, say, turnsOf, runs } = await twoEngines({ limits: { maxHistoryTurns: 2 } })
    one.store.failNext('save', { after })
    one.store.delayNext('load', 10, { nth: 2 })
    const first = say(one)
    await one.clock.settle()
    for (let turn = 0; turn < 4; turn++) expect((await say(other)).response.success).toBe(true)
    const before = await one.stored(session)
    await one.clock.advance(10)
    const { response, error } = await first
    expect(response).toMatchObject({
      success: false,
      session,
      message: `Session store failed to save session '${session}'. Whether it took effect is unknown.`,
    })
    expect(error?.code).toBe('SESSION_STORE_ERROR')
    expect((await turnsOf())[0]?.[0]).toBeGreaterThan(2)
    expect(runs).toEqual({ one: 1, other: 4 })
    // No abort save either: the session is the other engine's by now.
    expect([await one.stored(session), one.store.operations.length]).toEqual([before, 4])
  })
})
