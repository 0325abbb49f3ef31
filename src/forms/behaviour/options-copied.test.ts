/** Buttons carry what users see of an option, and nothing else that an author's list has. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { flowOfForm } from '../../../testing/contract/forms/test-forms.js'
import { Conversation } from '../../../testing/index.js'
import { field } from '../index.js'

test('an option is its value and its label, and the list of the author stays as it is', async () => {
  const slots = [{ value: 'a', label: 'A', mechanic: { wage: 12 } }]
  const fields = { slot: field(z.string(), { ask: 'Which?', choices: () => slots }) }
  await using conversation = new Conversation(flowOfForm(fields))
  await conversation.say('Hello')
  expect(JSON.stringify(conversation.reply.parts)).not.toContain('wage')
  expect(Object.isFrozen(slots[0])).toBe(false)
})
