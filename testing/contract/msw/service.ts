/**
 * Helpers of the tests of the request handlers: a page's requests, and MSW's server, whose handlers live for one test.
 */
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll } from 'vitest'
import type { RunResponseType } from '../../../src/index.js'
import type { FlowServiceHandlers } from '../../msw/index.js'

const server = setupServer()

beforeAll(() => {
  server.listen({
    onUnhandledRequest({ url }) {
      throw new TypeError(`No server answers ${url}.`)
    },
  })
})

afterEach(() => server.resetHandlers())

afterAll(() => server.close())

/** Makes MSW answer with these handlers until the test ends; a request that none of them takes fails. */
export function listen(service: FlowServiceHandlers): FlowServiceHandlers {
  server.use(...service)
  return service
}

export interface RunInit extends RequestInit {
  readonly flowName?: string
  readonly url?: string
}

/** Requests a turn, as a page does. */
export function run(message: string, sessionId = '', init: RunInit = {}): Promise<Response> {
  const { flowName = 'Words', url = 'https://api.example/ai/run', ...more } = init
  const headers = { 'Content-Type': 'application/json', ...(sessionId === '' ? {} : { CHAT_SESSION_ID: sessionId }) }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify({ flowName, message }), ...more })
}

/** Requests a turn, and reads the envelope. */
export async function say(message: string, sessionId?: string, init?: RunInit): Promise<RunResponseType> {
  return (await run(message, sessionId, init)).json() as Promise<RunResponseType>
}

/** All of an answer. */
export async function whole(answer: Promise<Response>): Promise<object> {
  const response = await answer
  // Every request has a unique ID.
  const { 'chat-request-id': _id, ...headers } = Object.fromEntries(response.headers)
  return { status: response.status, headers, body: await response.text() }
}
