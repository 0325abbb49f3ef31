import { describe, expect, test } from 'vitest'
import { flowOf, lines } from '../../../../testing/contract/test-flows.js'
import { Conversation } from '../../../../testing/index.js'
import { EndStep, finish, go, HttpContentType, LogicStep, reply, Step, type Turn, tool } from '../../../index.js'

async function memoryOf(conversation: Conversation): Promise<Record<string, string[]>> {
  const { memory } = (await conversation.document()).flow
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
    await using conversation = new Conversation(flowOf(Welcome, Talk), { script: ['A joke.'] })
    await conversation.say('Hi')
    await conversation.say('Tell a joke')
    expect(await memoryOf(conversation)).toEqual({
      Talk: ['user: Hi', 'assistant: Welcome! What can I do?', 'user: Tell a joke', 'assistant: A joke.'],
    })
    expect(lines(conversation.model.requests[0]?.messages)).toEqual([
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
    await using conversation = new Conversation(flowOf(Clerk), { script: [{ toolCalls: [{ name: 'quote' }] }] })
    await conversation.say('How much?')
    conversation.expectReply('12 euros.')
    expect(await memoryOf(conversation)).toEqual({
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
    await using conversation = new Conversation(flowOf(Ask, Answer), { script: ['Who are you?'] })
    await conversation.say('Hi')
    expect(await memoryOf(conversation)).toEqual({ talk: ['user: Hi', 'assistant: Who are you?'] })
  })

  test('in the model step whose onReply gave it, after what the model said', async () => {
    class Censor extends Step {
      static override readonly id = 'Censor'
      override onReply() {
        return reply('I cannot say that.')
      }
    }
    await using conversation = new Conversation(flowOf(Censor), { script: ['A secret.'] })
    await conversation.say('Tell me')
    expect(await memoryOf(conversation)).toEqual({
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
    await using conversation = new Conversation(flowOf(Clerk), { script: ['The user is done.'] })
    await conversation.say('Bye')
    expect(await memoryOf(conversation)).toEqual({
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
    await using conversation = new Conversation(flowOf(Clerk, Talk), { script: ['To sales.'] })
    await conversation.say('I want to buy')
    expect(await memoryOf(conversation)).toEqual({
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
    await using conversation = new Conversation(flowOf(Greeter))
    await conversation.say('Hi')
    expect(await memoryOf(conversation)).toEqual({ Greeter: ['user: Hi', 'assistant: Good day.'] })
  })

  test('as its content type where it is bytes', async () => {
    class Artist extends Step {
      static override readonly id = 'Artist'
      override onReply() {
        return reply('AAEC').withContentType(HttpContentType.Png, { encoding: 'base64' })
      }
    }
    await using conversation = new Conversation(flowOf(Artist), { script: ['drawn'] })
    await conversation.say('Draw')
    expect(await memoryOf(conversation)).toEqual({
      Artist: ['user: Draw', 'assistant: drawn', 'assistant: [image/png]'],
    })
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
    await using conversation = new Conversation(flowOf(Ask))
    await conversation.say('Hi')
    await conversation.say('Ada')
    expect(await memoryOf(conversation)).toEqual({})
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
    await using conversation = new Conversation(flowOf(Start, Talk, Bye))
    await conversation.say('Hi')
    expect(await memoryOf(conversation)).toEqual({})
  })
})
