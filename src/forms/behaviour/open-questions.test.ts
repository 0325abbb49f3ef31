/** Which question is open, what a yes confirms, and what is hidden if the question has changed. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { complete, modelFlow, reviewed, set } from '../../../testing/contract/forms/model-forms.js'
import { bookings, flowOfForm, formOf, said } from '../../../testing/contract/forms/test-forms.js'
import { flow } from '../../../testing/contract/side-flows/talk.js'
import { Conversation } from '../../../testing/index.js'
import { event, reply } from '../../index.js'
import { type FormFields, field } from '../index.js'

const text = z.string()
const ask = (question: string, more: object = {}) => field(text, { ask: question, ...more })

test('fields() is called once in a turn, also if the form asks as a part', async () => {
  let calls = 0
  const fields = (): FormFields => {
    calls++
    return { name: ask('Your name?') }
  }
  const Form = formOf(fields, {
    async onEnter(turn) {
      return reply('Please fill it in.').withParts([await this.asPart(turn)])
    },
  })
  await using conversation = new Conversation(flow('Talk', [Form]))
  await conversation.say('Hello')
  calls = 0
  await conversation.say('', { event: { name: 'Form', payload: { name: 5 } } })
  expect(calls).toBe(1)
})

test('a correction that was refused is asked before a value that was dropped, because the old one is still there', async () => {
  const { conversation } = await reviewed(set({ day: 'Friday', name: 'x' }), 'ok')
  await using _ = conversation
  const { message } = await conversation.say('On Friday, for x.')
  expect(message).toMatch(/Your name\?$/)
})

test('values that a model set before it failed are not confirmed by a yes to the review before them', async () => {
  const { ModelBooking, booked } = bookings()
  const onModelError = () => reply('Sorry?')
  await using conversation = new Conversation(modelFlow([ModelBooking], { onModelError }), {
    script: [set(complete), 'ok', set({ name: 'Eve' }), new Error('down'), 'ok'],
  })
  await said(conversation, 'Hello', 'For Eve.')
  conversation.expectReply('Sorry?')
  expect(await said(conversation, 'yes')).toMatch(/for Eve/)
  expect(booked).toEqual([])
})

test('an answer to a field that is gone is hidden, because it may have been secret', async () => {
  let fields: FormFields = { name: ask('Your name?') }
  await using conversation = new Conversation(flowOfForm(() => fields))
  await conversation.say('Hello')
  fields = { mail: ask('Your mail?') }
  await conversation.restart()
  await conversation.say('Ada')
  expect((await conversation.document()).history.map(({ message }) => message)).toEqual(['Hello', '[?]'])
})

test.each([{}, { secret: false }])(
  'an answer to a field that is not secret is not hidden, if another question is open: %j',
  async (more) => {
    const fields = {
      day: ask('Which day?'),
      name: ask('Your name?', { ...more, needs: ['day'] }),
      pin: ask('PIN?', { secret: true }),
    }
    const Form = formOf(fields, {
      events() {
        return [
          event({
            name: 'forget',
            execute: () => {
              delete this.state.values.day
              return reply('')
            },
          }),
        ]
      },
    })
    await using conversation = new Conversation(flow('Talk', [Form]))
    await said(conversation, 'Hello', 'Friday')
    await conversation.sendEvent('forget')
    await conversation.say('Ada')
    expect((await conversation.document()).history.at(-1)?.message).toBe('Ada')
  },
)
