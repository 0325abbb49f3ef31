// Summaries beside turns: neither waits for the other, and what each one stores stays.
import { afterEach, describe, expect, test, vi } from 'vitest'
import { answerOf, startTalk, summaryModel, type Talk } from '../../testing/contract/compaction-talk.js'
import { expectNothingLeft, gate, type LooseDocument } from '../../testing/contract/engine-harness.js'
import { keyvStoreOver } from '../../testing/contract/golden/golden-files.js'
import type { FakeRecord } from '../../testing/contract/stores/fake-driver.js'
import { finish, go, type SessionDocument, Step } from '../index.js'
import { bytesOfLists } from '../session/document-bytes.js'
import { rollingSummary, slidingWindow } from './index.js'

afterEach(expectNothingLeft)

const Chat = rollingSummary({ above: 6, keep: 2, model: summaryModel })
const heading = 'Summary of the conversation so far:\n\n'
const failed = (code: string) => [['memory:compaction-failed', { namespace: 'Chat', code }]]

function turnsOf(...texts: readonly string[]): string[] {
  return texts.flatMap((text) => [`user: ${text}`, `assistant: Re: ${text}`])
}

interface Summarizing {
  readonly talk: Talk
  /** Lets the model answer `sum`, and waits until the summary is settled. */
  finish(): Promise<void>
}

/** A conversation whose fourth turn is answered, and whose summary is under way. */
async function summarizing(options: Parameters<typeof startTalk>[1] = {}): Promise<Summarizing> {
  const talk = startTalk({ Chat }, options)
  await talk.sayTurns(3)
  const held = gate()
  talk.answer = async () => {
    await held.opened
    return answerOf('sum')
  }
  await talk.say('4')
  expect(talk.asked).toHaveLength(1)
  return {
    talk,
    async finish() {
      held.open()
      await talk.clock.settle()
      await talk.engine.settled()
    },
  }
}

/** What is stored, with its count of bytes and the true one. */
async function bytesOf(talk: Talk): Promise<readonly [stored: number, counted: number]> {
  const copy = JSON.parse(JSON.stringify(await talk.document(talk.sessionId))) as SessionDocument
  return [copy.bytes, bytesOfLists(copy)]
}

