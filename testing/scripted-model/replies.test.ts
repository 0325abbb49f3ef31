/** What a script can say in addition to texts and tool calls. */
import { describe, expect, test } from 'vitest'
import { FlowEngine, type ModelRequest } from '../../src/index.js'
import { Onboarding } from '../contract/onboarding.js'
import { VirtualClock } from '../virtual-clock/virtual-clock.js'
import { ScriptedModel, scriptedProvider } from './scripted-model.js'

function request(stepId = 'Talk', signal = new AbortController().signal): ModelRequest {
  const origin = { flowName: 'Chat', stepId, sessionId: 'a', turnNumber: 1, callNumber: 1, attempt: 1 }
  return { messages: [], tools: [], params: {}, origin, signal }
}

async function textOf(model: ScriptedModel, stepId?: string): Promise<unknown> {
  return (await model.generate(request(stepId))).parts[0]
}

test('rules by step are used up each for itself', async () => {
  const model = new ScriptedModel({ AskName: ['One.', 'Two.'], Confirm: ({ origin }) => `At ${origin.stepId}.` })
  expect(await textOf(model, 'AskName')).toMatchObject({ text: 'One.' })
  expect(await textOf(model, 'Confirm')).toMatchObject({ text: 'At Confirm.' })
  expect(await textOf(model, 'AskName')).toMatchObject({ text: 'Two.' })
  model.assertDone()
})

test('a refusal blocks the turn', async () => {
  const engine = new FlowEngine({
    flows: [Onboarding],
    providers: [scriptedProvider([{ refusal: 'I cannot help with that.' }], { provider: 'openai' })],
  })
  const { error } = await engine.execute({ flowName: 'Onboarding', userMessage: 'Hi' })
  expect(error?.code).toBe('MODEL_BLOCKED')
})

describe('a delay', () => {
  test('goes by the clock of the model', async () => {
    const clock = new VirtualClock()
    const answer = new ScriptedModel([{ delayMs: 100, text: 'Late.' }], { clock }).generate(request())
    let answered = false
    void answer.then(() => {
      answered = true
    })
    await clock.advance(99)
    expect(answered).toBe(false)
    await clock.advance(1)
    expect(await answer).toEqual({ parts: [{ type: 'text', text: 'Late.' }] })
    expect(clock.pending).toBe(0)
  })

  test('comes before an error, too', async () => {
    const clock = new VirtualClock()
    const answer = new ScriptedModel([{ delayMs: 100, error: new Error('overloaded') }], { clock }).generate(request())
    const failed = expect(answer).rejects.toThrow('overloaded')
    await clock.advance(100)
    await failed
  })

  test.each([50, Number.POSITIVE_INFINITY])('of %d ms ends with the turn', async (delayMs) => {
    const clock = new VirtualClock()
    const controller = new AbortController()
    const model = new ScriptedModel([{ delayMs }, { delayMs }], { clock })
    const answer = model.generate(request('Talk', controller.signal))
    const failed = expect(answer).rejects.toThrow('too late')
    await clock.settle()
    controller.abort(new Error('too late'))
    await failed
    expect(clock.pending).toBe(0)
    await expect(model.generate(request('Talk', controller.signal))).rejects.toThrow('too late')
    expect(clock.pending).toBe(0)
  })
})

describe('a fork', () => {
  test('continues from the place of the model, and does not move it', async () => {
    const model = new ScriptedModel(['One.', 'Two.'], { provider: 'cloud', name: 'small' })
    await model.generate(request())
    const fork = model.fork()
    expect(await textOf(fork)).toMatchObject({ text: 'Two.' })
    fork.assertDone()
    expect(fork).toMatchObject({ provider: 'cloud', name: 'small', requests: { length: 1 } })
    expect(() => model.assertDone()).toThrow('1 reply of 2 left')
  })

  test('keeps rules and functions, and may be given a script', async () => {
    const byStep = new ScriptedModel({ Talk: ['One.', 'Two.'] })
    await byStep.generate(request())
    expect(await textOf(byStep.fork())).toMatchObject({ text: 'Two.' })
    expect(await textOf(new ScriptedModel(() => 'Always.').fork())).toMatchObject({ text: 'Always.' })
    expect(await textOf(byStep.fork(['Three.']))).toMatchObject({ text: 'Three.' })
  })

  test('numbers its tool calls on', async () => {
    const call = { toolCalls: [{ name: 'a', offered: false }] } as const
    const model = new ScriptedModel([call, call])
    await model.generate(request())
    expect((await model.fork().generate(request())).parts).toMatchObject([{ toolCallId: 'call-2' }])
  })
})
