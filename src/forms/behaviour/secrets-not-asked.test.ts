/** Secret fields when their question is not the open one: before the form has begun, and after a release. */
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { modelForm } from '../../../testing/contract/forms/model-forms.js'
import { formOf } from '../../../testing/contract/forms/test-forms.js'
import { watchedTalk, wholeText } from '../../../testing/contract/forms/watched.js'
import { calls } from '../../../testing/contract/model-harness.js'
import { flow } from '../../../testing/contract/side-flows/talk.js'
import { type FormFields, field } from '../index.js'

afterEach(expectNothingLeft)

const secret = '47114711'

const fields = {
  name: field(z.string(), { ask: 'Your name?' }),
  card: field(z.string(), { ask: 'Your card?', secret: true }),
  code: field(z.string(), { ask: 'A code?', secret: true }),
}

/** The fields of a later release, in which the question of the card is not the next one. */
const laterFields = {
  'the card needs another field': {
    name: fields.name,
    bank: field(z.string(), { ask: 'Which bank?' }),
    card: field(z.string(), { ask: 'Your card?', secret: true, needs: ['bank'] }),
  },
  'the card has another name': {
    name: fields.name,
    cardNumber: field(z.string(), { ask: 'Your card?', secret: true }),
  },
  'the card is asked no more, and a code is': { name: fields.name, code: fields.code },
}

const kinds = ['text', 'model'] as const

/** A flow of the form. */
function shopOf(kind: (typeof kinds)[number], declared: FormFields) {
  const Form = kind === 'text' ? formOf(declared) : modelForm(declared)
  return flow('Shop', [Form], { model: () => ({ provider: 'own', name: 'small' }) })
}

describe.each(kinds)('in a form by %s', (kind) => {
  test('the message that begins the form is no answer, and is not hidden', async () => {
    const { say, now } = watchedTalk(shopOf(kind, { card: fields.card }), { 'own/small': ['ok'] })
    expect(await say('Hello')).toBe('Your card?')
    expect(await now()).toMatchObject({
      history: [{ message: 'Hello' }],
      flow: { steps: { Form: { state: { values: {} } } } },
    })
  })

  test.each(Object.entries(laterFields))('an answer that comes after a release is hidden: %s', async (_what, later) => {
    const first = kind === 'text' ? 'ok' : calls('set_fields', { name: 'Ada' })
    const talk = watchedTalk(shopOf(kind, fields), { 'own/small': ['ok', first, 'ok'] })
    for (const message of ['Hello', 'Ada']) await talk.say(message)
    expect((await talk.newest())?.reply).toBe('Your card?')
    const next = watchedTalk(shopOf(kind, later), { 'own/small': ['ok'] }, { continues: talk })
    await next.say(secret)
    expect((await next.newest())?.message).toMatch(/^\[(card|\?)\]$/)
    expect((await next.stored(next.id())) + wholeText(next.events, next.made.asked)).not.toContain(secret)
  })
})
