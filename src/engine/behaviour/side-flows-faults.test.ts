/** Failures inside what was called: what is rolled back, cancelled, interrupted and repeated; and how long it may go on. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { expectNothingLeft, type Gate, gate } from '../../../testing/contract/engine-harness.js'
import { flow, step, talk } from '../../../testing/contract/side-flows/talk.js'
import {
  back,
  call,
  event,
  type Flow,
  FlowEngine,
  finish,
  go,
  MemorySessionStore,
  reply,
  type SessionDocument,
  type Turn,
} from '../../index.js'

afterEach(expectNothingLeft)

const Chat = step('Chat', ({ entered, returned, message }) =>
  entered ? reply(`Chat? ${returned?.from ?? ''}`) : call(message),
)
/** Counts, fails, waits at a gate and returns, as the user says. */
const inside = (held?: Gate) =>
  flow('Inner', [
    step('One', async (turn, self) => {
      self.state.count = Number(self.state.count ?? 0) + 1
      if (turn.message === 'wait') await held?.opened
      if (turn.message === 'fail') throw new Error('It broke.')
      return turn.message === 'done' ? finish(`Counted ${self.state.count}.`) : reply(`One ${self.state.count}`)
    }),
    step('Deep', () => {
      throw new Error('It broke deep down.')
    }),
  ])

async function started(members: Partial<Flow> = {}, options: Parameters<typeof talk>[1] = {}, held?: Gate) {
  const spoken = talk(flow('Shop', [Chat, inside(held), step('Home')], members), options)
  await spoken.say('hello')
  expect(await spoken.say('Inner')).toBe('One 1')
  return spoken
}

describe('a failure inside a called flow', () => {
  test('is rolled back to the state of the calls before the turn', async () => {
    const { say, now, open } = await started({}, { onTurnError: 'rollback' })
    const { flow: before } = await now()
    expect(await say('fail')).toBe('FLOW_ERROR: It broke.')
    expect((await now()).flow).toEqual(before)
    expect(await open()).toBe('Chat > Inner/One')
    expect(await say('done')).toBe('Counted 2.\n\nChat? Inner')
  })

  test('in the turn of the call itself opens nothing', async () => {
    const Caller = step('Caller', ({ entered }) => (entered ? reply('?') : call('Failing')))
    const Failing = step('Failing', () => {
      throw new Error('It broke.')
    })
    const { say, now } = talk(flow('Shop', [Caller, Failing]), { onTurnError: 'rollback' })
    await say('hello')
    expect(await say('in')).toBe('FLOW_ERROR: It broke.')
    expect(await now()).toMatchObject({ version: 2, flow: { currentStep: 'Caller', steps: { Caller: {} } } })
    expect(Object.keys((await now()).flow.steps)).toEqual(['Caller'])
  })

  test('aborts the session, with its calls as they were', async () => {
    const { say, now, id } = await started()
    const { flow: before } = await now()
    const aborted = id()
    expect(await say('fail')).toBe('FLOW_ERROR: It broke.')
    expect(await now()).toMatchObject({ runStatus: 'aborted', version: 3, flow: before })
    expect(await say('hello')).toBe('Chat? ')
    expect(id()).not.toBe(aborted)
  })

  test.each<readonly [string, (turn: Turn) => ReturnType<NonNullable<Flow['onError']>>, string, string]>([
    ['reply', () => reply('Sorry.'), 'Sorry.', 'Chat > Inner/One'],
    ['go, which drops the calls', () => go('Home'), 'Home?', 'Home'],
    ['call', () => call('Home'), 'Home?', 'Chat > Inner/One > Home'],
    [
      'call of what is open',
      () => call('Inner'),
      "FLOW_ERROR: call('Inner') is not possible: it is open already.",
      'Chat > Inner/One',
    ],
    [
      'back, which has nothing to return to',
      () => back(),
      "FLOW_ERROR: Flow 'Shop' returned back(), but the outer flow was not called. Return go(...) instead.",
      'Chat > Inner/One',
    ],
  ])('is answered by onError of the outer flow: %s', async (_what, onError, said, open) => {
    const seen: string[] = []
    const spoken = await started(
      {
        onError(_, turn) {
          seen.push(turn.step)
          return onError(turn)
        },
      },
      { onTurnError: 'rollback' },
    )
    expect([await spoken.say('fail'), await spoken.open(), seen]).toEqual([said, open, ['Inner/One']])
    expect((await spoken.now()).flow.steps['Inner/One']?.state).toEqual({ count: 1 })
  })

  test('after steps in between: onError sees the step in which the turn began', async () => {
    const { say, open } = await started({
      onMessage: ({ message }) => (message === 'deep' ? call('Inner/Deep') : undefined),
      onError: (_, { step: id, entered }) => reply(`Sorry, at ${id} ${entered}.`),
    })
    expect([await say('deep'), await open()]).toEqual(['Sorry, at Inner/One false.', 'Chat > Inner/One'])
  })

  test('after a return leaves the call open', async () => {
    let fails = true
    const Caller = step('Caller', ({ returned, entered }) => {
      if (returned && fails) throw new Error('It broke.')
      return entered ? reply('Yes?') : call('Side')
    })
    const Side = step('Side', ({ entered }) => (entered ? reply('Side?') : back()))
    const { say, open } = talk(flow('Shop', [Caller, Side]), { onTurnError: 'rollback' })
    await say('hello')
    await say('in')
    expect([await say('done'), await open()]).toEqual(['FLOW_ERROR: It broke.', 'Caller > Side'])
    fails = false
    expect([await say('done'), await open()]).toEqual(['Yes?', 'Caller'])
  })
})

