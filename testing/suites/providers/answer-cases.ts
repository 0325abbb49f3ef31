/** Cases of answers: text, reasoning, tool calls, finish reasons and usage. */
import type { ModelResponse, ToolCallPart } from '../../../src/index.js'
import { ensure, fail } from '../cases/failure.js'
import { findDifference } from '../cases/same-json.js'
import type { ModelSuiteCase } from './suite-case.js'
import type { ModelSuiteCall } from './suite-options.js'

const twoCalls: readonly ModelSuiteCall[] = [
  { id: 'call-1', name: 'look_up', input: { order: 'A-1' } },
  { id: 'call-2', name: 'look_up', input: { order: 'B-2', note: { deep: [1, 'two', null, true] } } },
]

function textOf({ parts }: ModelResponse): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

function callsOf({ parts }: ModelResponse): ToolCallPart[] {
  return parts.filter((part) => part.type === 'tool-call')
}

function expectText(response: ModelResponse, text: string): void {
  if (textOf(response) !== text) fail(`the text parts to say '${text}'`, `'${textOf(response)}'`)
}

function expectCalls(response: ModelResponse, expected: readonly ModelSuiteCall[]): void {
  const calls = callsOf(response)
  const got = calls.map(({ toolName, input }) => ({ name: toolName, input }))
  const wanted = expected.map(({ name, input }) => ({ name, input }))
  const difference = findDifference(got, wanted, 'the list of calls')
  if (difference !== undefined) fail('the tool calls that the model made, in order', difference)
  const ids = calls.map(({ toolCallId }) => toolCallId)
  ensure(
    ids.every((id) => typeof id === 'string' && id !== ''),
    'every tool call to have an ID',
    ids,
  )
  ensure(new Set(ids).size === ids.length, 'every tool call to have a unique ID', ids)
}

function expectReason({ finishReason }: ModelResponse, ...allowed: readonly ModelResponse['finishReason'][]): void {
  ensure(allowed.includes(finishReason), `finishReason to be ${allowed.map(String).join(' or ')}`, finishReason)
}

/** A call of `look_up` that says why it has no arguments. */
export function expectInvalidCall(response: ModelResponse): void {
  const [call, ...more] = callsOf(response)
  const isRight =
    more.length === 0 &&
    call?.toolName === 'look_up' &&
    JSON.stringify(call.input) === '{}' &&
    typeof call.invalidInput === 'string' &&
    call.invalidInput !== ''
  ensure(isRight, 'one call of look_up with input: {} and invalidInput', response.parts)
}

/** The rule for arguments that are not valid JSON. */
export const invalidArguments =
  'Arguments that are not valid JSON are a mistake of the model, not a failure: the call says why in invalidInput.'
const parts = 'What a model answers arrives as parts in its order: text, reasoning apart from it, and tool calls.'
const reasons = 'finishReason says why a model stopped; an answer that was blocked is content-filter, and no text.'

/** The cases, in the order in which they are registered. */
export const answerCases: readonly ModelSuiteCase[] = [
  {
    name: 'answers: a text',
    rule: parts,
    async run(bench) {
      const response = await bench.ask({ text: 'It is on its way. Grüße, 本屋 📚' })
      expectText(response, 'It is on its way. Grüße, 本屋 📚')
      expectCalls(response, [])
      expectReason(response, undefined, 'stop')
    },
  },
  {
    name: 'answers: a tool call',
    rule: parts,
    async run(bench) {
      const response = await bench.ask({ toolCalls: twoCalls.slice(0, 1) })
      expectCalls(response, twoCalls.slice(0, 1))
      expectText(response, '')
      expectReason(response, undefined, 'tool-calls')
    },
  },
  {
    name: 'answers: two tool calls in one reply',
    rule: parts,
    async run(bench) {
      expectCalls(await bench.ask({ toolCalls: twoCalls }), twoCalls)
    },
  },
  {
    name: 'answers: a text and a tool call',
    rule: parts,
    async run(bench) {
      const response = await bench.ask({ text: 'One moment.', toolCalls: twoCalls.slice(0, 1) })
      expectText(response, 'One moment.')
      expectCalls(response, twoCalls.slice(0, 1))
    },
  },
  {
    name: 'answers: a tool call with arguments that are not valid JSON',
    rule: invalidArguments,
    async run(bench) {
      expectInvalidCall(await bench.ask({ failure: 'malformed-arguments' }))
    },
  },
  {
    name: 'answers: reasoning is kept apart from the text',
    rule: parts,
    async run(bench) {
      const response = await bench.ask({ reasoning: 'They want the parcel.', text: 'It is on its way.' })
      expectText(response, 'It is on its way.')
      const thoughts = response.parts.map((part) => (part.type === 'reasoning' ? part.text : '')).join('')
      ensure(thoughts === 'They want the parcel.', "a reasoning part with 'They want the parcel.'", response.parts)
    },
  },
  {
    name: 'answers: what a call cost',
    rule: 'usage counts the tokens of a call: all that went in and came out; the other numbers are right.',
    async run(bench) {
      const expected = { inputTokens: 21, outputTokens: 8, cachedInputTokens: 5, reasoningTokens: 3 }
      const { usage } = await bench.ask({ text: 'Yes.', usage: expected })
      const difference = findDifference({ ...expected, ...usage }, expected, 'usage')
      ensure(usage !== undefined, 'usage in the response', usage)
      if (difference !== undefined) fail('usage to have what the call cost', difference)
    },
  },
  {
    name: 'stops: at the limit of its length',
    rule: reasons,
    async run(bench) {
      const response = await bench.ask({ text: 'It is on', stop: 'length' })
      expectReason(response, 'length')
      expectText(response, 'It is on')
    },
  },
  {
    name: 'stops: a refusal',
    rule: reasons,
    async run(bench) {
      expectReason(await bench.ask({ text: 'I cannot help with that.', stop: 'refusal' }), 'content-filter')
    },
  },
  {
    name: 'stops: the content filter',
    rule: reasons,
    async run(bench) {
      expectReason(await bench.ask({ stop: 'content-filter' }), 'content-filter')
    },
  },
]
