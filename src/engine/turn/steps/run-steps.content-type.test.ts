import { describe, expect, test } from 'vitest'
import { flowOf, place } from '../../../../testing/contract/test-flows.js'
import { Conversation } from '../../../../testing/index.js'
import {
  EndStep,
  finish,
  go,
  HttpContentType,
  LogicStep,
  reply,
  Step,
  stay,
  type Transition,
  type Turn,
} from '../../../index.js'

/** A flow whose first step returns the transitions one by one, a turn each. */
function talk(...transitions: readonly Transition[]): Conversation {
  class Start extends LogicStep {
    static override readonly id = 'Start'
    override run(turn: Turn) {
      return transitions[turn.number - 1] as Transition
    }
  }
  return new Conversation(flowOf(Start, place('Next')))
}

async function contentTypes(conversation: Conversation, turns: number): Promise<string[]> {
  const types: string[] = []
  for (let turn = 0; turn < turns; turn++) types.push((await conversation.say('Hi')).contentType)
  return types
}

describe('the content type of a reply', () => {
  test('[2.4-2] is Plain unless a transition sets one, an object included', async () => {
    expect(await contentTypes(talk(reply('a'), reply({ a: 1 })), 2)).toEqual(['text/plain', 'text/plain'])
  })

  test('[2.4-3 2.3-6] set by a move belongs to the step, also in later turns', async () => {
    await using conversation = talk(go('Next').withContentType(HttpContentType.Html))
    expect(await contentTypes(conversation, 3)).toEqual(['text/html', 'text/html', 'text/html'])
  })

  test('set by an answer is of that answer alone', async () => {
    await using conversation = talk(
      reply('a,b').withContentType(HttpContentType.Csv),
      reply('c,d'),
      reply('<b>e</b>').withContentType(HttpContentType.Html),
      stay('f'),
      stay('g').withContentType(HttpContentType.Plain),
    )
    expect(await contentTypes(conversation, 5)).toEqual([
      'text/csv',
      'text/plain',
      'text/html',
      'text/plain',
      'text/plain',
    ])
  })

  test('is Plain again after a move without one', async () => {
    await using conversation = talk(reply('a,b').withContentType(HttpContentType.Csv), go('Next'))
    expect(await contentTypes(conversation, 3)).toEqual(['text/csv', 'text/plain', 'text/plain'])
  })

  test('is Plain again after a move to the same step', async () => {
    await using conversation = talk(
      reply('a,b').withContentType(HttpContentType.Csv),
      go('Start').withReply('c'),
      reply('d'),
    )
    expect(await contentTypes(conversation, 3)).toEqual(['text/csv', 'text/plain', 'text/plain'])
  })

  test('is the one of the last move of a turn', async () => {
    class Between extends LogicStep {
      static override readonly id = 'Between'
      override onEnter() {
        return go('Next').withContentType(HttpContentType.Xml)
      }
      override run() {
        return reply('never')
      }
    }
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override run() {
        return go(Between).withContentType(HttpContentType.Html)
      }
    }
    await using conversation = new Conversation(flowOf(Start, Between, place('Next')))
    expect(await contentTypes(conversation, 2)).toEqual(['application/xml', 'application/xml'])
  })

  test('of a reply from onEnter without one is that of the move', async () => {
    class Door extends LogicStep {
      static override readonly id = 'Door'
      override onEnter() {
        return reply('a')
      }
      override run() {
        return reply('b')
      }
    }
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override run() {
        return go(Door).withContentType(HttpContentType.Markdown)
      }
    }
    expect(await contentTypes(new Conversation(flowOf(Start, Door)), 2)).toEqual(['text/markdown', 'text/markdown'])
  })

  test('can be set by finish', async () => {
    expect(await contentTypes(talk(finish('{}').withContentType(HttpContentType.Json)), 1)).toEqual([
      'application/json',
    ])
  })

  test('set by finish is neither that of another closing reply, which onEnter of the end step returns, nor stored', async () => {
    class Bye extends EndStep {
      static override readonly id = 'Bye'
      override onEnter() {
        return reply('Bye.')
      }
    }
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override run() {
        return finish('{}').withContentType(HttpContentType.Json)
      }
    }
    await using conversation = new Conversation(flowOf(Start, Bye))
    expect(await conversation.say('Hi')).toMatchObject({ message: 'Bye.', contentType: 'text/plain' })
    expect((await conversation.document()).flow).not.toHaveProperty('contentType')
  })

  test('can be set by what onEnter of an end step returns', async () => {
    const ending = (returned: Transition): Conversation => {
      class Bye extends EndStep {
        static override readonly id = 'Bye'
        override onEnter() {
          return returned
        }
        override message() {
          return '<b>Bye.</b>'
        }
      }
      return new Conversation(flowOf(Bye))
    }
    expect(await contentTypes(ending(reply('<i>Bye.</i>').withContentType(HttpContentType.Html)), 1)).toEqual([
      'text/html',
    ])
    expect(await contentTypes(ending(finish().withContentType(HttpContentType.Html)), 1)).toEqual(['text/html'])
  })

  test('holds for what a model says in the step', async () => {
    class Page extends Step {
      static override readonly id = 'Page'
    }
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override run() {
        return go(Page).withContentType(HttpContentType.Html)
      }
    }
    await using conversation = new Conversation(flowOf(Start, Page), { script: ['<p>1</p>', '<p>2</p>'] })
    expect(await contentTypes(conversation, 2)).toEqual(['text/html', 'text/html'])
  })

  test('of a failure is Plain', async () => {
    await using conversation = talk(reply('a,b').withContentType(HttpContentType.Csv), go('Nowhere'))
    expect(await contentTypes(conversation, 2)).toEqual(['text/csv', 'text/plain'])
    conversation.expectError('FLOW_ERROR')
  })

  test('is kept in the history', async () => {
    await using conversation = talk(reply('a,b').withContentType(HttpContentType.Csv), go('Next'))
    await contentTypes(conversation, 2)
    expect((await conversation.document()).history).toMatchObject([
      { contentType: 'text/csv', step: 'Start' },
      { contentType: 'text/plain', step: 'Next' },
    ])
  })
})

