// The span of a turn has the parts of its reply only where it has the text.
import { expect, test } from 'vitest'
import { harness } from '../../testing/contract/engine-harness.js'
import { Ordering } from '../../testing/contract/http/rich-replies.js'
import { telemetry } from '../../testing/contract/otel-harness.js'
import { instrumentEngine } from './index.js'

test.each([true, false])('content: %s', async (content) => {
  const { engine, start } = harness({ flows: [Ordering], mask: (text) => text.replace('Bonn', '***') })
  const sdk = telemetry()
  instrumentEngine(engine, { ...sdk.providers, content })
  await start('Ordering')
  const [turn] = sdk.spans().filter(({ name }) => name === 'invoke_workflow Ordering')
  const said = turn?.attributes['gen_ai.output.messages']
  if (content) {
    const [{ parts }] = JSON.parse(said as string)
    expect(parts.map(({ type }: { type: string }) => type)).toEqual([
      ...['text', 'choices', 'card', 'form', 'file', 'custom'],
    ])
    expect(parts[2]).toEqual({ type: 'card', title: 'Order 4711', rows: [['Status', 'on its way']] })
    expect(parts[4]).toEqual({ type: 'file', mime_type: 'application/pdf' })
  }
  const text = await sdk.text()
  expect([text.includes('Order 4711'), text.includes('***')]).toEqual([content, content])
  expect(text).not.toMatch(/files\.example|Bonn/)
})
