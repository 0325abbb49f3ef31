import { describe, expect, test } from 'vitest'
import { busyTalk, outcomeOf } from '../../../testing/contract/busy-talk.js'
import { createFakeEngine } from '../../../testing/contract/http/fake-engine.js'
import { createFetchHandler, type FetchHandlerOptions, type ServedEngine } from '../index.js'

type Reply = readonly [number, Record<string, unknown>]

async function cancel(engine: ServedEngine, session: string, options: FetchHandlerOptions = {}): Promise<Reply> {
  const headers = { CHAT_SESSION_ID: session }
  const request = new Request('http://chat.example/ai/cancel', { method: 'POST', headers })
  const reply = await createFetchHandler(engine, options)(request)
  return [reply.status, (await reply.json()) as Record<string, unknown>]
}

const callers: readonly (readonly [string, FetchHandlerOptions, string | undefined, boolean])[] = [
  ['without authorize', {}, undefined, true],
  ['without authorize, of a turn that has an owner', {}, 'ada', false],
  ['by a caller without a name', { authorize: () => undefined }, undefined, true],
  ['by its owner', { authorize: () => ({ principal: 'ada' }) }, 'ada', true],
  ['by another', { authorize: () => ({ principal: 'bob' }) }, 'ada', false],
]

describe.each(callers)('cancel %s', (_name, options, owner, cancelled) => {
  test(cancelled ? 'cancels the turn under way' : 'cancels nothing', async () => {
    const { engine, say, open, session, clock } = await busyTalk({}, owner)
    const first = say('a')
    await clock.settle()
    expect(await cancel(engine, session, options)).toEqual([200, { success: true, session, cancelled }])
    open('a')
    expect(outcomeOf(await first)).toBe(cancelled ? 'TURN_ABORTED' : 'ok')
  })
})

test('passes the owner, and does not pass an empty ID', async () => {
  const engine = createFakeEngine()
  await cancel(engine, 's7', { authorize: () => ({ principal: 'ada' }) })
  await cancel(engine, 's7')
  await cancel(engine, '')
  expect(engine.cancellations).toEqual([
    ['s7', { owner: 'ada' }],
    ['s7', {}],
  ])
})

test('a caller who is refused cancels nothing', async () => {
  const engine = createFakeEngine()
  const authorize = (): Response => new Response('Sign in first.', { status: 401 })
  const request = new Request('http://chat.example/ai/cancel', { method: 'POST', headers: { CHAT_SESSION_ID: 's7' } })
  expect((await createFetchHandler(engine, { authorize })(request)).status).toBe(401)
  expect(engine.cancellations).toEqual([])
})

test('an engine wrapper without cancel cancels nothing', async () => {
  const { cancel: _cancel, ...engine } = createFakeEngine()
  expect(await cancel(engine, 's7')).toEqual([200, { success: true, session: 's7', cancelled: false }])
})
