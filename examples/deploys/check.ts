/**
 * Deploys a new release during conversations: two server processes of the first release are replaced, one after the
 * other, by two of the second, and three conversations go on without interruption. In between, a process of the first
 * release refuses a session of the second, and the session stays unchanged. Exits with 1 if anything fails.
 *
 *     npm run examples
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRedisInstalled, startRedis } from '../restart/redis.js'
import { sqliteOptions } from '../restart/sqlite-package.js'
import { type ChildServer, startChildServer } from '../server/checks/child-server.js'
import { Conversation, type Envelope, post } from '../server/checks/conversation.js'

type Settings = Readonly<Record<string, string>>

// A page that was opened before the release still sends this name.
const flowName = 'Shipping'

/** The same conversation with another process, as by a load balancer. */
function at({ url }: ChildServer, { session }: Conversation): Conversation {
  const next = new Conversation(url, flowName)
  next.session = session
  return next
}

async function stop(server: ChildServer): Promise<void> {
  server.process.kill('SIGTERM')
  assert.equal(await server.ended, 0)
}

async function check(settings: Settings): Promise<void> {
  console.log(`\n=== SESSION_STORE=${settings.SESSION_STORE}`)
  const servers: ChildServer[] = []
  const start = async (release: string): Promise<ChildServer> => {
    const server = await startChildServer({ ...settings, RELEASE: release }, new URL('serve.js', import.meta.url))
    servers.push(server)
    return server
  }
  try {
    const [first, second] = [await start('1'), await start('1')]
    const address = new Conversation(first.url, flowName)
    for (const message of ['', 'A lamp']) await address.say(message)
    const gift = new Conversation(second.url, flowName)
    for (const message of ['', 'A book', '5 Mill Lane, Leeds']) await gift.say(message)
    const confirm = new Conversation(first.url, flowName)
    for (const message of ['', 'A cup', '9 High Street, York', 'no']) await confirm.say(message)

    console.log('--- one process of the first release is replaced by one of the second')
    await stop(first)
    const third = await start('2')
    assert.equal(
      await at(third, address).say('5 Mill Lane, Leeds'),
      'A lamp to 5 Mill Lane, Leeds, for 5. Right? (yes/no)',
      'the answer to a question of the first release, in a step that was split',
    )

    console.log('--- the other one meets a session of the second release')
    const refused = await post(`${second.url}/ai/run`, address.session, { flowName, message: 'yes' })
    const { success, message, session }: Envelope = JSON.parse(refused.text)
    assert.deepEqual([refused.status, success, session], [400, false, address.session])
    assert.match(message, /it was stored by version 2 of flow 'Shipping', and this is version 1\.$/)
    console.log(`${flowName} > yes\n    ${message}`)
    assert.equal(
      await at(third, address).say('yes', true),
      'It is on its way, for 5.',
      'sent again to the second release, at the price that was agreed on',
    )

    console.log('--- the other one is replaced, too')
    await stop(second)
    const fourth = await start('2')
    assert.equal(
      await at(fourth, gift).say('no'),
      'A book to 5 Mill Lane, Leeds, for 5. Right? (yes/no)',
      'out of a step that is gone',
    )
    assert.equal(await at(third, gift).say('yes', true), 'It is on its way, for 5.')
    assert.equal(await at(fourth, confirm).say('yes', true), 'It is on its way, for 5.', 'with a field that is new')
    await stop(third)
    await stop(fourth)
  } finally {
    for (const server of servers) server.process.kill('SIGKILL')
  }
}

const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-deploys-'))
const leftOut: string[] = []
try {
  if (isRedisInstalled) {
    const redis = await startRedis(folder)
    try {
      await check({ SESSION_STORE: 'redis', REDIS_URL: redis.url })
    } finally {
      await redis.kill()
    }
  } else leftOut.push('Redis, because there is no redis-server on the PATH')
  const sqlite = sqliteOptions()
  if (sqlite === undefined) leftOut.push('SQLite, because the package @keyv/sqlite is not installed')
  else await check({ SESSION_STORE: 'sqlite', SQLITE_PATH: join(folder, 'sessions.sqlite'), ...sqlite })
  for (const name of leftOut) console.log(`\nLeft out: ${name}.`)
  if (leftOut.length > 0 && process.env.CI !== undefined) process.exitCode = 1
  else console.log('\nConversations continue in a new release.')
} finally {
  rmSync(folder, { recursive: true, force: true })
}
