import { afterEach, describe, expect, test } from 'vitest'
import { hasWholePairs, startTalk, summaryModel } from '../../testing/contract/compaction-talk.js'
import { expectNothingLeft } from '../../testing/contract/engine-harness.js'
import type { SessionDocument } from '../session/session-document.js'
import { jsonSize } from '../util/json.js'
import { rollingSummary, slidingWindow } from './index.js'

afterEach(expectNothingLeft)

describe('a sliding window', () => {
  test('removes the oldest messages in the commit of the turn that made the memory too long', async () => {
    const talk = startTalk({ Chat: slidingWindow({ above: 6, keep: 3 }) })
    await talk.sayTurns(3)
    expect(await talk.memory()).toHaveLength(6)
    expect(talk.told()).toEqual([])
    await talk.sayTurns(1, 4)
    expect(await talk.memory()).toEqual(['user: 3', 'assistant: Re: 3', 'user: 4', 'assistant: Re: 4'])
    expect(talk.told()).toEqual([['memory:compacted', { namespace: 'Chat', removed: 4, kept: 4, durationMs: 0 }]])
    expect(talk.store.operations).toEqual(['create', 'load', 'save', 'load', 'save', 'load', 'save'])
    expect((await talk.document(talk.sessionId)).history).toHaveLength(4)
  })

  test('is reported by an event of the turn, after its commit', async () => {
    const talk = startTalk({ Chat: slidingWindow({ above: 2, keep: 1 }) })
    await talk.sayTurns(1)
    talk.events.length = 0
    await talk.sayTurns(1, 2)
    const names = talk.events.map(([name]) => name)
    expect(names.slice(-4)).toEqual(['session:saved', 'session:trimmed', 'memory:compacted', 'turn:end'])
    const [, { turnId }] = talk.events[0] as (typeof talk.events)[number]
    const at = Date.UTC(2026, 0, 1)
    const told = { sessionId: talk.sessionId, flowName: 'Talk', turnId, at, namespace: 'Chat', removed: 2, kept: 2 }
    expect(talk.events.at(-2)).toEqual(['memory:compacted', { ...told, durationMs: 0 }])
  })

  test('cuts the list once in several turns, with a hint to the store of how many messages it lost and gained', async () => {
    const talk = startTalk({ Chat: slidingWindow({ above: 8, keep: 4 }) })
    await talk.sayTurns(9)
    expect(talk.store.journal.flatMap(({ hint }) => (hint === undefined ? [] : [hint]))).toEqual([
      { appended: { history: 1, 'memory:Chat': 2 } },
      { appended: { history: 1, 'memory:Chat': 2 } },
      { appended: { history: 1, 'memory:Chat': 2 } },
      { appended: { history: 1, 'memory:Chat': 2 }, removed: { 'memory:Chat': 6 } },
      { appended: { history: 1, 'memory:Chat': 2 } },
      { appended: { history: 1, 'memory:Chat': 2 } },
      { appended: { history: 1, 'memory:Chat': 2 }, removed: { 'memory:Chat': 6 } },
      { appended: { history: 1, 'memory:Chat': 2 } },
    ])
  })

  test('reduces the count of bytes by the removed messages', async () => {
    const talk = startTalk({ Chat: slidingWindow({ above: 6, keep: 2 }) })
    await talk.sayTurns(4)
    const { bytes, history, flow } = await talk.document(talk.sessionId)
    const entries = [...history, ...(flow.memory.Chat?.messages ?? [])]
    expect(entries).toHaveLength(6)
    expect(bytes).toBe(entries.reduce((sum, entry) => sum + jsonSize(entry) + 1, 0))
  })

  test('is what the model receives in the next turn', async () => {
    const talk = startTalk({ Chat: slidingWindow({ above: 4, keep: 2 }) })
    await talk.sayTurns(3)
    expect(await talk.memory()).toEqual(['user: 3', 'assistant: Re: 3'])
    await talk.sayTurns(1, 4)
    expect(talk.received.at(-1)).toEqual(['user: 3', 'assistant: Re: 3', 'user: 4'])
  })

  test('keeps a call and its result together', async () => {
    const talk = startTalk({ Chat: slidingWindow({ above: 4, keep: 2 }) })
    for (const text of ['note 1', 'note 2', '3', 'note 4', '5']) {
      await talk.say(text)
      expect(hasWholePairs(await talk.document(talk.sessionId))).toBe(true)
    }
    expect(await talk.memory()).toEqual(['user: 5', 'assistant: Re: 5'])
  })

  test('keeps a complete turn that is longer than the window', async () => {
    const talk = startTalk({ Chat: slidingWindow({ above: 2, keep: 1 }) })
    await talk.say('note 1')
    expect(await talk.memory()).toHaveLength(4)
    expect(talk.told()).toEqual([])
    await talk.say('2')
    expect(await talk.memory()).toEqual(['user: 2', 'assistant: Re: 2'])
  })

  test('that is added to a flow later shortens the memory of existing sessions', async () => {
    const before = startTalk({})
    await before.sayTurns(10)
    const { backing, sessionId } = before
    const talk = startTalk({ Chat: slidingWindow({ above: 6, keep: 2 }) }, { backing })
    talk.sessionId = sessionId
    await talk.sayTurns(1, 11)
    expect(await talk.memory()).toEqual(['user: 11', 'assistant: Re: 11'])
    expect((await talk.document(sessionId)).history).toHaveLength(11)
  })

  test('never makes the count of bytes negative', async () => {
    const before = startTalk({})
    await before.sayTurns(10)
    const { backing, sessionId } = before
    // This happens if a flow put messages into the document itself: they were never counted.
    await before.rewrite(sessionId, (document) => Object.assign(document, { bytes: 0 }))
    const talk = startTalk({ Chat: slidingWindow({ above: 6, keep: 2 }) }, { backing })
    talk.sessionId = sessionId
    await talk.sayTurns(2, 11)
    const { bytes } = await talk.document(sessionId)
    expect(bytes).toBeGreaterThan(0)
  })

  test('keeps a summary that an earlier version of the flow left at the start', async () => {
    const backing = new Map<string, SessionDocument>()
    const before = startTalk({ Chat: rollingSummary({ above: 4, keep: 2, model: summaryModel }) }, { backing })
    await before.sayTurns(3)
    const talk = startTalk({ Chat: slidingWindow({ above: 4, keep: 2 }) }, { backing })
    talk.sessionId = before.sessionId
    await talk.sayTurns(3, 4)
    const messages = (await talk.document(talk.sessionId)).flow.memory.Chat?.messages ?? []
    expect([messages[0]?.summary, messages.length <= 5]).toEqual([true, true])
  })

  test('reports how many messages are left after limits removed more', async () => {
    const talk = startTalk({ Chat: slidingWindow({ above: 6, keep: 4 }) }, { limits: { maxMemoryBytes: 900 } })
    await talk.sayTurns(3)
    await talk.say('x'.repeat(900))
    const kept = (await talk.document(talk.sessionId)).flow.memory.Chat?.messages.length
    expect([kept, talk.told().at(-1)]).toMatchObject([2, ['memory:compacted', { kept: 2 }]])
  })

  test('is not applied by a turn that fails', async () => {
    const talk = startTalk({ Chat: slidingWindow({ above: 4, keep: 2 }) }, { limits: { maxSessionBytes: 900 } })
    await talk.sayTurns(2)
    const before = (await talk.document(talk.sessionId)).flow
    await expect(talk.say('x'.repeat(900))).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
    const after = await talk.document(talk.sessionId)
    expect([after.runStatus, after.flow]).toEqual(['running', before])
    expect(talk.told()).toEqual([])
  })
})