describe('while a summary is written', () => {
  test('the next turn does not wait, and what it adds stays behind the summary', async () => {
    const { talk, finish } = await summarizing()
    expect(talk.engine.getFlowSession().locked).toBe(0)
    await talk.say('5')
    await talk.say('note 6')
    expect(talk.told()).toEqual([])
    await finish()
    expect(await talk.memory()).toEqual([
      `user: ${heading}sum`,
      ...turnsOf('4', '5'),
      'user: note 6',
      'assistant: note({"text":"note 6"})',
      'tool: note = "Noted."',
      'assistant: It is noted.',
    ])
    expect(talk.told()).toEqual([['memory:compacted', { namespace: 'Chat', removed: 6, kept: 9, durationMs: 0 }]])
    const { history, usage, revision } = await talk.document(talk.sessionId)
    expect(history.map(({ message }) => message)).toEqual(['1', '2', '3', '4', '5', 'note 6'])
    // Seven calls of the turns, with two and one tokens each, and one of the summary.
    expect(usage).toEqual({ inputTokens: 7 * 2 + 100, outputTokens: 7 + 10, modelCalls: 8 })
    expect(revision).toMatch(/^7-/)
    expect(talk.store.journal.at(-1)?.hint).toEqual({ appended: {}, rewritten: ['memory:Chat'] })
    const [stored, counted] = await bytesOf(talk)
    expect(stored).toBe(counted)
    talk.answer = () => answerOf('sum 2')
    await talk.sayTurns(1, 7)
    expect(talk.received.at(-1)?.[0]).toBe(`user: ${heading}sum`)
  })

  test('no other summary of that memory is started', async () => {
    const { talk, finish } = await summarizing()
    await talk.sayTurns(4, 5)
    expect(talk.asked).toHaveLength(1)
    await finish()
    expect(await talk.memory()).toEqual([`user: ${heading}sum`, ...turnsOf('4', '5', '6', '7', '8')])
    await talk.sayTurns(1, 9)
    expect(talk.asked).toHaveLength(2)
    expect(await talk.memory()).toEqual([`user: ${heading}sum`, ...turnsOf('9')])
  })

  test('one of another session is', async () => {
    const { talk, finish } = await summarizing()
    const first = talk.sessionId
    talk.sessionId = ''
    await talk.sayTurns(4)
    expect(talk.asked).toHaveLength(2)
    await finish()
    for (const id of [first, talk.sessionId]) {
      expect((await talk.document(id)).flow.memory.Chat?.messages).toHaveLength(3)
    }
  })

  test('the next one is started after one that failed', async () => {
    const talk = startTalk({ Chat })
    talk.answer = () => Promise.reject(new Error('down'))
    await talk.sayTurns(5)
    expect(talk.asked).toHaveLength(2)
  })

  test('a reader gets the session of before or of after', async () => {
    const { talk, finish } = await summarizing()
    const during = await talk.engine.getSession(talk.sessionId)
    await finish()
    const after = await talk.engine.getSession(talk.sessionId)
    expect(during?.flow.memory.Chat?.messages).toHaveLength(8)
    expect(after?.flow.memory.Chat?.messages).toHaveLength(3)
    expect(after?.history).toEqual(during?.history)
  })

  test('a delete does not wait, and the session does not come back', async () => {
    const { talk, finish } = await summarizing()
    expect(await talk.engine.deleteSession(talk.sessionId)).toMatchObject({ success: true })
    await finish()
    expect(talk.told()).toEqual(failed('SESSION_CONFLICT'))
    expect(talk.backing.size).toBe(0)
  })

  test('the cost of one that fails is added to what turns have spent meanwhile', async () => {
    const talk = startTalk({ Chat })
    await talk.sayTurns(3)
    const held = gate()
    talk.answer = async () => {
      await held.opened
      return answerOf('The user wa', 'length')
    }
    await talk.say('4')
    await talk.say('5')
    held.open()
    await talk.clock.settle()
    expect(talk.told()).toEqual(failed('MODEL_ERROR'))
    const { usage, history } = await talk.document(talk.sessionId)
    expect(usage).toEqual({ inputTokens: 5 * 2 + 100, outputTokens: 5 + 10, modelCalls: 6 })
    expect(history).toHaveLength(5)
    expect(await talk.memory()).toEqual(turnsOf('1', '2', '3', '4', '5'))
    expect(talk.store.journal.at(-1)?.hint).toEqual({ appended: {} })
  })

  test('turns that were queued before it run first', async () => {
    const talk = startTalk({ Chat })
    await talk.sayTurns(3)
    await Promise.all(['4', '5', '6'].map((text) => talk.say(text)))
    await talk.clock.settle()
    expect(await talk.memory()).toEqual([`user: ${heading}sum 1`, ...turnsOf('4', '5', '6')])
    expect(talk.store.operations.slice(-8)).toEqual(['load', 'save', 'load', 'save', 'load', 'save', 'load', 'save'])
  })

  test('the first turn of a session leaves no lock behind either', async () => {
    /** Its first turn has four messages: a memory that is too long from the start. */
    class Begun extends Step {
      static override readonly id = 'Chat'
      override onReply(text: string) {
        return text === 'Re: first' ? go('Chat').withMessage('again') : text
      }
    }
    const talk = startTalk({ Chat: { ...Chat, above: 2, keep: 1 } }, { steps: [Begun] })
    const held = gate()
    talk.answer = async () => {
      await held.opened
      return answerOf('short')
    }
    talk.sessionId = 'unknown'
    await talk.say('first')
    await talk.say('second')
    expect([talk.asked.length, talk.engine.getFlowSession().locked]).toEqual([1, 0])
    held.open()
    await talk.clock.settle()
    expect(await talk.memory()).toEqual([`user: ${heading}short`, ...turnsOf('again', 'second')])
  })
})

