/** Cases of requests: what reaches the model, and how a call is aborted. */
import type { Message } from '../../../src/index.js'
import { ensure, fail } from '../cases/failure.js'
import { findDifference, throughJson } from '../cases/same-json.js'
import { lookUp, requestOf } from './bench.js'
import type { ModelSuiteCase } from './suite-case.js'
import type { ModelSuiteSubject } from './suite-options.js'

const all = 'A request reaches the model whole: prompt, messages, tools, and the results of tools after their calls.'
const signals = 'The signal of a request ends the call: generate rejects at once.'

/** A conversation in which a tool was called twice in one reply, and failed once. */
const afterTools: readonly Message[] = [
  { role: 'user', parts: [{ type: 'text', text: 'Where are A-1 and B-2?' }], turn: 1 },
  {
    role: 'assistant',
    parts: [
      { type: 'text', text: 'One moment.' },
      { type: 'tool-call', toolCallId: 'call-1', toolName: 'look_up', input: { order: 'A-1' } },
      { type: 'tool-call', toolCallId: 'call-2', toolName: 'look_up', input: { order: 'B-2' } },
    ],
    turn: 1,
  },
  {
    role: 'tool',
    parts: [{ type: 'tool-result', toolCallId: 'call-1', toolName: 'look_up', output: { place: 'Oldenburg' } }],
    turn: 1,
  },
  {
    role: 'tool',
    parts: [
      { type: 'tool-result', toolCallId: 'call-2', toolName: 'look_up', output: 'No such parcel.', isError: true },
    ],
    turn: 1,
  },
]

function expectAsked(subject: ModelSuiteSubject, words: readonly string[]): void {
  const asked = subject.asked()
  if (asked.length !== 1) fail('one request to leave the provider', `${asked.length}`)
  const body = JSON.stringify(asked[0])
  for (const word of words) ensure(body.includes(word), `the request to hold '${word}'`, body)
}

/** The cases, in the order in which they are registered. */
export const requestCases: readonly ModelSuiteCase[] = [
  {
    name: 'requests: prompt, message and tool reach the model',
    rule: all,
    async run(bench) {
      const subject = await bench.open([{ text: 'Yes.' }])
      await bench.modelOf(subject).generate(requestOf())
      const { name, description } = lookUp
      expectAsked(subject, ['You are the desk of a book shop.', 'Where is my order?', name, description, '"order"'])
    },
  },
  {
    name: 'requests: without a prompt and without tools',
    rule: all,
    async run(bench) {
      const subject = await bench.open([{ text: 'Yes.' }])
      const { system: _system, ...request } = requestOf({ tools: [] })
      await bench.modelOf(subject).generate(request)
      expectAsked(subject, ['Where is my order?'])
    },
  },
  {
    name: 'requests: calls and results of tools go back',
    rule: all,
    async run(bench) {
      const subject = await bench.open([{ text: 'A-1 is in Oldenburg.' }])
      await bench.modelOf(subject).generate(requestOf({ messages: afterTools }))
      expectAsked(subject, ['One moment.', 'A-1', 'B-2', 'Oldenburg', 'No such parcel.'])
    },
  },
  {
    name: 'requests: an answer goes back as it came, with all that hangs on it',
    rule: 'What a model answered can be sent to it again, after it was stored as JSON.',
    async run(bench) {
      const subject = await bench.open([
        { text: 'One moment.', toolCalls: [{ id: 'call-1', name: 'look_up', input: { order: 'A-1' } }] },
        { text: 'In Oldenburg.' },
      ])
      const model = bench.modelOf(subject)
      const first = requestOf()
      const { parts } = throughJson(await model.generate(first))
      const call = parts.find((part) => part.type === 'tool-call')
      if (call === undefined) return fail('a tool call', JSON.stringify(parts))
      const { toolCallId, toolName } = call
      const messages: readonly Message[] = [
        ...first.messages,
        { role: 'assistant', parts, turn: 1 },
        { role: 'tool', parts: [{ type: 'tool-result', toolCallId, toolName, output: 'In Oldenburg.' }], turn: 1 },
      ]
      await model.generate(requestOf({ messages }))
      const body = JSON.stringify(subject.asked()[1])
      for (const word of ['One moment.', 'A-1', 'In Oldenburg.']) {
        ensure(body.includes(word), `the second request to hold '${word}'`, body)
      }
    },
  },
  {
    name: 'requests: a request is read and never changed',
    rule: 'A provider does not change the request, which belongs to the engine.',
    async run(bench) {
      const { signal: _signal, ...request } = requestOf({ messages: afterTools })
      const before = throughJson(request)
      await bench.ask({ text: 'Yes.' }, request)
      const difference = findDifference(throughJson(request), before, 'the request')
      if (difference !== undefined) fail('the request to be as it was', difference)
    },
  },
  {
    name: 'requests: two at once do not mix',
    rule: 'Many turns call a model at the same time.',
    async run(bench) {
      const subjects = [await bench.open([{ text: 'one' }, { text: 'one' }])]
      const model = bench.modelOf(subjects[0] as ModelSuiteSubject)
      const responses = await Promise.all([model.generate(requestOf()), model.generate(requestOf())])
      const texts = responses.map(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')).join(''))
      ensure(texts.join() === 'one,one', 'each call to have its own answer', texts)
    },
  },
  {
    name: 'signal: one that fires while the model is silent ends the call',
    rule: signals,
    async run(bench) {
      const subject = await bench.open([{ failure: 'never' }])
      const turn = new AbortController()
      const work = bench.modelOf(subject).generate(requestOf({ signal: turn.signal }))
      const settled = work.then(
        (response) => fail('generate to reject after the signal fired', JSON.stringify(response)),
        () => undefined,
      )
      await Promise.race([bench.until(() => subject.asked().length > 0), settled])
      turn.abort(new Error('The turn is aborted.'))
      await settled
    },
  },
  {
    name: 'signal: one that fired before ends the call',
    rule: signals,
    async run(bench) {
      await bench.askInVain({ failure: 'never' }, { signal: AbortSignal.abort(new Error('The turn is aborted.')) })
    },
  },
]
