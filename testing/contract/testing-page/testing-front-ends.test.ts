/** Runs docs/testing-front-ends.md: its programs, and the handlers that it makes, as a page would call them. */
import type { SetupServer } from 'msw/node'
import { setupServer } from 'msw/node'
import { flowServiceHandlers } from 'turnkeeper/testing/msw'
import { expect, test, vi } from 'vitest'
import { failureOf, Page } from './page.js'

const page = new Page('testing-front-ends')
page.runTests('page.test.ts', page.block('a conversation, a failure that it survives'))
page.write(
  'greeting.ts',
  `import { Flow, finish, LogicStep, reply } from 'turnkeeper'
export class AskName extends LogicStep {
  static id = 'AskName'
  run(turn) {
    if (turn.entered) return reply('What is your name?')
    this.state.name = turn.message
    return finish('Hello!')
  }
}
export class Greeting extends Flow {
  static id = 'Greeting'
  steps() { return [AskName] }
}
`,
)
const greeting = page.block("import 'turnkeeper/testing/vitest'")
const text = greeting.text.replaceAll(/^declare const (\w+).*$/gm, "import { $1 } from './greeting.js'")
page.runTests('greeting.test.ts', { ...greeting, text })

const url = 'https://shop.example/ai/run'
const request = (message: string, session: string | null, flowName: string, more: object = {}): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json', ...(session === null ? {} : { CHAT_SESSION_ID: session }), ...more },
  body: JSON.stringify({ flowName, message }),
})

/** Has the server of a block answer while `use` runs. */
async function answering(server: SetupServer, use: () => Promise<void>): Promise<void> {
  server.listen({ onUnhandledRequest: 'error' })
  try {
    await use()
  } finally {
    server.close()
  }
}

/** Talks to a service: the texts of its replies. */
async function talk(flowName: string, messages: readonly string[]): Promise<string[]> {
  const replies: string[] = []
  let session: string | null = null
  for (const message of messages) {
    const envelope = await (await fetch(url, request(message, session, flowName))).json()
    session = envelope.session
    replies.push(envelope.message)
  }
  return replies
}

test('a function of the request answers', async () => {
  const { server } = await page.load<{ server: SetupServer }>('function.ts', page.text('({ message }) =>'))
  await answering(server, async () => {
    expect(await talk('Appointment', ['', 'Ada'])).toEqual(['What is your name?', 'Hello, Ada!'])
  })
})

test('a script of streams: delays, a text that is taken back, a break, a failure, and one that never ends', async () => {
  const { server } = await page.load<{ server: SetupServer }>('streams.ts', page.text('takenBack'))
  await answering(server, async () => {
    let session: string | null = null
    const stop = new AbortController()
    const stream = async (): Promise<Response> => {
      const asked = request('Hello', session, 'Appointment', { Accept: 'text/event-stream' })
      const response = await fetch(url, { ...asked, signal: stop.signal })
      session = response.headers.get('CHAT_SESSION_ID') ?? session
      return response
    }
    expect(await (await stream()).text()).toContain('What is your name?')
    expect((await (await stream()).text()).match(/^event: text-delta$/gm)).toHaveLength(3)
    expect(await (await stream()).text()).toMatch(/^event: reset$[\s\S]*For two, on Friday\./m)
    await expect((await stream()).text()).rejects.toThrow()
    expect(await (await stream()).text()).toMatch(/^event: error$/m)
    const reader = (await stream()).body?.getReader()
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('event: session')
    stop.abort()
  })
})

test('an engine answers in place of a script', async () => {
  const parrot = `import { Flow, LogicStep, reply } from 'turnkeeper'
class Echo extends LogicStep {
  static id = 'Echo'
  run(turn) { return reply('You said ' + turn.message + '.') }
}
class Parrot extends Flow {
  static id = 'Parrot'
  steps() { return [Echo] }
}
const flows = [Parrot]
`
  const program = page.text('declare const flows').replace(/^declare const flows.*$/m, parrot)
  const { server } = await page.load<{ server: SetupServer }>('engine.ts', program)
  await answering(server, async () => {
    expect(await talk('Parrot', ['Hello', 'you'])).toEqual(['You said Hello.', 'You said you.'])
  })
})

test('a page that asks once more than the script says', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  const service = flowServiceHandlers(['What is your name?', { failure: 'SESSION_CONFLICT' }])
  await answering(setupServer(...service), async () => {
    await talk('Appointment', ['Hello', 'Ada', 'Hello?'])
  })
  const shown = page.text('The flow service was asked once more').trim()
  expect(await failureOf(() => service.assertDone())).toBe(shown)
  expect(printed.mock.calls.flat().join('\n')).toContain(shown)
  printed.mockRestore()
})

page.leaveOut('npm install --save-dev msw', 'The repository has it.')
page.leaveOut('setupWorker', 'testing/contract/msw/browser.test.ts runs it in a browser.')

page.testThatAllAreUsed()
