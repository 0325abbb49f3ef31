/** What one message of a model form adds up to: several calls, right and wrong values, and done that asks the model again. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { begun, modelFlow, modelForm, set } from '../../../testing/contract/forms/model-forms.js'
import { Conversation } from '../../../testing/index.js'
import { retry } from '../../index.js'
import { field } from '../index.js'

test('the text of a model that set a value is not said, also if it called set_fields once more with nothing', async () => {
  const { conversation } = await begun(set({ repair: 'brakes' }), set({}), 'Done, it is booked.')
  await using _ = conversation
  expect((await conversation.say('The brakes.')).message).toBe('Which day?')
})

test.each([
  ['in two calls', [set({ repair: 'brakes' }), set({ day: 'Mars' }), 'ok']],
  ['in one call', [set({ repair: 'brakes', day: 'Mars' }), 'ok']],
])('a message with a right value and a wrong one is no wrong answer: %s', async (_how, script) => {
  const { conversation, ModelBooking } = await begun(...script)
  await using _ = conversation
  await conversation.say('The brakes, on Mars.')
  const { flow } = await conversation.document()
  expect(flow.steps[ModelBooking.id]?.state).not.toHaveProperty('wrong')
  expect(conversation.reply.message).toMatch(/Which day\?$/)
})

test('done that returns retry(text) runs once', async () => {
  let done = 0
  const Form = modelForm(
    { name: field(z.string(), { ask: 'Your name?' }) },
    {
      done() {
        done++
        return retry('Once more.')
      },
    },
  )
  const script = ['ok', set({ name: 'Ada' }), 'ok', ...new Array<string>(20).fill('ok')]
  const conversation = new Conversation(modelFlow([Form]), { script })
  await conversation.say('Hello')
  await conversation.say('Ada')
  await conversation.say('yes').catch(() => undefined)
  expect(done).toBe(1)
})
