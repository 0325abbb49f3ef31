import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FlowEngine, MemorySessionStore } from 'turnkeeper'
import { replayAll, VirtualClock } from 'turnkeeper/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Appointment } from '../server/flows/appointment.js'
import { servicesOf } from './replay.js'
import { saveSessions } from './save-sessions.js'

const options = { flows: [Appointment], replayOptions: servicesOf }
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnkeeper-sessions-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** Two bookings, one of a signed-in customer, and a conversation that goes on. */
async function savedBookings(): Promise<number> {
  const clock = new VirtualClock(Date.UTC(2026, 10, 24, 12))
  const { services } = servicesOf({ startedAt: new Date(clock.now()).toISOString() })
  const engine = new FlowEngine({ flows: [Appointment], services, clock, sessionStore: new MemorySessionStore() })
  const talks = [
    { owner: 'ife', said: ['', 'brakes', '1', '09:00', 'Ife Okafor', '+44 20 7946 0000', 'yes'] },
    {
      owner: undefined,
      said: ['Hello', 'gears', 'tune-up', '2', '9:00', 'change day', '3', 'Ada', '020 7946 0001', 'yes'],
    },
    { owner: undefined, said: ['Hello', 'new tyre'] },
  ]
  for (const { owner, said } of talks) {
    let sessionId = ''
    for (const userMessage of said) {
      const input = { flowName: 'Appointment', userMessage, ...(owner === undefined ? {} : { owner }) }
      const { session } = await engine.run(sessionId === '' ? input : { ...input, sessionId })
      sessionId = session
    }
  }
  const saved = await saveSessions(engine, folder)
  await engine.close()
  return saved
}

test('completed sessions are saved so that only their owner can read them, and replayed', async () => {
  expect(await savedBookings()).toBe(2)
  const files = readdirSync(folder)
  expect(files).toHaveLength(2)
  for (const file of files) expect(statSync(join(folder, file)).mode & 0o077).toBe(0)
  expect(await replayAll(folder, options)).toEqual({ sessions: 2, turns: 17 })
})

test('a reply that has changed is in the report', async () => {
  await savedBookings()
  for (const file of readdirSync(folder)) {
    const path = join(folder, file)
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('What does your bicycle need', 'What may we repair'))
  }
  await expect(replayAll(folder, options)).rejects.toThrowError(
    /2 did not go as recorded[\s\S]*- What may we repair: [\s\S]*\+ What does your bicycle need: [\s\S]*The same in 1 other file/,
  )
})

test('the sessions of the example go as recorded', async () => {
  const sessions = fileURLToPath(new URL('sessions', import.meta.url))
  expect(await replayAll(sessions, options)).toEqual({ sessions: 2, turns: 17 })
})
