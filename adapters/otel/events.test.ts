// The span of a turn that takes an outside event: its name, unless a client chose it.
import { expect, test } from 'vitest'
import { event, Flow, LogicStep, reply } from '../../src/index.js'
import { harness } from '../../testing/contract/engine-harness.js'
import { telemetry } from '../../testing/contract/otel-harness.js'
import { instrumentEngine } from './index.js'

class Wait extends LogicStep {
  static override readonly id = 'Wait'
  override events() {
    return [
      event({ name: 'decision', byUser: true, execute: () => reply('Yes.') }),
      event({ name: 'remind', after: 1000, execute: () => undefined }),
    ]
  }
  override run() {
    return reply('Hello.')
  }
}

class Talk extends Flow {
  static override readonly id = 'Talk'
  override steps() {
    return [Wait]
  }
}

test('the span has the name of an event of the application or the clock, and no message of a user', async () => {
  const { engine, start, clock } = harness({ flows: [Talk] })
  const sdk = telemetry()
  instrumentEngine(engine, { ...sdk.providers, content: true })
  const starts: (string | undefined)[] = []
  engine.on('turn:start', ({ event: name }) => starts.push(name))
  const sessionId = await start('Talk')
  await engine.sendEvent({ sessionId, event: 'decision' })
  await clock.advance(120_000)
  await engine.run({ flowName: 'Talk', userMessage: '', event: { name: 'decision' }, sessionId })
  await engine.run({ flowName: 'Talk', userMessage: '', event: { name: 'canary' }, sessionId })
  expect(starts).toEqual([undefined, 'decision', 'remind', undefined, undefined])
  const spans = sdk.spans().filter(({ name }) => name === 'invoke_workflow Talk')
  const shown = spans.map(({ attributes }) => [
    attributes['turnkeeper.event'],
    'gen_ai.input.messages' in attributes,
    'gen_ai.output.messages' in attributes,
  ])
  expect(shown).toEqual([
    [undefined, true, true],
    ['decision', false, true],
    ['remind', false, false],
    [undefined, false, true],
    [undefined, false, false],
  ])
  expect(await sdk.text()).not.toContain('canary')
})
