// turn.forget, the limits of effects, and calls that cannot be used.
import { afterEach, describe, expect, test } from 'vitest'
import { payments, talking } from '../../../testing/contract/effects-harness.js'
import { expectNothingLeft, gate, never } from '../../../testing/contract/engine-harness.js'
import { reply, type Turn } from '../../index.js'
import { bytesOfLists } from '../../session/document-bytes.js'

afterEach(expectNothingLeft)

describe('turn.forget', () => {
  const counting = (run: (turn: Turn, pay: () => Promise<unknown>) => Promise<unknown>) => {
    const { attempts, work } = payments(() => `p-${attempts.length}`)
    const talk = talking(async (turn) => reply(String(await run(turn, () => turn.once('pay', work)))))
    return { ...talk, attempts }
  }

  test('takes effect when the turn commits', async () => {
    const { say, document } = counting(async (turn, pay) => {
      if (turn.message === 'pay') return pay()
      turn.forget('pay')
      if (turn.message === 'fail') throw new Error('It broke.')
      return 'forgotten'
    })
    const { session } = (await say('pay')).response
    await say('fail', session)
    expect((await document(session)).effects?.pay).toMatchObject({ result: 'p-1' })
    expect((await say('pay', session)).response.message).toBe('p-1')
    await say('forget', session)
    const after = await document(session)
    expect([after.effects, after.bytes]).toEqual([{}, bytesOfLists(after)])
    expect((await say('pay', session)).response.message).toBe('p-2')
  })

  test('is undone where the turn fails, but a result made anew stays, and is not made again by the repeat', async () => {
    const { say, document, attempts } = counting(async (turn, pay) => {
      if (turn.message !== 'pay') turn.forget('pay')
      const result = await pay()
      if (turn.message === 'fail') throw new Error('It broke.')
      return result
    })
    const { session } = (await say('pay')).response
    await say('fail', session)
    expect((await document(session)).effects?.pay).toMatchObject({ result: 'p-2', turn: 2 })
    // The same turn, once more: the forgetting of the result of turn 1 was not lost with it.
    expect((await say('again', session)).response.message).toBe('p-2')
    expect(attempts.length).toBe(2)
    // A later turn.
    expect((await say('again', session)).response.message).toBe('p-3')
  })

  test('of what the turn itself did removes it at the end, and does not do it twice', async () => {
    const { say, document, attempts } = counting(async (turn, pay) => {
      const first = await pay()
      turn.forget('pay')
      if (turn.message === 'twice') return `${first} ${await pay()}`
      return first
    })
    const { session } = (await say('once')).response
    expect((await document(session)).effects).toEqual({})
    expect((await say('twice', session)).response.message).toBe('p-2 p-2')
    expect(attempts.length).toBe(2)
    expect((await document(session)).effects?.pay).toMatchObject({ result: 'p-2' })
  })

  test('brings the forgotten result back where the new work throws', async () => {
    for (const durable of [false, true]) {
      let isDown = false
      const { say, document } = talking(async (turn) => {
        if (turn.message === 'anew') turn.forget('pay')
        const work = () => {
          if (isDown) throw new Error('No money.')
          return 'paid'
        }
        return reply(String(await turn.once('pay', work, { durable })))
      })
      const { session } = (await say('pay')).response
      const { effects } = await document(session)
      isDown = true
      expect((await say('anew', session)).response.message).toBe('No money.')
      expect((await document(session)).effects).toEqual(effects)
    }
  })

  test('is undone where the flow answers for the failure', async () => {
    const { say, document } = talking(
      async (turn) => {
        if (turn.message !== 'fail') return reply(String(await turn.once('pay', () => 'paid')))
        turn.forget('pay')
        throw new Error('It broke.')
      },
      {},
      {
        onError() {
          return reply('Sorry.')
        },
      },
    )
    const { session } = (await say('pay')).response
    expect((await say('fail', session)).response.message).toBe('Sorry.')
    expect((await document(session)).effects?.pay).toMatchObject({ result: 'paid' })
  })

  test('of a failed part, with work that throws while the flow answers for the failure, stays undone', async () => {
    const late = gate()
    const { say, document } = talking(
      async (turn) => {
        if (turn.message !== 'fail') return reply(String(await turn.once('pay', () => 'paid')))
        turn.forget('pay')
        void turn.once('pay', () => late.opened.then(() => Promise.reject(new Error('No money.'))))
        throw new Error('It broke.')
      },
      {},
      {
        async onError() {
          late.open()
          await new Promise<void>((resolve) => setImmediate(resolve))
          return reply('Sorry.')
        },
      },
    )
    const { session } = (await say('pay')).response
    expect((await say('fail', session)).response.message).toBe('Sorry.')
    expect((await document(session)).effects?.pay).toMatchObject({ result: 'paid' })
  })

  test('removes the result also where the new work throws, flow code catches that, and the turn commits', async () => {
    const { say, document } = talking(async (turn) => {
      if (turn.message === 'pay') return reply(String(await turn.once('pay', () => 'paid')))
      turn.forget('pay')
      await turn.once('pay', () => Promise.reject(new Error('No money.'))).catch(() => undefined)
      return reply('Sorry.')
    })
    const { session } = (await say('pay')).response
    expect((await say('anew', session)).response.success).toBe(true)
    expect((await document(session)).effects).toEqual({})
  })

  test('makes room for another name', async () => {
    const { say } = talking(
      async (turn) => {
        if (turn.message === 'forget') turn.forget('a')
        for (const name of turn.message === 'start' ? ['a', 'b'] : ['b', 'c']) await turn.once(name, () => name)
        return reply('Done.')
      },
      { limits: { maxEffects: 2 } },
    )
    const { session } = (await say('start')).response
    const { error } = await say('more', session)
    expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'maxEffects', value: 2 })
    expect(error?.message).toBe('The number of names of turn.once exceeds the limit maxEffects (2).')
    expect((await say('forget', session)).response.success).toBe(true)
  })
})

