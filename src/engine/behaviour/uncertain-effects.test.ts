// turn.once: work that was begun and whose outcome is unknown, and code that outlives its turn.
import { afterEach, describe, expect, test } from 'vitest'
import { either, payments, talking } from '../../../testing/contract/effects-harness.js'
import { expectNothingLeft, gate, never } from '../../../testing/contract/engine-harness.js'
import { reply, type Turn } from '../../index.js'

afterEach(expectNothingLeft)

/** Work that fails when its turn is cancelled: nobody knows what it has done by then. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}

describe('work whose outcome is unknown', () => {
  /** A turn that is cancelled while it pays. */
  async function leftInside(durable: boolean) {
    const cancel = new AbortController()
    const { attempts, work } = payments(({ uncertain }) => (uncertain ? 'found it' : untilAborted(cancel.signal)))
    const talk = talking(async (turn) => reply(String(await turn.once('pay', work, { durable }))))
    const saying = talk.say('pay', undefined, { signal: cancel.signal })
    await talk.clock.settle()
    cancel.abort()
    const { response, sessionState } = await saying
    expect([sessionState, response.success]).toEqual(['running', false])
    return { ...talk, attempts, session: response.session }
  }

  test.each(either)('is reported to the repeat (%s)', async (_title, durable) => {
    const { attempts, session, clock, say, events, document, store } = await leftInside(durable)
    expect(store.operations).toEqual(['create'])
    const begun = { begunAt: '2026-01-01T00:00:00.000Z', attempts: 1, turn: 1 }
    expect((await document(session)).effects).toEqual({ pay: begun })
    await clock.advance(5_000)
    events.length = 0
    expect((await say('pay', session)).response.message).toBe('found it')
    const [first, second] = attempts
    expect([first?.uncertain, first?.attempt]).toEqual([false, 1])
    expect(second).toEqual({ ...first, attempt: 2, uncertain: true })
    expect(second?.begunAt).toBe(begun.begunAt)
    expect(events.find(([name]) => name === 'effect:uncertain')?.[1]).toMatchObject({
      sessionId: session,
      effect: 'pay',
      attempt: 2,
      begunAt: begun.begunAt,
    })
    expect((await document(session)).effects).toEqual({ pay: { ...begun, attempts: 2, result: 'found it' } })
  })

  test.each(either)('stays unknown where the repeat cannot find out (%s)', async (_title, durable) => {
    let isDown = true
    const cancel = new AbortController()
    const { attempts, work } = payments(({ uncertain }) => {
      if (!uncertain) return untilAborted(cancel.signal)
      if (isDown) throw new Error('Nobody knows.')
      return 'found it'
    })
    const { say, clock, document } = talking(async (turn) => reply(String(await turn.once('pay', work, { durable }))))
    const saying = say('pay', undefined, { signal: cancel.signal })
    await clock.settle()
    cancel.abort()
    const { session } = (await saying).response
    expect((await say('pay', session)).response.message).toBe('Nobody knows.')
    expect((await document(session)).effects?.pay).toMatchObject({ attempts: 2 })
    isDown = false
    expect((await say('pay', session)).response.message).toBe('found it')
    expect(attempts.map(({ attempt, uncertain }) => [attempt, uncertain])).toEqual([
      [1, false],
      [2, true],
      [3, true],
    ])
    expect(new Set(attempts.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
  })

  test.each(either)('is known to the repeat while this process still does the work (%s)', async (_title, durable) => {
    const late = gate()
    const { attempts, work } = payments(() => late.opened.then(() => 'paid'))
    const cancel = new AbortController()
    const { say, clock, document, events } = talking(async (turn) =>
      reply(String(await turn.once('pay', work, { durable }))),
    )
    const saying = say('pay', undefined, { signal: cancel.signal })
    await clock.settle()
    cancel.abort()
    const { session } = (await saying).response
    const repeat = say('pay', session)
    await clock.settle()
    late.open()
    expect((await repeat).response.message).toBe('paid')
    expect(attempts).toHaveLength(1)
    expect((await document(session)).effects?.pay).toMatchObject({ attempts: 1, result: 'paid' })
    expect(events.map(([name]) => name)).not.toContain('effect:uncertain')
  })

  test.each(either)(
    'is reported to the repeat where the work hangs, after the time of a tool (%s)',
    async (_title, durable) => {
      const { attempts, work } = payments(({ uncertain }) => (uncertain ? 'found it' : never()))
      const cancel = new AbortController()
      const { say, clock } = talking(async (turn) => reply(String(await turn.once('pay', work, { durable }))))
      const saying = say('pay', undefined, { signal: cancel.signal })
      await clock.settle()
      cancel.abort()
      const { session } = (await saying).response
      const repeat = say('pay', session)
      await clock.settle()
      await clock.advance(29_999)
      expect(attempts).toHaveLength(1)
      await clock.advance(1)
      expect((await repeat).response.message).toBe('found it')
      expect(attempts.map(({ uncertain }) => uncertain)).toEqual([false, true])
    },
  )

  test.each(either)('is not asked for by a call of its own name inside the work (%s)', async (_title, durable) => {
    let runs = 0
    const { say, clock } = talking(async (turn) => {
      const pay = async (): Promise<string> => {
        runs++
        return turn.once('pay', async () => 'again', { durable })
      }
      return reply(await turn.once('pay', pay, { durable }))
    })
    const saying = say('pay')
    await clock.settle()
    await clock.advance(120_000)
    expect((await saying).error?.code).toBe('TURN_TIMEOUT')
    expect(runs).toBe(1)
  })

  test.each(either)('and whose result comes after its turn is not written (%s)', async (_title, durable) => {
    const late = gate()
    const cancel = new AbortController()
    const results: unknown[] = []
    const { say, clock, document, store } = talking(async (turn) => {
      const result = await turn.once('pay', () => late.opened.then(() => 'late'), { durable }).catch((error) => error)
      results.push(result)
      return reply('Done.')
    })
    const saying = say('pay', undefined, { signal: cancel.signal })
    await clock.settle()
    cancel.abort()
    const { session } = (await saying).response
    const before = await document(session)
    store.clearJournal()
    late.open()
    await clock.settle()
    expect(results).toEqual([expect.objectContaining({ code: 'TURN_ABORTED' })])
    expect(await document(session)).toEqual(before)
    expect(store.operations).toEqual([])
  })

  test('is left by work that throws because its turn was cancelled', async () => {
    const cancel = new AbortController()
    const { say, clock, document } = talking(async (turn) => {
      const stopped = () =>
        new Promise((_resolve, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason)))
      await turn.once('pay', stopped)
      return reply('Done.')
    })
    const saying = say('pay', undefined, { signal: cancel.signal })
    await clock.settle()
    cancel.abort()
    const { session } = (await saying).response
    expect((await document(session)).effects?.pay).toMatchObject({ attempts: 1 })
  })

  test.each([
    ['too large', 'x'.repeat(4095), 'LIMIT_EXCEEDED'],
    ['not JSON', { at: new Date(0) }, 'FLOW_ERROR'],
  ])('is left by a result that is %s', async (_title, result, code) => {
    for (const durable of [false, true]) {
      const { attempts, work } = payments(({ uncertain }) => (uncertain ? 'found it' : result))
      const { say, document } = talking(async (turn) => reply(String(await turn.once('pay', work, { durable }))))
      const { response, error } = await say('pay')
      expect(error?.code).toBe(code)
      expect((await document(response.session)).effects).toEqual({
        pay: { begunAt: '2026-01-01T00:00:00.000Z', attempts: 1, turn: 1 },
      })
      expect((await say('pay', response.session)).response.message).toBe('found it')
      expect(attempts.map(({ uncertain }) => uncertain)).toEqual([false, true])
    }
  })
})

