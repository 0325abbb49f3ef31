// turn.once: what is kept with the session, whatever becomes of the turn.
import { afterEach, describe, expect, test, vi } from 'vitest'
import { either, payments, talking } from '../../../testing/contract/effects-harness.js'
import { expectNothingLeft, gate, never } from '../../../testing/contract/engine-harness.js'
import { namesOf } from '../../../testing/contract/event-recorder.js'
import {
  Flow,
  type FlowEngineOptions,
  go,
  LogicStep,
  MemorySessionStore,
  reply,
  type StepConstructor,
  type Turn,
} from '../../index.js'
import { bytesOfLists } from '../../session/document-bytes.js'

afterEach(expectNothingLeft)

/** How a turn ends that has paid. */
type Ending = 'commit' | 'rollback' | 'abort' | 'cancel' | 'deadline' | 'close'

/** Pays once, and ends as the first message says; a later message shows what is kept. */
function paying(ending: Ending, durable: boolean, options: FlowEngineOptions = {}) {
  const { attempts, work } = payments()
  const paid = gate()
  const cancel = new AbortController()
  const talk = talking(
    async (turn) => {
      if (turn.message === 'start') return reply('started')
      const result = await turn.once('pay', work, { durable })
      paid.open()
      if (turn.message !== 'go wrong' || ending === 'commit') return reply(JSON.stringify(result))
      if (ending === 'rollback' || ending === 'abort') throw new Error('It broke.')
      return never()
    },
    { onTurnError: ending === 'abort' ? 'abort' : 'rollback', ...options },
  )
  const end = async (sessionId: string | undefined) => {
    const saying = talk.say('go wrong', sessionId, { signal: cancel.signal })
    await paid.opened
    await talk.clock.settle()
    if (ending === 'cancel') cancel.abort()
    if (ending === 'deadline') await talk.clock.advance(talk.engine.limits.turnTimeoutMs)
    if (ending === 'close') {
      const closing = talk.engine.close()
      await talk.clock.advance(talk.engine.limits.closeTimeoutMs)
      await closing
    }
    return saying
  }
  return { ...talk, attempts, end }
}

const codes = {
  commit: undefined,
  rollback: 'FLOW_ERROR',
  abort: 'FLOW_ERROR',
  cancel: 'TURN_ABORTED',
  deadline: 'TURN_TIMEOUT',
  close: 'ENGINE_CLOSED',
} as const
const endings = Object.keys(codes) as Ending[]

describe.each(either)('a result that is %s', (_title, durable) => {
  describe.each(endings)('is kept through %s', (ending) => {
    test.each([
      ['of a first turn', true],
      ['of a later turn', false],
    ])('%s', async (_of, isFirst) => {
      const talk = paying(ending, durable)
      const before = isFirst ? undefined : await talk.start('Talk')
      const loaded = before === undefined ? undefined : await talk.document(before)
      const { response, error, sessionState } = await talk.end(before)
      expect(error?.code).toBe(codes[ending])
      expect(sessionState).toBe(ending === 'abort' ? 'aborted' : 'running')
      if (before !== undefined) expect(response.session).toBe(before)
      const after = await talk.document(response.session)
      const effect = { begunAt: '2026-01-01T00:00:00.000Z', attempts: 1, turn: isFirst ? 1 : 2, result: { id: 'p-1' } }
      expect(after.effects).toEqual({ pay: effect })
      expect(after.bytes).toBe(bytesOfLists(after))
      const isCommit = ending === 'commit'
      const [turns, step] = loaded === undefined ? [0, null] : [1, 'Only']
      if (!isCommit) expect([after.turns, after.flow.currentStep, after.history.length]).toEqual([turns, step, turns])
      // One swap for the turn itself; two more if the work is recorded in the store.
      const writes = talk.store.journal.filter(({ operation }) => operation === 'save' || operation === 'create')
      const hasOwnEnd = isCommit || ending === 'rollback' || ending === 'abort' || ending === 'deadline'
      const own = durable ? (hasOwnEnd ? 3 : 2) : 1
      expect(writes.length).toBe(own + (isFirst ? 0 : 1))
      if (ending === 'close' || ending === 'abort') return
      const next = await talk.say('again', response.session)
      expect(next.response).toMatchObject({ success: true, message: '{"id":"p-1"}', session: response.session })
      expect(talk.attempts.length).toBe(1)
      expect((await talk.document(response.session)).effects).toEqual({ pay: effect })
    })
  })
})

