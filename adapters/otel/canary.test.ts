// Puts marked texts into every place of a conversation. No span or metric may contain one.
import { expect, test } from 'vitest'
import { type FlowEngineOptions, type Tool, ToolError } from '../../src/index.js'
import { type Acts, calls, chatOf, fails, modelHarness, Talk, toolThat } from '../../testing/contract/model-harness.js'
import { type Telemetry, telemetry } from '../../testing/contract/otel-harness.js'
import { instrumentEngine } from './index.js'

const secret = (place: string): string => `canary-in-${place}`

class Secretive extends Talk {
  override prompt(): string {
    return secret('prompt')
  }
  override tools(): readonly Tool[] {
    const refuse = (): never => {
      throw new ToolError(secret('tool-error'))
    }
    return [
      toolThat('look', () => secret('tool-result')),
      toolThat('refuse', refuse),
      toolThat('break', () => {
        throw new Error(secret('thrown'))
      }),
    ]
  }
}

const toolCall = (name: string) => calls(name, { argument: secret('arguments') })
const unknownTool = () => ({
  parts: [{ type: 'tool-call', toolCallId: secret('call-id'), toolName: secret('tool-name'), input: {} }],
})

/** Conversations in which everything succeeds, or everything fails. */
async function talk(
  options: { errorText?: boolean; content?: boolean },
  engineOptions: FlowEngineOptions = {},
): Promise<Telemetry> {
  const acts: Acts = {
    'own/small': [
      toolCall('look'),
      toolCall('refuse'),
      unknownTool,
      secret('reply'),
      toolCall('break'),
      fails(new Error(secret('model-error'))),
    ],
  }
  const { engine, store } = modelHarness(acts, {
    flows: [chatOf(Secretive)],
    onTurnError: 'rollback',
    ...engineOptions,
  })
  const sdk = telemetry()
  instrumentEngine(engine, { ...sdk.providers, ...options })
  const input = { flowName: 'Chat', userMessage: secret('message'), config: { note: secret('config') } }
  const { session: sessionId, message } = await engine.run(input)
  expect(message).toBe(secret('reply'))
  await engine.run({ ...input, sessionId })
  await engine.run({ ...input, sessionId })
  await engine.run({ ...input, flowName: secret('flow-name'), owner: secret('owner') })
  store.failNext('load')
  await engine.run({ ...input, sessionId, owner: secret('owner') })
  return sdk
}

test('no text of a conversation is in a span or a metric', async () => {
  const sdk = await talk({})
  expect(sdk.open()).toBe(0)
  expect(sdk.spans().length).toBeGreaterThan(15)
  expect(await sdk.text()).not.toContain('canary')
})

test('with errorText only the span of a failed turn has the text of its error', async () => {
  const sdk = await talk({ errorText: true })
  const texts = sdk.spans().map(({ status }) => status.message)
  expect(texts.filter((text) => text?.includes('canary'))).toEqual([
    secret('thrown'),
    expect.stringContaining('canary-in-flow-name'),
  ])
  const others = sdk.spans().map(({ name, attributes, events }) => [name, attributes, events])
  expect(JSON.stringify(others)).not.toContain('canary')
})

/** The canaries in the attributes of spans, by the name of the span and of the attribute. */
function canariesIn(sdk: Telemetry): Record<string, readonly string[]> {
  const found: Record<string, string[]> = {}
  for (const { name, attributes } of sdk.spans()) {
    for (const [key, value] of Object.entries(attributes)) {
      for (const text of String(value).match(/canary-in-[a-z-]*[a-z]/g) ?? []) {
        const of = `${name.split(' ')[0]} ${key}`
        found[of] = [...new Set([...(found[of] ?? []), text])]
      }
    }
  }
  return found
}

test('with content only the spans of turns and models have the texts of the conversation', async () => {
  const sdk = await talk({ content: true })
  const asked = ['message', 'arguments', 'tool-result', 'tool-error', 'call-id', 'reply']
  expect(canariesIn(sdk)).toEqual({
    'invoke_workflow gen_ai.input.messages': [secret('message')],
    'invoke_workflow gen_ai.output.messages': [secret('reply')],
    'chat gen_ai.system_instructions': [secret('prompt')],
    'chat gen_ai.input.messages': expect.arrayContaining(asked.map(secret)),
    'chat gen_ai.output.messages': expect.arrayContaining(['arguments', 'reply', 'tool-name'].map(secret)),
  })
  const [first] = sdk.spans().filter(({ name }) => name === 'chat small')
  expect(JSON.parse(String(first?.attributes['gen_ai.input.messages']))).toEqual([
    { role: 'user', parts: [{ type: 'text', content: secret('message') }] },
  ])
  expect(JSON.parse(String(first?.attributes['gen_ai.output.messages']))).toEqual([
    {
      role: 'assistant',
      parts: [
        { type: 'tool_call', id: expect.any(String), name: 'look', arguments: { argument: secret('arguments') } },
      ],
    },
  ])
  expect(JSON.stringify(await sdk.points())).not.toContain('canary')
})

test('with content and a mask the spans of turns have masked texts, and spans of models none', async () => {
  const sdk = await talk({ content: true }, { mask: (text) => text.replaceAll('canary', 'masked') })
  expect(canariesIn(sdk)).toEqual({})
  expect(sdk.span('invoke_workflow Chat').attributes['gen_ai.input.messages']).toContain('masked-in-message')
  expect(
    sdk.spans().some(({ name, attributes }) => name === 'chat small' && 'gen_ai.input.messages' in attributes),
  ).toBe(false)
})
