import { setupServer } from 'msw/node'
import { flowServiceHandlers } from 'turnkeeper/testing/msw'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'

/** The client under test: what a page does for one turn. */
async function say(message: string, session: string): Promise<{ text: string; session: string }> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' }
  if (session !== '') headers.CHAT_SESSION_ID = session
  const body = JSON.stringify({ flowName: 'Appointment', message })
  const response = await fetch('https://shop.example/ai/run', { method: 'POST', headers, body })
  const envelope = (await response.json()) as { success: boolean; message: string; session: string }
  if (!envelope.success) return { text: `Sorry: ${envelope.message}`, session: '' }
  return { text: envelope.message, session: envelope.session }
}

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

test('a conversation, and a service that loses it', async () => {
  const service = flowServiceHandlers(['What is your name?', { failure: 'SESSION_CONFLICT' }])
  server.use(...service)

  const first = await say('Hello', '')
  expect(first.text).toBe('What is your name?')
  expect((await say('Ada', first.session)).text).toMatch(/^Sorry: .* was changed or deleted by another request\.$/)

  expect(service.runs[1]).toEqual({ number: 2, flowName: 'Appointment', message: 'Ada', sessionId: first.session })
  service.assertDone()
})
