/** The program of the README without its server: the test sends requests directly to what it would serve. */
import { expect, test, vi } from 'vitest'

const served: { fetch?: (request: Request) => Response | Promise<Response> } = {}
vi.mock('@hono/node-server', () => ({ serve: (options: typeof served) => Object.assign(served, options) }))

test('holds the conversation that the README shows', async () => {
  await import('./mounted.js')
  const run = async (message: string | undefined, session = '') => {
    const response = await served.fetch?.(
      new Request('http://127.0.0.1:3000/ai/run', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...(session === '' ? {} : { CHAT_SESSION_ID: session }) },
        body: JSON.stringify({ flowName: 'Tickets', message }),
      }),
    )
    return response?.json()
  }
  const first = await run(undefined)
  expect(first).toMatchObject({ success: true, completed: false, message: 'Hello! What is your name?' })
  expect((await run(' ', first.session)).message).toBe('A name, please.')
  expect((await run('Ada', first.session)).message).toBe('How many seats, Ada?')
  expect((await run('2.5', first.session)).message).toBe('A whole number, please.')
  expect(await run('3', first.session)).toEqual({
    success: true,
    completed: true,
    message: '3 seats are kept for Ada.',
    session: first.session,
    contentType: 'text/plain',
  })
  expect(served).toMatchObject({ port: 3000, hostname: '127.0.0.1' })
})
