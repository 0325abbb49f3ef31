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
  const state = response.headers.get('Chat-Session-State') ?? 'unknown'
  const hasEnded = ['completed', 'aborted', 'none'].includes(state)
  return {
    text: envelope.success ? envelope.message : `Sorry: ${envelope.message}`,
    session: hasEnded ? '' : envelope.session || session,
  }
}

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

test('a conversation, a failure that it survives, and one that ends it', async () => {
  const service = flowServiceHandlers([
    'What is your name?',
    { failure: 'SESSION_CONFLICT' },
    { failure: 'MODEL_ERROR', sessionState: 'aborted' },
  ])
  server.use(...service)

  const first = await say('Hello', '')
  expect(first.text).toBe('What is your name?')
  const second = await say('Ada', first.session)
  expect(second.text).toMatch(/^Sorry: .* was changed or deleted by another request\.$/)
  expect(second.session).toBe(first.session)
  expect((await say('Ada', second.session)).session).toBe('')

  expect(service.runs[1]).toEqual({ number: 2, flowName: 'Appointment', message: 'Ada', sessionId: first.session })
  service.assertDone()
})