describe('code of a turn that is over', () => {
  test('cannot begin work, and forgets nothing', async () => {
    const { attempts, work } = payments()
    let left: Turn | undefined
    const { say, document } = talking(async (turn) => {
      left ??= turn
      await turn.once('pay', work)
      return reply('Done.')
    })
    const { session } = (await say('Hi')).response
    const before = await document(session)
    await expect(left?.once('mail', work)).rejects.toThrow(
      "turn.once('mail') was called, or its work ended, when the turn was over.",
    )
    left?.forget('pay')
    expect([attempts.length, await document(session)]).toEqual([1, before])
  })

  test('of a cancelled turn gets the abort', async () => {
    const { attempts, work } = payments()
    const cancel = new AbortController()
    let left: Promise<unknown> | undefined
    const { say } = talking(async (turn) => {
      cancel.abort()
      left = turn.once('pay', work)
      return never()
    })
    await say('Hi', undefined, { signal: cancel.signal })
    await expect(left).rejects.toMatchObject({ code: 'TURN_ABORTED' })
    expect(attempts).toEqual([])
  })

  test('of the failed part of a turn cannot begin work while the flow answers for the failure', async () => {
    const { attempts, work } = payments()
    let failed: Turn | undefined
    let error: unknown
    const { say } = talking(
      (turn) => {
        failed = turn
        throw new Error('It broke.')
      },
      {},
      {
        async onError() {
          error = await failed?.once('pay', work).catch((thrown) => thrown)
          return reply('Sorry.')
        },
      },
    )
    expect((await say('Hi')).response.message).toBe('Sorry.')
    expect([attempts, error]).toEqual([[], expect.objectContaining({ code: 'FLOW_ERROR' })])
  })

  test('does not keep a turn from its commit, and nobody need wait for it', async () => {
    const late = gate()
    const { say, document, clock, store } = talking((turn) => {
      void turn.once('pay', () => late.opened, { durable: true })
      return reply('Done.')
    })
    const { session } = (await say('Hi')).response
    await clock.settle()
    expect((await document(session)).turns).toBe(1)
    store.clearJournal()
    late.open()
    await clock.settle()
    expect(store.operations).toEqual([])
  })
})
