/** `turn.hideMessage` in turns that take an event, fail, are repeated, streamed or masked. */
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { canary, hide, hideAnd, hiding, watchedTalk, wholeText } from '../../../testing/contract/forms/watched.js'
import { fails } from '../../../testing/contract/model-harness.js'
import { flow, modelStep, step } from '../../../testing/contract/side-flows/talk.js'
import { readAll } from '../../../testing/contract/stream-harness.js'
import { event, go, reply, type Turn } from '../../index.js'
import { bytesOfLists } from '../../session/document-bytes.js'

afterEach(expectNothingLeft)

const model = () => ({ provider: 'own', name: 'small' })

describe('an event', () => {
  const pay = (members: object = {}) =>
    event({
      name: 'pay',
      byUser: true,
      input: { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } },
      execute(payload, turn) {
        hide(turn)
        return reply(`${JSON.stringify(payload).length} ${turn.event?.name} <${turn.message}>`)
      },
      ...members,
    })
  const shop = (members: object = {}) =>
    flow('Shop', [step('First', () => reply('Yes?'), { events: () => [pay(members)] }), modelStep('Chat')], { model })

  test('of the user has no payload in the history', async () => {
    const { say, newest, seen } = watchedTalk(shop())
    await say('hello')
    const payload = { card: canary, more: [canary] }
    expect(await say('', { event: { name: 'pay', payload } })).toBe('45 pay <>')
    expect(await newest()).toMatchObject({ message: '', event: { name: 'pay' } })
    expect((await newest())?.event).not.toHaveProperty('payload')
    expect(await seen()).not.toContain(canary)
  })

  test('of the application keeps its sender', async () => {
    const { say, send, newest, seen } = watchedTalk(shop())
    await say('hello')
    await send('pay', { payload: canary, by: 'Ada Meier', byId: 'emp-17' })
    expect((await newest())?.event).toEqual({ name: 'pay', by: 'Ada Meier', byId: 'emp-17' })
    expect(await seen()).not.toContain(canary)
  })

  test('without a payload keeps all that it has', async () => {
    const { say, newest } = watchedTalk(
      shop({ input: undefined, execute: (_: unknown, turn: Turn) => hideAnd(turn, reply('Ok.')) }),
    )
    await say('hello')
    await say('', { event: { name: 'pay' } })
    expect(await newest()).toMatchObject({ message: '', event: { name: 'pay' } })
  })

  test('that moves to a model step shows it the name of the event, and nothing else', async () => {
    const execute = (_: unknown, turn: Turn) => hideAnd(turn, go('Chat'))
    const { say, asked, newest } = watchedTalk(shop({ execute }), { 'own/small': ['Paid?'] })
    await say('hello')
    await say('', { event: { name: 'pay', payload: canary } })
    expect([asked(), (await newest())?.message]).toEqual([['user: Event: pay'], ''])
  })

  test('that fails after it leaves nothing', async () => {
    const execute = (_: unknown, turn: Turn) => {
      hide(turn)
      throw new Error('No.')
    }
    const { say, now, seen } = watchedTalk(shop({ execute }))
    await say('hello')
    expect(await say('', { event: { name: 'pay', payload: canary } })).toBe('FLOW_ERROR: No.')
    expect((await now()).history).toHaveLength(1)
    expect(await seen()).not.toContain(canary)
  })
})

