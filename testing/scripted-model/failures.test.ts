/** Providers that fail, and answers in a form: what a script says of them, and which of it is a mistake. */
import { describe, expect, test } from 'vitest'
import type { ModelRequest } from '../../src/index.js'
import { type ScriptedAnswer, ScriptedModel } from './scripted-model.js'

const output: NonNullable<ModelRequest['output']> = { name: 'Wish', schema: { type: 'object', required: ['guests'] } }

function request(more: Partial<ModelRequest> = {}, attempt = 1): ModelRequest {
  const origin = { flowName: 'Chat', stepId: 'Talk', sessionId: 'a', turnNumber: 3, callNumber: 1, attempt }
  return { messages: [], tools: [], params: {}, origin, signal: new AbortController().signal, ...more }
}

const failureOf = (answer: ScriptedAnswer, more?: Partial<ModelRequest>): Promise<unknown> =>
  new ScriptedModel([answer]).generate(request(more)).then(
    () => undefined,
    (error: unknown) => error,
  )

describe('a failure', () => {
  test('is an error with the status', async () => {
    const error = await failureOf({ failure: 503 })
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({
      statusCode: 503,
      message: 'The provider failed with status 503, as the script says.',
    })
    expect(error).not.toHaveProperty('responseHeaders')
  })

  test('may say more: how long to wait, whether another attempt makes sense, and a text', async () => {
    expect(await failureOf({ failure: { statusCode: 429, retryAfterMs: 2000 } })).toMatchObject({
      statusCode: 429,
      responseHeaders: { 'retry-after-ms': '2000' },
    })
    const error = await failureOf({ failure: { isRetryable: false, message: 'No such model.' } })
    expect(error).toMatchObject({ isRetryable: false, message: 'No such model.' })
    expect(error).not.toHaveProperty('statusCode')
    expect(await failureOf({ failure: {} })).toMatchObject({ message: 'The provider failed, as the script says.' })
  })

  test('is not a mistake of the test', async () => {
    const model = new ScriptedModel([{ failure: 429 }, 'Hello.'])
    await expect(model.generate(request())).rejects.toThrow('429')
    expect((await model.generate(request({}, 2))).parts).toEqual([{ type: 'text', text: 'Hello.' }])
    model.assertDone()
  })
})

test('one attempt too many is reported with its number', async () => {
  await expect(new ScriptedModel([]).generate(request({}, 2))).rejects.toThrow(
    "The model was asked once more than its script says: flow 'Chat', step 'Talk', turn 3, call 1 of the turn, attempt 2.\n",
  )
})

describe('an output', () => {
  test('is the text of the answer, as JSON', async () => {
    const model = new ScriptedModel([{ output: { guests: 4 } }, { output: null }, { output: [1], chunks: ['[', '1]'] }])
    const answers = []
    for (let call = 0; call < 3; call++) answers.push((await model.generate(request({ output }))).parts)
    expect(answers).toEqual([
      [{ type: 'text', text: '{"guests":4}' }],
      [{ type: 'text', text: 'null' }],
      [{ type: 'text', text: '[1]' }],
    ])
  })

  test('is a mistake in the script if the step has no output; a text is not a mistake if it has one', async () => {
    const model = new ScriptedModel([{ output: { guests: 4 } }, 'Four.'])
    await expect(model.generate(request())).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The script answers with output, and the step asks for none (flow 'Chat', step 'Talk', turn 3, call 1 of the turn).
        asked: nothing
        tools offered: none
      Give the step an output schema, or write the JSON as text if the model is meant to answer so unasked.]
    `)
    await model.generate(request({ output }))
    expect(() => model.assertDone()).toThrow('answers with output')
  })

  test('that is expected is reported with the schema', async () => {
    const model = new ScriptedModel(['a', 'b'])
    await model.generate(request({ output }))
    await model.generate(request())
    model.expectAsked({ call: 1, output: { required: ['guests'] } })
    model.expectAsked({ call: 2, output: false })
    expect(model.requests[0]?.output).toEqual(output)
    const asked = (call: number, expected: { required: string[] } | false) => () =>
      model.expectAsked({ call, output: expected })
    expect(asked(1, { required: ['day'] })).toThrow('output.required[0]: expected "day", got "guests"')
    expect(asked(1, false)).toThrow('output: expected nothing, got {"type":"object","required":["guests"]}')
    expect(asked(2, { required: [] })).toThrow('output: expected {"required":[]}, got nothing')
  })
})

describe('a reply that makes no sense is a mistake in the script', () => {
  test.each<[ScriptedAnswer, string]>([
    [{ text: 'Hello', chunks: ['Hel', 'o'] }, 'The chunks in the script, joined, are not its text: "Helo" for "Hello"'],
    [{ text: 'Hello', output: 1 }, 'The script says both text and output: {"text":"Hello","output":1}'],
    [
      { text: 'Hello there.', cutAfter: 3 },
      'The script says cutAfter: 3, and its text has 2 pieces: ["Hello"," there."]',
    ],
    [{ text: 'Hello there.', stallAfter: 3 }, 'The script says stallAfter: 3, and its text has 2 pieces'],
    [{ text: 'Hello there.', cutAfter: -1 }, 'The script says cutAfter: -1'],
    [{ text: 'Hello there.', cutAfter: 0.5 }, 'The script says cutAfter: 0.5'],
  ])('%j', async (answer, message) => {
    const model = new ScriptedModel([answer])
    await expect(model.generate(request({ output }))).rejects.toThrow(message)
    expect(model.complaint).toMatchObject({ name: 'ExpectationError' })
  })
})
