import { describe, expect, test } from 'vitest'
import { type Chat, chatWith, flowOf, lines } from '../../testing/contract/chat.js'
import { go, LogicStep, reply, Step, type Turn } from '../index.js'

async function memoryOf(chat: Chat): Promise<Record<string, string[]>> {
  const { memory } = (await chat.document()).flow
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
    const chat = chatWith(flowOf(Sales, Support), { script: ['Not for me.', 'Here to help.'] })
    await chat.say('It is broken')
    expect(await memoryOf(chat)).toEqual({
      Sales: ['user: It is broken', 'assistant: Not for me.'],
      Support: ['user: It is broken', 'assistant: Here to help.'],
    })
  })

  test("is shared by the steps that name it, and hears the user's message once in a turn", async () => {
    class SalesDesk extends Sales {
      override readonly memory = 'desk'
    }
    class SupportDesk extends Support {
      override readonly memory = 'desk'
    }
    const chat = chatWith(flowOf(SalesDesk, SupportDesk), { script: ['Not for me.', 'Here to help.', 'Bye.'] })
    await chat.say('It is broken')
    await chat.say('Thanks')
    expect(await memoryOf(chat)).toEqual({
      desk: [
        'user: It is broken',
        'assistant: Not for me.',
        'assistant: Here to help.',
        'user: Thanks',
        'assistant: Bye.',
      ],
    })
    expect(lines(chat.provider.requests[1]?.messages)).toEqual(['user: It is broken', 'assistant: Not for me.'])
  })

  test("may be another step's ID", async () => {
    class Guest extends Sales {
      override readonly memory = 'Support'
    }
    const chat = chatWith(flowOf(Guest, Support), { script: ['Not for me.', 'Here to help.'] })
    await chat.say('It is broken')
    expect(await memoryOf(chat)).toEqual({
      Support: ['user: It is broken', 'assistant: Not for me.', 'assistant: Here to help.'],
    })
  })

  test('hears a step that is entered twice in a turn only once', async () => {
    let left = 1
    class Twice extends Step {
      static override readonly id = 'Twice'
      override onReply(text: string) {
        return left-- > 0 ? go(Twice) : text
      }
    }
    const chat = chatWith(flowOf(Twice), { script: ['One.', 'Two.'] })
    expect(await chat.say('Hi')).toBe('Two.')
    expect(await memoryOf(chat)).toEqual({ Twice: ['user: Hi', 'assistant: One.', 'assistant: Two.'] })
  })

  test('numbers its messages by the turn they came from', async () => {
    const chat = chatWith(flowOf(Support), { script: ['One.', 'Two.'] })
    await chat.say('a')
    await chat.say('b')
    expect((await chat.document()).flow.memory.Support?.messages.map(({ turn }) => turn)).toEqual([1, 1, 2, 2])
  })

  test('knows nothing of turns that another step answered', async () => {
    class Menu extends LogicStep {
      static override readonly id = 'Menu'
      override run(turn: Turn) {
        return turn.message === 'help' ? go(Support) : reply('What now?')
      }
    }
    const chat = chatWith(flowOf(Menu, Support), { script: ['Here to help.'] })
    await chat.say('hello')
    await chat.say('help')
    expect(await memoryOf(chat)).toEqual({ Support: ['user: help', 'assistant: Here to help.'] })
  })

  test('is frozen, and left alone by a turn that adds nothing to it', async () => {
    class Menu extends LogicStep {
      static override readonly id: string = 'Support'
      override run() {
        return reply('What now?')
      }
    }
    const chat = chatWith(flowOf(Support), { script: ['Here to help.'] })
    await chat.say('Hi')
    const before = (await chat.document()).flow.memory.Support?.messages
    expect([before, before?.[0], before?.[0]?.parts, before?.[0]?.parts[0]].map(Object.isFrozen)).toEqual([
      true,
      true,
      true,
      true,
    ])
    const next = chatWith(flowOf(Menu), { sessionStore: chat.store })
    next.sessionId = chat.sessionId
    await next.say('Hi again')
    expect((await next.document()).flow.memory.Support?.messages).toBe(before)
  })

  test.each(['', '__proto__', 7])('may not be %j', async (memory) => {
    class Broken extends Step {
      static override readonly id = 'Broken'
      override readonly memory = memory as string
    }
    await expect(chatWith(flowOf(Broken), { script: ['Hello.'] }).say('Hi')).rejects.toMatchObject({
      code: 'FLOW_ERROR',
      message: "The memory namespace of step 'Broken' must be a string that is not empty, and not '__proto__'.",
    })
  })

  test.each(['constructor', 'toString'])('may be %s', async (memory) => {
    class Odd extends Step {
      static override readonly id = memory
    }
    const chat = chatWith(flowOf(Odd), { script: ['One.', 'Two.'] })
    await chat.say('a')
    await chat.say('b')
    expect(await memoryOf(chat)).toEqual({ [memory]: ['user: a', 'assistant: One.', 'user: b', 'assistant: Two.'] })
  })
})
