import { afterEach, describe, expect, test } from 'vitest'
import { answerOf, hasWholePairs, startTalk, summaryModel, type Talk } from '../../testing/contract/compaction-talk.js'
import { expectNothingLeft, gate, never } from '../../testing/contract/engine-harness.js'
import type { ModelResponse } from '../index.js'
import { rollingSummary } from './index.js'

afterEach(expectNothingLeft)

/** Tried when there are more than 8 messages, and again with each second one. */
const policy = rollingSummary({ above: 8, keep: 2, model: summaryModel, maxSummaryCharacters: 100 })
const heading = 'Summary of the conversation so far:\n\n'

/** A session whose next turn makes its memory too long. A turn that calls a tool is among what would go. */
async function ripe(options: Parameters<typeof startTalk>[1] = {}): Promise<Talk> {
  const talk = startTalk({ Chat: policy }, options)
  await talk.say('note 1')
  await talk.sayTurns(2, 2)
  return talk
}

const raw = [
  'user: note 1',
  'assistant: note({"text":"note 1"})',
  'tool: note = "Noted."',
  'assistant: It is noted.',
  ...['2', '3', '4'].flatMap((text) => [`user: ${text}`, `assistant: Re: ${text}`]),
]
const summedUp = [`user: ${heading}sum 1`, 'user: 4', 'assistant: Re: 4']
const spentByTurns = { inputTokens: 10, outputTokens: 5, modelCalls: 5 }
const failed = (code: string) => [['memory:compaction-failed', { namespace: 'Chat', code }]]
const compacted = [['memory:compacted', { namespace: 'Chat', removed: 8, kept: 3, durationMs: 0 }]]

/** The next turns, with a model that works: the conversation goes on, and is summed up when it has grown by two. */
async function goesOn(talk: Talk): Promise<void> {
  const isSummedUp = (await talk.memory()).length === summedUp.length
  talk.answer = () => answerOf('at last')
  await talk.sayTurns(2, 5)
  const before = isSummedUp ? summedUp : [`user: ${heading}at last`]
  expect(await talk.memory()).toEqual([...before, 'user: 5', 'assistant: Re: 5', 'user: 6', 'assistant: Re: 6'])
  const document = await talk.document(talk.sessionId)
  expect(document.history).toHaveLength(6)
  expect(document.runStatus).toBe('running')
  expect(hasWholePairs(document)).toBe(true)
}

describe('a summary that will not do', () => {
  test.each<[string, () => ModelResponse | Promise<ModelResponse>, string, number]>([
    ['a call that rejects', () => Promise.reject(new Error('down')), 'MODEL_ERROR', 0],
    [
      'a call that throws',
      () => {
        throw new Error('down')
      },
      'MODEL_ERROR',
      0,
    ],
    ['no answer', () => undefined as never, 'MODEL_ERROR', 0],
    ['an answer without parts', () => ({}) as never, 'MODEL_ERROR', 0],
    ['a blocked answer', () => answerOf('no', 'content-filter'), 'MODEL_BLOCKED', 100],
    ['an empty answer', () => answerOf(' \n'), 'MODEL_ERROR', 100],
    ['an answer cut at its length', () => answerOf('The user wa', 'length'), 'MODEL_ERROR', 100],
    ['an answer that is too long', () => answerOf('x'.repeat(101)), 'MODEL_ERROR', 100],
    [
      'a tool call',
      () => ({ parts: [{ type: 'tool-call', toolCallId: 'a', toolName: 'note', input: {} }] }),
      'MODEL_ERROR',
      0,
    ],
  ])('%s leaves the messages, counts its cost, and is tried again later', async (_what, answer, code, inputTokens) => {
    const talk = await ripe()
    talk.answer = answer
    await talk.sayTurns(1, 4)
    expect(await talk.memory()).toEqual(raw)
    expect(talk.told()).toEqual(failed(code))
    const { usage } = await talk.document(talk.sessionId)
    expect(usage).toEqual({
      inputTokens: spentByTurns.inputTokens + inputTokens,
      outputTokens: spentByTurns.outputTokens + inputTokens / 10,
      modelCalls: 6,
    })
    expect(talk.store.journal.at(-1)?.hint).toEqual({ appended: {} })
    expect(talk.engine.getFlowSession().locked).toBe(0)
    await goesOn(talk)
  })

  test('of exactly the greatest length will do', async () => {
    const talk = await ripe()
    talk.answer = () => answerOf('x'.repeat(100))
    await talk.sayTurns(1, 4)
    expect(talk.told()).toEqual(compacted)
  })

  test('whose model cannot be made is not counted', async () => {
    const talk = await ripe()
    // The turn validates; only the summary resolves.
    const made = { provider: 'broken', resolve: () => ({}) as never }
    talk.engine.registerProvider(made)
    const other = startTalk(
      { Chat: { ...policy, model: { provider: 'broken', name: 'm' } } },
      { backing: talk.backing },
    )
    other.engine.registerProvider(made)
    other.sessionId = talk.sessionId
    await other.sayTurns(1, 4)
    expect(other.told()).toEqual(failed('MODEL_ERROR'))
    expect((await other.document(other.sessionId)).usage).toEqual(spentByTurns)
    expect(other.store.operations).toEqual(['load', 'save'])
  })

  test('is not tried in each turn: a model that is down is asked for every quarter of what is too much', async () => {
    const talk = startTalk({ Chat: { ...policy, above: 20, keep: 4 } })
    talk.answer = () => Promise.reject(new Error('down'))
    const askedAt: number[] = []
    for (let turn = 1; turn <= 20; turn++) {
      const before = talk.asked.length
      await talk.sayTurns(1, turn)
      if (talk.asked.length > before) askedAt.push(turn * 2)
    }
    expect(askedAt).toEqual([22, 26, 30, 34, 38])
  })
})

