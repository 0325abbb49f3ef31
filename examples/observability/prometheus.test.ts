import { Flow, FlowEngine, LogicStep, reply } from 'turnkeeper'
import { expect, test } from 'vitest'
import { createMetricsHandler } from './prometheus.js'

class Answer extends LogicStep {
  static override readonly id = 'Answer'
  override run() {
    return reply('A secret reply.')
  }
}

class Talk extends Flow {
  static override readonly id = 'Talk'
  override steps() {
    return [Answer]
  }
}

test('the page has the turns, the failures by code and the times of the store', async () => {
  const engine = new FlowEngine({ flows: [Talk] })
  const metrics = createMetricsHandler(engine)
  await engine.run({ flowName: 'Talk', userMessage: 'A secret message.' })
  await engine.run({ flowName: 'Nobody', userMessage: 'Hello' })
  const response = await metrics()
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  const page = await response.text()
  expect(page).toMatch(/^turnkeeper_turns_total\{gen_ai_workflow_name="Talk",turnkeeper_turn_outcome="success".*\} 1$/m)
  expect(page).toMatch(/^turnkeeper_turn_failures_total\{error_type="FLOW_NOT_FOUND".*\} 1$/m)
  expect(page).toMatch(/^turnkeeper_store_duration_count\{turnkeeper_store_operation="create".*\} 1$/m)
  expect(page).not.toContain('secret')
  await engine.close()
})
