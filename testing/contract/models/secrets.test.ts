// A credential in every place that the packages have for one, and everything that is visible of a call.
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Flow, FlowEngine, type ModelSelection, Step, type StepConstructor } from '../../../src/index.js'
import type { ModelSuiteAnswer } from '../../suites/index.js'
import { generateFrom, streamFrom, type Told } from './asking.js'
import { formats } from './wire/formats.js'
import { openaiCompatibleWire } from './wire/openai-compatible.js'
import type { WireConnection, WireFormat } from './wire/wire-format.js'
import { canary, wireSubject } from './wire-subject.js'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

const answers: readonly ModelSuiteAnswer[] = [
  { text: 'Hello.' },
  { text: 'No.', stop: 'refusal' },
  { failure: 'rate-limit' },
  { failure: 'server-error' },
  { failure: 'malformed' },
]
const ofStreams: readonly ModelSuiteAnswer[] = [{ failure: 'cut' }, { failure: 'broken-off' }]

/** Everything that a log could write. */
function seenOf({ pieces, response, failure }: Told): string {
  const seen: unknown[] = [pieces, response]
  let told: unknown = failure
  for (; told instanceof Error; told = told.cause) {
    seen.push(
      told.message,
      told.stack,
      told,
      Object.getOwnPropertyNames(told).map((key) => Reflect.get(told as object, key)),
    )
  }
  return JSON.stringify([...seen, told])
}

const user = (url: string): string => url.replace('://', `://user:${canary}@`)

const places: readonly (readonly [string, (format: WireFormat) => WireConnection])[] = [
  ['the key', () => ({ apiKey: canary })],
  ['a header', () => ({ apiKey: 'other', headers: { 'x-gateway-key': canary } })],
  ['a header that no request can have', () => ({ apiKey: 'other', headers: { 'x-gateway-key': `${canary}\nmore` } })],
  ['a key that no request can have', () => ({ apiKey: `${canary}\nmore` })],
  ['a key with a character that no header can have', () => ({ apiKey: `${canary}\u2019` })],
  ['the user of the base URL', ({ baseURL }) => ({ apiKey: 'other', baseURL: user(baseURL) })],
  ['an invalid base URL', ({ baseURL }) => ({ apiKey: 'other', baseURL: user(baseURL).replace('://', ' ://') })],
]

describe.each(formats)('over $name', (format) => {
  test.each(places)('a credential in %s is seen nowhere', async (_where, connect) => {
    const connection = connect(format)
    for (const answer of answers) {
      const subject = wireSubject(server, format, [answer], { connection })
      expect(seenOf(await generateFrom(subject))).not.toContain(canary)
    }
    for (const answer of [...answers, ...ofStreams]) {
      const subject = wireSubject(server, format, [answer], { connection })
      expect(seenOf(await streamFrom(subject))).not.toContain(canary)
    }
  })
})

test('a credential in the query of each request is seen nowhere', async () => {
  const connection = { apiKey: 'other', queryParams: { 'api-key': canary } }
  for (const answer of [...answers, ...ofStreams]) {
    const subject = wireSubject(server, openaiCompatibleWire, [answer], { connection })
    expect(seenOf(await streamFrom(subject))).not.toContain(canary)
    expect(subject.sent[0]?.url).toContain(canary)
  }
})

test('a credential among the parameters is sent, and seen nowhere', async () => {
  const params = { providerOptions: { local: { api_key: canary, extra: { secretKey: canary, depth: 1 } } } }
  for (const answer of [...answers, ...ofStreams]) {
    const subject = wireSubject(server, openaiCompatibleWire, [answer], {})
    expect(seenOf(await streamFrom(subject, { params }))).not.toContain(canary)
    expect(JSON.stringify(subject.sent[0]?.body)).toContain(canary)
  }
})

class Ask extends Step {
  static override readonly id = 'Ask'
}

test.each(answers)('nor is it in a document, an event or a reply: %j', async (answer) => {
  const { name: provider, model: name } = openaiCompatibleWire
  const connection = { apiKey: canary, headers: { 'x-gateway-key': canary }, queryParams: { 'api-key': canary } }
  const subject = wireSubject(server, openaiCompatibleWire, [answer], { connection })
  class Desk extends Flow {
    static override readonly id = 'Desk'
    override model(): ModelSelection {
      return { provider, name, params: { providerOptions: { local: { api_key: canary } } } }
    }
    override steps(): readonly StepConstructor[] {
      return [Ask]
    }
  }
  const engine = new FlowEngine({ flows: [Desk], providers: [subject.provider], modelRetry: { maxAttempts: 1 } })
  const seen: unknown[] = []
  const names = ['turn:error', 'turn:end', 'model:start', 'model:end', 'session:aborted', 'session:saved'] as const
  for (const event of names) engine.on(event, (payload) => seen.push(payload))
  const { response, error } = await engine.execute({ flowName: 'Desk', sessionId: '', userMessage: 'Hi' })
  seen.push(response, seenOf({ pieces: [], failure: error }), await engine.getSession(response.session))
  await engine.close()
  expect(subject.sent).toHaveLength(1)
  expect(JSON.stringify(seen)).not.toContain(canary)
})
