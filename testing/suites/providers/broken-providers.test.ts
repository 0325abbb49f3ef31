// Providers that do not do what they should: each fails the cases that are listed with it.
import { describe, expect, test } from 'vitest'
import type { MessagePart, ModelRequest, ModelResponse, ModelStreamPart, ToolCallPart } from '../../../src/index.js'
import { type BrokenGenerate, type BrokenStream, brokenSubject } from '../../contract/models/scripted-subject.js'
import {
  type ModelProviderSuiteOptions,
  type ModelSuiteAnswer,
  type ModelSuiteSubject,
  modelProviderSuite,
} from './model-provider-suite.js'

type Right = (request: ModelRequest) => Promise<unknown>
type RightStream = (request: ModelRequest) => AsyncIterable<ModelStreamPart>
const secret = 'canary-in-a-test'

/** What a case says of a provider: `passed`, or the text of its failure. */
async function verdict(
  name: string,
  create: (answers: readonly ModelSuiteAnswer[]) => ModelSuiteSubject,
  options: ModelProviderSuiteOptions = {},
): Promise<string> {
  let body: (() => Promise<void>) | undefined
  const register = (registered: string, run: () => Promise<void>): void => {
    if (registered === name) body = run
  }
  modelProviderSuite(register, create, { secret, ...options })
  if (body === undefined) throw new Error(`There is no case '${name}'.`)
  return body().then(
    (): string => 'passed',
    (error: Error) => error.message,
  )
}

/** A provider whose answers are changed. */
const answering =
  (change: (response: ModelResponse, request: ModelRequest) => unknown) =>
  async (request: ModelRequest, right: Right): Promise<unknown> =>
    change((await right(request)) as ModelResponse, request)

/** A provider that is asked for something else. */
const asking =
  (change: (request: ModelRequest) => ModelRequest) =>
  (request: ModelRequest, right: Right): Promise<unknown> =>
    right(change(request))

/** A provider whose streams have pieces of another kind: none, one, or several for each. */
const piece = (change: (part: ModelStreamPart) => readonly unknown[]) =>
  async function* (request: ModelRequest, right: RightStream): AsyncGenerator<unknown> {
    for await (const part of right(request)) yield* change(part)
  }

/** A provider whose streams end with another answer. */
const ending = (change: (response: ModelResponse) => unknown) =>
  piece((part) => [part.type === 'finish' ? { type: 'finish', response: change(part.response) } : part])

/** A provider that is streamed something else. */
const streaming =
  (change: (request: ModelRequest) => ModelRequest) =>
  (request: ModelRequest, right: RightStream): AsyncIterable<ModelStreamPart> =>
    right(change(request))

const withoutParts = (type: string) =>
  answering(({ parts, ...rest }) => ({ ...rest, parts: parts.filter((part) => part.type !== type) }))

interface Broken {
  readonly what: string
  readonly generate?: BrokenGenerate
  readonly stream?: BrokenStream
  /** What is wrong with it is that it never comes to an end. */
  readonly hangs?: true
  readonly caughtBy: readonly string[]
}

const spread = (request: ModelRequest, fields: Partial<ModelRequest>): ModelRequest => ({ ...request, ...fields })
let last: ModelResponse | undefined

/** One stream for all who ask. */
const words = ['the ', 'first ', 'one', 'the ', 'other ', 'one']
const mixed: AsyncIterable<unknown> & AsyncIterator<unknown> = {
  async next() {
    const text = words.shift()
    return {
      done: false,
      value: text === undefined ? { type: 'finish', response: { parts: [] } } : { type: 'text-delta', text },
    }
  },
  [Symbol.asyncIterator]() {
    return this
  },
}

function onlyWords(request: ModelRequest): ModelRequest {
  const messages = request.messages.map((message) => ({
    ...message,
    parts: message.parts.filter(({ type }) => type !== 'image' && type !== 'file'),
  }))
  return { ...request, messages }
}

function picturesLast(request: ModelRequest): ModelRequest {
  const isText = ({ type }: MessagePart): boolean => type === 'text'
  const messages = request.messages.map((message) => ({
    ...message,
    parts: [...message.parts.filter(isText), ...message.parts.filter((part) => !isText(part))],
  }))
  return { ...request, messages }
}