describe('a summary that takes too long', () => {
  test('is given up after timeoutMs, and the next turn goes on', async () => {
    const talk = await ripe()
    let signal: AbortSignal | undefined
    talk.answer = (request) => {
      signal = request.signal
      return never()
    }
    await talk.say('4')
    await talk.clock.advance(29_999)
    expect([signal?.aborted, talk.told()]).toEqual([false, []])
    talk.answer = () => answerOf('at last')
    const next = talk.say('5')
    await talk.clock.advance(1)
    expect(signal?.aborted).toBe(true)
    expect(signal?.reason).toMatchObject({ code: 'TURN_TIMEOUT', message: 'The summary took longer than 30000 ms.' })
    await next
    await talk.clock.settle()
    expect(talk.told().map(([name]) => name)).toEqual(['memory:compaction-failed', 'memory:compacted'])
    expect(talk.told()[0]).toEqual(failed('TURN_TIMEOUT')[0])
    expect((await talk.document(talk.sessionId)).usage.modelCalls).toBe(8)
  })

  test('by the time of its policy', async () => {
    const talk = startTalk({ Chat: { ...policy, timeoutMs: 50 } })
    await talk.sayTurns(4)
    talk.answer = () => never()
    await talk.say('5')
    await talk.clock.advance(50)
    expect(talk.told()).toEqual(failed('TURN_TIMEOUT'))
  })

  test('changes nothing when it comes after all', async () => {
    const talk = await ripe()
    const held = gate()
    talk.answer = async () => {
      await held.opened
      return answerOf('late')
    }
    await talk.say('4')
    await talk.clock.advance(30_000)
    held.open()
    await talk.clock.settle()
    expect(await talk.memory()).toEqual(raw)
    expect(talk.told()).toEqual(failed('TURN_TIMEOUT'))
    await goesOn(talk)
  })
})

