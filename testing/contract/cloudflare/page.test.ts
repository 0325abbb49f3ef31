// The two workers of docs/serverless-stores.md, in Cloudflare's runtime as they are on the page.
import { readFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { describeWithMiniflare, type Runtime, startWorkers } from './miniflare.js'

const page = readFileSync(new URL('../../../docs/serverless-stores.md', import.meta.url), 'utf8')

function workerUnder(heading: string): string {
  return page.split(`\n## ${heading}\n`)[1]?.match(/^```ts\n([\s\S]*?)^```$/m)?.[1] ?? ''
}

describeWithMiniflare('a worker of docs/serverless-stores.md', () => {
  let runtime: Runtime | undefined

  afterEach(() => runtime?.dispose())

  const bindings = [
    ['D1', { d1Databases: ['DB'] }],
    ['Durable Objects', { durableObjects: { SESSIONS: { className: 'SessionObject', useSQLite: true } } }],
  ] as const

  test.each(bindings)('over %s goes on with a session', async (heading, binding) => {
    runtime = await startWorkers({ one: binding }, workerUnder(heading))
    async function say(message: string, headers = {}): Promise<{ message: string; session: string }> {
      const body = JSON.stringify({ flowName: 'Greeting', message })
      const reply = await fetch(new URL('/ai/run', runtime?.urls.one), { method: 'POST', headers, body })
      return (await reply.json()) as { message: string; session: string }
    }
    const { session } = await say('one')
    expect(await say('two', { CHAT_SESSION_ID: session })).toMatchObject({ message: 'You said: two', session })
  })

  test('over D1 is called by a Cron Trigger', async () => {
    runtime = await startWorkers({ one: { d1Databases: ['DB'] } }, workerUnder('D1'))
    const reply = await fetch(new URL('/cdn-cgi/handler/scheduled', runtime.front))
    expect([reply.status, await reply.text()]).toEqual([200, 'ok'])
  })
})