describe('bytes in base64', () => {
  const png = { encoding: 'base64' } as const

  test('are told apart from a text that reads the same', async () => {
    await using conversation = talk(
      reply('AAEC').withContentType(HttpContentType.Png, png),
      reply('AAEC').withContentType(HttpContentType.Plain),
    )
    expect(await conversation.say('Hi')).toMatchObject({
      message: 'AAEC',
      contentType: 'image/png',
      encoding: 'base64',
    })
    expect(await conversation.say('Hi')).not.toHaveProperty('encoding')
    const { history } = await conversation.document()
    expect(history.map(({ encoding }) => encoding)).toEqual(['base64', undefined])
  })

  test('are one reply: the next is Plain text again', async () => {
    await using conversation = talk(reply('AAEC').withContentType(HttpContentType.Png, png), reply('AAED'))
    await conversation.say('Hi')
    const next = await conversation.say('Hi')
    expect(next).toMatchObject({ success: true, message: 'AAED', contentType: 'text/plain' })
    expect(next).not.toHaveProperty('encoding')
  })

  test('that a move sets are one reply, too: the next one in the step is Plain text', async () => {
    class Photo extends LogicStep {
      static override readonly id = 'Photo'
      override run(turn: Turn) {
        return reply(turn.entered ? 'AAEC' : 'not base64!')
      }
    }
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override run() {
        return go(Photo).withContentType(HttpContentType.Png, png)
      }
    }
    await using conversation = new Conversation(flowOf(Start, Photo))
    expect(await conversation.say('Hi')).toMatchObject({ contentType: 'image/png', encoding: 'base64' })
    expect((await conversation.document()).flow).not.toHaveProperty('contentType')
    expect(await conversation.say('Hi')).toMatchObject({ message: 'not base64!', contentType: 'text/plain' })
  })

  test('are Plain text again after a move', async () => {
    await using conversation = talk(
      reply('AAEC').withContentType(HttpContentType.Png, png),
      go('Next').withReply('not base64!'),
    )
    await conversation.say('Hi')
    expect(await conversation.say('Hi')).toEqual({
      success: true,
      completed: false,
      message: 'not base64!',
      session: conversation.sessionId,
      contentType: 'text/plain',
      sessionState: 'running',
    })
  })

  test('that turn out to be no base64 fail the turn: nothing is committed that HTTP cannot send', async () => {
    // The other step answers "At Next.".
    await using conversation = talk(reply('Hello.'), go('Next').withContentType(HttpContentType.Png, png))
    await conversation.say('Hi')
    await conversation.say('Hi')
    conversation.expectError(
      'FLOW_ERROR',
      'The reply must be bytes in base64: the standard alphabet, padded, without line breaks.',
    )
    expect((await conversation.document()).history).toHaveLength(1)
  })
})
