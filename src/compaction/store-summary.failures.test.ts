import { afterEach, describe, expect, test } from 'vitest'
import { answerOf, hasWholePairs, startTalk, summaryModel, type Talk } from '../../testing/contract/compaction-talk.js'
import { expectNothingLeft, gate, never } from '../../testing/contract/engine-harness.js'
import type { ModelResponse } from '../index.js'
import { rollingSummary } from './index.js'

afterEach(expectNothingLeft)

/** A summary is tried when there are more than 8 messages, and again after every second message. */
const policy = rollingSummary({ above: 8, keep: 2, model: summaryModel, maxSummaryCharacters: 100 })
const heading = 'Summary of the conversation so far:\n\n'

/** A session whose next turn makes its memory too long. The messages to replace include a tool call. */
async function aboutToCompact(options: Parameters<typeof startTalk>[1] = {}): Promise<Talk> {
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
const summarized = [`user: ${heading}sum 1`, 'user: 4', 'assistant: Re: 4']
const spentByTurns = { inputTokens: 10, outputTokens: 5, modelCalls: 5 }
const failed = (code: string) => [['memory:compaction-failed', { namespace: 'Chat', code }]]
const compacted = [['memory:compacted', { namespace: 'Chat', removed: 8, kept: 3, durationMs: 0 }]]

/**
 * Runs the next turns with a model that works: the conversation continues, and the summary is written
 * after two more messages.
 */
async function continues(talk: Talk): Promise<void> {
  const isSummarized = (await talk.memory()).length === summarized.length
  talk.answer = () => answerOf('at last')
  await talk.sayTurns(2, 5)
  const before = isSummarized ? summarized : [`user: ${heading}at last`]
  expect(await talk.memory()).toEqual([...before, 'user: 5', 'assistant: Re: 5', 'user: 6', 'assistant: Re: 6'])
  const document = await talk.document(talk.sessionId)
  expect(document.history).toHaveLength(6)
  expect(document.runStatus).toBe('running')
  expect(hasWholePairs(document)).toBe(true)
}

describe('a summary that fails', () => {
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
    ['an answer cut at its length', () => answerOf('The user wa', 'length'), 'MODEL_ERROR', 100],
    ['an answer that is too long', () => answerOf('x'.repeat(101)), 'MODEL_ERROR', 100],
    [
      'a tool call',
      () => ({ parts: [{ type: 'tool-call', toolCallId: 'a', toolName: 'note', input: {} }] }),
      'MODEL_ERROR',
      0,
    ],
  ])(
    'by %s leaves the messages, counts its usage, and is tried again later',
    async (_what, answer, code, inputTokens) => {
      const talk = await aboutToCompact()
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
      await continues(talk)
    },
  )

  test('of exactly the maximum length is accepted', async () => {
    const talk = await aboutToCompact()
    talk.answer = () => answerOf('x'.repeat(100))
    await talk.sayTurns(1, 4)
    expect(talk.told()).toEqual(compacted)
  })

  test('whose model cannot be created is not counted', async () => {
    const talk = await aboutToCompact()
    // The turn only validates the selection; the summary creates the model.
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

  test('is not tried in each turn: a model that is down is called again only after another quarter of the messages to remove', async () => {
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
  test('is aborted after timeoutMs, and written after a later turn', async () => {
    const talk = await aboutToCompact()
    let signal: AbortSignal | undefined
    talk.answer = (request) => {
      signal = request.signal
      return never()
    }
    await talk.say('4')
    await talk.clock.advance(29_999)
    expect([signal?.aborted, talk.told()]).toEqual([false, []])
    talk.answer = () => answerOf('at last')
    await talk.say('5')
    await talk.clock.advance(1)
    expect(signal?.aborted).toBe(true)
    expect(signal?.reason).toMatchObject({ code: 'TURN_TIMEOUT', message: 'The summary took longer than 30000 ms.' })
    await talk.sayTurns(1, 6)
    expect(talk.told().map(([name]) => name)).toEqual(['memory:compaction-failed', 'memory:compacted'])
    expect(talk.told()[0]).toEqual(failed('TURN_TIMEOUT')[0])
    expect((await talk.document(talk.sessionId)).usage.modelCalls).toBe(9)
  })

  test('for the time limit of its policy', async () => {
    const talk = startTalk({ Chat: { ...policy, timeoutMs: 50 } })
    await talk.sayTurns(4)
    talk.answer = () => never()
    await talk.say('5')
    await talk.clock.advance(50)
    expect(talk.told()).toEqual(failed('TURN_TIMEOUT'))
  })

  test('changes nothing when it arrives later', async () => {
    const talk = await aboutToCompact()
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
    await continues(talk)
  })
})

describe('a store', () => {
  /** A fault of the save of the summary, the event, and the memory that is stored in the end. */
  test.each<[string, (talk: Talk) => void, unknown, readonly string[]]>([
    [
      'loses the answer of a save that happened',
      (talk) => talk.store.failNext('save', { after: true }),
      compacted,
      summarized,
    ],
    ['fails once before the save', (talk) => talk.store.failNext('save'), compacted, summarized],
    ['fails three times', (talk) => talk.store.failNext('save', { times: 3 }), failed('SESSION_STORE_ERROR'), raw],
    ['fails every call', (talk) => talk.store.outage(), failed('SESSION_STORE_ERROR'), raw],
  ])('that %s', async (_what, injectFault, events, memory) => {
    const talk = await aboutToCompact()
    talk.answer = () => {
      injectFault(talk)
      return answerOf('sum 1')
    }
    await talk.sayTurns(1, 4)
    talk.store.heal()
    expect(talk.told()).toEqual(events)
    expect(await talk.memory()).toEqual(memory)
    await continues(talk)
  })

  test('that never answers the save ends the summary after its timeout, whether it saved or not', async () => {
    for (const after of [false, true]) {
      const talk = await aboutToCompact()
      talk.answer = () => {
        talk.store.hangNext('save', { after })
        talk.store.inject({ operation: 'load', effect: 'hang-before', nth: 2, times: 3 })
        return answerOf('sum 1')
      }
      await talk.say('4')
      await talk.clock.advance(15_000)
      talk.store.heal()
      expect(talk.told()).toEqual(failed('SESSION_STORE_ERROR'))
      expect(await talk.memory()).toEqual(after ? summarized : raw)
      await continues(talk)
    }
  })

  test('that another process writes to before the save keeps what that process wrote', async () => {
    const talk = await aboutToCompact()
    talk.answer = () => {
      talk.store.inject({ operation: 'save', effect: 'rival-write' })
      return answerOf('sum 1')
    }
    await talk.sayTurns(1, 4)
    expect(talk.told()).toEqual(failed('SESSION_CONFLICT'))
    expect(await talk.memory()).toEqual(raw)
    expect((await talk.document(talk.sessionId)).usage).toEqual(spentByTurns)
    expect(talk.store.operations.slice(-4)).toEqual(['load', 'save', 'load', 'save'])
  })

  test('that lost the session does not get it back', async () => {
    const talk = await aboutToCompact()
    talk.answer = () => {
      talk.store.rivalDeletes()
      return answerOf('sum 1')
    }
    await talk.sayTurns(1, 4)
    expect(talk.told()).toEqual(failed('SESSION_CONFLICT'))
    expect(talk.backing.size).toBe(0)
  })

  test('that cannot store the usage of a failed summary loses only that count', async () => {
    const talk = await aboutToCompact()
    talk.answer = () => {
      talk.store.failNext('save', { times: 3 })
      throw new Error('down')
    }
    await talk.sayTurns(1, 4)
    expect(talk.told()).toEqual(failed('MODEL_ERROR'))
    expect((await talk.document(talk.sessionId)).usage).toEqual(spentByTurns)
    await continues(talk)
  })
})

describe('closing the engine', () => {
  test('waits for a summary, and closes the store after it', async () => {
    const talk = await aboutToCompact()
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
    expect(await talk.memory()).toEqual(summarized)
    expect(talk.store.operations.slice(-2)).toEqual(['save', 'close'])
  })

  test('aborts it after closeTimeoutMs, and writes nothing more', async () => {
    const talk = await aboutToCompact()
    talk.answer = () => never()
    await talk.say('4')
    const closing = talk.engine.close()
    await talk.clock.advance(10_000)
    await closing
    expect(talk.told()).toEqual(failed('ENGINE_CLOSED'))
    expect(await talk.memory()).toEqual(raw)
    expect(talk.store.operations.slice(-3)).toEqual(['load', 'save', 'close'])
  })

  test('waits for the commit of a summary even longer', async () => {
    const talk = await aboutToCompact()
    talk.answer = () => {
      talk.store.delayNext('save', 4_000)
      return answerOf('sum 1')
    }
    await talk.say('4')
    await talk.clock.settle()
    const closing = talk.engine.close()
    await talk.clock.advance(4_000)
    await closing
    expect(await talk.memory()).toEqual(summarized)
  })

  test('during the turn prevents the summary', async () => {
    const talk = await aboutToCompact()
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

  test('and starting another one in the middle of a summary keeps the messages, and writes it later', async () => {
    const talk = await aboutToCompact()
    talk.answer = () => never()
    await talk.say('4')
    // As if the process had been killed: another one has its data.
    const next = startTalk({ Chat: policy }, { backing: talk.backing })
    next.sessionId = talk.sessionId
    await continues(next)
    await talk.clock.advance(30_000)
    expect(await next.memory()).toHaveLength(5)
  })
})
