import { describe, expect, test } from 'vitest'
import { flowOf, lines } from '../../../../testing/contract/test-flows.js'
import { Conversation } from '../../../../testing/index.js'
import { go, LogicStep, MemorySessionStore, reply, Step, type Turn } from '../../../index.js'

async function memoryOf(conversation: Conversation): Promise<Record<string, string[]>> {
  const { memory } = (await conversation.document()).flow
  return Object.fromEntries(Object.entries(memory).map(([namespace, { messages }]) => [namespace, lines(messages)]))
}

/** Goes to the other step as soon as its model has said something. */
class Sales extends Step {
  static override readonly id: string = 'Sales'
  override onReply(): ReturnType<Step['onReply']> {
    return go('Support')
  }
}
class Support extends Step {
  static override readonly id: string = 'Support'
}

describe('a memory namespace', () => {
  test('is the ID of the step, so that each step has its own', async () => {
    await using conversation = new Conversation(flowOf(Sales, Support), { script: ['Not for me.', 'Here to help.'] })
    await conversation.say('It is broken')
    expect(await memoryOf(conversation)).toEqual({
      Sales: ['user: It is broken', 'assistant: Not for me.'],
      Support: ['user: It is broken', 'assistant: Here to help.'],
    })
  })

  test("is shared by the steps that name it, and receives the user's message once in a turn", async () => {
    class SalesDesk extends Sales {
      override readonly memory = 'desk'
    }
    class SupportDesk extends Support {
      override readonly memory = 'desk'
    }
    await using conversation = new Conversation(flowOf(SalesDesk, SupportDesk), {
      script: ['Not for me.', 'Here to help.', 'Bye.'],
    })
    await conversation.say('It is broken')
    await conversation.say('Thanks')
    expect(await memoryOf(conversation)).toEqual({
      desk: [
        'user: It is broken',
        'assistant: Not for me.',
        'assistant: Here to help.',
        'user: Thanks',
        'assistant: Bye.',
      ],
    })
    expect(lines(conversation.model.requests[1]?.messages)).toEqual(['user: It is broken', 'assistant: Not for me.'])
  })

  test("may be another step's ID", async () => {
    class Guest extends Sales {
      override readonly memory = 'Support'
    }
    await using conversation = new Conversation(flowOf(Guest, Support), { script: ['Not for me.', 'Here to help.'] })
    await conversation.say('It is broken')
    expect(await memoryOf(conversation)).toEqual({
      Support: ['user: It is broken', 'assistant: Not for me.', 'assistant: Here to help.'],
    })
  })

  test('receives a message once for a step that is entered twice in a turn only once', async () => {
    let left = 1
    class Twice extends Step {
      static override readonly id = 'Twice'
      override onReply(text: string) {
        return left-- > 0 ? go(Twice) : text
      }
    }
    await using conversation = new Conversation(flowOf(Twice), { script: ['One.', 'Two.'] })
    await conversation.say('Hi')
    conversation.expectReply('Two.')
    expect(await memoryOf(conversation)).toEqual({ Twice: ['user: Hi', 'assistant: One.', 'assistant: Two.'] })
  })

  test('numbers its messages by the turn they came from', async () => {
    await using conversation = new Conversation(flowOf(Support), { script: ['One.', 'Two.'] })
    await conversation.say('a')
    await conversation.say('b')
    expect((await conversation.document()).flow.memory.Support?.messages.map(({ turn }) => turn)).toEqual([1, 1, 2, 2])
  })

  test('knows nothing of turns that another step answered', async () => {
    class Menu extends LogicStep {
      static override readonly id = 'Menu'
      override run(turn: Turn) {
        return turn.message === 'help' ? go(Support) : reply('What now?')
      }
    }
    await using conversation = new Conversation(flowOf(Menu, Support), { script: ['Here to help.'] })
    await conversation.say('hello')
    await conversation.say('help')
    expect(await memoryOf(conversation)).toEqual({ Support: ['user: help', 'assistant: Here to help.'] })
  })

  test('is frozen, and not changed by a turn that adds nothing to it', async () => {
    class Menu extends LogicStep {
      static override readonly id: string = 'Support'
      override run() {
        return reply('What now?')
      }
    }
    const store = new MemorySessionStore()
    const createStore = (): MemorySessionStore => store
    await using conversation = new Conversation(flowOf(Support), { script: ['Here to help.'], createStore })
    await conversation.say('Hi')
    const before = (await conversation.document()).flow.memory.Support?.messages
    expect([before, before?.[0], before?.[0]?.parts, before?.[0]?.parts[0]].map(Object.isFrozen)).toEqual([
      true,
      true,
      true,
      true,
    ])
    await using next = new Conversation(flowOf(Menu), { createStore })
    next.sessionId = conversation.sessionId
    await next.say('Hi again')
    expect((await next.document()).flow.memory.Support?.messages).toBe(before)
  })

  test.each(['', '__proto__', 7])('may not be %j', async (memory) => {
    class Broken extends Step {
      static override readonly id = 'Broken'
      override readonly memory = memory as string
    }
    await using conversation = new Conversation(flowOf(Broken))
    await conversation.say('Hi')
    conversation.expectError(
      'FLOW_ERROR',
      "The memory namespace of step 'Broken' must be a non-empty string other than '__proto__'.",
    )
  })

  test.each(['constructor', 'toString'])('may be %s', async (memory) => {
    class Odd extends Step {
      static override readonly id = memory
    }
    await using conversation = new Conversation(flowOf(Odd), { script: ['One.', 'Two.'] })
    await conversation.say('a')
    await conversation.say('b')
    expect(await memoryOf(conversation)).toEqual({
      [memory]: ['user: a', 'assistant: One.', 'user: b', 'assistant: Two.'],
    })
  })
})
