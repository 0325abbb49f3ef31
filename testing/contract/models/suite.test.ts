// The suite over the real packages: their requests are really sent, and MSW answers.
import { setupServer } from 'msw/node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { modelProviderSuite } from '../../suites/index.js'
import { leftOut } from './left-out.js'
import { scriptedLeaveOut, scriptedSubject } from './scripted-subject.js'
import { formats } from './wire/formats.js'
import { canary, wireSubject } from './wire-subject.js'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterAll(() => server.close())

describe.each(formats)('$name on the wire', (format) => {
  modelProviderSuite(test, (answers) => wireSubject(server, format, answers), {
    secret: canary,
    leaveOut: leftOut[format.name] ?? {},
  })

  test('the credential really is with every request, so that its absence elsewhere says something', async () => {
    const subject = wireSubject(server, format, [{ text: 'Hello.' }])
    const selection = { provider: format.name, name: format.model, params: {} }
    const origin = { flowName: 'Desk', stepId: 'Ask', sessionId: '', turnNumber: 1, callNumber: 1, attempt: 1 }
    const messages = [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }], turn: 1 }] as const
    const { signal } = new AbortController()
    await subject.provider.resolve(selection).generate({ messages, tools: [], params: {}, origin, signal })
    expect(JSON.stringify([...(subject.sent[0]?.headers ?? [])])).toContain(canary)
    await subject.close?.()
  })
})

describe('the scripted provider', () => {
  modelProviderSuite(test, scriptedSubject, { leaveOut: scriptedLeaveOut })
})