const broken: readonly Broken[] = [
  {
    what: 'it says nothing',
    generate: withoutParts('text'),
    caughtBy: [
      'answers: a text',
      'answers: a text and a tool call',
      'stops: at the limit of its length',
      'failures: the model answers again afterwards',
      'requests: two at once do not mix',
    ],
  },
  { what: 'it drops tool calls', generate: withoutParts('tool-call'), caughtBy: ['answers: a tool call'] },
  {
    what: 'it makes one call of two',
    generate: answering(({ parts, ...rest }) => ({ ...rest, parts: parts.slice(0, 1) })),
    caughtBy: ['answers: two tool calls in one reply'],
  },
  {
    what: 'it gives every call the same ID',
    generate: answering(({ parts, ...rest }) => ({
      ...rest,
      parts: parts.map((part) => (part.type === 'tool-call' ? { ...part, toolCallId: 'call' } : part)),
    })),
    caughtBy: ['answers: two tool calls in one reply'],
  },
  {
    what: 'it takes arguments that are not valid JSON for none',
    generate: answering(({ parts, ...rest }) => ({
      ...rest,
      parts: parts.map((part) => {
        const { invalidInput: _dropped, ...kept } = part as ToolCallPart
        return kept
      }),
    })),
    caughtBy: ['answers: a tool call with arguments that are not valid JSON'],
  },
  {
    what: 'it leaves arguments as text',
    generate: answering(({ parts, ...rest }) => ({
      ...rest,
      parts: parts.map((part) => (part.type === 'tool-call' ? { ...part, input: JSON.stringify(part.input) } : part)),
    })),
    caughtBy: ['answers: a tool call'],
  },
  {
    what: 'it says what it thinks',
    generate: answering((response) => ({
      ...response,
      parts: [{ type: 'text', text: 'They want the parcel.' }, ...response.parts],
    })),
    caughtBy: ['answers: reasoning is kept apart from the text', 'answers: a text'],
  },
  {
    what: 'it counts no tokens',
    generate: answering(({ usage: _usage, ...rest }) => rest),
    caughtBy: ['answers: what a call cost'],
  },
  {
    what: 'it counts what went in as what came out',
    generate: answering(({ usage, ...rest }) => ({ ...rest, usage: { ...usage, inputTokens: usage?.outputTokens } })),
    caughtBy: ['answers: what a call cost'],
  },
  {
    what: 'it stops for no reason',
    generate: answering(({ finishReason: _reason, ...rest }) => rest),
    caughtBy: [
      'stops: at the limit of its length',
      'stops: a refusal',
      'stops: the content filter',
      'engine: a refusal is a MODEL_BLOCKED',
    ],
  },
  {
    what: 'it forgets the prompt',
    generate: asking(({ system: _system, ...request }) => request),
    caughtBy: ['requests: prompt, message and tool reach the model'],
  },
  {
    what: 'it forgets the tools',
    generate: asking((request) => spread(request, { tools: [] })),
    caughtBy: ['requests: prompt, message and tool reach the model'],
  },
  {
    what: 'it sends no messages',
    generate: asking((request) => spread(request, { messages: [] })),
    caughtBy: ['requests: without a prompt and without tools', 'requests: calls and results of tools go back'],
  },
  {
    what: 'it keeps results of tools to itself',
    generate: asking((request) =>
      spread(request, { messages: request.messages.filter(({ role }) => role !== 'tool') }),
    ),
    caughtBy: [
      'requests: calls and results of tools go back',
      'requests: an answer goes back as it came, with all that hangs on it',
    ],
  },
  {
    what: 'it empties the messages it got',
    generate: async (request, right) => {
      const response = await right(request)
      ;(request.messages as unknown[]).length = 0
      return response
    },
    caughtBy: ['requests: a request is read and never changed'],
  },
  {
    what: 'it gives the last answer to everybody',
    generate: async (request, right) => {
      const response = (await right(request)) as ModelResponse
      const before = last
      last = response
      return before === undefined ? { parts: [] } : before
    },
    caughtBy: ['requests: two at once do not mix'],
  },
  {
    what: 'it cannot be interrupted, and makes something up',
    generate: (request, right) =>
      right(request).catch((error: unknown) => {
        if (request.signal.aborted) return { parts: [] }
        throw error
      }),
    caughtBy: [
      'signal: one that fires while the model is silent ends the call',
      'signal: one that fired before ends the call',
    ],
  },
  {
    what: 'it takes every failure for an answer',
    generate: (request, right) => right(request).catch(() => ({ parts: [{ type: 'text', text: 'Sorry.' }] })),
    caughtBy: [
      'failures: too many requests (429)',
      'failures: a broken server (500)',
      'failures: an overloaded server (529)',
      'failures: an answer that is not valid JSON',
      'engine: a failed call is a MODEL_ERROR',
    ],
  },
  {
    what: 'it tries again by itself, and fails',
    generate: (request, right) =>
      right(request).catch(async (error: unknown) => {
        await right(request)
        throw error
      }),
    caughtBy: ['failures: a broken server (500)'],
  },
  {
    what: 'it forgets the form of the answer',
    generate: asking(({ output: _output, ...request }) => request),
    caughtBy: [
      'output: the schema leaves with the request, and the text comes back',
      'output: tools may be called before',
    ],
  },
  {
    what: 'it puts the form in the place of the tools',
    generate: asking((request) => (request.output === undefined ? request : spread(request, { tools: [] }))),
    caughtBy: ['output: tools may be called before'],
  },
  {
    what: 'it answers a form with what it holds',
    generate: answering((response, { output }) =>
      output === undefined ? response : { ...response, parts: [{ type: 'text', text: 'Oldenburg' }] },
    ),
    caughtBy: ['output: the schema leaves with the request, and the text comes back'],
  },
  {
    what: 'its streams answer a form with what it holds',
    stream: piece((part) => (part.type === 'finish' ? [{ type: 'text-delta', text: 'Oldenburg' }, part] : [])),
    caughtBy: ['output: in a stream'],
  },
  {
    what: 'it forgets the form in a stream',
    stream: streaming(({ output: _output, ...request }) => request),
    caughtBy: ['output: in a stream'],
  },
  {
    what: 'it sends words alone',
    generate: asking(onlyWords),
    stream: streaming(onlyWords),
    caughtBy: [
      'media: an image leaves with the request, among the words',
      'media: an image at an address',
      'media: a file leaves with the request',
      'media: in a stream',
    ],
  },
  {
    what: 'it sends pictures after all words',
    generate: asking(picturesLast),
    stream: streaming(picturesLast),
    caughtBy: ['media: an image leaves with the request, among the words', 'media: in a stream'],
  },
  {
    what: 'its streams send nothing before their end',
    stream: piece((part) => (part.type === 'finish' ? [part] : [])),
    caughtBy: ['streams: a text', 'streams: a text and a tool call', 'streams: a cut in the middle'],
  },
  {
    what: 'its streams send everything at once',
    stream: async function* (request, right) {
      const parts: ModelStreamPart[] = []
      for await (const part of right(request)) parts.push(part)
      const text = parts.map((part) => (part.type === 'text-delta' ? part.text : '')).join('')
      yield* [{ type: 'text-delta', text }, parts.at(-1)]
    },
    caughtBy: [
      'streams: a text comes in more than one piece',
      'streams: a cut in the middle',
      'streams: a failure in the middle',
    ],
  },
  {
    what: 'its streams send everything twice',
    stream: piece((part) => (part.type === 'finish' ? [part] : [part, part])),
    caughtBy: ['streams: a text', 'streams: two at once do not mix'],
  },
  {
    what: 'its streams think aloud',
    stream: piece((part) => [part.type === 'text-delta' ? { ...part, type: 'reasoning-delta' } : part]),
    caughtBy: ['streams: a text'],
  },
  {
    what: 'its streams send reasoning that the model did not have',
    stream: piece((part) => (part.type === 'finish' ? [{ type: 'reasoning-delta', text: 'Hm.' }, part] : [part])),
    caughtBy: ['streams: a text'],
  },
  {
    what: 'its streams have pieces of their own',
    stream: piece((part) => [{ type: 'start' }, part]),
    caughtBy: ['streams: a text', 'streams: what a call cost'],
  },
  {
    what: 'its streams have empty pieces',
    stream: piece((part) => [{ type: 'text-delta', text: '' }, part]),
    caughtBy: ['streams: a text comes in more than one piece'],
  },
  {
    what: 'its streams have no end',
    stream: piece((part) => (part.type === 'finish' ? [] : [part])),
    caughtBy: ['streams: a text', 'streams: a tool call', 'streams: a refusal, and the content filter'],
  },
  {
    what: 'its streams go on after their end',
    stream: piece((part) => (part.type === 'finish' ? [part, part] : [part])),
    caughtBy: ['streams: a text'],
  },
  {
    what: 'its streams end without their tool calls',
    stream: ending((response) => ({ ...response, parts: response.parts.filter(({ type }) => type !== 'tool-call') })),
    caughtBy: ['streams: a tool call', 'streams: two tool calls in one reply', 'streams: a text and a tool call'],
  },
  {
    what: 'its streams count no tokens',
    stream: ending(({ usage: _usage, ...response }) => response),
    caughtBy: ['streams: what a call cost'],
  },
  {
    what: 'its streams stop for no reason',
    stream: ending(({ finishReason: _reason, ...response }) => response),
    caughtBy: ['streams: the limit of its length', 'streams: a refusal, and the content filter'],
  },
  {
    what: 'its streams begin by themselves',
    stream: (request, right) => {
      const stream = right(request)[Symbol.asyncIterator]()
      const first = stream.next()
      let began = false
      const next = (): Promise<IteratorResult<ModelStreamPart>> => {
        if (began) return stream.next()
        began = true
        return first
      }
      return { [Symbol.asyncIterator]: () => ({ next }) }
    },
    caughtBy: ['streams: nothing is asked before the first piece is'],
  },
  {
    what: 'its streams try again by themselves',
    stream: async function* (request, right) {
      try {
        yield* right(request)
      } catch {
        yield* right(request)
      }
    },
    caughtBy: ['streams: a failure before the first piece'],
  },
  {
    what: 'its streams take every failure for the end of an answer',
    stream: async function* (request, right) {
      try {
        yield* right(request)
      } catch {
        yield { type: 'finish', response: { parts: [] } }
      }
    },
    caughtBy: [
      'streams: a failure before the first piece',
      'streams: a piece that is not valid JSON',
      'streams: a cut in the middle',
      'streams: a failure in the middle',
      'streams: a signal that fires in the middle',
      'streams: a signal that fires before the first piece',
    ],
  },
  {
    what: 'its streams fail without a mark',
    stream: async function* (request, right) {
      try {
        yield* right(request)
      } catch {
        throw new Error('It was cut, or not.')
      }
    },
    caughtBy: ['streams: a cut in the middle', 'streams: a failure in the middle'],
  },
  {
    what: 'its streams fail with another status',
    stream: async function* (request, right) {
      try {
        yield* right(request)
      } catch {
        throw Object.assign(new Error('No.'), { statusCode: 418 })
      }
    },
    caughtBy: ['streams: a failure before the first piece'],
  },
  {
    what: 'its streams cannot be left',
    stream: (request, right) => {
      const stream = right(request)[Symbol.asyncIterator]()
      return { [Symbol.asyncIterator]: () => ({ next: () => stream.next() }) }
    },
    caughtBy: ['streams: a reader that leaves', 'streams: a reader that leaves while it waits'],
  },
  {
    what: 'its streams are left when their next piece is there',
    stream: piece((part) => [part]),
    hangs: true,
    caughtBy: ['streams: a reader that leaves while it waits'],
  },
  {
    what: 'its streams go on for a reader that left',
    stream: (request, right) => {
      const stream = right(request)[Symbol.asyncIterator]()
      let left = false
      const next = async (): Promise<IteratorResult<unknown>> =>
        left ? { done: false, value: { type: 'text-delta', text: 'more' } } : stream.next()
      const leave = async (): Promise<IteratorResult<unknown>> => {
        left = true
        await stream.return?.()
        return { done: true, value: undefined }
      }
      return { [Symbol.asyncIterator]: () => ({ next, return: leave }) }
    },
    caughtBy: ['streams: a reader that leaves'],
  },
  {
    what: 'its streams do not listen to the signal',
    stream: streaming((request) => spread(request, { signal: new AbortController().signal })),
    hangs: true,
    caughtBy: ['streams: a signal that fires in the middle', 'streams: a signal that fires before the first piece'],
  },
  {
    what: 'its streams mix',
    stream: () => mixed,
    caughtBy: ['streams: two at once do not mix'],
  },
  {
    what: 'its streams break off over arguments that are JSON',
    stream: piece((part) => {
      if (part.type !== 'finish' || !part.response.parts.some(({ type }) => type === 'tool-call')) return [part]
      throw new Error('Not today.')
    }),
    caughtBy: ['streams: a tool call'],
  },
  {
    what: 'it has its key in its errors',
    generate: (request, right) =>
      right(request).catch(() => {
        throw new Error(`The key ${secret} was refused.`)
      }),
    caughtBy: ['secrets: the credential is seen nowhere'],
  },
  {
    what: 'its streams have its key in their errors',
    stream: async function* (request, right) {
      try {
        yield* right(request)
      } catch (error) {
        throw new Error('It was cut.', { cause: Object.assign(new Error('Cut.'), { url: `own?key=${secret}`, error }) })
      }
    },
    caughtBy: ['secrets: the credential is seen nowhere'],
  },
  {
    what: 'its streams send its key',
    stream: piece((part) => (part.type === 'finish' ? [{ type: 'text-delta', text: secret }, part] : [part])),
    caughtBy: ['secrets: the credential is seen nowhere'],
  },
]

describe.each(broken)('$what:', ({ caughtBy, hangs, what: _what, ...changes }) => {
  test.each(caughtBy)('%s', async (name) => {
    last = undefined
    const options = hangs === undefined ? {} : { deadlineMs: 20 }
    const text = await verdict(name, (answers) => brokenSubject(answers, changes), options)
    expect(text).toContain(`${name}: `)
    expect(text).toContain('\nThe rule: ')
  })
})
