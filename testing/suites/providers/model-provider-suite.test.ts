import { describe, expect, test } from 'vitest'
import { scriptedSubject } from '../../contract/models/scripted-subject.js'
import { type ModelProviderSuiteOptions, modelProviderSuite } from './model-provider-suite.js'

interface Registered {
  readonly name: string
  readonly body: () => Promise<void>
  readonly skipped: boolean
}

/** What the suite registers. */
function register(options?: ModelProviderSuiteOptions, createProvider = scriptedSubject): readonly Registered[] {
  const registered: Registered[] = []
  const add = (skipped: boolean) => (name: string, body: () => Promise<void>) =>
    registered.push({ name, body, skipped })
  modelProviderSuite(Object.assign(add(false), { skip: add(true) }), createProvider, options)
  return registered
}

describe('the cases', () => {
  test('are these', () => {
    expect(register({ secret: 'canary' }).map(({ name }) => name)).toEqual([
      'answers: a text',
      'answers: a tool call',
      'answers: two tool calls in one reply',
      'answers: a text and a tool call',
      'answers: a tool call with arguments that are not valid JSON',
      'answers: reasoning is kept apart from the text',
      'answers: what a call cost',
      'stops: at the limit of its length',
      'stops: a refusal',
      'stops: the content filter',
      'requests: prompt, message and tool reach the model',
      'requests: without a prompt and without tools',
      'requests: calls and results of tools go back',
      'requests: an answer goes back as it came, with all that hangs on it',
      'requests: a request is read and never changed',
      'requests: two at once do not mix',
      'signal: one that fires while the model is silent ends the call',
      'signal: one that fired before ends the call',
      'output: the schema leaves with the request, and the text comes back',
      'output: tools may be called before',
      'output: in a stream',
      'media: an image leaves with the request, among the words',
      'media: an image at an address',
      'media: a file leaves with the request',
      'media: in a stream',
      'streams: a text',
      'streams: a tool call',
      'streams: two tool calls in one reply',
      'streams: a text and a tool call',
      'streams: what a call cost',
      'streams: the limit of its length',
      'streams: a text comes in more than one piece',
      'streams: reasoning is kept apart from the text',
      'streams: a refusal, and the content filter',
      'streams: two at once do not mix',
      'streams: nothing is asked before the first piece is',
      'streams: a failure before the first piece',
      'streams: a piece that is not valid JSON',
      'streams: a tool call with arguments that are not valid JSON',
      'streams: a cut in the middle',
      'streams: a failure in the middle',
      'streams: a signal that fires in the middle',
      'streams: a signal that fires before the first piece',
      'streams: a reader that leaves',
      'streams: a reader that leaves while it waits',
      'failures: too many requests (429)',
      'failures: a broken server (500)',
      'failures: an overloaded server (529)',
      'failures: an answer that is not valid JSON',
      'failures: the model answers again afterwards',
      'engine: a failed call is a MODEL_ERROR',
      'engine: a refusal is a MODEL_BLOCKED',
      'secrets: the credential is seen nowhere',
    ])
  })

  test('that of secrets is left out without one', () => {
    expect(register().filter(({ skipped }) => skipped)).toMatchObject([
      { name: 'secrets: the credential is seen nowhere (left out: options.secret was not given)' },
    ])
  })

  test('are left out by name, with a reason', () => {
    const [first] = register({ leaveOut: { 'answers: a text': 'It is mute.' } })
    expect(first).toMatchObject({ name: 'answers: a text (left out: It is mute.)', skipped: true })
    expect(() => register({ leaveOut: { 'answers: a song': 'It is mute.' } })).toThrow(
      "modelProviderSuite: there is no case 'answers: a song' to leave out.",
    )
    const streamless = register({ leaveOut: { streams: 'It answers whole.' } }).filter(({ skipped }) => skipped)
    expect(streamless).toHaveLength(21)
    expect(
      streamless.slice(0, -1).every(({ name }) => /^streams: .* \(left out: It answers whole\.\)$/.test(name)),
    ).toBe(true)
    expect(() => register({ leaveOut: { '': 'It is mute.' } })).toThrow("there is no case '' to leave out")
    expect(() => register({ leaveOut: { 'answers: a text': ' ' } })).toThrow(
      "modelProviderSuite: the case 'answers: a text' is left out without a reason.",
    )
  })
})

describe('a case', () => {
  const bodyOf = (name: string, registered: readonly Registered[]): Promise<void> =>
    registered.find((entry) => entry.name === name)?.body() ?? Promise.reject(new Error('There is no such case.'))

  test('closes what it opened, also if it fails', async () => {
    let open = 0
    const cases = register({}, () => {
      open++
      return { ...scriptedSubject([]), close: () => void open-- }
    })
    await expect(bodyOf('answers: a text', cases)).rejects.toThrow(/^answers: a text: .*\nThe rule: What a model/s)
    expect(open).toBe(0)
  })

  test('of streams says what to do if a model has no stream', async () => {
    const cases = register({}, (answers) => {
      const { provider, ...subject } = scriptedSubject(answers)
      const resolve: typeof provider.resolve = (selection) => {
        const { stream: _stream, ...model } = provider.resolve(selection)
        return model
      }
      return { ...subject, provider: { ...provider, resolve } }
    })
    await expect(bodyOf('streams: a text', cases)).rejects.toThrow(
      "Expected a model with stream(request), or leaveOut: { streams: '...' }; got a model without stream.",
    )
    await bodyOf('answers: a text', cases)
  })

  test('that hangs fails after the deadline', async () => {
    const never = () => new Promise<never>(() => undefined)
    const cases = register({ deadlineMs: 1 }, never as unknown as typeof scriptedSubject)
    await expect(bodyOf('answers: a text', cases)).rejects.toThrow('Expected the case to settle; it hung for 1 ms.')
  })
})
