/**
 * The example server over each store: one environment variable selects the store, and a conversation continues after
 * the server was killed in the middle of it. It starts what it needs, and names what it left out; if `CI` is set,
 * leaving something out is a failure. Exits with 1 if anything fails.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ChildServer, startCarrier, startChildServer } from '../server/checks/child-server.js'
import { Conversation, type Envelope, post } from '../server/checks/conversation.js'
import { isRedisInstalled, startRedis } from './redis.js'
import { sqliteOptions } from './sqlite-package.js'

type Settings = Readonly<Record<string, string>>

const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-restart-'))
const leftOut: string[] = []

/** Continues the conversation with another server process, as a client would. */
function goOn(talk: Conversation, { url }: ChildServer, flowName: string): Conversation {
  const next = new Conversation(url, flowName)
  next.session = talk.session
  return next
}

async function kill(server: ChildServer): Promise<void> {
  server.process.kill('SIGKILL')
  assert.equal(await server.ended, 'SIGKILL')
}

/** A killed server with the memory store has lost the session, and starts a new one. The other stores keep it. */
async function checkMemory(): Promise<void> {
  console.log('\n=== SESSION_STORE=memory')
  let server = await startChildServer({ SESSION_STORE: 'memory' })
  const talk = new Conversation(server.url, 'Appointment')
  for (const message of ['', 'tune-up']) await talk.say(message)
  await kill(server)

  server = await startChildServer({ SESSION_STORE: 'memory' })
  const reply = await post(`${server.url}/ai/run`, talk.session, { flowName: 'Appointment', message: '1' })
  const { session, message }: Envelope = JSON.parse(reply.text)
  assert.match(message, /^What does your bicycle need/)
  assert.notEqual(session, talk.session)
  console.log(`Appointment > 1\n    ${message}`)
  await kill(server)
}

/** @param betweenTurns - What happens to the backend while the server runs. */
async function checkDurable(settings: Settings, betweenTurns: () => Promise<void> = async () => {}): Promise<void> {
  console.log(`\n=== SESSION_STORE=${settings.SESSION_STORE}`)
  const carrier = await startCarrier()
  const environment = { ...settings, CARRIER_URL: carrier.url }
  let server = await startChildServer(environment)
  try {
    let talk = new Conversation(server.url, 'Appointment')
    for (const message of ['', 'tune-up', '1']) await talk.say(message)
    let desk = new Conversation(server.url, 'SupportDesk')
    await desk.say('Hello')

    console.log('--- the server is killed in the middle of a turn, and started again')
    const asked = carrier.hold()
    const cutOff = desk.say('Where is FK-1057?').then(
      () => 'answered',
      () => 'cut off',
    )
    await asked
    await kill(server)
    assert.equal(await cutOff, 'cut off')
    carrier.release()
    server = await startChildServer(environment)

    talk = goOn(talk, server, 'Appointment')
    assert.match(await talk.say('9:00'), /^Your name\?/, 'the turns before are there')
    desk = goOn(desk, server, 'SupportDesk')
    const parcel = desk.say('Where is FK-1057?')
    await carrier.hold()
    carrier.release()
    assert.equal(await parcel, 'The parcel of FK-1057 is at the door.', 'the turn that was cut off can be sent again')

    await betweenTurns()
    await talk.say('Noor Haddad')
    assert.match(
      await talk.say('0151 234567'),
      /^tune-up on .* at 09:00, for Noor Haddad, 0151234567\./,
      'what was said to three processes is one conversation',
    )

    console.log('--- the server is ended in order, and started again')
    server.process.kill('SIGTERM')
    assert.equal(await server.ended, 0)
    assert.equal(server.lines.at(-1), 'Closed.')
    server = await startChildServer(environment)
    talk = goOn(talk, server, 'Appointment')
    assert.match(await talk.say('yes', true), /^Booked, Noor Haddad: tune-up on .* Your reference is W-/)
  } finally {
    server.process.kill('SIGKILL')
    carrier.close()
  }
}

async function checkRedis(): Promise<void> {
  if (!isRedisInstalled) return void leftOut.push('Redis, because there is no redis-server on the PATH')
  const redis = await startRedis(folder)
  try {
    await checkDurable({ SESSION_STORE: 'redis', REDIS_URL: redis.url }, async () => {
      console.log('--- Redis is killed, and started again')
      await redis.kill()
      await redis.start()
    })
  } finally {
    await redis.kill()
  }
}

async function checkSqlite(): Promise<void> {
  const options = sqliteOptions()
  if (options === undefined) return void leftOut.push('SQLite, because the package @keyv/sqlite is not installed')
  await checkDurable({ SESSION_STORE: 'sqlite', SQLITE_PATH: join(folder, 'sessions.sqlite'), ...options })
}

try {
  await checkMemory()
  await checkRedis()
  await checkSqlite()
  for (const name of leftOut) console.log(`\nLeft out: ${name}.`)
  if (leftOut.length > 0 && process.env.CI !== undefined) process.exitCode = 1
  else console.log('\nA conversation continues after a restart.')
} finally {
  rmSync(folder, { recursive: true, force: true })
}
