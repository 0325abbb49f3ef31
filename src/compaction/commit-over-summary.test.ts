// A turn that runs while another process stores a summary of its session: both stay.
import { afterEach, describe, expect, test } from 'vitest'
import { answerOf, startTalk, summaryModel, type Talk } from '../../testing/contract/compaction-talk.js'
import { expectNothingLeft, gate } from '../../testing/contract/engine-harness.js'
import { keyvStoreOver } from '../../testing/contract/golden/golden-files.js'
import type { FakeRecord } from '../../testing/contract/stores/fake-driver.js'
import { type ExecuteResult, MemorySessionStore, type SessionDocument, Step } from '../index.js'
import { bytesOfLists } from '../session/document-bytes.js'
import { rollingSummary } from './index.js'

afterEach(expectNothingLeft)

const Chat = rollingSummary({ above: 6, keep: 2, model: summaryModel })
const summary = 'user: Summary of the conversation so far:\n\nsum'
const before = ['user: 4', 'assistant: Re: 4']

/** One turn of Ada. */
async function say(talk: Talk, userMessage: string): Promise<ExecuteResult> {
  const { sessionId } = talk
  const result = await talk.engine.execute({ flowName: 'Talk', userMessage, sessionId, owner: 'ada' })
  talk.sessionId = result.response.session
  return result
}

/** Two processes: the first one writes a summary, and a turn of the second one waits for its gate before its commit. */
async function twoProcesses(options: Parameters<typeof startTalk>[1] = {}, otherOptions = options) {
  const talk = startTalk({ Chat }, options)
  for (const text of ['1', '2', '3']) await say(talk, text)
  const written = gate()
  talk.answer = async () => {
    await written.opened
    return answerOf('sum')
  }
  await say(talk, '4')
  const held = gate()
  class Held extends Step {
    static override readonly id = 'Chat'
    override async onReply(text: string): Promise<string> {
      await held.opened
      return text
    }
  }
  const other = startTalk({ Chat }, { backing: talk.backing, steps: [Held], ...otherOptions })
  other.sessionId = talk.sessionId
  const turn = say(other, '5')
  return {
    talk,
    other,
    turn,
    /** Lets the first process store its summary. */
    async storeSummary(): Promise<void> {
      await other.clock.settle()
      written.open()
      await talk.clock.settle()
      await talk.engine.settled()
    },
    async finish() {
      held.open()
      const outcome = await turn
      await other.clock.settle()
      return outcome
    },
  }
}

/** Changes the stored session as another process would. */
function change(talk: Talk, how: (document: SessionDocument) => object): void {
  const document = JSON.parse(JSON.stringify(talk.backing.get(talk.sessionId))) as SessionDocument
  talk.backing.set(talk.sessionId, { ...document, revision: `${document.revision}-theirs`, ...how(document) })
}

describe('a turn that meets the swap of a summary at its commit', () => {
  test('commits over it, and its model is not called again', async () => {
    const { talk, other, storeSummary, finish } = await twoProcesses()
    await storeSummary()
    expect(await talk.memory()).toEqual([summary, ...before])
    const { response, error } = await finish()
    expect([error, response]).toMatchObject([undefined, { success: true, message: 'Re: 5', session: talk.sessionId }])
    expect(await talk.memory()).toEqual([summary, ...before, 'user: 5', 'assistant: Re: 5'])
    const { history, usage, turns, bytes, revision, ...document } = await talk.document(talk.sessionId)
    expect(history.map(({ message }) => message)).toEqual(['1', '2', '3', '4', '5'])
    expect(usage).toEqual({ inputTokens: 5 * 2 + 100, outputTokens: 5 + 10, modelCalls: 6 })
    expect([turns, revision]).toEqual([5, expect.stringMatching(/^6-/)])
    const copy = JSON.parse(JSON.stringify({ history, bytes, ...document })) as SessionDocument
    expect(bytesOfLists(copy)).toBe(bytes)
    expect(other.received).toHaveLength(1)
    expect(other.events.map(([name]) => name)).not.toContain('session:conflict')
  })

  test('is stored in a Keyv store', async () => {
    const records = new Map<string, FakeRecord>()
    const sessionStore = keyvStoreOver(records)
    const otherStore = keyvStoreOver(records)
    const made = await twoProcesses({ sessionStore }, { sessionStore: otherStore })
    await made.storeSummary()
    expect((await made.finish()).response.success).toBe(true)
    const third = startTalk({ Chat }, { sessionStore: keyvStoreOver(records) })
    const messages = (await third.engine.getSession(made.talk.sessionId))?.flow.memory.Chat?.messages
    expect(messages?.map(({ turn, summary: is }) => [turn, is])).toEqual([
      [3, true],
      [4, undefined],
      [4, undefined],
      [5, undefined],
      [5, undefined],
    ])
  })

  test('commits over the cost of a summary that failed', async () => {
    const { talk, other, storeSummary, finish } = await twoProcesses()
    await other.clock.settle()
    change(talk, ({ usage }) => ({ usage: { ...usage, inputTokens: usage.inputTokens + 7 } }))
    expect((await finish()).response.success).toBe(true)
    // The turn was followed by a summary of its own process.
    expect((await talk.document(talk.sessionId)).usage.inputTokens).toBe(5 * 2 + 7 + 100)
    await storeSummary()
  })

  test('does so once: a second conflict stands', async () => {
    const { talk, other, storeSummary, finish } = await twoProcesses()
    await storeSummary()
    other.store.rivalWrites({ before: 'save', times: Number.POSITIVE_INFINITY })
    expect((await finish()).error?.code).toBe('SESSION_CONFLICT')
    expect((await talk.document(talk.sessionId)).turns).toBe(4)
  })

  test.each<[string, (document: SessionDocument) => object]>([
    ['another session under the ID', () => ({ createdAt: '2020-01-01T00:00:00.000Z' })],
    ['another turn', ({ turns }) => ({ turns: turns + 1 })],
    ['a session that has ended', () => ({ runStatus: 'completed' })],
    ['an error', () => ({ error: ['No.'] })],
    ['a receipt', () => ({ receipts: [{ key: 'k', request: 'r', turn: 4 }] })],
    ['an effect', () => ({ effects: { charge: { begunAt: '2026-01-01T00:00:00.000Z', attempts: 1 } } })],
    ['another context', ({ flow }) => ({ flow: { ...flow, context: { vip: true } } })],
    ['another state', ({ flow }) => ({ flow: { ...flow, steps: { Chat: { state: { seen: 1 } } } } })],
    ['a memory without its last messages', ({ flow }) => ({ flow: { ...flow, memory: { Chat: { messages: [] } } } })],
    [
      'a memory with another message',
      ({ flow }) => {
        const messages = [...(flow.memory.Chat?.messages ?? [])]
        messages[1] = { role: 'user', parts: [{ type: 'text', text: 'other' }], turn: 4 }
        return { flow: { ...flow, memory: { Chat: { messages } } } }
      },
    ],
  ])('fails if it finds more: %s', async (_what, how) => {
    const { talk, storeSummary, finish } = await twoProcesses()
    await storeSummary()
    change(talk, how)
    const found = talk.backing.get(talk.sessionId)
    const { error } = await finish()
    expect(error?.code).toBe('SESSION_CONFLICT')
    expect(talk.backing.get(talk.sessionId)).toBe(found)
  })

  test('fails if its flow has no summaries', async () => {
    const { talk, storeSummary, other } = await twoProcesses()
    const plain = startTalk({}, { backing: talk.backing })
    plain.store.rivalWrites({ before: 'save', times: 1 })
    plain.sessionId = talk.sessionId
    const { error } = await say(plain, '6')
    expect(error?.code).toBe('SESSION_CONFLICT')
    await other.engine.cancel(talk.sessionId, { owner: 'ada' })
    await storeSummary()
  })
})