describe('turn.once', () => {
  test('gives a repeat what the first call got: a frozen copy, and null for nothing', async () => {
    const results: unknown[] = []
    const own = { id: 'p-1', at: undefined }
    const { say } = talking(async (turn) => {
      results.push(await turn.once('pay', () => own), await turn.once('pay', never))
      results.push(await turn.once('mail', () => undefined), await turn.once('mail', never))
      return reply('Done.')
    })
    const { session } = (await say('Hi')).response
    expect(results).toStrictEqual([{ id: 'p-1' }, { id: 'p-1' }, null, null])
    expect(results[0]).toBe(results[1])
    expect(results[0]).not.toBe(own)
    await say('Hi', session)
    expect(results.slice(4)).toStrictEqual([{ id: 'p-1' }, { id: 'p-1' }, null, null])
    expect(results.filter((result) => !Object.isFrozen(result))).toEqual([])
  })

  test('runs the work of two calls at once only once', async () => {
    const { attempts, work } = payments(async () => 'paid')
    const { say } = talking(async (turn) => {
      const both = await Promise.all([turn.once('pay', work), turn.once('pay', work, { durable: true })])
      return reply(both.join(' '))
    })
    expect((await say('Hi')).response.message).toBe('paid paid')
    expect(attempts.length).toBe(1)
  })

  test('writes one after the other what several calls do at once', async () => {
    const { say, store, document } = talking(async (turn) => {
      const names = ['a', 'b', 'c']
      await Promise.all(names.map((name) => turn.once(name, async () => name, { durable: true })))
      return reply('Done.')
    })
    const { session } = (await say('Hi')).response
    expect(store.operations).toEqual(['create', 'save', 'save', 'save', 'save', 'save', 'save'])
    const { effects } = await document(session)
    expect(Object.entries(effects ?? {}).map(([name, { result }]) => [name, result])).toEqual([
      ['a', 'a'],
      ['b', 'b'],
      ['c', 'c'],
    ])
  })

  test('keeps nothing of work that throws, and a durable intent is removed by one swap', async () => {
    for (const durable of [false, true]) {
      const { attempts, work } = payments(() => {
        throw new Error('No money.')
      })
      const cancel = new AbortController()
      const { say, start, store, document } = talking(async (turn) => {
        if (turn.message === 'start') return reply('started')
        await turn.once('pay', work, { durable }).catch(() => undefined)
        if (turn.message === 'catch') return reply('Sorry.')
        cancel.abort()
        return never()
      })
      const session = await start('Talk')
      store.clearJournal()
      await say('catch', session)
      expect((await document(session)).effects).toEqual({})
      expect(store.operations).toEqual(durable ? ['load', 'save', 'save'] : ['load', 'save'])
      store.clearJournal()
      await say('leave', session, { signal: cancel.signal })
      expect((await document(session)).effects).toEqual({})
      expect(store.operations).toEqual(durable ? ['load', 'save', 'save'] : ['load'])
      expect(attempts.map(({ attempt, uncertain }) => [attempt, uncertain])).toEqual([
        [1, false],
        [1, false],
      ])
    }
  })

  test('is durable where the store is', async () => {
    class Disk extends MemorySessionStore {
      override readonly guarantees = { compareAndSwap: 'backend', durable: true } as const
    }
    const disk = new Disk()
    const save = vi.spyOn(disk, 'save')
    const { say } = talking(
      async (turn) => {
        await turn.once('pay', () => 'paid')
        await turn.once('mail', () => 'sent', { durable: false })
        return reply('Done.')
      },
      { sessionStore: disk },
    )
    await say('Hi')
    expect(save.mock.calls.map(([{ effects, turns }]) => [Object.keys(effects ?? {}), turns])).toEqual([
      [['pay'], 0],
      [['pay', 'mail'], 1],
    ])
  })

  test('works in every hook that has a turn', async () => {
    const ran: string[] = []
    const note = (turn: Turn, where: string) => turn.once(where, () => ran.push(where))
    class First extends LogicStep {
      static override readonly id = 'First'
      override async onEnter(turn: Turn) {
        await note(turn, 'onEnter')
      }
      override async run(turn: Turn) {
        await note(turn, 'run')
        if (turn.message === 'fail') throw new Error('It broke.')
        return turn.message === 'go' ? go(Second) : reply('First.')
      }
      override async onRestore(turn: Turn) {
        await note(turn, 'onRestore')
      }
      override async onExit(turn: Turn) {
        await note(turn, 'onExit')
      }
    }
    class Second extends LogicStep {
      static override readonly id = 'Second'
      override run() {
        return reply('Second.')
      }
    }
    class Talk extends Flow {
      static override readonly id = 'Talk'
      override steps(): readonly StepConstructor[] {
        return [First, Second]
      }
      override async onMessage(turn: Turn) {
        await note(turn, 'onMessage')
        return undefined
      }
      override async onError(_error: unknown, turn: Turn) {
        await note(turn, 'onError')
        return reply('Sorry.')
      }
    }
    const { say, document } = talking(() => reply(''), { flows: [Talk] })
    const { session } = (await say('Hi')).response
    for (let round = 0; round < 2; round++) {
      await say('fail', session)
      await say('Hi', session)
    }
    await say('go', session)
    const all = ['onMessage', 'onEnter', 'run', 'onRestore', 'onError', 'onExit']
    expect(ran).toEqual(all)
    expect(Object.keys((await document(session)).effects ?? {})).toEqual(all)
  })

  test('keeps what the failed part of a turn did, where the flow answers for the failure', async () => {
    const { attempts, work } = payments()
    for (const durable of [false, true]) {
      attempts.length = 0
      const { say, document } = talking(
        async (turn) => {
          await turn.once('pay', work, { durable })
          throw new Error('It broke.')
        },
        {},
        {
          async onError(_error: unknown, turn: Turn) {
            return reply(JSON.stringify(await turn.once('pay', work, { durable })))
          },
        },
      )
      const { response } = await say('Hi')
      expect(response).toMatchObject({ success: true, message: '{"id":"p-1"}' })
      expect([attempts.length, (await document(response.session)).turns]).toEqual([1, 1])
    }
  })

  test('costs a turn that does not use it nothing that is stored', async () => {
    const { say, document } = talking(() => reply('Hi'))
    const { session } = (await say('Hi')).response
    expect(Object.keys(await document(session))).not.toContain('effects')
  })

  test('stores the usage with the effects of a turn that leaves nothing else, and says that it saved', async () => {
    const cancel = new AbortController()
    const { say, start, events, document } = talking(async (turn) => {
      if (turn.message === 'start') return reply('started')
      await turn.once('pay', () => 'paid')
      cancel.abort()
      return never()
    })
    const session = await start('Talk')
    events.length = 0
    await say('pay', session, { signal: cancel.signal })
    expect(namesOf(events)).toEqual(['turn:start', 'session:restored', 'turn:error', 'session:saved', 'turn:end'])
    expect((await document(session)).usage).toEqual({ inputTokens: 0, outputTokens: 0, modelCalls: 0 })
  })
})

describe('idempotencyKey of the work', () => {
  test('is the same in each repeat, and another for each session, name and turn', async () => {
    const { attempts, work } = payments(({ attempt }) => {
      if (attempts.length === 1) throw new Error('No money.')
      return attempt
    })
    const { say } = talking(async (turn) => {
      if (turn.message === 'forget') turn.forget('pay')
      await turn.once('pay', work)
      if (turn.message === 'both') await turn.once('mail', work)
      return reply('Done.')
    })
    const first = (await say('start')).response
    expect(first).toMatchObject({ success: false, message: 'No money.' })
    await say('again', first.session)
    await say('both', first.session)
    await say('forget', first.session)
    await say('Hi')
    const keys = attempts.map(({ idempotencyKey }) => idempotencyKey)
    expect(keys[0]).toMatch(/^[\w-]{22}$/)
    expect(keys[1]).toBe(keys[0])
    expect(new Set(keys).size).toBe(keys.length - 1)
    expect(keys.length).toBe(5)
  })
})