describe('a turn that fails after it', () => {
  const First = step('First', (turn) => {
    if (turn.message === 'hello') return reply('Yes?')
    hide(turn)
    throw new Error('It broke.')
  })

  test.each(['abort', 'rollback'] as const)('stores nothing of the message: %s', async (onTurnError) => {
    const { say, now, seen } = watchedTalk(flow('Shop', [First]), { 'own/small': [] }, { onTurnError })
    await say('hello')
    expect(await say(canary)).toBe('FLOW_ERROR: It broke.')
    expect((await now()).history).toHaveLength(1)
    expect(await seen()).not.toContain(canary)
  })

  test('is hidden in onError, and in the steps that run after it', async () => {
    const read: string[] = []
    const onError = (_error: unknown, turn: Turn) => {
      read.push(turn.message)
      return go('Chat')
    }
    const { say, newest, asked, memory, seen } = watchedTalk(
      flow('Shop', [First, modelStep('Chat')], { model, onError }),
      {
        'own/small': ['Sorry.'],
      },
    )
    await say('hello')
    expect(await say(canary)).toBe('Sorry.')
    expect([read, (await newest())?.message, asked()]).toEqual([['[PIN]'], '[PIN]', ['user: [PIN]']])
    expect(await memory('Chat')).toEqual(['user: [PIN]', 'assistant: Sorry.'])
    expect(await seen()).not.toContain(canary)
  })

  test('in a model step whose memory had the message', async () => {
    const Chat = modelStep('Chat', {
      prompt: (turn) => hideAnd(turn, ''),
    })
    const { say, newest, memory, seen } = watchedTalk(flow('Shop', [Chat], { model, onError: () => reply('Sorry.') }), {
      'own/small': [fails(new Error('down'))],
    })
    expect(await say(canary)).toBe('Sorry.')
    expect([(await newest())?.message, await memory('Chat')]).toEqual(['[PIN]', ['user: [PIN]', 'assistant: Sorry.']])
    expect(await seen()).not.toContain(canary)
  })

  test('and onError itself may hide the message', async () => {
    const broken = step('First', () => {
      throw new Error('It broke.')
    })
    const onError = (_error: unknown, turn: Turn) => {
      hide(turn)
      return reply(`<${turn.message}>`)
    }
    const { say, newest } = watchedTalk(flow('Shop', [broken], { onError }))
    expect([await say(canary), (await newest())?.message]).toEqual(['<[PIN]>', '[PIN]'])
  })
})

test('a repeat by its key gets the answer, and nothing that is kept for it has the message', async () => {
  const { say, now, seen } = watchedTalk(flow('Shop', [hiding(() => reply('Noted.'))]))
  const idempotencyKey = 'a-key-of-16-chars'
  await say('hello')
  const once = await say(canary, { idempotencyKey })
  expect([once, await say(canary, { idempotencyKey }), (await now()).turns]).toEqual(['Noted.', 'Noted.', 2])
  expect(await seen()).not.toContain(canary)
})

test('a stream does not send it back', async () => {
  const { engine, stored, id, say } = watchedTalk(flow('Shop', [hiding(() => reply('Noted.'))]))
  await say('hello')
  const events = await readAll(engine.stream({ flowName: 'Shop', userMessage: canary, sessionId: id() }))
  expect(wholeText(events)).not.toContain(canary)
  expect(await stored(id())).not.toContain(canary)
})

test('a mask gets the text, not the message', async () => {
  const masked: string[] = []
  const mask = (text: string) => {
    masked.push(text)
    return text.replace('PIN', '***')
  }
  const { say, newest, memory } = watchedTalk(
    flow('Shop', [hiding(() => go('Chat')), modelStep('Chat')], { model }),
    { 'own/small': ['Hm.'] },
    { mask },
  )
  await say(canary)
  expect([(await newest())?.message, (await memory('Chat'))[0], masked.join()]).toEqual([
    '[***]',
    'user: [***]',
    '[PIN],Hm.',
  ])
})

test('a batch flow hides it, too, and its session counts the bytes of the text', async () => {
  const isBatch = () => true
  const { say, now, seen } = watchedTalk(
    flow('Shop', [hiding(() => go('Chat')), modelStep('Chat')], { model, isBatch }),
    {
      'own/small': ['Hm.'],
    },
  )
  await say(`${canary} ${'long '.repeat(99)}`)
  const document = await now()
  expect(document.bytes).toBe(bytesOfLists(document))
  expect(await seen()).not.toContain(canary)
})
