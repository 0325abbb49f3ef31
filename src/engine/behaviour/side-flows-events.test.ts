/** Outside events and timers while calls are open: who takes them, and what each open call keeps. */
import { afterEach, describe, expect, test } from 'vitest'
import { tickets } from '../../../adapters/tickets/index.js'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { calls, modelHarness } from '../../../testing/contract/model-harness.js'
import { flow, modelStep, step, talk } from '../../../testing/contract/side-flows/talk.js'
import { lines } from '../../../testing/contract/test-flows.js'
import { back, call, event, type FlowEvent, finish, go, reply, type Transition, type Turn, tool } from '../../index.js'

afterEach(expectNothingLeft)

const hour = 3_600_000

/** An event that does `execute`. */
const on = (name: string, execute: (turn: Turn) => Transition | void, more: object = {}): FlowEvent =>
  event({ name, ...more, execute: (_: unknown, turn: Turn) => execute(turn) })

const Side = step('Side', ({ message, entered }) => (entered || message !== 'done' ? reply('Side?') : back()))
const isSide = ({ message }: Turn) => (message === 'side' ? call('Side') : undefined)

/** Waits for a decision; the user is in a side step above it. */
async function waiting(events: (turn?: Turn) => readonly FlowEvent[]) {
  const Wait = step('Wait', ({ returned }) => reply(`Waiting ${returned?.from ?? ''}`), { events })
  const Start = step('Start', ({ returned, entered }) =>
    entered ? reply(`Yes? ${returned?.value ?? ''}`) : call('Wait'),
  )
  const of = flow('Shop', [Start, Wait, Side, step('Paid')], {
    onMessage: isSide,
    events: () => [on('home', () => go('Start')), on('close', () => finish('Closed.')), on('lost', () => back())],
  })
  const spoken = talk(of, { onTurnError: 'rollback' })
  for (const message of ['hello', 'wait', 'side']) await spoken.say(message)
  expect(await spoken.open()).toBe('Start > Wait > Side')
  return spoken
}

