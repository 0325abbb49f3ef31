// A whole conversation over each real package: what is sent, what is stored, and what the user does not see.
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  Flow,
  FlowEngine,
  type FlowEngineOptions,
  type JsonObject,
  type ModelSelection,
  Step,
  type StepConstructor,
  type ToolCallPart,
  ToolError,
  tool,
} from '../../../src/index.js'
import { VirtualClock } from '../../index.js'
import type { ModelSuiteAnswer } from '../../suites/index.js'
import { linesOf } from './asking.js'
import { anthropicWire } from './wire/anthropic.js'
import { formats } from './wire/formats.js'
import { googleWire } from './wire/google.js'
import { openaiWire } from './wire/openai.js'
import { openaiChatWire } from './wire/openai-chat.js'
import { openaiCompatibleWire } from './wire/openai-compatible.js'
import type { WireFormat } from './wire/wire-format.js'
import { type WireSubject, wireSubject } from './wire-subject.js'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

const lookUp = tool({
  name: 'look_up',
  description: 'Looks up an order.',
  input: z.object({ order: z.string() }),
  execute({ order }) {
    if (order !== 'A-1') throw new ToolError('No such order.')
    return { place: 'Oldenburg' }
  },
})

class Ask extends Step {
  static override readonly id = 'Ask'
  override prompt() {
    return 'You are the desk of a book shop.'
  }
  override tools() {
    return [lookUp]
  }
}

interface Desk {
  readonly subject: WireSubject
  readonly engine: FlowEngine
  say(userMessage: string): ReturnType<FlowEngine['execute']>
  document(): ReturnType<FlowEngine['getSession']>
}

function deskWith(
  format: WireFormat,
  answers: readonly ModelSuiteAnswer[],
  params: JsonObject = {},
  options: FlowEngineOptions = {},
): Desk {
  const subject = wireSubject(server, format, answers)
  class DeskFlow extends Flow {
    static override readonly id = 'Desk'
    override model(): ModelSelection {
      return { provider: format.name, name: format.model, params }
    }
    override steps(): readonly StepConstructor[] {
      return [Ask]
    }
  }
  // The engine decides what is tried again; this checks the result of one attempt.
  const modelRetry = { maxAttempts: 1 }
  const engine = new FlowEngine({ modelRetry, ...options, flows: [DeskFlow], providers: [subject.provider] })
  let sessionId = ''
  return {
    subject,
    engine,
    async say(userMessage) {
      const result = await engine.execute({ flowName: 'Desk', sessionId, userMessage })
      sessionId = result.response.session
      return result
    },
    document: () => engine.getSession(sessionId),
  }
}

const thinkAndCall: ModelSuiteAnswer = {
  reasoning: 'They want both parcels.',
  text: 'One moment.',
  toolCalls: [
    { id: 'call-1', name: 'look_up', input: { order: 'A-1' } },
    { id: 'call-2', name: 'look_up', input: { order: 'B-2' } },
  ],
  usage: { inputTokens: 20, outputTokens: 10, cachedInputTokens: 5, reasoningTokens: 4 },
}
const answer: ModelSuiteAnswer = {
  reasoning: 'Both are there.',
  text: 'In Oldenburg.',
  usage: { inputTokens: 40, outputTokens: 8, cachedInputTokens: 15, reasoningTokens: 2 },
}

/** The request after the tools ran. */
async function afterTheTools(format: WireFormat, params?: JsonObject): Promise<string> {
  const desk = deskWith(format, [thinkAndCall, answer], params)
  expect((await desk.say('Where are they?')).response.message).toBe('In Oldenburg.')
  await desk.engine.close()
  return linesOf(desk.subject.sent[1]?.body ?? {})
}

