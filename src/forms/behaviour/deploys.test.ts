/** A release that changes the fields of a form in the middle of a session. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { flowOfForm, said, stored, submit } from '../../../testing/contract/forms/test-forms.js'
import { Conversation } from '../../../testing/index.js'
import { type FormFields, field } from '../index.js'

const text = z.string()
const ask = (question: string, more: { readonly optional?: true } = {}) => field(text, { ask: question, ...more })
const name = ask('Your name?')
const mail = ask('Your mail?')
const phone = ask('Your phone?', { optional: true })

/** A conversation with a form, and a way to deploy another one. */
async function begun(fields: FormFields, ...lines: readonly string[]) {
  let current = fields
  const conversation = new Conversation(flowOfForm(() => current))
  await said(conversation, 'Hello', ...lines)
  const deploy = async (next: FormFields): Promise<void> => {
    current = next
    await conversation.restart()
  }
  return { conversation, deploy }
}

describe('a release that adds a field', () => {
  test.each(['yes', 'Yes.', '1', 'no', 'hm'])(
    'at the review: %j is no answer to it, and does not finish',
    async (line) => {
      const { conversation, deploy } = await begun({ name }, 'Ada')
      await using _ = conversation
      await deploy({ name, mail })
      expect(await said(conversation, line)).toBe('Your mail?')
      expect(await stored(conversation)).toEqual({ values: { name: 'Ada' }, asking: 'mail' })
      expect(await said(conversation, 'a@b')).toBe('name: Ada\nmail: a@b\nIs that right?')
    },
  )

  test('at the review: a correction is taken nevertheless', async () => {
    const { conversation, deploy } = await begun({ name }, 'Ada')
    await using _ = conversation
    await deploy({ name, mail })
    expect(await said(conversation, 'change name to Grace')).toBe('Your mail?')
    expect((await stored(conversation)).values).toEqual({ name: 'Grace' })
  })

  test('that is optional, at the review: it is asked before a new yes', async () => {
    const { conversation, deploy } = await begun({ name }, 'Ada')
    await using _ = conversation
    await deploy({ name, phone })
    expect(await said(conversation, 'yes')).toBe('Your phone?')
    expect(await said(conversation, 'skip', 'yes')).toBe('Done: {"name":"Ada"}')
  })

  test('above the question that is open: the answer is still the one to that', async () => {
    const { conversation, deploy } = await begun({ name })
    await using _ = conversation
    await deploy({ mail, name })
    expect(await said(conversation, 'Ada')).toBe('Your mail?')
    expect((await stored(conversation)).values).toEqual({ name: 'Ada' })
  })

  test('that the open question needs: it is asked first, and the answer is not taken for it', async () => {
    const { conversation, deploy } = await begun({ name })
    await using _ = conversation
    await deploy({ mail, name: field(text, { needs: ['mail'], ask: ({ mail }) => `Your name, ${mail}?` }) })
    expect(await said(conversation, 'Ada')).toBe('Your mail?')
    expect(await stored(conversation)).toEqual({ values: {}, asking: 'mail' })
    expect(await said(conversation, 'a@b')).toBe('Your name, a@b?')
  })
})