describe('to be stored, a summary', () => {
  test('waits for the lock, in no place that is counted, and is seen as a summary', async () => {
    const { talk, finish } = await summarizing({ limits: { maxQueuedTurnsPerSession: 1 } })
    const sessions = talk.engine.getFlowSession()
    const seen: string[] = []
    sessions.watchLocks(({ kind, holder }) => seen.push(`${holder} ${kind}`))
    const held = gate()
    const holding = sessions.withSessionLock(talk.sessionId, () => held.opened)
    await talk.clock.settle()
    const finishing = finish()
    await talk.clock.settle()
    expect(talk.told()).toEqual([])
    const next = talk.say('5')
    await talk.clock.settle()
    held.open()
    await Promise.all([holding, finishing, next])
    expect(seen).toEqual([
      'application requested',
      'application acquired',
      'summary requested',
      'turn requested',
      'application released',
      'summary acquired',
      'summary released',
      'turn acquired',
      'turn released',
    ])
    expect(talk.received.at(-1)).toEqual([`user: ${heading}sum`, ...turnsOf('4'), 'user: 5'])
  })

  test('waits as long as a delete does, whatever its own time limit is', async () => {
    const { talk, finish } = await summarizing({ limits: { turnTimeoutMs: 60_000 } })
    const held = gate()
    const holding = talk.engine.getFlowSession().withSessionLock(talk.sessionId, () => held.opened)
    const finishing = finish()
    await talk.clock.advance(59_999)
    expect(talk.told()).toEqual([])
    await talk.clock.advance(1)
    expect(talk.told()).toEqual(failed('TURN_TIMEOUT'))
    held.open()
    await Promise.all([holding, finishing])
    expect(await talk.memory()).toEqual(turnsOf('1', '2', '3', '4'))
    // What it has cost waits once more.
    expect((await talk.document(talk.sessionId)).usage.modelCalls).toBe(5)
  })

  test('does not wait in an engine that closes', async () => {
    const { talk, finish } = await summarizing()
    const held = gate()
    const holding = talk.engine.getFlowSession().withSessionLock(talk.sessionId, () => held.opened)
    const closing = talk.engine.close()
    await finish()
    expect(talk.told()).toEqual(failed('ENGINE_CLOSED'))
    held.open()
    await Promise.all([holding, closing])
    expect(await talk.memory()).toEqual(turnsOf('1', '2', '3', '4'))
  })

  test('keeps the session from eviction only during its swap', async () => {
    const { talk, finish } = await summarizing()
    const { store } = talk.engine.getFlowSession().access
    const held: string[] = []
    const hold = store.hold?.bind(store) as (sessionId: string) => () => void
    store.hold = (sessionId) => {
      const release = hold(sessionId)
      held.push(`hold after ${talk.store.operations.length} calls`)
      return () => {
        held.push(`release after ${talk.store.operations.length} calls`)
        release()
      }
    }
    const calls = talk.store.operations.length
    await talk.clock.settle()
    expect(held).toEqual([])
    await finish()
    expect(held).toEqual([`hold after ${calls} calls`, `release after ${calls + 2} calls`])
  })

  test('is stored in a Keyv store, where another process reads it with what came after', async () => {
    const records = new Map<string, FakeRecord>()
    const elsewhere = keyvStoreOver(records)
    const talk = startTalk({ Chat }, { sessionStore: keyvStoreOver(records) })
    await talk.sayTurns(3)
    const held = gate()
    talk.answer = async () => {
      await held.opened
      return answerOf('sum')
    }
    await talk.say('4')
    await talk.say('5')
    // Both stores know the messages that the summary replaces.
    await elsewhere.load(talk.sessionId)
    held.open()
    await talk.engine.settled()
    const document = (await elsewhere.load(talk.sessionId)) as SessionDocument
    const texts = document.flow.memory.Chat?.messages.map(({ parts }) => (parts[0] as { text: string }).text)
    expect(texts).toEqual([`${heading}sum`, '4', 'Re: 4', '5', 'Re: 5'])
    expect(document.bytes).toBe(bytesOfLists(document))
    expect([document.usage.modelCalls, document.history.length]).toEqual([6, 5])
  })
})

