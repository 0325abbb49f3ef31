/** The error messages of a scripted model if the script does not fit the conversation. */
import { describe, expect, test } from 'vitest'
import { FlowEngine, InvalidInputError, type ModelRequest, ToolError } from '../../src/index.js'
import { Onboarding } from '../contract/onboarding.js'
import { ScriptedModel, scriptedProvider } from './scripted-model.js'

function request(more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    system: 'Be kind.',
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }], turn: 3 }],
    tools: [{ name: 'note', description: 'Takes a note.', inputSchema: {} }],
    params: { temperature: 0 },
    origin: { flowName: 'Chat', stepId: 'Talk', sessionId: 'a', turnNumber: 3, callNumber: 1, attempt: 1 },
    signal: new AbortController().signal,
    ...more,
  }
}

describe('an unexpected call', () => {
  test('is reported with flow, step, turn, the request and the script', async () => {
    const model = new ScriptedModel(['One.', () => 'Two.'])
    await model.generate(request())
    await model.generate(request())
    await expect(model.generate(request())).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The model was asked once more than its script says: flow 'Chat', step 'Talk', turn 3, call 1 of the turn.
        asked: user "Hello"
        tools offered: note
        script: 1. "One." (used)  2. a function (used)
      Add a reply to the script, or find out why the step asks again.]
    `)
  })

  test('of a long script shows the end of it', async () => {
    const model = new ScriptedModel(Array.from({ length: 9 }, (_, index) => `Reply ${index + 1}.`))
    for (let index = 0; index < 9; index++) await model.generate(request())
    await expect(model.generate(request({ messages: [], tools: [] }))).rejects.toThrow(
      'asked: nothing\n  tools offered: none\n  script: (4 before) 5. "Reply 5." (used)',
    )
  })

  test('reports a tool result that was the last message', async () => {
    const parts = [{ type: 'tool-result', toolCallId: '1', toolName: 'note', output: 'Noted.' }] as const
    const messages = [{ role: 'tool', parts, turn: 1 }] as const
    await expect(new ScriptedModel([]).generate(request({ messages }))).rejects.toThrow(
      'asked: tool note = "Noted."\n  tools offered: note\n  script: empty',
    )
  })

  test('of a step without a rule names the rules', async () => {
    const model = new ScriptedModel({ AskName: ['Hello.'], Confirm: () => 'Yes.' })
    await expect(model.generate(request())).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The script has no rule for the step that asked: flow 'Chat', step 'Talk', turn 3, call 1 of the turn.
        asked: user "Hello"
        tools offered: note
        rules for: AskName, Confirm
      Add a rule for 'Talk'.]
    `)
  })
})

describe('a call of a tool that the step does not offer', () => {
  test('is reported with the tools that the step offers', async () => {
    const model = new ScriptedModel([{ toolCalls: [{ name: 'notte' }] }])
    await expect(model.generate(request())).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The script calls a tool that the step does not offer: 'notte' (flow 'Chat', step 'Talk', turn 3, call 1 of the turn).
        asked: user "Hello"
        tools offered: note
      Correct the name, or set offered: false if the model is meant to be wrong.]
    `)
    expect(model.complaint).toMatchObject({ name: 'ExpectationError' })
    expect(() => model.assertDone()).toThrow('does not offer')
  })

  test('is used if it is intended', async () => {
    const model = new ScriptedModel([{ toolCalls: [{ name: 'notte', offered: false }] }])
    expect((await model.generate(request())).parts).toMatchObject([{ toolName: 'notte' }])
    model.assertDone()
  })
})

test.each<[unknown, string]>([
  [{ tekst: 'Hello.', usage: undefined }, '{"tekst":"Hello."}'],
  [{ text: 'Hello.', finish: 'stop' }, '{"text":"Hello.","finish":"stop"}'],
  [null, 'null'],
  [7, '7'],
  [['Hello.'], '["Hello."]'],
])('an invalid reply is reported, and is not played: %j', async (reply, shown) => {
  const model = new ScriptedModel([() => reply as never])
  await expect(model.generate(request())).rejects.toThrow(
    `The script has an invalid reply: ${shown} (flow 'Chat', step 'Talk', turn 3, call 1 of the turn).`,
  )
  expect(() => model.assertDone()).toThrow(
    'A reply is a text, an Error, or an object of text, chunks, output, reasoning,',
  )
})

test.each<[unknown, string]>([
  [[{ name: 'note', args: { text: 'A' } }], '{"name":"note","args":{"text":"A"}}'],
  [[{ name: 'note' }, 'note'], '"note"'],
  [{ name: 'note' }, '{"name":"note"}'],
])('an invalid tool call is reported, and is not played: %j', async (toolCalls, shown) => {
  const model = new ScriptedModel([{ toolCalls } as never])
  await expect(model.generate(request())).rejects.toThrow(
    `The script has an invalid tool call: ${shown} (flow 'Chat', step 'Talk', turn 3, call 1 of the turn).`,
  )
  expect(() => model.assertDone()).toThrow(
    'toolCalls is a list, and each tool call is an object of name, input, invalidInput, id, offered.',
  )
})

test.each<[unknown, string]>([
  [
    'Hello',
    "A script must be a list of replies, a function that makes each reply, or an object with one of them for each step; got the text 'Hello'.",
  ],
  [null, 'A script must be a list of replies,'],
  [5, 'for each step; got 5.'],
  [
    { Talk: ['Hello'], Confirm: 'Yes' },
    "The script for step 'Confirm' must be a list of replies, or a function that makes each reply; got the text 'Yes'.",
  ],
])('what is not a script is refused: %j', (script, message) => {
  expect(() => new ScriptedModel(script as never)).toThrow(message)
  expect(() => scriptedProvider(script as never)).toThrow(InvalidInputError)
})

test('an unknown option is refused', () => {
  expect(() => scriptedProvider([], { providers: 'openai' } as object)).toThrow(
    "scriptedProvider: there is no option 'providers'. The options are provider, clock. Did you mean 'provider'?",
  )
  expect(() => new ScriptedModel([], { modelName: 'gpt-5' } as object)).toThrow(
    "ScriptedModel: there is no option 'modelName'. The options are provider, clock, name.",
  )
})

describe('a script that is not used up', () => {
  test('is reported with what is left', async () => {
    const model = new ScriptedModel(['One.', { text: 'Two.' }, new Error('overloaded')])
    await model.generate(request())
    expect(() => model.assertDone()).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The script of the model was not used up: 2 replies of 3 left
        script: 1. "One." (used)  2. {"text":"Two."}  3. Error: overloaded
      Take out what is not needed, or say what would make the model speak.]
    `)
  })

  test('by a step is reported with the step', async () => {
    const model = new ScriptedModel({ Talk: ['One.'], Confirm: ['Two.'], Any: () => 'Three.' })
    await model.generate(request())
    expect(() => model.assertDone()).toThrow("1 reply for step 'Confirm' of 1 left")
  })
})

