// The example's support desk unchanged, on the local model and on each provider's real package, streamed to a terminal.
import { fileURLToPath } from 'node:url'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { FlowEngine } from '../../../src/index.js'
import type { ModelSuiteAnswer } from '../../suites/index.js'
import { anthropicWire } from './wire/anthropic.js'
import { googleWire } from './wire/google.js'
import { openaiWire } from './wire/openai.js'
import { canary, wireSubject } from './wire-subject.js'

/** Loaded by a name that the compiler cannot follow: otherwise the example's services would be every test's. */
async function example<Exports>(path: string): Promise<Exports> {
  return await import(/* @vite-ignore */ fileURLToPath(new URL(`../../../examples/${path}`, import.meta.url)))
}
type Talk = typeof import('../../../examples/terminal/talk.js').talk
const { createApplication } = await example<{ createApplication(): Promise<FlowEngine> }>('server/application.ts')
const { talk } = await example<{ talk: Talk }>('terminal/talk.ts')

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => {
  server.resetHandlers()
  vi.unstubAllEnvs()
})
afterAll(() => server.close())

const lines = ['What is in order FK-1063?', 'Thank you, bye!']

/** What the terminal shows, write by write. */
async function talkInTerminal(): Promise<readonly string[]> {
  const written: string[] = []
  const engine = await createApplication()
  await talk(engine, 'SupportDesk', {
    lines: (async function* () {
      yield* lines
    })(),
    write: (text) => written.push(text),
  })
  await engine.close()
  return written
}

test('on the local model', async () => {
  const written = await talkInTerminal()
  expect(written.join('')).toBe(
    '> [look_up_order]\nOrder FK-1063 is being packed: green glaze cup and boston fern.\n> [end_conversation]\nThank you for writing to Fern & Kettle. Goodbye!\n',
  )
  expect(written).toContain('being ')
})

describe.each([
  [openaiWire, 'OPENAI_API_KEY'],
  [anthropicWire, 'ANTHROPIC_API_KEY'],
  [googleWire, 'GOOGLE_GENERATIVE_AI_API_KEY'],
])('on $name, by DESK_MODEL', (format, key) => {
  test('the same flow streams what the model says and does', async () => {
    const call = (id: string, name: string, input: Record<string, string> = {}): ModelSuiteAnswer => ({
      toolCalls: [{ id, name, input }],
    })
    const { sent } = wireSubject(server, format, [
      call('call-1', 'look_up_order', { orderNumber: 'FK-1063' }),
      { text: 'It is being packed: a cup and a fern.' },
      call('call-2', 'end_conversation'),
    ])
    vi.stubEnv('DESK_MODEL', `${format.name}:${format.model}`)
    vi.stubEnv(key, canary)
    const written = await talkInTerminal()
    expect(written.join('')).toBe(
      '> [look_up_order]\nIt is being packed: a cup and a fern.\n> [end_conversation]\nThank you for writing to Fern & Kettle. Goodbye!\n',
    )
    expect(sent.map(({ url, body }) => body.stream === true || url.includes(':stream'))).toEqual([true, true, true])
    expect(JSON.stringify(sent[1]?.body)).toContain('boston fern')
  })

  test('says which key is missing', async () => {
    vi.stubEnv('DESK_MODEL', `${format.name}:${format.model}`)
    vi.stubEnv(key, '')
    await expect(createApplication()).rejects.toThrow(`For DESK_MODEL=${format.name}:${format.model} set ${key}.`)
  })
})

test.each(['gpt', 'openai:', 'toString:x'])('%s is not a model of the desk', async (name) => {
  vi.stubEnv('DESK_MODEL', name)
  await expect(createApplication()).rejects.toThrow(
    `DESK_MODEL must be <provider>:<model>, with one of local, openai, anthropic, google; got '${name}'.`,
  )
})
