// What a flow hides of a message, and what a form asks as a secret: spans with content have the text that stands in place.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { field } from '../../src/forms/index.js'
import { reply } from '../../src/index.js'
import { modelForm } from '../../testing/contract/forms/model-forms.js'
import { formOf } from '../../testing/contract/forms/test-forms.js'
import { hideAnd, watchedTalk } from '../../testing/contract/forms/watched.js'
import { telemetry } from '../../testing/contract/otel-harness.js'
import { flow, step } from '../../testing/contract/side-flows/talk.js'
import { instrumentEngine } from './index.js'

const card = field(z.string().regex(/^\d{8}$/, 'Eight digits, please.'), { ask: 'Your card?', secret: true })

test.each([
  ['a step', flow('Shop', [step('First', (turn) => hideAnd(turn, reply('Thank you.')))]), '[PIN]'],
  ['a form by text', flow('Shop', [formOf({ card })]), '[card]'],
  [
    'a form by model',
    flow('Shop', [modelForm({ card })], { model: () => ({ provider: 'own', name: 'small' }) }),
    '[card]',
  ],
])('of %s', async (_what, of, shown) => {
  const { engine, say } = watchedTalk(of, { 'own/small': ['ok', 'ok', 'ok'] })
  const sdk = telemetry()
  instrumentEngine(engine, { ...sdk.providers, content: true })
  for (const message of ['Hello', 'canary', '47114711']) await say(message)
  const spans = sdk.spans().filter(({ name }) => name === 'invoke_workflow Shop')
  const asked = spans.map(({ attributes }) => String(attributes['gen_ai.input.messages']))
  expect(asked.slice(1).map((text) => text.includes(shown))).toEqual([true, true])
  expect(await sdk.text()).not.toMatch(/canary|47114711/)
})

test('of a form that a page sends', async () => {
  const { engine, say } = watchedTalk(flow('Shop', [formOf({ card })]))
  const sdk = telemetry()
  instrumentEngine(engine, { ...sdk.providers, content: true })
  await say('Hello')
  for (const sent of ['canary', '47114711']) await say('', { event: { name: 'Form', payload: { card: sent } } })
  expect(sdk.spans().filter(({ name }) => name === 'invoke_workflow Shop')).toHaveLength(3)
  expect(await sdk.text()).not.toMatch(/canary|47114711/)
})
