/**
 * What must hold while a database refuses writes, through the engine: each operation fails as a whole or takes effect
 * as a whole, what is stored can still be read, and the session goes on when the database takes writes again.
 */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { FlowEngine, type FlowError, reply, type SessionStore } from '../../../src/index.js'
import type { StoredSession } from '../../../src/stores/keyv/driver/session-driver.js'
import { flowOf } from '../engine-harness.js'

/** A database that a test can make refuse writes. */
export interface RefusingDatabase {
  /** A store whose connection is its own. `cacheBytes` as in its options. */
  openStore(cacheBytes?: number): Promise<SessionStore>
  /** What is stored of a session, down to the last chunk. */
  stored(sessionId: string): Promise<StoredSession | undefined>
  /** How many sessions there are. */
  countSessions(): Promise<number>
  /** Resolves when the next write will be refused. */
  refuseWrites(): Promise<void>
  /** Resolves when the next write will be taken. */
  takeWrites(): Promise<void>
}

/** The operations of an engine that write. `replace` is a turn that rewrites every chunk. */
type Operation = 'create' | 'append' | 'replace' | 'abort' | 'delete'

/**
 * The outcome of an operation. `fails`: nothing is changed, and the session goes on afterwards. `may abort`: the same,
 * unless there is room for the few bytes that mark the session as aborted.
 */
type Outcome = 'succeeds' | 'fails' | 'may abort'

/** Long enough to need room, and nothing that a database could compress. */
const longText = randomBytes(150_000).toString('base64')

const Talk = flowOf('Talk', (turn) => {
  if (turn.message === 'fail') throw new Error('The step failed.')
  return reply(turn.message === 'long' ? longText : `You said: ${turn.message}`)
})

/** Registers one test for each operation. */
export function refusedWriteCases(database: RefusingDatabase, outcomes: Readonly<Record<Operation, Outcome>>): void {
  test.each(Object.entries(outcomes) as [Operation, Outcome][])('%s: %s', async (operation, outcome) => {
    const engine = new FlowEngine({
      flows: [Talk],
      sessionStore: await database.openStore(operation === 'replace' ? 0 : undefined),
    })
    try {
      const sessionId = await turn(engine, 'one')
      await turn(engine, 'two', sessionId)
      const [before, count] = [await database.stored(sessionId), await database.countSessions()]
      await database.refuseWrites()
      let isDone: boolean
      try {
        isDone = await takesEffect(engine, operation, sessionId)
        if (!isDone) expect((await engine.getSession(sessionId))?.history).toHaveLength(2)
      } finally {
        await database.takeWrites()
      }
      if (outcome !== 'may abort' || operation !== 'abort') expect(isDone).toBe(outcome === 'succeeds')
      if (isDone && operation === 'delete') {
        expect(await database.stored(sessionId)).toBeUndefined()
        return
      }
      const document = await engine.getSession(sessionId)
      const isAborted = document?.runStatus === 'aborted'
      const added = (await database.countSessions()) - count
      expect(document?.history.map(({ message }) => message)).toEqual(['one', 'two'])
      if (outcome === 'fails') expect([isAborted, added]).toEqual([false, 0])
      if (operation === 'abort') expect(isAborted).toBe(isDone)
      expect(operation === 'create' ? [0, 1] : [0]).toContain(added)
      if (isAborted) return
      expect(await database.stored(sessionId)).toEqual(before)
      await turn(engine, 'long', sessionId)
      const next = await engine.getSession(sessionId)
      expect(next?.history.map(({ message }) => message)).toEqual(['one', 'two', 'long'])
      expect(await takesEffect(engine, operation, sessionId)).toBe(true)
    } finally {
      await engine.close()
    }
  })
}

async function turn(engine: FlowEngine, userMessage: string, sessionId = ''): Promise<string> {
  const { response, error } = await engine.execute({ flowName: 'Talk', userMessage, sessionId })
  if (error !== undefined) throw error
  return response.session
}

/** Performs an operation. Resolves to whether it took effect; if not, the engine must have given the reason. */
async function takesEffect(engine: FlowEngine, operation: Operation, sessionId: string): Promise<boolean> {
  if (operation === 'delete') return isDone((await engine.executeDelete(sessionId)).error)
  const { response, error } = await engine.execute({
    flowName: 'Talk',
    userMessage: operation === 'abort' ? 'fail' : 'long',
    sessionId: operation === 'create' ? '' : sessionId,
  })
  if (operation !== 'abort') return isDone(error)
  // The turn fails for its own reason; what the store did with the aborted session is in the message.
  expect(error).toMatchObject({ code: 'FLOW_ERROR' })
  const refused = `Saving the aborted session failed: Session store failed to save session '${sessionId}'.`
  return !response.message.endsWith(refused)
}

function isDone(error: FlowError | undefined): boolean {
  if (error !== undefined) expect(error).toMatchObject({ code: 'SESSION_STORE_ERROR' })
  return error === undefined
}