describe('limits', () => {
  test('maxEffects is checked before the work begins', async () => {
    const { attempts, work } = payments()
    const { say, store } = talking(
      async (turn) => {
        await Promise.all(['a', 'b', 'c'].map((name) => turn.once(name, work, { durable: true })))
        return reply('Done.')
      },
      { limits: { maxEffects: 2 } },
    )
    expect((await say('Hi')).error?.code).toBe('LIMIT_EXCEEDED')
    expect(attempts.length).toBeLessThan(3)
    store.clearJournal()
  })

  test('maxEffectBytes is that of the result as JSON', async () => {
    const { say } = talking(async (turn) => reply(String(await turn.once('pay', () => turn.message))), {
      limits: { maxEffectBytes: 6 },
    })
    expect((await say('1234')).response.success).toBe(true)
    expect((await say('12345')).error?.message).toBe(
      "The result of turn.once('pay') exceeds the limit maxEffectBytes (6).",
    )
  })

  test('maxJsonDepth is that of the result', async () => {
    const { say } = talking(async (turn) => reply(String(await turn.once('pay', () => [[[1]]]))), {
      limits: { maxJsonDepth: 2 },
    })
    expect((await say('Hi')).error?.message).toBe(
      "The nesting of result[0][0] of turn.once('pay') exceeds the limit maxJsonDepth (2).",
    )
  })
})

describe('a call that cannot be used', () => {
  test.each<[string, (turn: Turn) => unknown, string]>([
    [
      'no name',
      (turn) => turn.once('', never),
      'The name for turn.once or turn.forget must be 1 to 200 characters; got 0.',
    ],
    [
      'a long name',
      (turn) => turn.once('x'.repeat(201), never),
      'The name for turn.once or turn.forget must be 1 to 200 characters; got 201.',
    ],
    [
      'a name that is not a string',
      (turn) => turn.forget(7 as never),
      'The name for turn.once or turn.forget must be 1 to 200 characters; got number.',
    ],
    ['no work', (turn) => turn.once('pay', 'now' as never), "turn.once('pay') needs a function; got string."],
    [
      'an unknown option',
      (turn) => turn.once('pay', never, { durabel: true } as never),
      "turn.once('pay') has no option 'durabel'. The only option is durable.",
    ],
    [
      'a bad option',
      (turn) => turn.once('pay', never, { durable: 'yes' as never }),
      "durable of turn.once('pay') must be true or false; got string.",
    ],
    [
      'a result that is not JSON',
      (turn) => turn.once('pay', () => ({ at: new Date(0) })),
      "The result of turn.once('pay') cannot be stored: result.at is an instance of Date, which JSON cannot carry: use date.toISOString().",
    ],
  ])('%s', async (_title, call, message) => {
    const { say } = talking(async (turn) => {
      await call(turn)
      return reply('Done.')
    })
    expect((await say('Hi')).error).toMatchObject({ code: 'FLOW_ERROR', message })
  })

  test('takes names that objects have anyway', async () => {
    const names = ['__proto__', 'constructor', 'toString']
    const { say, document } = talking(async (turn) => {
      const results = []
      for (const name of names) results.push(await turn.once(name, () => name))
      return reply(results.join())
    })
    const { session, message } = (await say('Hi')).response
    expect(message).toBe(names.join())
    expect(Object.keys((await document(session)).effects ?? {})).toEqual(names)
    expect((await say('Hi', session)).response.message).toBe(names.join())
  })
})
