/** `turn.hideMessage` in the memories of steps, and beside attachments. */
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { canary, hide, hideAnd, hiding, watchedTalk } from '../../../testing/contract/forms/watched.js'
import { calls, toolThat } from '../../../testing/contract/model-harness.js'
import { flow, modelStep, step } from '../../../testing/contract/side-flows/talk.js'
import { lines } from '../../../testing/contract/test-flows.js'
import { back, call, go, reply, retry, type Turn } from '../../index.js'

afterEach(expectNothingLeft)

const model = () => ({ provider: 'own', name: 'small' })
const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const
const forget = (turn: Turn): void => turn.memory().clear()

describe('a model step', () => {
  test('that is entered after it reads the text in place of the message', async () => {
    const { say, asked, memory } = watchedTalk(flow('Shop', [hiding(() => go('Chat')), modelStep('Chat')], { model }), {
      'own/small': ['Hm.'],
    })
    await say(canary)
    expect([asked(), await memory('Chat')]).toEqual([['user: [PIN]'], ['user: [PIN]', 'assistant: Hm.']])
  })

  test('reads the text of withMessage, if it has one', async () => {
    const First = hiding(() => go('Chat').withMessage('The user has a PIN.'))
    const { say, asked, newest } = watchedTalk(flow('Shop', [First, modelStep('Chat')], { model }), {
      'own/small': ['Hm.'],
    })
    await say(canary)
    expect([asked(), (await newest())?.message]).toEqual([['user: The user has a PIN.'], '[PIN]'])
  })

  test('that hides what withMessage gave it hides the message, too', async () => {
    const First = step('First', ({ message }) => go('Chat').withMessage(`PIN: ${message}`))
    const { say, asked, newest, seen } = watchedTalk(
      flow('Shop', [First, modelStep('Chat', { onEnter: hide })], { model }),
      {
        'own/small': ['Hm.'],
      },
    )
    await say(canary)
    expect([asked(), (await newest())?.message]).toEqual([['user: [PIN]'], '[PIN]'])
    expect(await seen()).not.toContain(canary)
  })

  test('hides in a tool what its model has read: the next call and the memory have the text', async () => {
    const Chat = modelStep('Chat', {
      tools: (turn) => [toolThat('look', () => hide(turn))],
    })
    const { say, made, asked, memory, seen } = watchedTalk(flow('Shop', [Chat], { model }), {
      'own/small': [calls('look'), 'Hm.'],
    })
    await say(canary)
    expect(lines(made.asked[0]?.request.messages as never)).toEqual([`user: ${canary}`])
    expect(asked()[0]).toBe('user: [PIN]')
    expect(await memory('Chat')).toEqual([
      'user: [PIN]',
      'assistant: look({})',
      'tool: look = "Done."',
      'assistant: Hm.',
    ])
    expect(await seen()).not.toContain(canary)
  })

  test('hides in onReply, also if the model answers again', async () => {
    let replies = 0
    const Chat = modelStep('Chat', {
      onReply(answer, turn) {
        hide(turn)
        return ++replies === 1 ? retry('Be polite.') : reply(answer)
      },
    })
    const { say, asked, memory } = watchedTalk(flow('Shop', [Chat], { model }), { 'own/small': ['Hm.', 'Hm, please.'] })
    await say(canary)
    const read = ['user: [PIN]', 'assistant: Hm.', 'user: Be polite.']
    expect([asked(), await memory('Chat')]).toEqual([read, [...read, 'assistant: Hm, please.']])
  })

  test('shares a memory with another that has already read the message: once, hidden', async () => {
    const First = modelStep('First', { memory: 'all', onReply: () => go('Second') })
    const Second = modelStep('Second', { memory: 'all', onEnter: hide })
    const { say, memory, seen } = watchedTalk(flow('Shop', [First, Second], { model }), {
      'own/small': ['One.', 'Two.'],
    })
    await say(canary)
    expect(await memory('all')).toEqual(['user: [PIN]', 'assistant: One.', 'assistant: Two.'])
    expect(await seen()).not.toContain(canary)
  })

  test('keeps the same words of an earlier turn, and what it says itself', async () => {
    const Chat = modelStep('Chat', {
      onEnter: () => undefined,
      prompt: (turn) => (turn.number > 1 ? hideAnd(turn, '') : ''),
    })
    const { say, memory } = watchedTalk(flow('Shop', [Chat], { model }), { 'own/small': ['4711', '4711'] })
    for (const message of ['4711', '4711']) await say(message)
    expect(await memory('Chat')).toEqual(['user: 4711', 'assistant: 4711', 'user: [PIN]', 'assistant: 4711'])
  })

  test('keeps what its model has said in the same words', async () => {
    const Chat = modelStep('Chat', { tools: (turn) => [toolThat('look', () => hide(turn))] })
    const call = { type: 'tool-call', toolCallId: 'call-1', toolName: 'look', input: {} }
    const { say, memory } = watchedTalk(flow('Shop', [Chat], { model }), {
      'own/small': [() => ({ parts: [{ type: 'text', text: '4711' }, call] }), 'Hm.'],
    })
    await say('4711')
    expect((await memory('Chat')).slice(0, 2)).toEqual(['user: [PIN]', 'assistant: 4711 + look({})'])
  })

  test('that forgets after it or before it remembers the text alone', async () => {
    const order = { before: [hide, forget], after: [forget, hide] }
    for (const steps of Object.values(order)) {
      const Chat = modelStep('Chat', {
        onReply: (answer, turn) => {
          for (const does of steps) does(turn)
          return reply(answer)
        },
      })
      const { say, memory, seen } = watchedTalk(flow('Shop', [Chat], { model }), { 'own/small': ['Hm.'] })
      await say(canary)
      expect(await memory('Chat')).toEqual(['user: [PIN]', 'assistant: Hm.'])
      expect(await seen()).not.toContain(canary)
    }
  })

  test('sees the text in turn.memory', async () => {
    let read: string[] = []
    const onReply = (answer: string, turn: Turn) => {
      hide(turn)
      read = lines(turn.memory().messages as never)
      return reply(answer)
    }
    const { say } = watchedTalk(flow('Shop', [modelStep('Chat', { onReply })], { model }), { 'own/small': ['Hm.'] })
    await say(canary)
    expect(read).toEqual(['user: [PIN]'])
  })
})

