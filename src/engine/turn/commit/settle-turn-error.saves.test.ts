// What a failed turn writes, and what it leaves to others that wrote meanwhile.
import { afterEach, describe, expect, test, vi } from 'vitest'
import { payments, talking } from '../../../../testing/contract/effects-harness.js'
import { expectNothingLeft } from '../../../../testing/contract/engine-harness.js'
import { reply, type Turn } from '../../../index.js'

afterEach(expectNothingLeft)

const idempotencyKey = 'key-of-the-second-turn'

/** A conversation whose turns fail at the message `fail`. */
function failing(options: Parameters<typeof talking>[1] = {}) {
  return talking(
    (turn) => {
      if (turn.message === 'fail') throw new Error('It broke.')
      return reply('hello')
    },
    { onTurnError: 'abort', ...options },
  )
}

/** The texts that were logged as errors. */
function recordingLogger() {
  const lines: string[] = []
  const nothing = (): void => undefined
  const logger = { debug: nothing, info: nothing, warn: nothing, error: (text: string) => void lines.push(text) }
  return { lines, logger }
}

describe('the save of an aborted session', () => {
  test('adds nothing to the lists: the store need not write them again', async () => {
    const { start, say, store } = failing()
    await say('fail', await start('Talk'))
    expect(store.journal.at(-1)).toMatchObject({ operation: 'save', hint: { appended: {} } })
  })

  test('of a request with a key adds its receipt, and reads nothing more', async () => {
    const { start, say, store } = failing()
    await say('fail', await start('Talk'), { idempotencyKey })
    store.expectJournal(['create', 'load', { operation: 'save', hint: { appended: { receipts: 1 } } }])
  })

  test.each([[undefined], [idempotencyKey]])(
    'that fails in doubt is not taken for done where another process has gone on (key %j)',
    async (key) => {
      const { start, say, store, backing, document } = failing()
      const other = failing({ backing })
      const sessionId = await start('Talk')
      vi.spyOn(store, 'save').mockImplementationOnce(async () => {
        await other.say('again', sessionId)
        throw new Error('connection lost')
      })
      const more = key === undefined ? {} : { idempotencyKey: key }
      const { response, sessionState } = await say('fail', sessionId, more)
      expect(response.message).toContain('Saving the aborted session failed')
      expect(sessionState).toBe('running')
      expect(await document(sessionId)).toMatchObject({ runStatus: 'running', turns: 2 })
    },
  )

  test('that fails is logged, and users do not read of it, where the application decides on texts', async () => {
    const { lines, logger } = recordingLogger()
    const { start, say, store } = failing({ errorText: () => 'Please try again.', logger })
    const sessionId = await start('Talk')
    store.failNext('save', { times: 3 })
    expect((await say('fail', sessionId)).response.message).toBe('Please try again.')
    expect(lines).toEqual(['It broke.', `Session store failed to save session '${sessionId}'.`])
  })
})

test('after a conflict nothing more is written: the effects of the turn neither', async () => {
  const { work } = payments()
  const talk = talking(async (turn) => {
    if (turn.message === 'start') return reply('started')
    await turn.once('pay', work, { durable: false })
    await other.say('again', turn.session.id)
    return reply('paid')
  })
  const other = failing({ backing: talk.backing })
  const sessionId = await talk.start('Talk')
  const { error } = await talk.say('pay', sessionId)
  expect(error?.code).toBe('SESSION_CONFLICT')
  expect(talk.store.operations).toEqual(['create', 'load', 'save', 'load'])
})

test('a write of an effect that has failed the turn is logged no second time', async () => {
  const { lines, logger } = recordingLogger()
  const { work } = payments()
  const talk = talking(
    async (turn) => {
      if (turn.message === 'start') return reply('started')
      await other.say('again', turn.session.id)
      return reply(String(await turn.once('pay', work, { durable: true })))
    },
    { logger },
  )
  const other = failing({ backing: talk.backing })
  expect((await talk.say('pay', await talk.start('Talk'))).error?.code).toBe('SESSION_CONFLICT')
  expect(lines).toEqual([])
})

test('a write of an effect that failed is not logged where the effects are stored in the end', async () => {
  const { lines, logger } = recordingLogger()
  const { work } = payments()
  const cancel = new AbortController()
  const { start, say, store, clock, document } = talking(
    async (turn) => {
      if (turn.message === 'start') return reply('started')
      await turn.once('reserve', work, { durable: false })
      return reply(String(await turn.once('pay', work, { durable: true })))
    },
    { logger },
  )
  const sessionId = await start('Talk')
  store.failNext('save', { times: 3, latencyMs: 10 })
  const saying = say('pay', sessionId, { signal: cancel.signal })
  await clock.settle()
  cancel.abort()
  await clock.advance(30)
  expect((await saying).error?.code).toBe('TURN_ABORTED')
  expect(Object.keys((await document(sessionId)).effects ?? {})).toEqual(['reserve'])
  expect(lines).toEqual([])
})

test('code that outlives a failed turn begins no work', async () => {
  const { attempts, work } = payments()
  let late: Turn | undefined
  const { start, say } = talking((turn) => {
    if (turn.message === 'start') return reply('started')
    late = turn
    throw new Error('It broke.')
  })
  await say('fail', await start('Talk'))
  await expect(late?.once('pay', work)).rejects.toThrow(/ended/)
  expect(attempts).toEqual([])
})
