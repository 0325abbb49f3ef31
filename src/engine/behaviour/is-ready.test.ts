// Whether an engine is ready: what its store says, how often the store is asked, and what a close changes.
import { afterEach, expect, test } from 'vitest'
import { expectNothingLeft, gatedFlow, harness } from '../../../testing/contract/engine-harness.js'

afterEach(expectNothingLeft)

test('a new engine is ready, and nothing was written', async () => {
  const { engine, store, backing } = harness()
  expect(await engine.isReady()).toBe(true)
  expect([store.operations, backing.size]).toEqual([['load'], 0])
})

test('the store is asked once in a second, however often and whoever asks', async () => {
  const { engine, store, clock } = harness()
  const askAll = (): Promise<boolean[]> => Promise.all(Array.from({ length: 50 }, () => engine.isReady()))
  await askAll()
  await clock.advance(999)
  await askAll()
  expect(store.operations).toEqual(['load'])
  await clock.advance(1)
  await askAll()
  expect(store.operations).toEqual(['load', 'load'])
})

test('an engine whose store fails is not ready, and is again when it answers', async () => {
  const { engine, store, clock } = harness()
  store.failNext('load')
  expect(await engine.isReady()).toBe(false)
  await clock.advance(1_000)
  expect(await engine.isReady()).toBe(true)
})

test('an engine whose clock fails is not ready', async () => {
  const { engine, clock } = harness()
  clock.monotonic = () => {
    throw new Error('no time')
  }
  expect(await engine.isReady()).toBe(false)
})

test('an engine whose store does not answer is not ready after storeTimeoutMs', async () => {
  const { engine, store, clock } = harness({ limits: { storeTimeoutMs: 300 } })
  store.hangNext('load')
  const answer = engine.isReady()
  await clock.advance(300)
  expect(await answer).toBe(false)
})

test('an engine that closes is not ready from then on, while its turns finish, and does not ask its store', async () => {
  const { flow, open } = gatedFlow()
  const { engine, store, clock } = harness({ flows: [flow] })
  const session = await engine.run({ flowName: 'Talk', userMessage: 'start' })
  const running = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session.session })
  await clock.settle()
  const calls = store.journal.length
  const closing = engine.close()
  expect(await engine.isReady()).toBe(false)
  expect(store.journal).toHaveLength(calls)
  open('a')
  expect(await running).toMatchObject({ success: true })
  await closing
  expect(await engine.isReady()).toBe(false)
})

test('an engine that closes while its store is asked is not ready', async () => {
  const { engine } = harness()
  const answer = engine.isReady()
  await engine.close()
  expect(await answer).toBe(false)
})
