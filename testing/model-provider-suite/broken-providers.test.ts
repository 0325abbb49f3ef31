// Providers that do not do what they should: each fails the cases that are named beside it.
import { describe, expect, test } from 'vitest'
import type { ModelRequest, ModelResponse } from '../../src/index.js'
import { brokenSubject } from '../contract/models/scripted-subject.js'
import { type ModelSuiteAnswer, type ModelSuiteSubject, modelProviderSuite } from '../model-provider-suite.js'

type Right = (request: ModelRequest) => Promise<unknown>
const secret = 'canary-in-a-test'

/** What a case says of a provider: `passed`, or the text of its failure. */
async function verdict(name: string, create: (answers: readonly ModelSuiteAnswer[]) => ModelSuiteSubject) {
  let body: (() => Promise<void>) | undefined
  const register = (registered: string, run: () => Promise<void>): void => {
    if (registered === name) body = run
  }
  modelProviderSuite(register, create, { secret })
  if (body === undefined) throw new Error(`There is no case '${name}'.`)
  return body().then(
    () => 'passed',
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

const withoutParts = (type: string) =>
  answering(({ parts, ...rest }) => ({ ...rest, parts: parts.filter((part) => part.type !== type) }))

interface Broken {
  readonly what: string
  readonly generate: (request: ModelRequest, right: Right) => Promise<unknown>
  readonly caughtBy: readonly string[]
}

const spread = (request: ModelRequest, fields: Partial<ModelRequest>): ModelRequest => ({ ...request, ...fields })
let last: ModelResponse | undefined

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
    generate: (request, right) => right(request).catch(() => ({ parts: [] })),
    caughtBy: [
      'failures: too many requests (429)',
      'failures: a broken server (500)',
      'failures: an overloaded server (529)',
      'failures: an answer that is no JSON',
      'failures: a tool call with arguments that are no JSON',
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
    what: 'it has its key in its errors',
    generate: (request, right) =>
      right(request).catch(() => {
        throw new Error(`The key ${secret} was refused.`)
      }),
    caughtBy: ['secrets: the credential is seen nowhere'],
  },
]

describe.each(broken)('$what:', ({ generate, caughtBy }) => {
  test.each(caughtBy)('%s', async (name) => {
    last = undefined
    const text = await verdict(name, (answers) => brokenSubject(answers, generate))
    expect(text).toContain(`${name}: `)
    expect(text).toContain('\nThe rule: ')
  })
})
