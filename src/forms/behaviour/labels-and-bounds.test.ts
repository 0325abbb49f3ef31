/** Two skips, texts for numbers, labels as users type them, and lists that are too long for buttons. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { buttons, flowOfForm, said, stored } from '../../../testing/contract/forms/test-forms.js'
import { Conversation } from '../../../testing/index.js'
import { namedFields } from '../form-fields.js'
import { type FormFields, field } from '../index.js'

const text = z.string()
const ask = (question: string, more: object = {}) => field(text, { ask: question, ...more })
const words = { change: ['cambia {field} a {value}', 'cambia {field}', 'change {field} to {value}'] }

async function after(fields: FormFields, ...lines: readonly string[]) {
  const conversation = new Conversation(flowOfForm(fields, { words }))
  await said(conversation, 'Hello', ...lines)
  return conversation
}

test('two optional fields are skipped, one after the other', async () => {
  const fields = { a: ask('A?', { optional: true }), b: ask('B?', { optional: true }), c: ask('C?') }
  await using conversation = await after(fields, 'skip', 'skip')
  conversation.expectReply('C?')
  expect(await stored(conversation)).toEqual({ values: {}, skipped: ['a', 'b'], asking: 'c' })
})

test('a number field gets a text that is no number as it is', async () => {
  await using conversation = await after({ n: field(z.number(), { ask: 'N?' }) }, 'two')
  expect(conversation.reply.message).toMatch(/received string/)
})

test.each([
  ['día', '¡cambia día a lunes!'],
  ["owner's day", 'change owner’s day to lunes'],
  ['día'.normalize('NFD'), 'cambia día a lunes'],
])('a label as users type it: %s', async (label, line) => {
  await using conversation = await after({ day: ask('Day?', { label }), name: ask('Name?') }, 'martes', line)
  expect((await stored(conversation)).values).toEqual({ day: 'lunes' })
})

test('options that are too long for a part give no buttons', async () => {
  const choices = Array.from({ length: 120 }, (_, index) => `${String.fromCodePoint(0x4e00 + index)}${'x'.repeat(100)}`)
  await using conversation = await after({ day: ask('Day?', { choices }) })
  conversation.expectReply('Day?')
  expect(buttons(conversation)).toEqual([])
})

test('what a field needs in any depth is listed once', () => {
  const fields = { a: ask('A?'), b: ask('B?', { needs: ['a'] }), c: ask('C?', { needs: ['a', 'b'] }) }
  expect(namedFields('Form', fields).at(-1)?.before).toEqual(['a', 'b'])
})

test('no length of the choices makes the turn fail: a reply counts two bytes more than its part', async () => {
  for (let length = 16_200; length < 16_350; length++) {
    const choices = [{ value: 'a', label: 'x'.repeat(length) }]
    await using conversation = await after({ day: ask('Day?', { choices }) })
    conversation.expectReply('Day?')
  }
})