test('what a function of the script throws is a failure of the test, and an error that it returns is not', async () => {
  const model = new ScriptedModel([
    () => new Error('overloaded'),
    ({ system }) => {
      throw new Error(`expected another prompt than ${system}`)
    },
  ])
  await expect(model.generate(request())).rejects.toThrow('overloaded')
  expect(model.complaint).toBeUndefined()
  await expect(model.generate(request())).rejects.toThrow('expected another prompt than Be kind.')
  expect(() => model.assertDone()).toThrow('expected another prompt than Be kind.')
})

describe('expectAsked', () => {
  async function asked(): Promise<ScriptedModel> {
    const model = new ScriptedModel(['One.', 'Two.'])
    await model.generate(request())
    await model.generate(request({ origin: { ...request().origin, stepId: 'Confirm' } }))
    return model
  }

  test('passes if the request is the expected one', async () => {
    const model = await asked()
    model.expectAsked({
      system: 'Be kind.',
      user: /^Hell/g,
      tools: ['note'],
      params: { temperature: 0 },
      step: 'Confirm',
    })
    model.expectAsked({ step: 'Talk', call: 1 })
  })

  test('reports all differences', async () => {
    const model = await asked()
    const expected = { system: /rude/, user: 'Bye', tools: ['note', 'book'], params: { temperature: 1 }, step: 'Talk' }
    expect(() => model.expectAsked(expected)).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The model did not receive what was expected: flow 'Chat', step 'Confirm', turn 3, call 1 of the turn.
        system: expected /rude/, got "Be kind."
        user: expected "Bye", got "Hello"
        tools: expected book, note, got note
        params.temperature: expected 1, got 0
        step: expected "Talk", got "Confirm"]
    `)
  })

  test('refuses an expectation of nothing', () => {
    expect(() => new ScriptedModel([]).expectAsked({})).toThrow(
      'expectAsked would check nothing of the request, because {} names no part of it: system, user,',
    )
  })

  test('reports a call that there was not', async () => {
    expect(() => new ScriptedModel([]).expectAsked({ call: 1 })).toThrow(
      'Expected the model to be asked 1 time, but it was not asked at all.',
    )
    const model = await asked()
    expect(() => model.expectAsked({ call: 3 })).toThrow(
      'Expected the model to be asked 3 times, but it was asked 2 times.',
    )
  })

  test('reports a prompt that there was not', async () => {
    const model = new ScriptedModel(['One.'])
    const { system: _system, ...rest } = request({ messages: [] })
    await model.generate(rest)
    expect(() => model.expectAsked({ system: 'Be kind.', user: 'Hello' })).toThrow(
      'system: expected "Be kind.", got none\n  user: expected "Hello", got none',
    )
  })
})

test('in an engine, the complaint is the cause of a polite error, and stays with the provider', async () => {
  const provider = scriptedProvider([{ toolCalls: [{ name: 'notte' }] }], { provider: 'openai' })
  const engine = new FlowEngine({ flows: [Onboarding], providers: [provider] })
  const { error } = await engine.execute({ flowName: 'Onboarding', userMessage: 'Hi' })
  expect(error).toMatchObject({ code: 'MODEL_ERROR', cause: provider.model.complaint })
  expect(() => provider.assertDone()).toThrow("step 'AskName', turn 1")
  expect(() => provider.expectAsked({ user: 'Bye' })).toThrow('expected "Bye", got "Hi"')
})

test('an error of the script that is a ToolError does not fail the test either', async () => {
  const model = new ScriptedModel([new ToolError('no')])
  await expect(model.generate(request())).rejects.toThrow('no')
  model.assertDone()
})
