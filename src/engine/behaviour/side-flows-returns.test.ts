/** What a call and a return are to those who watch a turn, and what does not outlive a return. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { modelHarness } from '../../../testing/contract/model-harness.js'
import { flow, modelStep, step, talk } from '../../../testing/contract/side-flows/talk.js'
import { delta, readAll, shortly, streaming } from '../../../testing/contract/stream-harness.js'
import { back, call, EndStep, event, finish, go, reply, type Turn } from '../../index.js'
import { card, choices } from '../../parts/index.js'

afterEach(expectNothingLeft)

const Hours = step('Hours', () => back().withLead('From 9 to 5.'))
const isAboutHours = ({ message }: Turn) => (/open/.test(message) ? call('Hours') : undefined)
const Shop = flow('Shop', [step('Chat'), Hours], { onMessage: isAboutHours })

describe('a call and a return', () => {
  test('are two moves', async () => {
    const withLimit = async (maxTransitionsPerTurn: number) => {
      const { say } = talk(Shop, { limits: { maxTransitionsPerTurn }, onTurnError: 'rollback' })
      await say('hello')
      return say('open?')
    }
    expect(await withLimit(2)).toBe('From 9 to 5.\n\nChat?')
    expect(await withLimit(1)).toMatch(
      /^LIMIT_EXCEEDED: The number of moves in one turn \(the last one from 'Hours' to 'Chat'\)/,
    )
  })

  test('are seen as steps that are entered, left, and gone on with', async () => {
    const { say, engine, id } = talk(Shop)
    await say('hello')
    const events: string[] = []
    for (const name of ['step:resume', 'step:enter', 'step:exit'] as const) {
      engine.on(name, ({ step: at }) => events.push(`${name} ${at}`))
    }
    const sent = await readAll(engine.stream({ flowName: 'Shop', sessionId: id(), userMessage: 'open?' }))
    expect(events).toEqual(['step:resume Chat', 'step:enter Hours', 'step:exit Hours', 'step:resume Chat'])
    expect(shortly(sent)).toEqual(['session', 'step Hours', 'step Chat', 'result From 9 to 5.\n\nChat?'])
  })

  test('take back what a model had streamed before it failed', async () => {
    const Look = modelStep('Look', { onModelError: () => back() })
    const Chat = step('Chat', ({ entered }) => (entered ? reply('Chat?') : call(Look)))
    const of = flow('Shop', [Chat, Look], { model: () => ({ provider: 'scripted', name: 'scripted' }) })
    async function* breaking() {
      yield delta('Let me s')
      throw new Error('The line is down.')
    }
    const { say, engine, id } = talk(of, { providers: [streaming(breaking)] })
    await say('hello')
    const sent = await readAll(engine.stream({ flowName: 'Shop', sessionId: id(), userMessage: 'look' }))
    expect(shortly(sent)).toEqual(['session', 'step Look', '"Let me s"', 'reset step', 'step Chat', 'result Chat?'])
  })
})

test('turn.returned cannot be changed', async () => {
  const seen: Turn['returned'][] = []
  const { say } = talk(
    flow('Shop', [
      step('Chat', (turn) => {
        if (turn.returned !== undefined) seen.push(turn.returned)
        return turn.entered ? reply('Chat?') : call(turn.message)
      }),
      step('Plain', () => back()),
      step('Valued', () => back(7)),
    ]),
  )
  for (const message of ['hello', 'Plain', 'Valued']) await say(message)
  expect(seen).toEqual([{ from: 'Plain' }, { from: 'Valued', value: 7 }])
  expect(seen.map(Object.isFrozen)).toEqual([true, true])
})

describe('a return ends', () => {
  test('the prompt that was added for the called step', async () => {
    const of = flow(
      'Shop',
      [
        modelStep('Chat', { prompt: () => 'Sell.' }),
        modelStep('Side', { prompt: () => 'Help.', onReply: () => back() }),
      ],
      {
        model: () => ({ provider: 'own', name: 'small' }),
        onMessage: ({ message }) => (message === 'side' ? call('Side').withPrompt('Be short.') : undefined),
      },
    )
    const made = modelHarness({ 'own/small': ['Size?', 'Help is near.', 'So?'] }, { flows: [of] })
    const { say } = talk(of, { made })
    await say('hello')
    expect(await say('side')).toBe('So?')
    expect(made.asked.map(({ request: { system } }) => system)).toEqual(['Sell.', 'Help.\n\nBe short.', 'Sell.'])
  })

  test('the content type of one reply that the called step did not give', async () => {
    const Side = step('Side', () => back())
    const Chat = step('Chat', ({ entered }) =>
      entered ? reply('Chat?') : call(Side).withContentType('image/png', { encoding: 'base64' }),
    )
    const { say, last } = talk(flow('Shop', [Chat, Side]))
    await say('hello')
    expect(await say('side')).toBe('Chat?')
    expect(last().response.contentType).toBe('text/plain')
  })
})

test('the end step of a called flow cannot move on, and the session has not ended', async () => {
  class Bye extends EndStep {
    static override readonly id = 'Bye'
    override onEnter() {
      return go('Ask')
    }
  }
  const inner = flow('Inner', [step('Ask', ({ entered }) => (entered ? reply('Ask?') : finish('Done.'))), Bye])
  const Chat = step('Chat', ({ entered }) => (entered ? reply('Chat?') : call(inner)))
  const { say, open, last } = talk(flow('Shop', [Chat, inner]), { onTurnError: 'rollback' })
  for (const message of ['hello', 'in']) await say(message)
  expect(await say('end')).toBe("FLOW_ERROR: onEnter of end step 'Inner/Bye' returned go(...); the flow has ended.")
  expect([await open(), last().sessionState]).toEqual(['Chat > Inner/Ask', 'running'])
})

describe('parts', () => {
  const prices = card({ title: 'Prices', rows: [['Small', '9 EUR']] })
  const size = choices('size', [
    { value: 's', label: 'Small' },
    { value: 'l', label: 'Large' },
  ])
  const news = choices('news', [
    { value: 'y', label: 'Yes' },
    { value: 'n', label: 'No' },
  ])
  const seen = ({ choice }: Turn) => `${choice?.name ?? 'no choice'} ${choice?.value ?? ''}`

  test('of a lead without a reply come before the question that is asked again; its choices do not', async () => {
    const Prices = step('Prices', () => back().withLead('Our prices:').withParts([news, prices]))
    const Chat = step('Chat', (turn) => {
      if (turn.message === 'prices' && !turn.entered) return call(Prices)
      return turn.entered ? reply('Which size?').withParts([size]) : reply(seen(turn))
    })
    const { say, last } = talk(flow('Shop', [Chat, Prices]))
    await say('hello')
    expect(await say('prices')).toBe('Our prices:\n\nWhich size?')
    expect(last().parts).toEqual([prices, size])
    expect(await say('2')).toBe('size l')
  })

  test('with choices that an event of a caller gives leave the list of the side step open', async () => {
    const ask = event({ name: 'ask', execute: () => reply('Approve 100 EUR?').withParts([size]) })
    const Wait = step('Wait', (turn) => (turn.message === 'side' && !turn.entered ? call('Side') : reply(seen(turn))), {
      events: () => [ask],
    })
    const Side = step('Side', (turn) => {
      if (turn.entered) return reply('News?').withParts([news])
      return turn.message === 'back' ? back().withReply('Well?') : reply(`Side ${seen(turn)}`)
    })
    const { say, send, now } = talk(flow('Shop', [Wait, Side]))
    await say('hello')
    await say('side')
    await send('ask')
    const listOf = async (id: string) => (await now()).flow.steps[id]?.choices
    expect([await listOf('Wait'), await listOf('Side')]).toMatchObject([
      { turn: 3, name: 'size' },
      { turn: 2, name: 'news' },
    ])
    // The button of the caller is not taken for an answer to the side step, and its own buttons work.
    expect(await say('Small', { choice: { turn: 3, name: 'size', value: 's' } })).toBe('Side no choice ')
    expect(await say('Yes', { choice: { turn: 2, name: 'news', value: 'y' } })).toBe('Side news y')
    await say('back')
    expect(await say('Large', { choice: { turn: 3, name: 'size', value: 'l' } })).toBe('size l')
  })

  test('cannot be a list with holes', () => {
    expect(() => reply('Prices').withParts(new Array(2))).toThrow(
      expect.objectContaining({ code: 'FLOW_ERROR', message: 'withParts needs parts made with turnkeeper/parts.' }),
    )
    const withHole = [prices, prices, prices]
    delete withHole[1]
    expect(() => reply('Prices').withParts(withHole)).toThrow('withParts needs parts')
  })
})

test('a lead before a step that onMessage goes to in the first turn: the first step is not left, as it was not entered', async () => {
  const left = vi.fn()
  const First = step('First', () => reply('First?'), { onExit: left })
  const Second = step('Second', () => reply('Second?'))
  const { say } = talk(flow('Shop', [First, Second], { onMessage: () => go(Second).withLead('Welcome.') }))
  expect(await say('hello')).toBe('Welcome.\n\nSecond?')
  expect(left).not.toHaveBeenCalled()
})