describe('a release that removes a field', () => {
  test.each(['Ada', 'skip', 'yes', ''])('whose question is open: %j is no answer to another one', async (line) => {
    const { conversation, deploy } = await begun({ name, mail })
    await using _ = conversation
    await deploy({ mail })
    expect(await said(conversation, line)).toBe('Your mail?')
    expect(await stored(conversation)).toEqual({ values: {}, asking: 'mail' })
  })

  test('whose question was the last one: the review is asked, and not taken as answered', async () => {
    const { conversation, deploy } = await begun({ name, mail }, 'Ada')
    await using _ = conversation
    await deploy({ name })
    expect(await said(conversation, 'yes')).toBe('name: Ada\nIs that right?')
    expect(await said(conversation, 'yes')).toBe('Done: {"name":"Ada"}')
  })

  test('that has a value: done, the review and a page get it no more', async () => {
    const { conversation, deploy } = await begun({ name, mail }, 'Ada', 'a@b')
    await using _ = conversation
    await deploy({ name })
    expect(await said(conversation, 'hm', 'change mail to c@d')).toMatch(/^What should I change: name\?/)
    await submit(conversation, { name: 7 as never })
    conversation.expectParts([{ type: 'form', values: { name: 'Ada' } }])
    expect(await said(conversation, 'Ada', 'yes')).toBe('Done: {"name":"Ada"}')
  })

  test('that another one needs', async () => {
    const time = field(text, { needs: ['name'], ask: 'When?', check: (_, { name }) => name === 'Ada' || 'No.' })
    const { conversation, deploy } = await begun({ name, time }, 'Ada', '9')
    await using _ = conversation
    await deploy({ time: ask('When?') })
    expect(await said(conversation, 'yes')).toBe('Done: {"time":"9"}')
  })
})

describe('a release that changes a field', () => {
  test('by another name asks it again', async () => {
    const { conversation, deploy } = await begun({ name, mail }, 'Ada')
    await using _ = conversation
    await deploy({ fullName: ask('Your full name?'), mail })
    expect(await said(conversation, 'a@b')).toBe('Your full name?')
    expect(await said(conversation, 'Ada Lovelace')).toBe('full name: Ada Lovelace\nmail: a@b\nIs that right?')
  })

  test('by another name while it is asked asks it again', async () => {
    const { conversation, deploy } = await begun({ name, mail })
    await using _ = conversation
    await deploy({ fullName: ask('Your full name?'), mail })
    expect(await said(conversation, 'Ada')).toBe('Your full name?')
  })

  test('so that it is needed: what was skipped is asked', async () => {
    const { conversation, deploy } = await begun({ name, phone }, 'Ada', 'skip')
    await using _ = conversation
    await deploy({ name, phone: ask('Your phone?') })
    expect(await said(conversation, 'yes')).toBe('Your phone?')
    expect(await said(conversation, '0123')).toBe('name: Ada\nphone: 0123\nIs that right?')
    expect((await stored(conversation)).skipped).toBeUndefined()
  })

  test('so that it is optional: the open question may be skipped', async () => {
    const { conversation, deploy } = await begun({ name, phone: mail }, 'Ada')
    await using _ = conversation
    await deploy({ name, phone })
    expect(await said(conversation, 'skip')).toBe('name: Ada\nIs that right?')
  })

  test('in its order asks what is missing', async () => {
    const { conversation, deploy } = await begun({ name, mail, phone }, 'Ada')
    await using _ = conversation
    await deploy({ phone, mail, name })
    expect(await said(conversation, 'a@b')).toBe('Your phone?')
  })
})

describe('a session of a step that was no form', () => {
  const fields = { name, mail }
  const at = (state: object) => Conversation.at(flowOfForm(fields), { step: 'Form', state: state as never })

  test('without values: the form begins', async () => {
    await using conversation = at({ day: 'Friday' })
    expect(await said(conversation, 'change mail to a@b')).toBe('Your name?')
    expect(await stored(conversation)).toEqual({ values: { mail: 'a@b' }, asking: 'name' })
    expect(await said(conversation, 'Ada')).toBe('name: Ada\nmail: a@b\nIs that right?')
  })

  test('with values of its own: those that fit are kept', async () => {
    await using conversation = at({ values: { name: 'Ada', mail: 7, day: 'Friday' } })
    await conversation.say('a@b')
    expect((await stored(conversation)).values).toEqual({ name: 'Ada', mail: 'a@b' })
  })

  test.each([[null], ['Ada'], [7], [['Ada']]])(
    'with values that are no object (%j): the form begins',
    async (values) => {
      await using conversation = at({ values })
      expect(await said(conversation, 'Ada')).toBe('Your mail?')
      expect((await stored(conversation)).values).toEqual({ name: 'Ada' })
    },
  )
})
