/**
 * A user talks to a model, then to a colleague, then to the model again, which knows what was said. Nobody answers
 * another user in time. Exits with 1 if anything fails.
 *
 *     npm run examples
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FlowEngine } from 'turnkeeper'
import { ScriptedModel, VirtualClock } from 'turnkeeper/testing'
import { findSqlite } from '../restart/sqlite-package.js'

/** A model that calls its tool if the user asks for a person. */
const model = new ScriptedModel([
  'It is open until six.',
  { toolCalls: [{ name: 'hand_over', input: {} }] },
  'Ada Meier has found your umbrella.',
  { toolCalls: [{ name: 'hand_over', input: {} }] },
  'It is on the first floor.',
])
const models = { provider: 'museum', resolve: () => model }

type Application = Awaited<ReturnType<typeof import('./application.js').createApplication>>

async function run({ app }: Application, message: string, session = ''): Promise<{ session: string; message: string }> {
  const response = await app.request('/ai/run', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(session === '' ? {} : { CHAT_SESSION_ID: session }) },
    body: JSON.stringify({ flowName: 'Desk', message }),
  })
  const envelope = await response.json()
  assert.ok(envelope.success, envelope.message)
  console.log(`Desk > ${message}\n    ${envelope.message}`)
  return envelope
}

/** Where the inbox sends what is typed below a message. */
async function actionBelow({ app }: Application, message: string): Promise<string> {
  const page = await (await app.request('/inbox')).text()
  const at = page.indexOf(`<p>${message}</p>`)
  assert.notEqual(at, -1, `'${message}' is in the inbox`)
  return /.*action="([^"]*)"/s.exec(page.slice(0, at))?.[1]?.replaceAll('&amp;', '&') ?? ''
}

/** Presses a button of the inbox. */
async function press({ app }: Application, action: string, fields: Record<string, string>): Promise<number> {
  const headers = { Colleague: 'Ada Meier' }
  const { status } = await app.request(action, { method: 'POST', headers, body: new URLSearchParams(fields) })
  console.log(`    Ada Meier: ${fields.event} ${fields.text ?? ''} (${status})`)
  return status
}

async function historyOf(engine: FlowEngine, session: string) {
  return (await engine.getSession(session))?.history ?? []
}

async function handOver(application: Application, clock: VirtualClock): Promise<void> {
  const { engine, wakes } = application
  const { session } = await run(application, 'When do you close?')
  assert.match((await run(application, 'I want a person.', session)).message, /^I have called a colleague/)
  assert.equal((await run(application, 'I have lost my umbrella.', session)).message, '', 'the colleague answers')

  const action = await actionBelow(application, 'I have lost my umbrella.')
  const answer = { event: 'says', text: 'It is here, at the desk.' }
  assert.equal(await press(application, action, answer), 303)
  assert.equal(await press(application, action, answer), 303, 'a second click')
  await clock.advance(60 * 60_000)
  await wakes.wakeDue(engine, clock.now())
  await run(application, 'Thank you!', session)
  assert.equal(await press(application, await actionBelow(application, 'Thank you!'), { event: 'gives-back' }), 303)

  const transcript = (await historyOf(engine, session)).map(({ message, event, reply }) => [
    event?.by ?? message,
    reply,
  ])
  assert.deepEqual(transcript, [
    ['When do you close?', 'It is open until six.'],
    ['I want a person.', 'I have called a colleague, who answers here.'],
    ['I have lost my umbrella.', ''],
    ['Ada Meier', 'It is here, at the desk.'],
    ['Thank you!', ''],
    ['Ada Meier', 'You are talking to the assistant again.'],
  ])
  await run(application, 'Who has my umbrella?', session)
  const texts = (model.requests.at(-1)?.messages ?? []).flatMap(({ role, parts }) =>
    parts.flatMap((part) => (part.type === 'text' ? [`${role}: ${part.text}`] : [])),
  )
  assert.deepEqual(texts.slice(-6), [
    'assistant: I have called a colleague, who answers here.',
    'user: I have lost my umbrella.',
    'assistant: It is here, at the desk.',
    'user: Thank you!',
    'assistant: You are talking to the assistant again.',
    'user: Who has my umbrella?',
  ])
}

async function leaveUnanswered(application: Application, clock: VirtualClock): Promise<void> {
  const { engine, wakes } = application
  console.log('--- nobody answers')
  const { session } = await run(application, 'A person, please.')
  const action = await actionBelow(application, 'A person, please.')
  await clock.advance(11 * 60_000)
  await wakes.wakeDue(engine, clock.now())
  const history = await historyOf(engine, session)
  assert.equal(history.at(-1)?.reply, 'Nobody is free at the moment, so I go on helping you.')
  assert.equal(await press(application, action, { event: 'says', text: 'Hello?' }), 503, 'a page that is too old')
  assert.deepEqual(await historyOf(engine, session), history)
  assert.equal((await run(application, 'Where are the birds?', session)).message, 'It is on the first floor.')
}

async function checkAll(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-handoff-'))
  const { createApplication } = await import('./application.js')
  const clock = new VirtualClock()
  const application = await createApplication({ folder, models, clock })
  try {
    await handOver(application, clock)
    await leaveUnanswered(application, clock)
    model.assertDone()
    console.log('\nThe model knows what the colleague said.')
  } finally {
    await application.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

if (findSqlite()) await checkAll()
else {
  console.log('Left out: the package @keyv/sqlite is not installed.')
  if (process.env.CI !== undefined) process.exitCode = 1
}