describe('the request after two tools ran', () => {
  test('of OpenAI, nothing stored there: the encrypted thought goes back', async () => {
    const providerOptions = { openai: { store: false, include: ['reasoning.encrypted_content'] } }
    expect(await afterTheTools(openaiWire, { maxOutputTokens: 200, providerOptions })).toMatchInlineSnapshot(`
      "model: "gpt-5-mini"
      input:
      - {"role":"developer","content":"You are the desk of a book shop."}
      - {"role":"user","content":[{"type":"input_text","text":"Where are they?"}]}
      - {"type":"reasoning","id":"rs_1","encrypted_content":"encrypted-thought","summary":[{"type":"summary_text","text":"They want both parcels."}]}
      - {"role":"assistant","content":[{"type":"output_text","text":"One moment."}],"id":"msg_1"}
      - {"type":"function_call","call_id":"call-1","name":"look_up","arguments":"{\\"order\\":\\"A-1\\"}"}
      - {"type":"function_call","call_id":"call-2","name":"look_up","arguments":"{\\"order\\":\\"B-2\\"}"}
      - {"type":"function_call_output","call_id":"call-1","output":"{\\"place\\":\\"Oldenburg\\"}"}
      - {"type":"function_call_output","call_id":"call-2","output":"No such order."}
      max_output_tokens: 200
      store: false
      include:
      - "reasoning.encrypted_content"
      tools:
      - {"type":"function","name":"look_up","description":"Looks up an order.","parameters":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"order":{"type":"string"}},"required":["order"]}}"
    `)
  })

  test('of Anthropic: the signed thought goes back', async () => {
    expect(await afterTheTools(anthropicWire, { maxOutputTokens: 200, stopSequences: ['END'] })).toMatchInlineSnapshot(`
      "model: "claude-sonnet-4-5"
      max_tokens: 200
      stop_sequences:
      - "END"
      system:
      - {"type":"text","text":"You are the desk of a book shop."}
      messages:
      - {"role":"user","content":[{"type":"text","text":"Where are they?"}]}
      - {"role":"assistant","content":[{"type":"thinking","thinking":"They want both parcels.","signature":"signed-thought"},{"type":"text","text":"One moment."},{"type":"tool_use","id":"call-1","name":"look_up","input":{"order":"A-1"}},{"type":"tool_use","id":"call-2","name":"look_up","input":{"order":"B-2"}}]}
      - {"role":"user","content":[{"type":"tool_result","tool_use_id":"call-1","content":"{\\"place\\":\\"Oldenburg\\"}"},{"type":"tool_result","tool_use_id":"call-2","content":"No such order.","is_error":true}]}
      tools:
      - {"name":"look_up","description":"Looks up an order.","input_schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"order":{"type":"string"}},"required":["order"]}}"
    `)
  })

  test('of Google: the signatures of the calls go back', async () => {
    expect(await afterTheTools(googleWire, { temperature: 0, topK: 3, seed: 7 })).toMatchInlineSnapshot(`
      "generationConfig: {"temperature":0,"topK":3,"seed":7}
      contents:
      - {"role":"user","parts":[{"text":"Where are they?"}]}
      - {"role":"model","parts":[{"text":"They want both parcels.","thought":true},{"text":"One moment."},{"functionCall":{"id":"call-1","name":"look_up","args":{"order":"A-1"}},"thoughtSignature":"signed-thought"},{"functionCall":{"id":"call-2","name":"look_up","args":{"order":"B-2"}},"thoughtSignature":"signed-thought"}]}
      - {"role":"user","parts":[{"functionResponse":{"id":"call-1","name":"look_up","response":{"name":"look_up","content":{"place":"Oldenburg"}}}},{"functionResponse":{"id":"call-2","name":"look_up","response":{"name":"look_up","content":"No such order."}}}]}
      systemInstruction: {"parts":[{"text":"You are the desk of a book shop."}]}
      tools:
      - {"functionDeclarations":[{"name":"look_up","description":"Looks up an order.","parameters":{"required":["order"],"type":"object","properties":{"order":{"type":"string"}}}}]}"
    `)
  })

  test('of a server that is compatible with OpenAI', async () => {
    expect(await afterTheTools(openaiCompatibleWire, { temperature: 0, presencePenalty: 0.5 })).toMatchInlineSnapshot(`
      "model: "llama3.2"
      temperature: 0
      presence_penalty: 0.5
      messages:
      - {"role":"system","content":"You are the desk of a book shop."}
      - {"role":"user","content":"Where are they?"}
      - {"role":"assistant","content":"One moment.","reasoning_content":"They want both parcels.","tool_calls":[{"id":"call-1","type":"function","function":{"name":"look_up","arguments":"{\\"order\\":\\"A-1\\"}"}},{"id":"call-2","type":"function","function":{"name":"look_up","arguments":"{\\"order\\":\\"B-2\\"}"}}]}
      - {"role":"tool","tool_call_id":"call-1","content":"{\\"place\\":\\"Oldenburg\\"}"}
      - {"role":"tool","tool_call_id":"call-2","content":"No such order."}
      tools:
      - {"type":"function","function":{"name":"look_up","description":"Looks up an order.","parameters":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"order":{"type":"string"}},"required":["order"]}}}"
    `)
  })
})

