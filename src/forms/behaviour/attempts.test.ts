/** Wrong answers in a row, and what happens after too many. */
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type FormMembers,
  flowOfForm,
  formOf,
  said,
  stored,
  submit,
} from '../../../testing/contract/forms/test-forms.js'
import { flow, step } from '../../../testing/contract/side-flows/talk.js'
import { Conversation } from '../../../testing/index.js'
import { back, call, finish, go, reply, type Turn } from '../../index.js'
import { field } from '../index.js'

const fields = {
  pin: field(z.string().regex(/^\d{4}$/, 'Four digits.'), { ask: 'The PIN?' }),
  name: field(z.string().min(2, 'Too short.'), { ask: 'Your name?', optional: true }),
}
const asked = 'Four digits. The PIN?'

/** A conversation at the first question, and the messages for which the form gave up. */
async function begun(members: FormMembers = {}, ...others: Parameters<typeof flow>[1]) {
  const gaveUp: (readonly [string, number])[] = []
  const { onGaveUp } = members
  const form = formOf(fields, {
    ...members,
    onGaveUp(turn: Turn) {
      gaveUp.push([turn.message, turn.number])
      return onGaveUp?.call(this, turn)
    },
  })
  const conversation = new Conversation(flow('Talk', [form, ...others]))
  await conversation.say('Hello')
  return { conversation, gaveUp }
}

describe('after three wrong answers in a row', () => {
  test('the form asks again, if onGaveUp is not there', async () => {
    await using conversation = new Conversation(flowOfForm(fields))
    await said(conversation, 'Hello', 'a', 'b')
    expect(await said(conversation, 'c')).toBe(asked)
    expect(await stored(conversation)).toEqual({ values: {}, asking: 'pin' })
    expect(await said(conversation, '1234')).toBe('Your name?')
  })

  test('onGaveUp is called with the turn; if it returns nothing, the form asks again, and counts from the start', async () => {
    const { conversation, gaveUp } = await begun()
    await using _ = conversation
    await said(conversation, 'a', 'b')
    expect(gaveUp).toEqual([])
    expect(await said(conversation, 'c')).toBe(asked)
    expect(gaveUp).toEqual([['c', 4]])
    await said(conversation, 'd', 'e')
    expect(gaveUp).toHaveLength(1)
    await said(conversation, 'f')
    expect(gaveUp).toEqual([
      ['c', 4],
      ['f', 7],
    ])
  })

  test('onGaveUp may end the session', async () => {
    const { conversation } = await begun({ onGaveUp: async () => finish('Please call us.') })
    await using _ = conversation
    await said(conversation, 'a', 'b', 'c')
    conversation.expectReply('Please call us.').expectCompleted()
  })

  test('onGaveUp may reply, and the question stays open', async () => {
    const { conversation } = await begun({ onGaveUp: () => reply('It is on the back of your card.') })
    await using _ = conversation
    expect(await said(conversation, 'a', 'b', 'c')).toBe('It is on the back of your card.')
    expect(await said(conversation, '1234')).toBe('Your name?')
  })

  test('onGaveUp may call a step, which comes back to the question', async () => {
    const Help = step('Help', () => back().withLead('It is on the back of your card.'))
    const { conversation, gaveUp } = await begun({ onGaveUp: () => call(Help) }, Help)
    await using _ = conversation
    expect(await said(conversation, 'a', 'b', 'c')).toBe('It is on the back of your card.\n\nThe PIN?')
    expect(await stored(conversation)).toEqual({ values: {}, asking: 'pin' })
    expect(await said(conversation, 'd', 'e')).toBe(asked)
    expect(gaveUp).toHaveLength(1)
  })

  test('onGaveUp may leave the form, which counts from the start when it is entered again', async () => {
    const Other = step('Other', ({ entered }) => (entered ? reply('Something else?') : go('Form')))
    const { conversation, gaveUp } = await begun({ onGaveUp: () => go(Other) }, Other)
    await using _ = conversation
    expect(await said(conversation, 'a', 'b', 'c')).toBe('Something else?')
    await said(conversation, 'no', 'd', 'e')
    expect(gaveUp).toHaveLength(1)
    conversation.expectStep('Form')
  })

  test('the count is stored', async () => {
    const { conversation, gaveUp } = await begun()
    await using _ = conversation
    await said(conversation, 'a', 'b')
    expect(await stored(conversation)).toMatchObject({ wrong: 2 })
    await conversation.restart()
    await said(conversation, 'c')
    expect(gaveUp).toHaveLength(1)
  })
})

