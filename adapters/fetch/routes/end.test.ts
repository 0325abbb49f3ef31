import { describe, expect, test } from 'vitest'
import { flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { createFetchHandler, type FetchHandlerOptions } from '../index.js'

/** A stored session, and its end over HTTP. */
async function served(options: FetchHandlerOptions = {}, owner?: string) {
  const made = harness({ flows: [flowOf('Talk')] })
  const input = { flowName: 'Talk', userMessage: 'Hi', ...(owner === undefined ? {} : { owner }) }
  const { session } = await made.engine.run(input)
  const handler = createFetchHandler(made.engine, options)
  const end = async (): Promise<[number, Record<string, unknown>]> => {
    const headers = { CHAT_SESSION_ID: session }
    const reply = await handler(new Request('http://chat.example/ai/end', { method: 'POST', headers }))
    return [reply.status, (await reply.json()) as Record<string, unknown>]
  }
  return { ...made, session, end }
}

const callers: readonly (readonly [string, FetchHandlerOptions, string | undefined])[] = [
  ['without authorize', {}, undefined],
  ['by a caller without a name', { authorize: () => undefined }, undefined],
  ['by its owner', { authorize: () => ({ principal: 'ada' }) }, 'ada'],
]

describe.each(callers)('the end of a session, %s', (_name, options, owner) => {
  test('deletes it', async () => {
    const { end, session, backing } = await served(options, owner)
    expect(await end()).toEqual([200, { success: true, session }])
    expect(backing.size).toBe(0)
  })

  test('deletes a malformed one, and one of a layout that never existed', async () => {
    const { end, session, rewrite, backing } = await served(options, owner)
    await rewrite(session, (document) => Object.assign(document, { version: 0, history: 'lost' }))
    expect((await end())[1]).toEqual({ success: true, session })
    expect(backing.size).toBe(0)
  })

  test('is refused if a newer release stored the session, and its bytes stay', async () => {
    const { end, session, rewrite, stored, engine, backing } = await served(options, owner)
    await rewrite(session, (document) => Object.assign(document, { version: 4, flow: 'elsewhere' }))
    const before = await stored(session)
    const [status, body] = await end()
    expect([status, body]).toEqual([
      400,
      {
        success: false,
        session,
        message: `Session '${session}' was stored by a newer release of Turnkeeper and cannot be read: its layout version is 4, and this release reads 2 and 3.`,
      },
    ])
    expect(await stored(session)).toBe(before)
    // The application itself may delete it.
    expect(await engine.deleteSession(session)).toEqual({ success: true, session })
    expect(backing.size).toBe(0)
  })
})

test('without authorize, a session that has an owner looks unknown', async () => {
  const { end, session, stored } = await served({}, 'ada')
  const before = await stored(session)
  expect((await end())[1]).toMatchObject({ success: true })
  expect(await stored(session)).toBe(before)
})