describe('an event of a step below the current one', () => {
  test('that replies or calls drops nothing; the history names the current step', async () => {
    const { send, open, now } = await waiting(() => [on('news', () => reply('News.')), on('ask', () => call('Paid'))])
    expect([await send('news'), await open()]).toEqual(['News.', 'Start > Wait > Side'])
    expect((await now()).history.at(-1)).toMatchObject({ step: 'Side', event: { name: 'news' } })
    expect([await send('ask'), await open()]).toEqual(['Paid?', 'Start > Wait > Side > Paid'])
  })

  test('that moves, returns or finishes drops what is above it', async () => {
    const events = () => [
      on('decision', () => go('Paid')),
      on('early', () => back('early')),
      on('told', () => back().withReply('It was turned down.')),
      on('end', () => finish('The end.')),
    ]
    const moved = await waiting(events)
    expect([await moved.send('decision'), await moved.open()]).toEqual(['Paid?', 'Start > Paid'])
    const returned = await waiting(events)
    expect([await returned.send('early'), await returned.open()]).toEqual(['Yes? early', 'Start'])
    const told = await waiting(events)
    expect([await told.send('told'), await told.open()]).toEqual(['It was turned down.', 'Start'])
    const ended = await waiting(events)
    expect([await ended.send('end'), ended.last().response.completed]).toEqual(['The end.', true])
  })

  test('is taken by the outer flow last, whose transitions drop all calls', async () => {
    const home = await waiting(() => [])
    expect([await home.send('home'), await home.open()]).toEqual(['Yes? ', 'Start'])
    const closed = await waiting(() => [])
    expect([await closed.send('close'), closed.last().response.completed]).toEqual(['Closed.', true])
    const own = await waiting(() => [on('home', () => reply('Not yet.'))])
    expect(await own.send('home')).toBe('Not yet.')
    expect(await own.send('lost')).toBe(
      "FLOW_ERROR: Event 'lost' returned back(), but the outer flow was not called. Return go(...) instead.",
    )
  })

  test('sees its own step and entry, sets its own timers, and seals tickets for them', async () => {
    const links = tickets({ secrets: ['a secret of at least 32 characters'] })
    let ticket: Promise<string> | undefined
    let seen: readonly string[] = []
    const { send, now, engine, id } = await waiting(() => [
      on('remind', (turn) => {
        seen = [turn.step, turn.entry]
        turn.setTimer('remind', hour)
        ticket = links.seal(turn, 'decision', { by: 'Ada' })
      }),
      on('decision', () => go('Paid')),
    ])
    await send('remind')
    const { frames = [] } = (await now()).flow
    expect(seen).toEqual([frames[1]?.step, frames[1]?.entry])
    expect(frames.map(({ timers = [] }) => timers.map(({ name }) => name))).toEqual([[], ['remind'], []])
    const opened = await links.open((await ticket) as string, undefined)
    expect(opened?.sessionId).toBe(id())
    expect((await engine.sendEvent(opened as never)).response.message).toBe('Paid?')
  })

  test('answers into the memory of its own step', async () => {
    const leave = tool({ name: 'side', description: 'Asks.', execute: () => call('Side') })
    const Chat = modelStep('Chat', { tools: () => [leave], events: () => [on('news', () => reply('News.'))] })
    const of = flow('Shop', [Chat, Side], { model: () => ({ provider: 'own', name: 'small' }) })
    const { say, send, now } = talk(of, { made: modelHarness({ 'own/small': [calls('side')] }, { flows: [of] }) })
    expect([await say('hello'), await send('news')]).toEqual(['Side?', 'News.'])
    expect(lines((await now()).flow.memory.Chat?.messages)).toEqual([
      'user: hello',
      'assistant: side({})',
      'tool: side = "Done."',
      'assistant: News.',
    ])
  })

  test('is one of the user, too, if it allows that', async () => {
    const { say, open } = await waiting(() => [on('press', () => go('Paid'), { byUser: true })])
    expect([await say('', { event: { name: 'press' } }), await open()]).toEqual(['Paid?', 'Start > Paid'])
  })

  test('that the step above has as well goes to the step above', async () => {
    const Above = step('Above', () => reply('?'), { events: () => [on('same', () => reply('Above.'))] })
    const Below = step('Below', ({ entered }) => (entered ? reply('?') : call(Above)), {
      events: () => [on('same', () => reply('Below.'))],
    })
    const { say, send } = talk(flow('Shop', [Below, Above]))
    await say('hello')
    expect(await send('same')).toBe('Below.')
    await say('call')
    expect(await send('same')).toBe('Above.')
  })

  test('that fails, or that no step takes, leaves the calls as they are', async () => {
    const { send, stored, id, open } = await waiting(() => [
      on('fail', () => {
        throw new Error('No money.')
      }),
    ])
    const before = await stored(id())
    expect(await send('unknown')).toMatch(/^EVENT_NOT_TAKEN/)
    expect(await stored(id())).toBe(before)
    expect([await send('fail'), await open()]).toEqual(['FLOW_ERROR: No money.', 'Start > Wait > Side'])
  })
})

describe('a called flow', () => {
  const inner = (events: () => readonly FlowEvent[], ofStep: () => readonly FlowEvent[] = () => []) =>
    flow('Inner', [step('One', () => reply('One.'), { events: ofStep }), step('Two')], {
      events,
      onMessage: ({ message }) => (message === 'two' ? go('Two') : undefined),
    })
  const Start = step('Start', ({ entered }) => (entered ? reply('Yes?') : call('Inner')), {
    events: () => [on('in', () => call('Inner'))],
  })
  const started = async (of: ReturnType<typeof inner>) => {
    const spoken = talk(flow('Shop', [Start, Side, of], { onMessage: isSide }))
    await spoken.say('hello')
    const timers = async () =>
      (await spoken.now()).flow.frames?.map(({ timers: all = [] }) =>
        Object.fromEntries(all.map(({ name, at }) => [name, (Date.parse(at) - begun) / hour])),
      )
    const begun = spoken.clock.now()
    return { ...spoken, timers }
  }

  test('takes its events in each of its steps, and while a side step is open', async () => {
    const { say, send, open } = await started(
      inner(() => [on('state', () => reply('Going well.')), on('two', () => go('Two'))]),
    )
    expect(await send('state')).toMatch(/^EVENT_NOT_TAKEN/)
    await say('in')
    expect(await send('state')).toBe('Going well.')
    await say('side')
    expect([await send('state'), await open()]).toEqual(['Going well.', 'Start > Inner/One > Side'])
    expect([await send('two'), await open()]).toEqual(['Two?', 'Start > Inner/Two'])
  })

  test('returns by finish and back of its events', async () => {
    const { say, send, open } = await started(
      inner(() => [on('end', () => finish('Ended.')), on('back', () => back())]),
    )
    await say('in')
    await say('side')
    expect([await send('end'), await open()]).toEqual(['Ended.\n\nYes?', 'Start'])
    await say('in')
    expect([await send('back'), await open()]).toEqual(['Yes?', 'Start'])
  })

  test('keeps the states of its open steps if its event calls one of its steps from a side step', async () => {
    const call2 = on('more', () => call('Two'))
    const noted = on('note', () => reply('Noted.'))
    const { say, send, now, open } = await started(
      inner(
        () => [call2],
        () => [noted],
      ),
    )
    await say('in')
    const { frames } = (await now()).flow
    await say('side')
    await send('more')
    expect(await open()).toBe('Start > Inner/One > Side > Inner/Two')
    const { flow: stored } = await now()
    expect(stored.steps['Inner/One']).toEqual({ state: {} })
    expect(stored.frames?.[1]).toEqual(frames?.[1])
  })

  test('is silent since the last message, also if an event has called it', async () => {
    const quiet = on('quiet', () => undefined, { silence: 24 * hour })
    const { send, clock, timers, say } = await started(inner(() => [quiet]))
    await clock.advance(2 * hour)
    await send('in')
    expect(await timers()).toEqual([{}, { quiet: 24 }])
    await clock.advance(hour)
    await say('two')
    expect(await timers()).toEqual([{}, { quiet: 27 }])
    await clock.advance(hour)
    await say('side')
    expect(await timers()).toEqual([{}, { quiet: 28 }, {}])
  })
})