describe.each(formats)('over $name', (format) => {
  test('what a model thought is stored with its calls, and reaches neither the user nor the answer', async () => {
    const desk = deskWith(format, [thinkAndCall, answer, { text: 'Gladly.' }])
    const { response } = await desk.say('Where are they?')
    expect(response.message).toBe('In Oldenburg.')
    const document = await desk.document()
    const messages = document?.flow.memory.Ask?.messages ?? []
    expect(messages.map(({ parts }) => parts.map(({ type }) => type).join())).toEqual([
      'text',
      format === openaiChatWire ? 'text,tool-call,tool-call' : 'reasoning,text,tool-call,tool-call',
      'tool-result',
      'tool-result',
      'text',
    ])
    expect(messages.at(-1)?.parts).toEqual([{ type: 'text', text: 'In Oldenburg.' }])
    expect(JSON.stringify(document?.history)).not.toContain('parcels')
    expect((await desk.say('Thank you')).response.message).toBe('Gladly.')
  })

  test('the session counts what its calls cost', async () => {
    const desk = deskWith(format, [thinkAndCall, answer])
    await desk.say('Where are they?')
    const reasoning = format === anthropicWire ? {} : { reasoningTokens: 6 }
    expect((await desk.document())?.usage).toEqual({
      modelCalls: 2,
      inputTokens: 60,
      outputTokens: 18,
      cachedInputTokens: 20,
      ...reasoning,
    })
  })

  test('too many requests: the cause says when to come back, the message does not say why', async () => {
    const desk = deskWith(format, [{ failure: 'rate-limit' }])
    const { error } = await desk.say('Hi')
    expect(error).toMatchObject({
      code: 'MODEL_ERROR',
      message: `Model '${format.model}' of provider '${format.name}' failed.`,
      cause: { statusCode: 429, isRetryable: true, responseHeaders: { 'retry-after': '1' } },
    })
  })

  test.each([
    ['server-error', 500],
    ['overloaded', 529],
  ] as const)('a failure of the server, %s, has its status in the cause', async (failure, statusCode) => {
    const { error } = await deskWith(format, [{ failure }]).say('Hi')
    expect(error).toMatchObject({ code: 'MODEL_ERROR', cause: { statusCode } })
  })

  test('an answer that is not valid JSON fails the turn', async () => {
    const { error } = await deskWith(format, [{ failure: 'malformed' }]).say('Hi')
    expect(error).toMatchObject({ code: 'MODEL_ERROR', cause: { name: 'AI_APICallError', statusCode: 200 } })
  })

  test('an empty answer is asked for again: the reason leaves as a message of the user', async () => {
    const desk = deskWith(format, [{ text: '' }, { text: 'Hello.' }], {}, { modelRetry: { maxAttempts: 2 } })
    expect((await desk.say('Hi')).response.message).toBe('Hello.')
    const [, again] = desk.subject.asked().map((body) => JSON.stringify(body))
    expect(again).toContain('Your last answer was empty. Answer again, with text or a tool call.')
    expect((await desk.document())?.history).toHaveLength(1)
  })

  test('calls with the same ID get IDs of their own, and so do their results', async () => {
    const same = { id: 'call-1', name: 'look_up', input: { order: 'A-1' } }
    const desk = deskWith(format, [{ toolCalls: [same, same] }, { text: 'Found.' }])
    expect((await desk.say('Hi')).response.message).toBe('Found.')
    const messages = (await desk.document())?.flow.memory.Ask?.messages ?? []
    const idsOf = (type: string): unknown[] =>
      messages.flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === type ? [(part as ToolCallPart).toolCallId] : [])),
      )
    expect(new Set(idsOf('tool-call')).size).toBe(2)
    expect(idsOf('tool-result')).toEqual(idsOf('tool-call'))
  })

  // The other formats carry arguments as JSON, not as text.
  if (format.malformedArguments?.reply !== undefined) {
    test('arguments that are not valid JSON go back to the model, in a request that it accepts', async () => {
      const desk = deskWith(format, [{ failure: 'malformed-arguments' }, { text: 'Which one?' }])
      expect((await desk.say('Hi')).response.message).toBe('Which one?')
      expect(JSON.stringify(desk.subject.asked()[1])).toContain('Invalid arguments: They are not valid JSON: ')
    })
  }

  test.each(['refusal', 'content-filter'] as const)('%s is an outcome of its own', async (stop) => {
    const { error, response } = await deskWith(format, [{ text: 'I cannot help.', stop }]).say('Hi')
    expect(error).toMatchObject({ code: 'MODEL_BLOCKED', provider: format.name, model: format.model })
    expect(response.message).not.toContain('I cannot help.')
  })

  test('a model that never answers is aborted at the deadline of the turn', async () => {
    const clock = new VirtualClock()
    const desk = deskWith(format, [{ failure: 'never' }], {}, { clock, limits: { turnTimeoutMs: 5_000 } })
    const turn = desk.say('Hi')
    await desk.subject.silent
    await clock.advance(5_000)
    expect((await turn).error).toMatchObject({ code: 'TURN_TIMEOUT' })
  })

  test('a caller that goes away ends the call', async () => {
    const { subject } = deskWith(format, [{ failure: 'never' }])
    const caller = new AbortController()
    const model = subject.provider.resolve({ provider: format.name, name: format.model, params: {} })
    const origin = { flowName: 'Desk', stepId: 'Ask', sessionId: '', turnNumber: 1, callNumber: 1, attempt: 1 }
    const messages = [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }], turn: 1 }] as const
    const call = model.generate({ messages, tools: [], params: {}, origin, signal: caller.signal })
    await subject.silent
    const reason = new Error('Gone.')
    caller.abort(reason)
    await expect(call).rejects.toBe(reason)
  })
})
