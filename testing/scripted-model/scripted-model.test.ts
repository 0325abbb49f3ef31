import { describe, expect, test } from 'vitest'
import { Flow, FlowEngine, type ModelRequest, Step, tool } from '../../src/index.js'
import type { ModelScript } from '../index.js'
import { ScriptedModel, scriptedProvider } from './scripted-model.js'

class Talk extends Step {
  static override readonly id = 'Talk'
  override tools() {
    return [tool({ name: 'note', description: 'Takes a note.', execute: () => 'Noted.' })]
  }
}
class Chat extends Flow {
  static override readonly id = 'Chat'
  override model() {
    return { provider: 'scripted', name: 'any' }
  }
  override steps() {
    return [Talk]
  }
}

function request(more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    messages: [],
    tools: [],
    params: {},
    origin: { flowName: 'Chat', stepId: 'Talk', sessionId: 'a', turnNumber: 3, callNumber: 1, attempt: 1 },
    signal: new AbortController().signal,
    ...more,
  }
}

describe('a scripted model', () => {
  test('says the texts of its script in order', async () => {
    const model = new ScriptedModel(['One.', 'Two.'])
    expect(await model.generate(request())).toEqual({ parts: [{ type: 'text', text: 'One.' }] })
    expect(await model.generate(request())).toEqual({ parts: [{ type: 'text', text: 'Two.' }] })
  })

  test('makes tool calls, and numbers those without an ID', async () => {
    const model = new ScriptedModel([
      { text: 'Wait.', toolCalls: [{ name: 'a' }, { name: 'b', input: { x: 1 }, id: 'mine' }] },
      { toolCalls: [{ name: 'c' }] },
    ])
    const tools = ['a', 'b', 'c'].map((name) => ({ name, description: '', inputSchema: {} }))
    expect((await model.generate(request({ tools }))).parts).toEqual([
      { type: 'text', text: 'Wait.' },
      { type: 'tool-call', toolCallId: 'call-1', toolName: 'a', input: {} },
      { type: 'tool-call', toolCallId: 'mine', toolName: 'b', input: { x: 1 } },
    ])
    expect((await model.generate(request({ tools }))).parts).toEqual([
      { type: 'tool-call', toolCallId: 'call-2', toolName: 'c', input: {} },
    ])
  })

  test('has a finish reason and a usage if the script has them', async () => {
    const usage = { inputTokens: 3, outputTokens: 1 }
    const model = new ScriptedModel([{ text: 'Hel', finishReason: 'length', usage }])
    expect(await model.generate(request())).toEqual({
      parts: [{ type: 'text', text: 'Hel' }],
      finishReason: 'length',
      usage,
    })
  })

  test('rejects with the errors of its script', async () => {
    const error = new Error('overloaded')
    await expect(new ScriptedModel([error]).generate(request())).rejects.toBe(error)
  })

  test('may be a function of the request, also an asynchronous one', async () => {
    const script: ModelScript = async ({ origin }) =>
      origin.turnNumber === 3 ? `Call ${origin.callNumber}.` : new Error('no')
    const model = new ScriptedModel(script)
    model.assertDone()
    expect((await model.generate(request())).parts).toEqual([{ type: 'text', text: 'Call 1.' }])
    const origin = { ...request().origin, turnNumber: 4 }
    await expect(model.generate(request({ origin }))).rejects.toThrow('no')
    model.assertDone()
  })

  test('records each request as it was then, without the signal', async () => {
    const messages: ModelRequest['messages'][number][] = []
    const model = new ScriptedModel(['One.'])
    await model.generate(request({ messages, system: 'Be kind.' }))
    messages.push({ role: 'user', parts: [], turn: 1 })
    const { signal: _signal, ...recorded } = request({ system: 'Be kind.' })
    expect(model.requests).toEqual([{ ...recorded, streamed: false, outcome: 'answered' }])
  })

  test('has the names it is given', () => {
    expect(new ScriptedModel([])).toMatchObject({ provider: 'scripted', name: 'scripted' })
    expect(new ScriptedModel([], { provider: 'cloud', name: 'small' })).toMatchObject({
      provider: 'cloud',
      name: 'small',
    })
  })
})

describe('a scripted provider', () => {
  test('plays one script for every model, in an engine', async () => {
    const provider = scriptedProvider([{ toolCalls: [{ name: 'note' }] }, 'Noted.', 'Bye.'])
    const engine = new FlowEngine({ flows: [Chat], providers: [provider] })
    const first = await engine.run({ flowName: 'Chat', userMessage: 'Hi' })
    expect(first.message).toBe('Noted.')
    expect(() => provider.assertDone()).toThrow('1 reply of 3 left')
    await engine.run({ flowName: 'Chat', userMessage: 'Bye', sessionId: first.session })
    provider.assertDone()
    expect(provider.requests.map(({ origin }) => origin.turnNumber)).toEqual([1, 1, 2])
    expect(provider.requests).toBe(provider.model.requests)
  })

  test('whose script runs out fails the turn with the step and the turn as the cause', async () => {
    const engine = new FlowEngine({ flows: [Chat], providers: [scriptedProvider([])] })
    const { error } = await engine.execute({ flowName: 'Chat', userMessage: 'Hi' })
    expect(error).toMatchObject({
      code: 'MODEL_ERROR',
      cause: { message: expect.stringContaining("flow 'Chat', step 'Talk', turn 1, call 1 of the turn") },
    })
  })

  test('has the name it is given', () => {
    expect(scriptedProvider([]).provider).toBe('scripted')
    expect(scriptedProvider([], { provider: 'cloud' })).toMatchObject({
      provider: 'cloud',
      model: { provider: 'cloud' },
    })
  })
})