test('a logic step with a memory remembers the text', async () => {
  const First = step(
    'First',
    (turn) => {
      hide(turn)
      return reply('Noted.')
    },
    { memory: 'all' },
  )
  const { say, memory } = watchedTalk(flow('Shop', [First, modelStep('Chat', { memory: 'all' })], { model }), {
    'own/small': [],
  })
  await say(canary)
  expect(await memory('all')).toEqual(['user: [PIN]', 'assistant: Noted.'])
})

test('a caller that is returned to after it neither reads nor remembers the message', async () => {
  const Side = step('Side', (turn) => {
    if (turn.entered) return reply('Your PIN?')
    hide(turn)
    return back().withLead('Thank you.')
  })
  const onMessage = ({ message }: Turn) => (message === 'pay' ? call(Side) : undefined)
  const { say, asked, seen } = watchedTalk(flow('Shop', [modelStep('Chat'), Side], { model, onMessage }), {
    'own/small': ['Hello.', 'What else?'],
  })
  for (const message of ['hello', 'pay', canary]) await say(message)
  expect(asked()).toEqual(['user: hello', 'assistant: Hello.', 'user: Returned from Side: Thank you.'])
  expect(await seen()).not.toContain(canary)
})

test('attachments stay, and the message beside them is the text', async () => {
  const { say, newest, memory, now } = watchedTalk(
    flow('Shop', [hiding(() => go('Chat')), modelStep('Chat')], { model }),
    {
      'own/small': ['A card.', 'Another.'],
    },
  )
  await say(canary, { attachments: [image] })
  expect(await newest()).toMatchObject({
    message: '[PIN]',
    attachments: [{ type: 'image', mediaType: 'image/png', size: 3 }],
  })
  expect(await memory('Chat')).toEqual(['user: [PIN] + image/png', 'assistant: A card.'])
  expect((await now()).attachments).toMatchObject([{ data: 'AAAA' }])
})

test('attachments that a model step has read before it stay in its memory', async () => {
  const Chat = modelStep('Chat', { prompt: (turn) => hideAnd(turn, '') })
  const { say, memory, newest } = watchedTalk(flow('Shop', [Chat], { model }), { 'own/small': ['A card.', 'Another.'] })
  await say(canary, { attachments: [image] })
  expect([await memory('Chat'), (await newest())?.message]).toEqual([
    ['user: [PIN] + image/png', 'assistant: A card.'],
    '[PIN]',
  ])
  await say('', { attachments: [image] })
  expect((await memory('Chat')).at(-2)).toBe('user: image/png')
})
