// What a turn leaves behind for after its reply: who receives it, and who waits for it.
import { afterEach, describe, expect, test } from 'vitest'
import { answerOf, startTalk, summaryModel, type Talk } from '../../../testing/contract/compaction-talk.js'
import { expectNothingLeft, gate } from '../../../testing/contract/engine-harness.js'
import { rollingSummary } from '../../compaction/index.js'
import type { ExecuteResult, FlowRunInput } from '../../index.js'

afterEach(expectNothingLeft)

const Chat = rollingSummary({ above: 2, keep: 1, model: summaryModel })

/** A session whose next turn leaves a summary behind, which is written when the gate opens. */
async function aboutToSummarize(options: Parameters<typeof startTalk>[1] = {}) {
  const talk = startTalk({ Chat }, options)
  await talk.sayTurns(1)
  const held = gate()
  talk.answer = async () => {
    await held.opened
    return answerOf('sum')
  }
  return { talk, open: held.open }
}

function say(talk: Talk, waitUntil: FlowRunInput['waitUntil'] | undefined): Promise<ExecuteResult> {
  const input = { flowName: 'Talk', userMessage: '2', sessionId: talk.sessionId }
  return talk.engine.execute(waitUntil === undefined ? input : { ...input, waitUntil })
}

describe('waitUntil', () => {
  test('receives one promise before the reply, which resolves when the summary is settled', async () => {
    const { talk, open } = await aboutToSummarize()
    const seen: string[] = []
    const works: Promise<unknown>[] = []
    const replying = say(talk, (work) => {
      seen.push('waitUntil')
      works.push(work.then(() => seen.push('settled')))
    }).then(() => seen.push('replied'))
    await replying
    await talk.clock.settle()
    expect(seen).toEqual(['waitUntil', 'replied'])
    expect(talk.told()).toEqual([])
    open()
    await Promise.all(works)
    expect([works.length, talk.told().length, seen.length]).toEqual([1, 1, 3])
  })

  test('receives one promise for all summaries of a turn, also of a stream, and one that fails resolves too', async () => {
    const { talk } = await aboutToSummarize()
    talk.answer = () => Promise.reject(new Error('down'))
    const works: Promise<unknown>[] = []
    const input = { flowName: 'Talk', userMessage: '2', sessionId: talk.sessionId }
    const types: string[] = []
    for await (const { type } of talk.engine.stream({ ...input, waitUntil: (work) => works.push(work) })) {
      types.push(type)
      if (type === 'result') expect(works).toHaveLength(1)
    }
    expect(types.at(-1)).toBe('result')
    expect(await Promise.all(works)).toEqual([undefined])
    expect(talk.told()).toEqual([['memory:compaction-failed', { namespace: 'Chat', code: 'MODEL_ERROR' }]])
  })

  test('is not called by a turn that leaves nothing behind: nothing is due, the turn fails, or a summary is under way', async () => {
    const { talk, open } = await aboutToSummarize()
    let calls = 0
    const waitUntil = (): void => {
      calls++
    }
    const run = (userMessage: string, sessionId = ''): Promise<ExecuteResult> =>
      talk.engine.execute({ flowName: 'Talk', userMessage, sessionId, waitUntil })
    await run('alone')
    talk.store.failNext('load')
    await run('2', talk.sessionId)
    expect(calls).toBe(0)
    await run('2', talk.sessionId)
    await run('3', talk.sessionId)
    expect(calls).toBe(1)
    open()
    await talk.engine.settled()
  })

  test.each<[string, NonNullable<FlowRunInput['waitUntil']>]>([
    [
      'throws',
      () => {
        throw new Error('no context')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no context'))],
  ])('that %s changes nothing: its error is passed to onListenerError', async (_what, waitUntil) => {
    const errors: unknown[] = []
    const { talk, open } = await aboutToSummarize({ onListenerError: (...given) => errors.push(given) })
    const { response } = await say(talk, waitUntil)
    expect(response).toMatchObject({ success: true, message: 'Re: 2' })
    open()
    await talk.engine.settled()
    expect(errors).toEqual([[new Error('no context'), 'waitUntil']])
    expect(talk.told().map(([name]) => name)).toEqual(['memory:compacted'])
  })

  test('must be a function', async () => {
    const { talk } = await aboutToSummarize()
    const { error } = await say(talk, 'later' as never)
    expect([error?.code, error?.message]).toEqual(['INVALID_INPUT', 'waitUntil must be a function.'])
  })
})

describe('settled', () => {
  test('resolves at once where nothing is left', async () => {
    const { talk } = await aboutToSummarize()
    expect(await talk.engine.settled()).toBeUndefined()
  })

  test('waits for the summaries of all sessions', async () => {
    const { talk, open } = await aboutToSummarize()
    await say(talk, undefined)
    talk.sessionId = ''
    await talk.say('other')
    await say(talk, undefined)
    let isSettled = false
    const settling = talk.engine.settled().then(() => {
      isSettled = true
    })
    await talk.clock.settle()
    expect([isSettled, talk.asked.length]).toEqual([false, 2])
    open()
    await settling
    expect(talk.told()).toHaveLength(2)
  })
})