describe('timers', () => {
  const Wait = step('Wait', ({ message }) => (message === 'up' ? back() : reply('Waiting.')), {
    events: () => [
      on('remind', () => reply('Do not forget.'), { after: 48 * hour }),
      on('silent', () => reply('Are you there?'), { silence: 24 * hour }),
    ],
  })
  const Start = step('Start', ({ entered }) => (entered ? reply('Yes?') : call(Wait)))

  test('below a side step stay, come due there, and go with their step; a message sets silence again', async () => {
    const { say, now, clock, engine, id, open } = talk(flow('Shop', [Start, Wait, Side], { onMessage: isSide }))
    const begun = clock.now()
    const due = async () =>
      (await now()).flow.frames?.map(({ timers = [] }) =>
        timers.map(({ name, at }) => `${name} ${(Date.parse(at) - begun) / hour}`),
      )
    await say('hello')
    await say('wait')
    expect(await due()).toEqual([[], ['remind 48', 'silent 24']])
    await clock.advance(hour)
    await say('side')
    expect(await due()).toEqual([[], ['remind 48', 'silent 25'], []])
    await clock.advance(47 * hour)
    const { results } = await engine.wake({ sessionId: id() })
    expect(results.map(({ response }) => response.message)).toEqual(['Are you there?', 'Do not forget.'])
    expect([await open(), await due()]).toEqual(['Start > Wait > Side', [[], [], []]])
    await say('done')
    expect(await due()).toEqual([[], ['silent 72']])
    await say('up')
    expect([await open(), (await now()).version, (await now()).flow.wakeAt]).toEqual(['Start', 2, undefined])
  })

  test('of a caller that was not entered yet begin when it is entered', async () => {
    const { say, send, now } = talk(flow('Shop', [Wait, Side], { onMessage: isSide }))
    await say('side')
    expect(await send('remind')).toMatch(/^EVENT_NOT_TAKEN/)
    expect((await now()).flow.frames?.[0]).not.toHaveProperty('timers')
    expect(await say('done')).toBe('Waiting.')
    expect((await now()).flow.frames?.[0]?.timers?.map(({ name }) => name)).toEqual(['remind', 'silent'])
    expect(await send('remind')).toBe('Do not forget.')
  })
})

test('a layout that an older release refuses, exactly while a call is open or an event is waited for', async () => {
  const Plain = step('Plain', ({ entered }) => (entered ? reply('Yes?') : call('Side')))
  const { say, now } = talk(flow('Shop', [Plain, Side]))
  const versions: number[] = []
  for (const message of ['hello', 'in', 'still', 'done', 'in', 'done']) {
    await say(message)
    const { version, flow: stored } = await now()
    expect(stored.frames !== undefined).toBe(version === 3)
    versions.push(version)
  }
  expect(versions).toEqual([2, 3, 3, 2, 3, 2])
})
