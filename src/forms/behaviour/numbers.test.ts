/** Numbers that are said. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { flowOfForm, said, stored } from '../../../testing/contract/forms/test-forms.js'
import { Conversation } from '../../../testing/index.js'
import { field } from '../index.js'

const text = z.string()

describe('numbers in texts are numbers', () => {
  test.each([
    ['4', 4],
    [' 4 ', 4],
    ['4.5', 4.5],
    ['-2.50', -2.5],
    ['007', 7],
  ])('%j', async (said, value) => {
    await using conversation = new Conversation(flowOfForm({ any: field(z.number(), { ask: 'How many?' }) }))
    await conversation.say('Hello')
    await conversation.say(said)
    expect((await stored(conversation)).values).toEqual({ any: value })
    conversation.expectReply(`any: ${value}\nIs that right?`)
  })

  test('of a schema for whole numbers, which decides', async () => {
    const guests = field(z.int('Whole guests, please.').min(1, 'At least one.'), { ask: 'How many?' })
    await using conversation = new Conversation(flowOfForm({ guests }))
    expect(await said(conversation, 'Hello', '2.5')).toBe('Whole guests, please. How many?')
    expect(await said(conversation, '0')).toBe('At least one. How many?')
    expect(await said(conversation, 'change guests to 3')).toBe('guests: 3\nIs that right?')
  })

  test.each(['four', '4 of us', 'Infinity', 'NaN', '4,5'])('and %j is refused by the schema', async (answer) => {
    const guests = field(z.number('A number, please.'), { ask: 'How many?' })
    await using conversation = new Conversation(flowOfForm({ guests }))
    expect(await said(conversation, 'Hello', answer)).toBe('A number, please. How many?')
  })

  test('but not of a schema for texts', async () => {
    await using conversation = new Conversation(flowOfForm({ zip: field(text, { ask: 'Zip?' }) }))
    await said(conversation, 'Hello', '01234')
    expect((await stored(conversation)).values).toEqual({ zip: '01234' })
  })
})