test('the cost of a turn that ends in a conflict is in its events and in the budget of its owner; the session stays', async () => {
  const { talk, other, turn, storeSummary, finish } = await twoProcesses(
    {},
    { budgets: { owner: { tokens: 3 } }, onTurnError: 'rollback' },
  )
  await storeSummary()
  change(talk, ({ turns }) => ({ turns: turns + 1 }))
  const found = talk.backing.get(talk.sessionId)
  await finish()
  expect((await turn).error?.code).toBe('SESSION_CONFLICT')
  expect(talk.backing.get(talk.sessionId)).toBe(found)
  expect(other.events.filter(([name]) => name === 'model:end')).toMatchObject([
    ['model:end', { success: true, inputTokens: 2, outputTokens: 1 }],
  ])
  other.sessionId = ''
  expect((await say(other, '6')).error).toMatchObject({ code: 'BUDGET_EXCEEDED', scope: 'owner', spent: 3 })
})

describe('over a store with leases', () => {
  /** A memory store that notes the calls of each swap, and whose leases a test decides about. */
  class LeasingStore extends MemorySessionStore {
    readonly calls: string[] = []
    wait: (signal: AbortSignal) => Promise<void> = async () => undefined
    async lease(_sessionId: string, _ttlMs: number, signal: AbortSignal): Promise<() => Promise<void>> {
      this.calls.push('lease')
      await this.wait(signal)
      return async () => void this.calls.push('give back')
    }
    override load(sessionId: string): Promise<SessionDocument | undefined> {
      this.calls.push('load')
      return super.load(sessionId)
    }
    override save(...save: Parameters<MemorySessionStore['save']>): Promise<void> {
      this.calls.push('save')
      return super.save(...save)
    }
  }

  /** A session whose next turn is followed by a summary. */
  async function aboutToSummarize() {
    const sessionStore = new LeasingStore()
    const talk = startTalk({ Chat: { ...Chat, timeoutMs: 1_000 } }, { sessionStore })
    for (const text of ['1', '2', '3']) await say(talk, text)
    sessionStore.calls.length = 0
    return { talk, sessionStore }
  }

  test('a summary holds the lease of its session during its swap', async () => {
    const { talk, sessionStore } = await aboutToSummarize()
    await say(talk, '4')
    await talk.clock.settle()
    const swap = ['lease', 'load', 'save', 'give back']
    expect(sessionStore.calls).toEqual([...swap, ...swap])
    expect(talk.told()).toMatchObject([['memory:compacted', { removed: 6 }]])
  })

  test('a summary waits for the lease within its own time, and then does without', async () => {
    const { talk, sessionStore } = await aboutToSummarize()
    const { opened, open } = gate()
    talk.answer = async () => {
      sessionStore.wait = (signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      await opened
      return answerOf('sum')
    }
    await say(talk, '4')
    open()
    await talk.clock.settle()
    expect(talk.told()).toEqual([])
    await talk.clock.advance(1_000)
    expect(talk.told()).toMatchObject([['memory:compacted', { removed: 6 }]])
  })
})
