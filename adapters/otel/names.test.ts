import { expect, test } from 'vitest'
import { attribute, metric, operation } from './names.js'

/**
 * The GenAI names of the semantic conventions 1.41.1, read on 2026-11-23 from the npm package
 * `@opentelemetry/semantic-conventions` of this version (`incubating`). Names that the package marks as replaced, such
 * as `gen_ai.system`, are left out.
 */
const attributesOf1411 = `
  error.type gen_ai.agent.description gen_ai.agent.id gen_ai.agent.name gen_ai.agent.version gen_ai.conversation.id gen_ai.data_source.id
  gen_ai.input.messages gen_ai.operation.name gen_ai.output.messages gen_ai.output.type gen_ai.prompt.name gen_ai.provider.name
  gen_ai.request.choice.count gen_ai.request.max_tokens gen_ai.request.model gen_ai.request.stream gen_ai.request.temperature
  gen_ai.response.finish_reasons gen_ai.response.id gen_ai.response.model gen_ai.response.time_to_first_chunk
  gen_ai.system_instructions gen_ai.token.type gen_ai.tool.call.arguments gen_ai.tool.call.id gen_ai.tool.call.result
  gen_ai.tool.definitions gen_ai.tool.description gen_ai.tool.name gen_ai.tool.type gen_ai.usage.cache_creation.input_tokens
  gen_ai.usage.cache_read.input_tokens gen_ai.usage.input_tokens gen_ai.usage.output_tokens gen_ai.usage.reasoning.output_tokens
  gen_ai.workflow.name`
const metricsOf1411 = 'gen_ai.client.operation.duration gen_ai.client.token.usage gen_ai.server.request.duration'
const operationsOf1411 =
  'chat create_agent embeddings execute_tool generate_content invoke_agent invoke_workflow retrieval text_completion'

test.each([
  ['attributes', attribute, attributesOf1411],
  ['metrics', metric, metricsOf1411],
])('the %s have names of the list, or begin with turnkeeper', (_, names, list) => {
  const known = new Set(list.trim().split(/\s+/))
  expect(Object.values(names).filter((name) => !known.has(name) && !name.startsWith('turnkeeper.'))).toEqual([])
})

test('the operations are those of the list', () => {
  expect(operationsOf1411.split(' ')).toEqual(expect.arrayContaining(Object.values(operation)))
})