describe('the count', () => {
  test.each<[string, readonly (string | object)[]]>([
    ['a right answer', ['a', 'b', '1234', '1', '2']],
    ['a right correction', ['a', 'b', 'change name to Ada', 'c', 'd']],
    ['a skip of what is optional', ['1234', '1', '2', 'skip', 'change pin to a', 'b']],
    ['a wish to change something', ['a', 'b', 'change name', 'c', 'd']],
    ['a no to the review', ['1234', 'skip', 'hm', 'hm', 'no', 'hm', 'hm']],
    ['a right submission', ['a', 'b', { pin: '1234' }, 'hm', 'hm']],
  ])('starts again after %s', async (_what, lines) => {
    const { conversation, gaveUp } = await begun()
    await using _ = conversation
    for (const line of lines) {
      if (typeof line === 'string') await conversation.say(line)
      else await submit(conversation, line as never)
    }
    expect(gaveUp).toEqual([])
    expect(await stored(conversation)).toMatchObject({ wrong: 2 })
  })

  test.each<[string, readonly (string | object)[]]>([
    ['wrong answers to different fields', ['a', '1234', 'b', 'change pin to c', 'change name to d']],
    ['the skip of what is needed', ['a', 'skip', '']],
    ['wrong corrections', ['change pin to a', 'change pin to b', 'change name to c']],
    ['wrong submissions', [{ pin: 'a' }, {}, { pin: '1234', name: 'b' }]],
    ['wrong answers by text and by page', ['a', { pin: 'b' }, 'c']],
    ['what is no answer to the review', ['1234', 'skip', 'hm', 'hm', 'hm']],
  ])('includes %s', async (_what, lines) => {
    const { conversation, gaveUp } = await begun()
    await using _ = conversation
    const last = lines.at(-1)
    for (const line of lines) {
      expect(gaveUp).toEqual([])
      if (typeof line === 'string') await conversation.say(line)
      else await submit(conversation, line as never)
    }
    expect(gaveUp.map(([message]) => message)).toEqual([typeof last === 'string' ? last : ''])
  })

  test('does not include a value that is dropped, for it was right', async () => {
    const onGaveUp = vi.fn()
    const needs = {
      day: field(z.string(), { ask: 'Which day?' }),
      time: field(z.string(), { needs: ['day'], ask: 'When?', check: (time, { day }) => time === day || 'Not then.' }),
    }
    await using conversation = new Conversation(flowOfForm(needs, { attempts: 1, onGaveUp }))
    await said(conversation, 'Hello', 'a', 'a')
    expect(await said(conversation, 'change day to b')).toBe('Not then. When?')
    expect(onGaveUp).not.toHaveBeenCalled()
  })
})

describe('attempts', () => {
  test.each([
    [1, 1],
    [2, 2],
    [5, 5],
  ])('of %i: the form gives up after so many', async (attempts, expected) => {
    const { conversation, gaveUp } = await begun({ attempts })
    await using _ = conversation
    let count = 0
    for (; gaveUp.length === 0; count++) await conversation.say('a')
    expect(count).toBe(expected)
  })

  test('without an end', async () => {
    const { conversation, gaveUp } = await begun({ attempts: Number.POSITIVE_INFINITY })
    await using _ = conversation
    for (let count = 0; count < 20; count++) await conversation.say('a')
    expect(gaveUp).toEqual([])
  })
})

test('giving up after a submission that was wrong: its right values are kept, and what onGaveUp returns is said', async () => {
  const { conversation } = await begun({ attempts: 1, onGaveUp: () => reply('Please call us.') })
  await using _ = conversation
  await submit(conversation, { pin: 'a', name: 'Ada' })
  conversation.expectReply('Please call us.').expectParts([])
  expect((await stored(conversation)).values).toEqual({ name: 'Ada' })
})

test('giving up after a submission at the review: its right values are kept, and no yes is asked for any more', async () => {
  const { conversation } = await begun({ attempts: 1, onGaveUp: () => reply('Please call us.') })
  await using _ = conversation
  await said(conversation, '1234', 'Ada')
  await submit(conversation, { pin: 'a', name: 'Grace' })
  conversation.expectReply('Please call us.')
  expect(await stored(conversation)).toEqual({ values: { pin: '1234', name: 'Grace' }, asking: 'pin' })
  expect(await said(conversation, '1234')).toBe('pin: 1234\nname: Grace\nIs that right?')
})

test('giving up after a submission, if onGaveUp returns nothing: the form is shown with what is wrong', async () => {
  const { conversation, gaveUp } = await begun({ attempts: 1 })
  await using _ = conversation
  await submit(conversation, { pin: 'a' })
  conversation.expectReply('Four digits.').expectParts([{ type: 'form', errors: { pin: 'Four digits.' } }])
  expect(gaveUp).toHaveLength(1)
})
