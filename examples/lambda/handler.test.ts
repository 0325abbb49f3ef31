// The two bundled handlers of this folder, in sandboxes that freeze between requests, over one Redis.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { isRedisMissing, type RedisServer, startRedis } from '../../testing/contract/servers/redis-server.js'
import { clientGoneCase, post, replyCase, say, streamCase, streamOf, twoIsolatesCase } from '../serverless/cases.ts'
import { pathOf } from '../serverless/processes.ts'
import { type FakeLambda, type HandlerName, startLambda } from './fake-lambda.ts'

describe.skipIf(isRedisMissing)('on Lambda', () => {
  let redis: RedisServer
  let folder = ''
  let bundle = ''
  let lambda: FakeLambda

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'turnkeeper-lambda-'))
    bundle = join(folder, 'handler.mjs')
    execFileSync(process.execPath, [pathOf('examples/lambda/build.mjs'), bundle])
    redis = await startRedis()
  })

  afterAll(async () => {
    await redis?.close()
    if (folder !== '') rmSync(folder, { recursive: true, force: true })
  })

  const isolates = (): [string, string] => [`${lambda.urls[0]}/ai`, `${lambda.urls[1]}/ai`]

  /** Deploys one of the handlers for the tests of a block, and adds those that both must pass. */
  function deploy(handlerName: HandlerName): void {
    beforeAll(async () => {
      lambda = await startLambda(bundle, handlerName, { REDIS_URL: redis.url, TURN_TIMEOUT_MS: '3000' })
    })
    afterAll(() => lambda?.close())
    // A turn whose client has left goes on in its process.
    beforeEach(() => lambda.frozen())
    replyCase(isolates)
    twoIsolatesCase(isolates)

    test('a summary is written before the process is frozen', async () => {
      const [first, second] = isolates()
      const { session } = await say(first, 'Guide', 'teapots')
      for (const topic of ['kettles', 'ferns']) await say(first, 'Guide', topic, session)
      await lambda.frozen()
      expect((await say(second, 'Guide', 'cups', session)).message).toContain('I remember what we said')
    })
  }

  describe('a function URL that streams', () => {
    deploy('streamingHandler')
    streamCase(isolates)
    // The next message finds the other process free.
    clientGoneCase(isolates)
  })

  describe('API Gateway, or a function URL that does not stream', () => {
    deploy('handler')

    test('a client that leaves before its reply leaves the session usable at once', async () => {
      const [first] = isolates()
      const { session } = await say(first, 'Guide', 'teapots')
      await lambda.frozen()
      const leaving = new AbortController()
      const left = post(first, 'Guide', 'everything', { session, stream: true, signal: leaving.signal })
      await expect.poll(() => lambda.isBusy()).toBe(true)
      leaving.abort()
      await expect(left).rejects.toThrow()
      // The other process is free.
      expect(await say(first, 'Guide', 'kettles', session)).toMatchObject({ success: true, session })
    })

    test('a client that asks for a stream gets it in one piece', async () => {
      const [whole, ...more] = await streamOf(isolates()[0])
      expect([whole, more]).toEqual([expect.stringMatching(/text-delta[\s\S]*event: result/), []])
    })
  })
})
