import { afterEach, describe, expect, test } from 'vitest'
import { answerOf, hasWholePairs, startTalk, summaryModel } from '../../testing/contract/compaction-talk.js'
import { expectNothingLeft } from '../../testing/contract/engine-harness.js'
import { flowOf } from '../../testing/contract/test-flows.js'
import { finish, go, type JsonObject, type ModelRequest, Step } from '../index.js'
import { jsonSize } from '../util/json.js'
import { rollingSummary, slidingWindow } from './index.js'

afterEach(expectNothingLeft)

const Chat = rollingSummary({ above: 6, keep: 2, model: summaryModel })
const heading = 'Summary of the conversation so far:\n\n'

function textOf({ messages }: ModelRequest): unknown {
  return messages.map(({ role, parts }) => [role, ...parts.map((part) => (part.type === 'text' ? part.text : part))])
}

describe('a rolling summary', () => {
  test('replaces the oldest messages, in a commit after the reply', async () => {
    const talk = startTalk({ Chat })
    await talk.sayTurns(3)
    expect([talk.asked, talk.told()]).toEqual([[], []])
    await talk.sayTurns(1, 4)
    expect(await talk.memory()).toEqual([`user: ${heading}sum 1`, 'user: 4', 'assistant: Re: 4'])
    expect(talk.told()).toEqual([['memory:compacted', { namespace: 'Chat', removed: 6, kept: 3, durationMs: 0 }]])
    expect(talk.store.operations.slice(-4)).toEqual(['load', 'save', 'load', 'save'])
    const { history, flow, usage, revision } = await talk.document(talk.sessionId)
    expect(history).toHaveLength(4)
    expect(revision).toMatch(/^5-/)
    expect(flow.memory.Chat?.messages[0]).toEqual({
      role: 'user',
      parts: [{ type: 'text', text: `${heading}sum 1` }],
      turn: 3,
      summary: true,
    })
    expect(usage).toEqual({ inputTokens: 108, outputTokens: 14, modelCalls: 5 })
  })

  test('covers the one before it and the messages since', async () => {
    const talk = startTalk({ Chat })
    await talk.sayTurns(6)
    expect(await talk.memory()).toEqual([`user: ${heading}sum 2`, 'user: 6', 'assistant: Re: 6'])
    expect(talk.asked.map(textOf)).toEqual([
      [['user', 'User: 1\n\nAssistant: Re: 1\n\nUser: 2\n\nAssistant: Re: 2\n\nUser: 3\n\nAssistant: Re: 3']],
      [['user', `${heading}sum 1\n\nUser: 4\n\nAssistant: Re: 4\n\nUser: 5\n\nAssistant: Re: 5`]],
    ])
    expect(talk.received.at(-1)).toEqual([
      `user: ${heading}sum 1`,
      ...['user: 4', 'assistant: Re: 4', 'user: 5', 'assistant: Re: 5', 'user: 6'],
    ])
  })

  test('is not written for a summary alone', async () => {
    const talk = startTalk({ Chat: { ...Chat, above: 5, keep: 4 } })
    const asked: number[] = []
    for (const text of ['note 1', 'note 2', '3', '4']) {
      await talk.say(text)
      await talk.clock.settle()
      asked.push(talk.asked.length)
    }
    // After the third turn only the first summary could be replaced.
    expect(asked).toEqual([0, 1, 1, 2])
    expect(await talk.memory()).toEqual([
      `user: ${heading}sum 2`,
      ...['3', '4'].flatMap((text) => [`user: ${text}`, `assistant: Re: ${text}`]),
    ])
  })

  test('is requested with a prompt, without tools, and with a name that is not a step', async () => {
    const talk = startTalk({ Chat })
    await talk.sayTurns(4)
    const [request] = talk.asked
    expect(request?.system).toMatch(/transcript[\s\S]*\nAt most 8000 characters\.$/)
    expect(request?.tools).toEqual([])
    expect(request?.params).toEqual({})
    expect(request?.origin).toEqual({
      flowName: 'Talk',
      stepId: 'memory:Chat',
      sessionId: talk.sessionId,
      turnNumber: 3,
      callNumber: 2,
      attempt: 1,
    })
  })

  test('is requested with the prompt and the parameters of the policy', async () => {
    const params: JsonObject = { temperature: 0 }
    const policy = { ...Chat, model: { ...summaryModel, params }, prompt: 'In rhyme.', maxSummaryCharacters: 40 }
    const talk = startTalk({ Chat: policy })
    await talk.sayTurns(4)
    expect(talk.asked.map(({ system, params: given }) => [system, given])).toEqual([
      ['In rhyme.\nAt most 40 characters.', { temperature: 0 }],
    ])
  })

  test('is requested with tool calls and results as text', async () => {
    const talk = startTalk({ Chat: { ...Chat, above: 4 } })
    await talk.say('note this')
    await talk.say('2')
    expect(talk.asked.map(textOf)).toEqual([
      [
        [
          'user',
          'User: note this\n\nAssistant: [calls note: {"text":"note this"}]\n\n[note answered: "Noted."]\n\nAssistant: It is noted.',
        ],
      ],
    ])
    await talk.clock.settle()
    expect(hasWholePairs(await talk.document(talk.sessionId))).toBe(true)
  })

  test('emits events for its call, its commit and its duration, after those of the turn and with its ID', async () => {
    const talk = startTalk({ Chat })
    await talk.sayTurns(3)
    talk.answer = async () => {
      await new Promise<void>((resolve) => talk.clock.setTimer(resolve, 250))
      return answerOf('short')
    }
    talk.events.length = 0
    await talk.say('4')
    await talk.clock.advance(250)
    const [, { turnId }] = talk.events[0] as (typeof talk.events)[number]
    const after = talk.events.slice(talk.events.findIndex(([name]) => name === 'turn:end') + 1)
    const common = { sessionId: talk.sessionId, flowName: 'Talk', turnId }
    const startedAt = Date.UTC(2026, 0, 1)
    const call = { ...common, step: 'memory:Chat', provider: 'talk', model: 'summarist', callNumber: 2, attempt: 1 }
    expect(after).toEqual([
      ['model:start', { ...call, at: startedAt }],
      [
        'model:end',
        { ...call, at: startedAt + 250, durationMs: 250, success: true, inputTokens: 100, outputTokens: 10 },
      ],
      ['session:saved', { ...common, at: startedAt + 250 }],
      ['memory:compacted', { ...common, at: startedAt + 250, namespace: 'Chat', removed: 6, kept: 3, durationMs: 250 }],
    ])
    expect((await talk.document(talk.sessionId)).savedAt).toBe('2026-01-01T00:00:00.250Z')
  })

  test('hints to the store that only this list was rewritten, and reduces the count of bytes', async () => {
    const talk = startTalk({ Chat })
    await talk.sayTurns(4)
    expect(talk.store.journal.at(-1)?.hint).toEqual({ appended: {}, rewritten: ['memory:Chat'] })
    await talk.sayTurns(1, 5)
    expect(talk.store.journal.at(-1)?.hint).toEqual({ appended: { history: 1, 'memory:Chat': 2 } })
    const { bytes, history, flow } = await talk.document(talk.sessionId)
    const entries = [...history, ...(flow.memory.Chat?.messages ?? [])]
    expect(bytes).toBe(entries.reduce((sum, entry) => sum + jsonSize(entry) + 1, 0))
  })

  test('is written for each memory that is too long, one after the other, each in a commit of its own', async () => {
    const talk = startTalk({ Chat, Other: Chat }, { steps: [First, Other] })
    await talk.sayTurns(4)
    expect(talk.told().map(([, told]) => told)).toEqual([
      { namespace: 'Chat', removed: 6, kept: 3, durationMs: 0 },
      { namespace: 'Other', removed: 6, kept: 3, durationMs: 0 },
    ])
    expect(talk.store.operations.slice(-6)).toEqual(['load', 'save', 'load', 'save', 'load', 'save'])
    const { flow, usage } = await talk.document(talk.sessionId)
    expect(flow.memory.Other?.messages[0]).toMatchObject({ parts: [{ text: `${heading}sum 2` }], summary: true })
    expect(usage.modelCalls).toBe(10)
    expect(talk.asked.map(({ origin }) => origin.callNumber)).toEqual([3, 4])
  })

  test('is not written for a session that has ended', async () => {
    const talk = startTalk({ Chat: { ...Chat, above: 2, keep: 1 } }, { steps: [Ending] })
    await talk.say('1')
    await talk.say('end')
    await talk.clock.settle()
    expect((await talk.document(talk.sessionId)).runStatus).toBe('completed')
    expect(talk.asked).toEqual([])
  })
})

