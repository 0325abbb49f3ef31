import { describe, expect, test } from 'vitest'
import { type Chat, chatWith, flowOf, lines } from '../../testing/contract/chat.js'
import { EndStep, finish, go, HttpContentType, LogicStep, reply, Step, type Turn, tool } from '../index.js'

async function memoryOf(chat: Chat): Promise<Record<string, string[]>> {
  const { memory } = (await chat.document()).flow
  return Object.fromEntries(Object.entries(memory).map(([namespace, { messages }]) => [namespace, lines(messages)]))
}

class Talk extends Step {
  static override readonly id = 'Talk'
}

describe('a reply that no model made is remembered', () => {
  test('in the model step that it led to, so that its model knows what was said', async () => {
    class Welcome extends LogicStep {
      static override readonly id = 'Welcome'
      override run() {
        return go(Talk).withReply('Welcome! What can I do?')
      }
    }
    const chat = chatWith(flowOf(Welcome, Talk), { script: ['A joke.'] })
    await chat.say('Hi')
    await chat.say('Tell a joke')
    expect(await memoryOf(chat)).toEqual({
      Talk: ['user: Hi', 'assistant: Welcome! What can I do?', 'user: Tell a joke', 'assistant: A joke.'],
    })
    expect(lines(chat.provider.requests[0]?.messages)).toEqual([
      'user: Hi',
      'assistant: Welcome! What can I do?',
      'user: Tell a joke',
    ])
  })

  test('in the model step whose tool gave it', async () => {
    class Clerk extends Step {
      static override readonly id = 'Clerk'
      override tools() {
        return [tool({ name: 'quote', description: 'Quotes a price.', execute: () => reply('12 euros.') })]
      }
    }
    const chat = chatWith(flowOf(Clerk), { script: [{ toolCalls: [{ name: 'quote' }] }] })
    expect(await chat.say('How much?')).toBe('12 euros.')
    expect(await memoryOf(chat)).toEqual({
      Clerk: ['user: How much?', 'assistant: quote({})', 'tool: quote = "Done."', 'assistant: 12 euros.'],
    })
  })

  test('once, where it is word for word what the model said', async () => {
    class Ask extends Step {
      static override readonly id: string = 'Ask'
      override readonly memory = 'talk'
      override onReply(text: string) {
        return go('Answer').withReply(text)
      }
    }
    class Answer extends Ask {
      static override readonly id = 'Answer'
    }
    const chat = chatWith(flowOf(Ask, Answer), { script: ['Who are you?'] })
    await chat.say('Hi')
    expect(await memoryOf(chat)).toEqual({ talk: ['user: Hi', 'assistant: Who are you?'] })
  })

  test('in the model step whose onReply gave it, after what the model said', async () => {
    class Censor extends Step {
      static override readonly id = 'Censor'
      override onReply() {
        return reply('I cannot say that.')
      }
    }
    const chat = chatWith(flowOf(Censor), { script: ['A secret.'] })
    await chat.say('Tell me')
    expect(await memoryOf(chat)).toEqual({
      Censor: ['user: Tell me', 'assistant: A secret.', 'assistant: I cannot say that.'],
    })
  })

  test('in the model step it came from, where the destination has no model', async () => {
    class Clerk extends Step {
      static override readonly id = 'Clerk'
      override onReply() {
        return finish('Goodbye.')
      }
    }
    const chat = chatWith(flowOf(Clerk), { script: ['The user is done.'] })
    await chat.say('Bye')
    expect(await memoryOf(chat)).toEqual({
      Clerk: ['user: Bye', 'assistant: The user is done.', 'assistant: Goodbye.'],
    })
  })

  test('in the destination rather than in the step it came from', async () => {
    class Clerk extends Step {
      static override readonly id = 'Clerk'
      override onReply() {
        return go(Talk).withReply('Passing you on.')
      }
    }
    const chat = chatWith(flowOf(Clerk, Talk), { script: ['To sales.'] })
    await chat.say('I want to buy')
    expect(await memoryOf(chat)).toEqual({
      Clerk: ['user: I want to buy', 'assistant: To sales.'],
      Talk: ['user: I want to buy', 'assistant: Passing you on.'],
    })
  })

  test('in the step that onEnter of a model step answered for', async () => {
    class Greeter extends Step {
      static override readonly id = 'Greeter'
      override onEnter() {
        return reply('Good day.')
      }
    }
    const chat = chatWith(flowOf(Greeter))
    await chat.say('Hi')
    expect(await memoryOf(chat)).toEqual({ Greeter: ['user: Hi', 'assistant: Good day.'] })
  })

  test('as its content type where it is bytes', async () => {
    class Artist extends Step {
      static override readonly id = 'Artist'
      override onReply() {
        return reply('AAEC').withContentType(HttpContentType.Png, { encoding: 'base64' })
      }
    }
    const chat = chatWith(flowOf(Artist), { script: ['drawn'] })
    await chat.say('Draw')
    expect(await memoryOf(chat)).toEqual({ Artist: ['user: Draw', 'assistant: drawn', 'assistant: [image/png]'] })
  })
})

describe('nothing is remembered', () => {
  test('of a conversation between logic steps', async () => {
    class Ask extends LogicStep {
      static override readonly id = 'Ask'
      override run(turn: Turn) {
        return turn.entered ? reply('Your name?') : finish('Bye.')
      }
    }
    const chat = chatWith(flowOf(Ask))
    await chat.say('Hi')
    await chat.say('Ada')
    expect(await memoryOf(chat)).toEqual({})
  })

  test('of an end step that a logic step led to', async () => {
    class Bye extends EndStep {
      static override readonly id = 'Bye'
      override message() {
        return 'Bye.'
      }
    }
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override run() {
        return finish()
      }
    }
    const chat = chatWith(flowOf(Start, Talk, Bye))
    await chat.say('Hi')
    expect(await memoryOf(chat)).toEqual({})
  })
})