describe('a turn inside a called flow', () => {
  test('that is cancelled leaves the calls as they were', async () => {
    const held = gate()
    const { say, stored, id, engine, open } = await started({}, { onTurnError: 'rollback' }, held)
    const { flow: before } = JSON.parse(await stored(id()))
    const waiting = say('wait')
    await vi.waitUntil(() => engine.cancel(id()))
    expect(await waiting).toMatch(/^TURN_ABORTED/)
    held.open()
    expect(JSON.parse(await stored(id())).flow).toEqual(before)
    expect([await open(), await say('done')]).toEqual(['Chat > Inner/One', 'Counted 2.\n\nChat? Inner'])
  })

  test("that a message interrupts is dropped, by the outer flow's rule", async () => {
    const held = gate()
    const { say, open } = await started({}, { busy: 'interrupt', onTurnError: 'rollback' }, held)
    const waiting = say('wait')
    const next = say('done')
    expect(await waiting).toMatch(/^TURN_SUPERSEDED/)
    held.open()
    expect([await next, await open()]).toEqual(['Counted 2.\n\nChat? Inner', 'Chat'])
  })

  test('is not repeated: the same key gets the recorded reply, while the call is open and after it', async () => {
    const { say, last, stored, id, open } = await started()
    const idempotencyKey = 'a-key-of-16-characters'
    const more = await say('more', { idempotencyKey })
    const before = await stored(id())
    expect([more, await say('more', { idempotencyKey }), last().replayed]).toEqual(['One 2', 'One 2', true])
    expect(await stored(id())).toBe(before)
    const returned = await say('done', { idempotencyKey: 'another-key-of-16-chars' })
    expect([returned, await open()]).toEqual(['Counted 3.\n\nChat? Inner', 'Chat'])
    expect(await say('done', { idempotencyKey: 'another-key-of-16-chars' })).toBe(returned)
    expect([await say('more', { idempotencyKey }), await open()]).toEqual(['One 2', 'Chat'])
  })

  test('does an effect once, although the turn is rolled back and the call is opened again', async () => {
    let paid = 0
    let fails = true
    const Pay = step('Pay', async (turn) => {
      await turn.once('pay', () => ++paid)
      if (fails) throw new Error('It broke.')
      return back().withLead('Paid.')
    })
    const { say } = talk(flow('Shop', [Chat, Pay]), { onTurnError: 'rollback' })
    await say('hello')
    expect(await say('Pay')).toBe('FLOW_ERROR: It broke.')
    fails = false
    expect([await say('Pay'), paid]).toEqual(['Paid.\n\nChat? Pay', 1])
  })
})

test('10 000 side questions leave a head under 2 KiB', { timeout: 300_000 }, async () => {
  const Hours = step('Hours', () => back().withLead('From 9 to 5.'))
  const Count = flow('Count', [step('Only', (_, self) => finish(`${Object.keys(self.state).length}`))])
  const Ask = step('Ask', () => reply('Which size?'), {
    memory: 'ask',
    events: () => [event({ name: 'remind', after: 1e9, execute: () => undefined })],
  })
  const Shop = flow('Shop', [Ask, Hours, Count], {
    onMessage: ({ message }) => (message === 'open?' ? call(Hours) : message === 'count' ? call(Count) : undefined),
  })
  const backing = new Map<string, SessionDocument>()
  const engine = new FlowEngine({ flows: [Shop], sessionStore: new MemorySessionStore({ backing }) })
  const say = async (userMessage: string, sessionId = '') => engine.run({ flowName: 'Shop', userMessage, sessionId })
  const { session } = await say('hello')
  for (let turn = 0; turn < 10_000; turn++) {
    const { message } = await say(turn % 2 === 0 ? 'open?' : 'count', session)
    expect(message).toBe(turn % 2 === 0 ? 'From 9 to 5.\n\nWhich size?' : '0\n\nWhich size?')
  }
  const { history, flow: stored, ...head } = backing.get(session) as SessionDocument
  const { memory, ...rest } = stored
  expect(head.turns).toBe(10_001)
  expect(Object.keys(memory)).toEqual(['ask'])
  expect(history.length).toBeGreaterThan(0)
  expect(JSON.stringify({ ...head, flow: rest }).length).toBeLessThan(2 * 1024)
  await engine.close()
})