/** Calls the models of both steps in each turn. */
class First extends Step {
  static override readonly id = 'Chat'
  override onReply() {
    return go('Other')
  }
}
class Other extends Step {
  static override readonly id = 'Other'
  override onReply(text: string) {
    return go('Chat').withReply(text)
  }
}

class Ending extends Step {
  static override readonly id = 'Chat'
  override onReply(text: string) {
    return text === 'Re: end' ? finish('Bye.') : text
  }
}

describe('at the start of a session', () => {
  test('a memory that no model step uses is an error', async () => {
    const talk = startTalk({ Desk: slidingWindow({ above: 6, keep: 2 }) })
    await expect(talk.say('1')).rejects.toMatchObject({
      code: 'FLOW_REGISTRATION',
      message: "Flow 'Talk': compaction['Desk'] names a memory that no model step uses. Memories: Chat.",
    })
    expect(talk.backing.size).toBe(0)
  })

  test('a model whose provider is not registered is an error', async () => {
    const talk = startTalk({ Chat: { ...Chat, model: { provider: 'nobody', name: 'm' } } })
    await expect(talk.say('1')).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining("Model provider 'nobody' is not registered. Registered: 'talk'."),
    })
  })

  test('a memory that steps share under another name is accepted', async () => {
    class Plan extends Step {
      static override readonly id = 'Plan'
      override readonly memory = 'journey'
    }
    const talk = startTalk({ journey: { ...Chat, above: 2, keep: 1 } }, { steps: [Plan] })
    await talk.sayTurns(2)
    expect(talk.told()).toEqual([['memory:compacted', { namespace: 'journey', removed: 2, kept: 3, durationMs: 0 }]])
  })
})

test('the memory of a flow without compaction grows', async () => {
  expect(flowOf().compaction).toEqual({})
  const talk = startTalk({})
  await talk.sayTurns(20)
  expect(await talk.memory()).toHaveLength(40)
  expect(talk.told()).toEqual([])
})