describe('a summary is dropped', () => {
  /** Ends the summary of a session that was changed, and expects what is left of it. */
  async function expectDropped(
    change: (document: LooseDocument & SessionDocument) => void,
    code: string,
    cost: 'stored' | 'lost',
  ): Promise<void> {
    const { talk, finish } = await summarizing()
    await talk.rewrite(talk.sessionId, change as (document: LooseDocument) => void)
    const before = JSON.parse(await talk.stored(talk.sessionId))
    const calls = talk.store.operations.length
    await finish()
    expect(talk.told()).toEqual(failed(code))
    expect(talk.asked).toHaveLength(1)
    const after = JSON.parse(await talk.stored(talk.sessionId))
    if (cost === 'lost') expect(after).toEqual(before)
    else {
      const { usage, revision, savedAt, ...rest } = after
      expect(rest).toEqual({ ...before, usage: undefined, revision: undefined, savedAt: undefined })
      expect(usage).toEqual({ inputTokens: 108, outputTokens: 14, modelCalls: 5 })
      expect(talk.store.journal.at(-1)?.hint).toEqual({ appended: {} })
    }
    expect(talk.store.operations.slice(calls)).toEqual(cost === 'lost' ? ['load'] : ['load', 'save'])
  }

  type Messages = Record<string, unknown>[]
  const memoryOf = ({ flow }: LooseDocument): Messages =>
    (flow as unknown as SessionDocument['flow']).memory.Chat?.messages as unknown as Messages

  test.each<[string, (messages: Messages) => void]>([
    [
      'the first of them is another',
      (messages) => Object.assign(messages[0] ?? {}, { parts: [{ type: 'text', text: 'x' }] }),
    ],
    [
      'the last of them is another',
      (messages) => Object.assign(messages[5] ?? {}, { parts: [{ type: 'text', text: 'x' }] }),
    ],
    ['the last of them is of another turn', (messages) => Object.assign(messages[5] ?? {}, { turn: 4 })],
    ['one of them has another role', (messages) => Object.assign(messages[0] ?? {}, { role: 'assistant' })],
    ['one more is before them', (messages) => messages.splice(1, 0, { ...messages[1] })],
    ['one of them is gone', (messages) => messages.splice(2, 1)],
    ['a window has removed them', (messages) => messages.splice(0, 6)],
    ['all are gone', (messages) => messages.splice(0)],
  ])('with its cost kept, where %s', async (_what, change) => {
    await expectDropped((document) => change(memoryOf(document)), 'SESSION_CONFLICT', 'stored')
  })

  test.each<[string, (document: LooseDocument & SessionDocument) => void, string]>([
    [
      'began at another time',
      (document) => Object.assign(document, { createdAt: '2026-01-01T00:00:00.001Z' }),
      'SESSION_CONFLICT',
    ],
    ['is completed', (document) => Object.assign(document, { runStatus: 'completed' }), 'SESSION_CONFLICT'],
    ['is aborted', (document) => Object.assign(document, { runStatus: 'aborted' }), 'SESSION_CONFLICT'],
    ["is another owner's", (document) => Object.assign(document, { owner: 'ada' }), 'SESSION_CONFLICT'],
    ['is of another layout', (document) => Object.assign(document, { version: 1 }), 'SESSION_FLOW_INVARIANT'],
    ['is of a newer layout', (document) => Object.assign(document, { version: 99 }), 'SESSION_FLOW_INVARIANT'],
    ['is of another flow version', (document) => Object.assign(document.flow, { version: 2 }), 'SESSION_CONFLICT'],
    ['is of another flow', (document) => Object.assign(document.flow, { name: 'Other' }), 'SESSION_CONFLICT'],
    ['is malformed', (document) => Object.assign(document, { usage: 'much' }), 'SESSION_FLOW_INVARIANT'],
  ])('with its cost, where the session %s', async (_what, change, code) => {
    await expectDropped(change, code, 'lost')
  })

  test('where a window of another process has cut the memory, and no turn is lost', async () => {
    const { talk, finish } = await summarizing()
    const other = startTalk({ Chat: slidingWindow({ above: 4, keep: 2 }) }, { backing: talk.backing })
    other.sessionId = talk.sessionId
    await other.say('elsewhere')
    await finish()
    expect(talk.told()).toEqual(failed('SESSION_CONFLICT'))
    expect(await talk.memory()).toEqual(turnsOf('elsewhere'))
    const { usage, history } = await talk.document(talk.sessionId)
    expect([usage.modelCalls, history.length]).toEqual([6, 5])
  })

  test('where a limit has cut the memory', async () => {
    const { talk, finish } = await summarizing({ limits: { maxMemoryBytes: 900 } })
    await talk.say('5'.repeat(200))
    expect((await talk.memory())[0]).not.toBe('user: 1')
    await finish()
    expect(talk.told()).toEqual(failed('SESSION_CONFLICT'))
    const [stored, counted] = await bytesOf(talk)
    expect(stored).toBe(counted)
  })

  test('where a turn has ended the session', async () => {
    class Ending extends Step {
      static override readonly id = 'Chat'
      override onReply(text: string) {
        return text === 'Re: end' ? finish('Bye.') : text
      }
    }
    const running = await summarizing({ steps: [Ending] })
    const { talk } = running
    await talk.say('end')
    const before = await talk.stored(talk.sessionId)
    await running.finish()
    expect(talk.told()).toEqual(failed('SESSION_CONFLICT'))
    expect(await talk.stored(talk.sessionId)).toBe(before)
  })

  test('but not where a store returns the keys of its messages in another order', async () => {
    const { talk, finish } = await summarizing()
    await talk.rewrite(talk.sessionId, (document) => {
      for (const message of memoryOf(document)) {
        message.parts = (message.parts as object[]).map((part) => Object.fromEntries(Object.entries(part).reverse()))
      }
    })
    await finish()
    expect(talk.told().map(([name]) => name)).toEqual(['memory:compacted'])
  })
})

test('a request that names another owner does not wait for a summary to be stored, once its session is loaded', async () => {
  const { talk, finish } = await summarizing()
  const saved = gate()
  const save = talk.store.save.bind(talk.store)
  vi.spyOn(talk.store, 'save').mockImplementationOnce(async (...given) => {
    await saved.opened
    return save(...given)
  })
  const finished = finish()
  await talk.clock.settle()
  expect(talk.engine.getFlowSession().locked).toBe(1)
  let deleted: unknown
  void talk.engine.executeDelete(talk.sessionId, { owner: 'bob' }).then((result) => {
    deleted = result
  })
  await talk.clock.settle()
  expect(deleted).toMatchObject({ result: { success: true } })
  saved.open()
  await finished
  expect((await talk.memory())[0]).toBe(`user: ${heading}sum`)
})
