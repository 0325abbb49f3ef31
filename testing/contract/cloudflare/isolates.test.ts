/**
 * Workers over one session, as the isolates of one deployment: every turn that was acknowledged is there once, and none
 * is mixed with another one, whatever gets lost between a worker and its store.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { D1SessionStore } from '../../../adapters/d1/index.js'
import { DurableObjectSessionStore } from '../../../adapters/durable-object/index.js'
import type { RunResponseType, SessionDocument, SessionStore } from '../../../src/index.js'
import { SeededRandom } from '../seeded-random.js'
import { askObject, databaseAt, namespaceAt } from './bindings.js'
import { describeWithMiniflare, type Runtime, startWorkers } from './miniflare.js'

/** A backend that two workers share: its binding in the worker that has it, and in all others. */
interface Backend {
  readonly first: object
  readonly others: object
  /** A store over it, by the routes of a worker. */
  storeAt(worker: URL): SessionStore
  /** Does to a session what the platform may do at any time. */
  disturb(worker: URL, sessionId: string): Promise<unknown>
}

const database = { d1Databases: { DB: 'shared' } }
const object = { className: 'TestObject', useSQLite: true }

const backends: Readonly<Record<string, Backend>> = {
  D1: {
    first: database,
    others: database,
    storeAt: (worker) => new D1SessionStore({ database: databaseAt(worker), cacheBytes: 0 }),
    disturb: async () => undefined,
  },
  'Durable Objects': {
    first: { durableObjects: { SESSIONS: object } },
    others: { durableObjects: { SESSIONS: { ...object, scriptName: 'one' } } },
    storeAt: (worker) => new DurableObjectSessionStore({ namespace: namespaceAt(worker), cacheBytes: 0 }),
    disturb: (worker, sessionId) => askObject(worker, sessionId, '/abort'),
  },
}

/** What a client got for a message. */
interface Answer {
  readonly success: boolean
  readonly session: string
  readonly text: string
  readonly code: string | null
}

describeWithMiniflare('two isolates', () => {
  describe.each(Object.entries(backends))('over %s', (_name, { first, others, storeAt, disturb }) => {
    let runtime: Runtime

    beforeAll(async () => {
      runtime = await startWorkers({
        one: first,
        two: others,
        // Of these, every so many calls of the backend are lost, or their answers.
        three: { ...others, bindings: { FAULTS: 11 } },
        four: { ...others, bindings: { FAULTS: 17 } },
      })
    })

    afterAll(() => runtime?.dispose())

    const urlOf = (worker: string): URL => runtime.urls[worker] as URL

    async function say(worker: string, message: string, session = '', key?: string): Promise<Answer> {
      const response = await fetch(new URL('/ai/run', urlOf(worker)), {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          ...(session === '' ? {} : { CHAT_SESSION_ID: session }),
          ...(key === undefined ? {} : { 'Idempotency-Key': key }),
        },
        body: JSON.stringify({ flowName: 'Chat', message }),
      })
      const answer = (await response.json()) as RunResponseType
      const { success, message: text } = answer
      return { success, session: answer.session, text, code: response.headers.get('Chat-Error') }
    }

    /** Says something until it is acknowledged, as a client does that repeats the same request. */
    async function sayUntilDone(
      worker: string,
      message: string,
      session = '',
      key: string = crypto.randomUUID(),
    ): Promise<Answer> {
      let last: Answer | undefined
      for (let attempt = 0; attempt < 60; attempt++) {
        last = await say(worker, message, session, key)
        if (last.success) return last
      }
      throw new Error(`${message} was not acknowledged: ${JSON.stringify(last)}`)
    }

    async function stored(sessionId: string): Promise<SessionDocument> {
      const document = await storeAt(urlOf('one')).load(sessionId)
      if (document === undefined) throw new Error(`There is no session ${sessionId}.`)
      // Whole: each turn is numbered, and has its own reply.
      expect(document.history.map(({ turn }) => turn)).toEqual(document.history.map((_entry, index) => index + 1))
      for (const { message, reply } of document.history) expect(reply).toBe(`You said: ${message}`)
      return document
    }

    test('that race on one session lose no acknowledged turn, and double none', async () => {
      const { session } = await say('one', 'hello')
      const acknowledged = ['hello']
      const refusals = new Set<string | null>()
      for (let round = 0; round < 15; round++) {
        const messages = [`one ${round}`, `two ${round}`]
        const answers = await Promise.all(
          messages.map((message, at) => say(at === 0 ? 'one' : 'two', message, session)),
        )
        for (const [at, { success, code, text }] of answers.entries()) {
          const message = messages[at] ?? ''
          if (success) expect(text).toBe(`You said: ${message}`)
          if (success) acknowledged.push(message)
          else refusals.add(code)
        }
      }
      expect([...refusals].filter((code) => code !== 'SESSION_CONFLICT')).toEqual([])
      const { history } = await stored(session)
      expect(history.map(({ message }) => message).sort()).toEqual(acknowledged.sort())
    })

    test('that create one session for one first message that both got', async () => {
      for (let round = 0; round < 5; round++) {
        const key = crypto.randomUUID()
        const first = (worker: string): Promise<Answer> => sayUntilDone(worker, `first ${round}`, '', key)
        const answers = await Promise.all([first('one'), first('two')])
        expect(answers[0]?.session).toBe(answers[1]?.session)
        expect((await stored(answers[0]?.session ?? '')).history).toHaveLength(1)
      }
    })

    test('in a storm of many sessions, lost calls and aborted objects, keep every message once', async () => {
      const random = new SeededRandom(15)
      const talk = async (place: number): Promise<void> => {
        const { session } = await sayUntilDone('three', `hello ${place}`)
        const expected = [`hello ${place}`]
        for (let round = 0; round < 6; round++) {
          const messages = [`three ${place} ${round}`, `four ${place} ${round}`]
          const said = messages.map((message, at) => sayUntilDone(at === 0 ? 'three' : 'four', message, session))
          if (random.chance(0.5)) await disturb(urlOf('one'), session)
          await Promise.all(said)
          expected.push(...messages)
        }
        const { history } = await stored(session)
        expect(history.map(({ message }) => message).sort()).toEqual(expected.sort())
      }
      await Promise.all(Array.from({ length: 12 }, (_, place) => talk(place)))
    })
  })
})
