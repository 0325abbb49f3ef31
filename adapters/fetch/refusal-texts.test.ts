// Which texts about refused requests reach clients: the engine's option `errorText` decides, as for turns.
import { afterEach, expect, test } from 'vitest'
import { FlowEngine, type FlowEngineOptions, SessionStoreError } from '../../src/index.js'
import { createFakeEngine } from '../../testing/contract/http/fake-engine.js'
import { Greeting } from '../../testing/contract/http/flows.js'
import { createFetchHandler, type FetchHandlerOptions } from './index.js'

const cleanUps: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

type ErrorText = NonNullable<FlowEngineOptions['errorText']>

function setUp(errorText: ErrorText, options: FetchHandlerOptions = {}) {
  const logged: unknown[] = []
  const ignore = (): void => undefined
  const error = (text: string, fields?: object): void => void logged.push([text, fields])
  const logger = { debug: ignore, info: ignore, warn: ignore, error }
  const engine = new FlowEngine({ flows: [Greeting], errorText, logger })
  cleanUps.push(() => engine.close())
  const handler = createFetchHandler(engine, { maxBodyBytes: 40, onError: ignore, ...options })
  const messageOf = async (path: string, body: string, headers: Record<string, string> = {}): Promise<string> => {
    const init = { method: 'POST', body, headers: { 'Chat-Request-Id': 'r1', ...headers } }
    const reply = await handler(new Request(`http://chat.example/ai/${path}`, init))
    return ((await reply.json()) as { message: string }).message
  }
  return { engine, logged, messageOf }
}

const large = JSON.stringify({ flowName: 'Greeting', message: 'x'.repeat(40) })
const tooLarge = 'The request body is larger than 40 bytes (maxBodyBytes).'

test("'full' sends the adapter's sentence, and logs nothing", async () => {
  const { messageOf, logged } = setUp('full')
  expect(await messageOf('run', large)).toBe(tooLarge)
  expect(logged).toEqual([])
})

test("'flow' sends a fixed sentence for a limit, and logs the adapter's", async () => {
  const { messageOf, logged } = setUp('flow')
  expect(await messageOf('run', large, { CHAT_SESSION_ID: 's1' })).toBe('Something went wrong.')
  expect(await messageOf('run', '{')).toBe('The request body is not valid JSON.')
  expect(logged).toEqual([
    [
      tooLarge,
      { requestId: 'r1', sessionId: 's1', flowName: '', code: 'LIMIT_EXCEEDED', details: undefined, cause: undefined },
    ],
  ])
})

test('a function chooses the text of each refusal of a turn', async () => {
  const asked: unknown[] = []
  const authorize = (request: Request): Response | undefined => {
    if (request.headers.has('Authorization')) throw new Error('The directory is down.')
    return undefined
  }
  const { messageOf } = setUp(
    (error, turn) => {
      asked.push([error.code, turn])
      return `Entschuldigung (${error.code}).`
    },
    { authorize },
  )
  expect(await messageOf('run', large)).toBe('Entschuldigung (LIMIT_EXCEEDED).')
  expect(await messageOf('run', '[]', { CHAT_SESSION_ID: 's1' })).toBe('Entschuldigung (INVALID_INPUT).')
  expect(await messageOf('run', '{}', { Authorization: 'ada' })).toBe('Entschuldigung (FLOW_ERROR).')
  expect(await messageOf('nowhere', '{}')).toMatch(/^Not found\./)
  const turn = { requestId: 'r1', sessionId: '', flowName: '' }
  expect(asked).toEqual([
    ['LIMIT_EXCEEDED', turn],
    ['INVALID_INPUT', { ...turn, sessionId: 's1' }],
    ['FLOW_ERROR', turn],
  ])
})

test('a failed read of a session is asked about too', async () => {
  const { engine } = setUp(({ code }) => `Entschuldigung (${code}).`)
  engine.getSession = () => Promise.reject(new SessionStoreError({ operation: 'load', sessionId: 's1' }))
  const handler = createFetchHandler(engine, { session: true })
  const reply = await handler(new Request('http://chat.example/ai/session', { headers: { CHAT_SESSION_ID: 's1' } }))
  expect(await reply.json()).toMatchObject({ message: 'Entschuldigung (SESSION_STORE_ERROR).' })
})

test.each<[string, object]>([
  ['has no textOfRefusal', { textOfRefusal: undefined }],
  ['returns no text', { textOfRefusal: () => 7 }],
  [
    'throws',
    {
      textOfRefusal() {
        throw new Error('No texts.')
      },
    },
  ],
])("an engine wrapper that %s gets the adapter's sentences", async (_what, wrapper) => {
  const handler = createFetchHandler({ ...createFakeEngine(), ...wrapper })
  const reply = await handler(new Request('http://chat.example/ai/run', { method: 'POST', body: '{' }))
  expect(await reply.json()).toMatchObject({ message: 'The request body is not valid JSON.' })
})