describe('a store in trouble', () => {
  /** What happens to the save of the summary, what is told, and what is stored: by then, or when the turn is read back. */
  test.each<[string, (talk: Talk) => void, unknown, readonly string[]]>([
    [
      'loses the answer of a save that happened',
      (talk) => talk.store.failNext('save', { after: true }),
      compacted,
      summedUp,
    ],
    ['fails once before the save', (talk) => talk.store.failNext('save'), compacted, summedUp],
    ['fails three times', (talk) => talk.store.failNext('save', { times: 3 }), failed('SESSION_STORE_ERROR'), raw],
    ['answers nothing at all', (talk) => talk.store.outage(), failed('SESSION_STORE_ERROR'), raw],
  ])('that %s', async (_what, spoil, told, memory) => {
    const talk = await ripe()
    talk.answer = () => {
      spoil(talk)
      return answerOf('sum 1')
    }
    await talk.sayTurns(1, 4)
    talk.store.heal()
    expect(talk.told()).toEqual(told)
    expect(await talk.memory()).toEqual(memory)
    await goesOn(talk)
  })

  test('that never answers the save is given up, whatever it did', async () => {
    for (const after of [false, true]) {
      const talk = await ripe()
      talk.answer = () => {
        talk.store.hangNext('save', { after })
        talk.store.hangNext('load', { times: 3 })
        return answerOf('sum 1')
      }
      await talk.say('4')
      await talk.clock.advance(15_000)
      talk.store.heal()
      expect(talk.told()).toEqual(failed('SESSION_STORE_ERROR'))
      expect(await talk.memory()).toEqual(after ? summedUp : raw)
      await goesOn(talk)
    }
  })

  test('that was written to by another process keeps what that one wrote', async () => {
    const talk = await ripe()
    const other = startTalk({}, { backing: talk.backing })
    other.sessionId = talk.sessionId
    talk.answer = async () => {
      await other.say('elsewhere')
      return answerOf('sum 1')
    }
    await talk.sayTurns(1, 4)
    expect(talk.told()).toEqual(failed('SESSION_CONFLICT'))
    expect(await talk.memory()).toEqual([...raw, 'user: elsewhere', 'assistant: Re: elsewhere'])
    expect((await talk.document(talk.sessionId)).usage.modelCalls).toBe(6)
    expect(talk.store.operations.slice(-3)).toEqual(['load', 'save', 'save'])
  })

  test('that lost the session makes none of it', async () => {
    const talk = await ripe()
    talk.answer = () => {
      talk.store.rivalDeletes()
      return answerOf('sum 1')
    }
    await talk.sayTurns(1, 4)
    expect(talk.told()).toEqual(failed('SESSION_CONFLICT'))
    expect(talk.backing.size).toBe(0)
  })

  test('that cannot store what a failed summary cost loses that count and nothing else', async () => {
    const talk = await ripe()
    talk.answer = () => {
      talk.store.failNext('save', { times: 3 })
      throw new Error('down')
    }
    await talk.sayTurns(1, 4)
    expect(talk.told()).toEqual(failed('MODEL_ERROR'))
    expect((await talk.document(talk.sessionId)).usage).toEqual(spentByTurns)
    await goesOn(talk)
  })
})

describe('closing the engine', () => {
  test('waits for a summary, and closes the store after it', async () => {
    const talk = await ripe()
    const held = gate()
    talk.answer = async () => {
      await held.opened
      return answerOf('sum 1')
    }
    await talk.say('4')
    const closing = talk.engine.close()
    await talk.clock.advance(9_999)
    expect(talk.store.operations).not.toContain('close')
    held.open()
    await closing
    expect(await talk.memory()).toEqual(summedUp)
    expect(talk.store.operations.slice(-2)).toEqual(['save', 'close'])
  })

  test('gives it up after closeTimeoutMs, and writes nothing more', async () => {
    const talk = await ripe()
    talk.answer = () => never()
    await talk.say('4')
    const closing = talk.engine.close()
    await talk.clock.advance(10_000)
    await closing
    expect(talk.told()).toEqual(failed('ENGINE_CLOSED'))
    expect(await talk.memory()).toEqual(raw)
    expect(talk.store.operations.slice(-3)).toEqual(['load', 'save', 'close'])
  })

  test('lets the commit of a summary end beyond that', async () => {
    const talk = await ripe()
    talk.answer = () => {
      talk.store.delayNext('save', 4_000)
      return answerOf('sum 1')
    }
    await talk.say('4')
    await talk.clock.settle()
    const closing = talk.engine.close()
    await talk.clock.advance(4_000)
    await closing
    expect(await talk.memory()).toEqual(summedUp)
  })

  test('while the turn is under way begins no summary', async () => {
    const talk = await ripe()
    talk.store.delayNext('save', 100)
    const saying = talk.say('4')
    await talk.clock.settle()
    const closing = talk.engine.close()
    await talk.clock.advance(100)
    await saying
    await closing
    expect(talk.asked).toEqual([])
    expect(talk.told()).toEqual(failed('ENGINE_CLOSED'))
    expect(await talk.memory()).toEqual(raw)
  })

  test('and starting anew in the middle finds the messages, and sums them up later', async () => {
    const talk = await ripe()
    talk.answer = () => never()
    await talk.say('4')
    // The process is gone; another one has its data.
    const next = startTalk({ Chat: policy }, { backing: talk.backing })
    next.sessionId = talk.sessionId
    await goesOn(next)
    await talk.clock.advance(30_000)
    expect(await next.memory()).toHaveLength(5)
  })
})
